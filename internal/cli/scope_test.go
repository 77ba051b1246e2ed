package cli

import (
	"strings"
	"testing"
)

func TestTry_SaysWhatTheUserSaidAndWhatTheEnvironmentDoesNot(t *testing.T) {
	t.Parallel()
	rows := []struct {
		reason, command, planeDir string
		given, aimed              scopeFlags
		want                      string
	}{
		{reason: "nothing was given", command: "tree demo -w", want: "tree demo -w"},
		{reason: "all was given", command: "tree demo -w", given: scopeFlags{"/tmp/k", "x", "other"}, want: "tree demo -w -n other --context x --kubeconfig /tmp/k"},
		{reason: "what stands there is not doubled", command: "tree demo -n shop", given: scopeFlags{namespace: "other"}, want: "tree demo -n shop"},
		{reason: "all namespaces are not one", command: "get clusters -A", given: scopeFlags{context: "x", namespace: "other"}, want: "get clusters -A --context x"},
		{reason: "help needs none", command: "create cluster --help", given: scopeFlags{context: "x"}, want: "create cluster --help"},
		{reason: "a plane is started for a kubeconfig and not for a context", command: "up --detach", given: scopeFlags{"/tmp/k", "x", "other"}, want: "up --detach --kubeconfig /tmp/k"},
		{reason: "a plane is stopped for none", command: "down", given: scopeFlags{"/tmp/k", "x", "other"}, want: "down"},
		{reason: "the plane in question", command: "status", planeDir: "/srv/lab", want: "status --state-dir /srv/lab"},
		{reason: "a new plane", command: "up --from f --state-dir DIRECTORY", planeDir: "/srv/lab", want: "up --from f --state-dir DIRECTORY"},
		{reason: "commands that know no state directory", command: "tree demo", planeDir: "/srv/lab", aimed: scopeFlags{"/srv/lab/admin", "slipway", ""}, want: "tree demo --context slipway --kubeconfig /srv/lab/admin"},
		{reason: "what a shell would take apart", command: "get clusters", given: scopeFlags{"/tmp/my files/it's", "x;y", ""}, want: `get clusters --context 'x;y' --kubeconfig '/tmp/my files/it'\''s'`},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			t.Parallel()
			a, _ := testApp(t, look{})
			a.given, a.aimed, a.planeDir = r.given, r.aimed, r.planeDir
			if got := a.try("%s", r.command); got != "slipway "+r.want {
				t.Errorf("got %q, want %q", got, "slipway "+r.want)
			}
		})
	}
}

func TestTry_LeavesToTheEnvironmentWhatItSays(t *testing.T) {
	t.Parallel()
	a, _ := testApp(t, look{env: map[string]string{"SLIPWAY_CONTEXT": "x", "SLIPWAY_NAMESPACE": "other"}})
	cmd, args, err := rootCommand(a).Find(strings.Fields("tree demo --kubeconfig k"))
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	if err := a.prepare(cmd); err != nil {
		t.Fatal(err)
	}
	if a.flags.context != "x" || a.oneNamespace() != "other" {
		t.Fatalf("the environment is not read: %+v", a.flags)
	}
	if got := a.try("tree demo"); got != "slipway tree demo --kubeconfig k" {
		t.Error(got)
	}
}

func TestUp_SuggestsToUseItsPlaneWhenAnotherIsTheUsual(t *testing.T) {
	t.Parallel()
	a, path := kubeconfigApp(t, foreign)
	r := &upRun{app: a}
	usual, err := a.mergeContext(admin("https://127.0.0.1:6443"), a.planeOwner(a.defaultStateDir()), chosenIfNone)
	if err != nil {
		t.Fatal(err)
	}
	lab, err := a.mergeContext(admin("https://127.0.0.1:6444"), a.planeOwner(t.TempDir()), chosenIfNone)
	if err != nil {
		t.Fatal(err)
	}
	r.aim(usual)
	if got := r.try("create cluster demo"); got != "slipway create cluster demo" {
		t.Error(got)
	}
	a.given.kubeconfig = path
	r.aim(lab)
	if got := r.try("create cluster demo"); got != "slipway create cluster demo --context "+lab.name+" --kubeconfig "+path {
		t.Error(got)
	}
}

func TestKubeconfig_SaysHowKubectlFindsWhatWasMerged(t *testing.T) {
	t.Parallel()
	a, _ := kubeconfigApp(t, foreign)
	if got := a.kubectl("get nodes"); got != "kubectl get nodes --kubeconfig "+a.flags.kubeconfig {
		t.Error(got)
	}
	a.flags.context = "work"
	if got := a.kubectl("get nodes"); strings.Contains(got, "--context") {
		t.Errorf("the current context needs no flag: %s", got)
	}
}
