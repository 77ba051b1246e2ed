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
	m, err := a.mergeContext(admin("https://127.0.0.1:6443"), ownerOf("slipway"), chosenIfNone)
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
	m, err := a.mergeContext(admin("https://127.0.0.1:6443"), ownerOf("slipway-demo"), chosenIfNone)
	if err != nil {
		t.Fatal(err)
	}
	if m.selected || load(t, path).CurrentContext != "work" {
		t.Error("the current context was changed unasked")
	}
	if m, err = a.mergeContext(admin("https://127.0.0.1:6444"), ownerOf("slipway-demo"), chosen); err != nil || !m.selected {
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
	if _, err := a.mergeContext(admin("https://127.0.0.1:6443"), ownerOf("slipway"), chosenIfNone); err != nil {
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
			if _, err := a.mergeContext(admin("https://"+name), ownerOf(name), chosenIfNone); err != nil {
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
	if _, err := a.mergeContext(admin("https://127.0.0.1:6443"), ownerOf("slipway"), chosenIfNone); err == nil {
		t.Fatal("a broken kubeconfig was replaced")
	}
	if content, err := os.ReadFile(path); err != nil || string(content) != "{ not yaml" {
		t.Errorf("the file is now %q, %v", content, err)
	}
}

// kubeconfigList is an app whose KUBECONFIG names two files.
func kubeconfigList(t *testing.T, first, second string) (a *app, paths [2]string) {
	t.Helper()
	dir := t.TempDir()
	paths = [2]string{filepath.Join(dir, "first"), filepath.Join(dir, "second")}
	for i, content := range []string{first, second} {
		if err := os.WriteFile(paths[i], []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a, _ = testApp(t, look{env: map[string]string{"KUBECONFIG": paths[0] + string(filepath.ListSeparator) + paths[1]}})
	return a, paths
}

const (
	// emptyFile is a kubeconfig that says nothing, workChosen one that chooses a context which another file has.
	emptyFile  = "apiVersion: v1\nkind: Config\n"
	workChosen = emptyFile + "current-context: work\n"
)

func TestMerge_AsksAllFilesForTheCurrentContext(t *testing.T) {
	t.Parallel()
	for _, r := range []struct {
		name, first, second string
		choose              choice
		want                string
	}{
		{name: "the second file chooses", first: emptyFile, second: foreign, want: "work"},
		{name: "the first file chooses what the second has", first: workChosen, second: foreign, want: "work"},
		{name: "none chooses", first: emptyFile, second: emptyFile, want: "slipway"},
		{name: "what is chosen does not exist", first: emptyFile, second: workChosen, want: "slipway"},
		{name: "--switch, and the second file chooses", first: emptyFile, second: foreign, choose: chosen, want: "slipway"},
		{name: "--switch, and the first file chooses", first: workChosen, second: foreign, choose: chosen, want: "slipway"},
		{name: "a renewal chooses nothing", first: emptyFile, second: emptyFile, choose: neverChosen, want: ""},
	} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			a, paths := kubeconfigList(t, r.first, r.second)
			m, err := a.mergeContext(admin("https://127.0.0.1:6443"), ownerOf("slipway"), r.choose)
			if err != nil {
				t.Fatal(err)
			}
			whole, err := a.wholeKubeconfig()
			if err != nil {
				t.Fatal(err)
			}
			if whole.CurrentContext != r.want || m.selected != (r.want == "slipway") {
				t.Errorf("the current context is %q, want %q; merged %+v", whole.CurrentContext, r.want, m)
			}
			if m.path != paths[0] || load(t, paths[0]).Contexts["slipway"] == nil {
				t.Errorf("merged into %s, want %s, as kubectl does", m.path, paths[0])
			}
			removed, err := a.removeContext(ownerOf("slipway"))
			if err != nil || removed != "slipway" {
				t.Errorf("removed %q: %v", removed, err)
			}
			if whole, err := a.wholeKubeconfig(); err != nil || whole.CurrentContext == "slipway" {
				t.Errorf("what was removed is the current context: %v", err)
			}
		})
	}
}

func TestMerge_FindsAnEntryInAnyFileAndTakesNoNameOfAnothers(t *testing.T) {
	t.Parallel()
	a, paths := kubeconfigList(t, workChosen, foreign)
	second, _ := testApp(t, look{})
	second.flags.kubeconfig = paths[1]
	if _, err := second.mergeContext(admin("https://127.0.0.1:6443"), ownerOf("slipway"), neverChosen); err != nil {
		t.Fatal(err)
	}
	m, err := a.mergeContext(admin("https://127.0.0.1:7443"), ownerOf("slipway"), chosen)
	if err != nil {
		t.Fatal(err)
	}
	if len(load(t, paths[0]).Contexts) != 0 || load(t, paths[1]).Clusters["slipway"].Server != "https://127.0.0.1:7443" {
		t.Errorf("it was merged anew into %s", m.path)
	}
	if whole, err := a.wholeKubeconfig(); err != nil || whole.CurrentContext != "slipway" || !m.selected {
		t.Errorf("it was not selected: %+v, %v", m, err)
	}
	other, err := a.mergeContext(admin("https://127.0.0.1:8443"), entryOwner{mark: "plane /srv/slipway", name: "slipway"}, chosenIfNone)
	if err != nil || other.name == "slipway" {
		t.Errorf("it hides another's context of the second file: %+v, %v", other, err)
	}
	if removed, err := a.removeContext(ownerOf("slipway")); err != nil || removed != "slipway" || load(t, paths[1]).Contexts["slipway"] != nil {
		t.Errorf("removed %q: %v", removed, err)
	}
	if c := load(t, paths[0]).CurrentContext; c != "" {
		t.Errorf("the first file still chooses %s, which is gone", c)
	}
}

func TestChangeKubeconfig_HoldsTheLockThatKubectlTakes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"real", "work"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	file, link, folder := filepath.Join(dir, "real", "config"), filepath.Join(dir, "work", "config"), filepath.Join(dir, "folder")
	if err := os.WriteFile(file, []byte(foreign), 0o600); err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{link: file, folder: filepath.Join(dir, "real")} {
		if err := os.Symlink(to, from); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range []struct{ ours, kubectls string }{
		{file, file}, {link, link}, {link, file}, {filepath.Join(folder, "config"), file},
	} {
		err := changeKubeconfig(r.ours, func(c *clientcmdapi.Config) bool {
			options := clientcmd.NewDefaultPathOptions()
			options.LoadingRules.ExplicitPath = r.kubectls
			if err := clientcmd.ModifyConfig(options, *c, false); !os.IsExist(err) {
				t.Errorf("%s is locked, and yet kubectl changes %s: %v", r.ours, r.kubectls, err)
			}
			return false
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
