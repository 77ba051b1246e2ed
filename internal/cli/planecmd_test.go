package cli

import (
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"slipway.dev/slipway/internal/statedir"
)

func TestPlane_RenewsItsEntryInTheUsersKubeconfigAndAddsNone(t *testing.T) {
	t.Parallel()
	a, path := kubeconfigApp(t, foreign)
	dir := t.TempDir()
	renewed := admin("https://127.0.0.1:6443")
	if err := clientcmd.WriteToFile(*renewed, statedir.AdminKubeconfig(dir)); err != nil {
		t.Fatal(err)
	}
	if err := a.renewPlane(dir); err != nil || len(load(t, path).Contexts) != 1 {
		t.Errorf("a context that the user removed came back: %v", err)
	}
	old := admin("https://127.0.0.1:6443")
	old.AuthInfos["y"].Token = "old"
	m, err := a.mergeContext(old, a.planeOwner(dir), chosenIfNone)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.renewPlane(dir); err != nil {
		t.Fatal(err)
	}
	if c := load(t, path); c.AuthInfos[m.name].Token != "secret" || c.CurrentContext != "work" {
		t.Errorf("renewed to %+v, with %s selected", c.AuthInfos[m.name], c.CurrentContext)
	}
}
