package cli

import (
	"strings"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"slipway.dev/slipway/internal/fault"
	"slipway.dev/slipway/internal/statedir"
)

func TestExplain_SuggestsThePlaneThatTheContextIsOf(t *testing.T) {
	t.Parallel()
	a, _ := kubeconfigApp(t, "")
	dir := t.TempDir()
	owner := a.planeOwner(dir)
	if _, err := a.mergeContext(admin("https://127.0.0.1:6443"), owner, chosen); err != nil {
		t.Fatal(err)
	}
	e := a.explainNetwork("get clusters", syscall.ECONNREFUSED)
	if e.Try != "slipway up --detach --state-dir "+dir || !strings.Contains(e.Cause, dir) {
		t.Errorf("%+v", e)
	}
	if _, err := a.mergeContext(admin("https://127.0.0.1:30000"), entryOwner{mark: "cluster default/demo of x", name: "slipway-demo"}, chosen); err != nil {
		t.Fatal(err)
	}
	if e := a.explainNetwork("get clusters", syscall.ECONNREFUSED); strings.Contains(e.Try, "slipway up") {
		t.Errorf("no plane is behind this context, and yet: %s", e.Try)
	}
}

func TestExplain_StartsThePlaneWhoseCredentialsAreRefusedAndNoOther(t *testing.T) {
	t.Parallel()
	refused := apierrors.NewUnauthorized("no")
	a, _ := kubeconfigApp(t, "")
	dir := t.TempDir()
	if _, err := a.mergeContext(admin("https://127.0.0.1:6443"), a.planeOwner(dir), chosen); err != nil {
		t.Fatal(err)
	}
	if e := a.explainStatus("get clusters", refused); e.Try != "slipway up --detach --state-dir "+dir {
		t.Errorf("of a plane: %s", e.Try)
	}
	if _, err := a.mergeContext(admin("https://127.0.0.1:30000"), entryOwner{mark: "cluster default/demo of x", name: "slipway-demo"}, chosen); err != nil {
		t.Fatal(err)
	}
	if e := a.explainStatus("get clusters", refused); strings.Contains(e.Try, "slipway up") {
		t.Errorf("of a cluster: %s", e.Try)
	}
}

func TestContext_IsOurPlanesAndNotAnothersOfItsName(t *testing.T) {
	t.Parallel()
	a, _ := kubeconfigApp(t, "")
	for _, step := range []struct{ mark, name string }{
		{"cluster default/x of https://work.example.com", "slipway"},
		{"plane /srv/other", "slipway-other"},
	} {
		if _, err := a.mergeContext(admin("https://work.example.com"), entryOwner{mark: step.mark, name: step.name}, chosen); err != nil {
			t.Fatal(err)
		}
	}
	ours, err := a.mergeContext(admin("https://127.0.0.1:6443"), a.planeOwner(a.defaultStateDir()), chosenIfNone)
	if err != nil {
		t.Fatal(err)
	}
	if _, name, err := a.clientConfig(); err != nil || name != ours.name || name == "slipway" {
		t.Errorf("the context in use is %q, not %q: %v", name, ours.name, err)
	}
}

func TestExplain_SuggestsTheStateDirectoryInQuestion(t *testing.T) {
	t.Parallel()
	a, _ := kubeconfigApp(t, "")
	for try, want := range map[string]string{
		"slipway logs plane":                                "slipway logs plane --state-dir /srv/lab",
		"end that program, or: slipway up --port OTHER":     "end that program, or: slipway up --state-dir /srv/lab --port OTHER",
		"slipway up --from FILE --state-dir NEW":            "slipway up --from FILE --state-dir NEW",
		"slipway down, then slipway up --state-dir OTHER":   "slipway down --state-dir /srv/lab, then slipway up --state-dir OTHER",
		"run as the user that owns it":                      "run as the user that owns it",
		"free 500 MiB, then: slipway up":                    "free 500 MiB, then: slipway up --state-dir /srv/lab",
		"slipway logs plane --state-dir /x; slipway status": "slipway logs plane --state-dir /x; slipway status --state-dir /srv/lab",
	} {
		a.planeDir = "/srv/lab"
		if got := a.aboutPlane(fault.New(nil, "w", "c", "", try)).Try; got != want {
			t.Errorf("%q became %q, want %q", try, got, want)
		}
		a.planeDir = a.defaultStateDir()
		if got := a.aboutPlane(fault.New(nil, "w", "c", "", try)).Try; got != try {
			t.Errorf("for the default plane %q became %q", try, got)
		}
	}
	a.planeDir = "/srv/lab"
	if got := a.aboutPlane(statedir.InUse("/srv/lab")).Try; !strings.HasPrefix(got, "slipway status --state-dir /srv/lab") {
		t.Error(got)
	}
}
