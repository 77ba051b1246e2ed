package cli

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

func admin(server string) *clientcmdapi.Config {
	c := clientcmdapi.NewConfig()
	c.Clusters["x"] = &clientcmdapi.Cluster{Server: server}
	c.AuthInfos["y"] = &clientcmdapi.AuthInfo{Token: "secret"}
	c.Contexts["z"] = &clientcmdapi.Context{Cluster: "x", AuthInfo: "y"}
	c.CurrentContext = "z"
	return c
}

func ownerOf(name string) entryOwner { return entryOwner{mark: "plane /home/ada/" + name, name: name} }

const foreign = `apiVersion: v1
kind: Config
current-context: work
clusters: [{name: work, cluster: {server: "https://work.example.com"}}]
users: [{name: me, user: {token: t}}]
contexts: [{name: work, context: {cluster: work, user: me, namespace: shop}}]
preferences: {}
`

func kubeconfigApp(t *testing.T, content string) (*app, string) {
	t.Helper()
	a, _ := testApp(t, look{})
	path := filepath.Join(t.TempDir(), "config")
	a.flags.kubeconfig = path
	if content != "" {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return a, path
}

func load(t *testing.T, path string) *clientcmdapi.Config {
	t.Helper()
	c, err := clientcmd.LoadFromFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestMerge_MakesAKubeconfigForItsOwnerAlone(t *testing.T) {
	t.Parallel()
	a, path := kubeconfigApp(t, "")
	m, err := a.mergeContext(admin("https://127.0.0.1:6443"), ownerOf("slipway"), false)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if c := load(t, path); !m.selected || c.CurrentContext != "slipway" || c.Clusters["slipway"].Server != "https://127.0.0.1:6443" {
		t.Errorf("merged %+v into %+v", m, c)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %s", info.Mode())
	}
}

func TestMerge_LeavesOthersEntriesAloneAndRemoveTakesOurOwnBack(t *testing.T) {
	t.Parallel()
	a, path := kubeconfigApp(t, foreign)
	before := load(t, path)
	m, err := a.mergeContext(admin("https://127.0.0.1:6443"), ownerOf("slipway-demo"), false)
	if err != nil {
		t.Fatal(err)
	}
	if m.selected || load(t, path).CurrentContext != "work" {
		t.Error("the current context was changed unasked")
	}
	if m, err = a.mergeContext(admin("https://127.0.0.1:6444"), ownerOf("slipway-demo"), true); err != nil || !m.selected {
		t.Errorf("merged again with --switch: %+v, %v", m, err)
	}
	if removed, err := a.removeContext(ownerOf("slipway-demo")); err != nil || removed != "slipway-demo" {
		t.Errorf("removed: %q, %v", removed, err)
	}
	if removed, err := a.removeContext(ownerOf("work")); err != nil || removed != "" {
		t.Errorf("a context that is not ours was removed: %q, %v", removed, err)
	}
	after := load(t, path)
	after.CurrentContext = "work"
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("another's entries changed (-before +after):\n%s", diff)
	}
}

func TestMerge_FollowsALinkInsteadOfReplacingIt(t *testing.T) {
	t.Parallel()
	a, path := kubeconfigApp(t, "")
	target := filepath.Join(t.TempDir(), "real")
	if err := os.WriteFile(target, []byte(foreign), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
	if _, err := a.mergeContext(admin("https://127.0.0.1:6443"), ownerOf("slipway"), false); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info, err)
	}
	if load(t, target).Contexts["slipway"] == nil {
		t.Error("the context is not in the file that the link names")
	}
}

func TestMerge_LosesNothingWhenMany(t *testing.T) {
	t.Parallel()
	a, path := kubeconfigApp(t, foreign)
	names := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	var all sync.WaitGroup
	for _, name := range names {
		all.Go(func() {
			if _, err := a.mergeContext(admin("https://"+name), ownerOf(name), false); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if c := load(t, path); len(c.Contexts) != len(names)+1 {
		t.Errorf("%d contexts, want %d", len(c.Contexts), len(names)+1)
	}
	if _, err := os.Stat(path + ".lock"); !os.IsNotExist(err) {
		t.Errorf("the lock stays behind: %v", err)
	}
}

func TestMerge_RefusesAFileItCannotRead(t *testing.T) {
	t.Parallel()
	a, path := kubeconfigApp(t, "{ not yaml")
	if _, err := a.mergeContext(admin("https://127.0.0.1:6443"), ownerOf("slipway"), false); err == nil {
		t.Fatal("a broken kubeconfig was replaced")
	}
	if content, err := os.ReadFile(path); err != nil || string(content) != "{ not yaml" {
		t.Errorf("the file is now %q, %v", content, err)
	}
}
