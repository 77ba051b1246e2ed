package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"slipway.dev/slipway/internal/fault"
	"slipway.dev/slipway/internal/statedir"
)

// loadingRules are where the user's kubeconfig is read from: --kubeconfig, else KUBECONFIG, else ~/.kube/config.
func (a *app) loadingRules() *clientcmd.ClientConfigLoadingRules {
	rules := &clientcmd.ClientConfigLoadingRules{Precedence: []string{filepath.Join(a.home(), ".kube", "config")}}
	if list := a.env.Getenv("KUBECONFIG"); strings.Trim(list, string(filepath.ListSeparator)) != "" {
		rules.Precedence = slices.DeleteFunc(filepath.SplitList(list), func(path string) bool { return path == "" })
	}
	if a.flags.kubeconfig != "" {
		rules.ExplicitPath = a.flags.kubeconfig
	}
	return rules
}

// kubeconfigFiles are the files that the kubeconfig is made of. The first that says something wins.
func (a *app) kubeconfigFiles() []string {
	rules := a.loadingRules()
	if rules.ExplicitPath != "" {
		return []string{rules.ExplicitPath}
	}
	return rules.Precedence
}

// kubeconfigPath is the file to which what is new is written: the first of KUBECONFIG that exists, else the last of it, as
// kubectl does.
func (a *app) kubeconfigPath() string {
	files := a.kubeconfigFiles()
	for _, path := range files {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return files[len(files)-1]
}

// fileWhere is the first of the kubeconfig's files of which something holds, else the one to which what is new is written.
func (a *app) fileWhere(holds func(*clientcmdapi.Config) bool) string {
	for _, path := range a.kubeconfigFiles() {
		if c, err := clientcmd.LoadFromFile(path); err == nil && holds(c) {
			return path
		}
	}
	return a.kubeconfigPath()
}

// fileOf is the file that has the owner's context, or is to have it.
func (a *app) fileOf(owner entryOwner, now *clientcmdapi.Cluster) string {
	return a.fileWhere(func(c *clientcmdapi.Config) bool { return owner.find(c, now) != "" })
}

// wholeKubeconfig is what all files say together; nothing when there is none.
func (a *app) wholeKubeconfig() (*clientcmdapi.Config, error) {
	c, err := a.loadingRules().Load()
	if errors.Is(err, fs.ErrNotExist) {
		return clientcmdapi.NewConfig(), nil
	}
	if err != nil {
		return nil, kubeconfigFault(err, strings.Join(a.kubeconfigFiles(), string(filepath.ListSeparator)))
	}
	return c, nil
}

// changeKubeconfig changes one of the user's kubeconfig files under its lock and replaces it in one step. Entries that change
// does not touch stay, and nothing is written when nothing changes.
func changeKubeconfig(path string, change func(*clientcmdapi.Config) bool) error {
	// A kubeconfig may be a link into another directory: the file it points to is what is replaced.
	target := path
	if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSymlink != 0 {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			target = real
		}
	}
	// kubectl takes the lock of the name that it was given, which may be the link's or the file's.
	for _, name := range slices.Compact([]string{path, target}) {
		unlock, err := lockKubeconfig(name)
		if err != nil {
			return err
		}
		defer unlock()
	}
	config, err := clientcmd.LoadFromFile(target)
	switch {
	case os.IsNotExist(err):
		config = clientcmdapi.NewConfig()
	case err != nil:
		return kubeconfigFault(err, target)
	}
	if !change(config) {
		return nil
	}
	content, err := clientcmd.Write(*config)
	if err != nil {
		return kubeconfigFault(err, target)
	}
	if err := statedir.WriteFile(target, content); err != nil {
		return kubeconfigFault(err, target)
	}
	return nil
}

// lockWait is how long another writer of the kubeconfig may take.
const lockWait = 5 * time.Second

// lockKubeconfig takes the lock that kubectl takes too: the existence of a file.
func lockKubeconfig(path string) (func(), error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, kubeconfigFault(err, path)
	}
	name := path + ".lock"
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(lockWait)
	for {
		f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err == nil {
			_ = f.Close()
			return func() { _ = os.Remove(name) }, nil
		}
		if !errors.Is(err, os.ErrExist) {
			return nil, kubeconfigFault(err, path)
		}
		select {
		case <-tick.C:
		case <-deadline:
			return nil, fault.New(err, "cannot change the kubeconfig", "another program holds its lock, or left it behind", name, "remove the lock file when no kubectl config command runs")
		}
	}
}

func kubeconfigFault(err error, path string) error {
	return fault.New(err, "cannot change the kubeconfig", err.Error(), path, "mend the file, or name another with --kubeconfig")
}

// merged says what a merge did.
type merged struct {
	path string
	// name is the context's, which is not the wanted one where that is another's.
	name string
	// selected says that the context is the current one now.
	selected bool
}

// choice is when a context that is merged becomes the current one.
type choice int

const (
	// chosenIfNone makes it the current one when there is none.
	chosenIfNone choice = iota
	// chosen makes it the current one in any case, neverChosen in none.
	chosen
	neverChosen
)

// choose is the choice of a flag --switch.
func choose(always bool) choice {
	if always {
		return chosen
	}
	return chosenIfNone
}

// mergeContext writes the current context of a kubeconfig into the user's, as the owner's: into the file that has it, else
// into the one for what is new. Entries of others stay as they are, and what another file says counts as well.
func (a *app) mergeContext(from *clientcmdapi.Config, owner entryOwner, choose choice) (merged, error) {
	context := from.Contexts[from.CurrentContext]
	if context == nil || from.Clusters[context.Cluster] == nil || from.AuthInfos[context.AuthInfo] == nil {
		return merged{}, fmt.Errorf("merge kubeconfig: its context %q is incomplete", from.CurrentContext)
	}
	cluster, user := from.Clusters[context.Cluster].DeepCopy(), from.AuthInfos[context.AuthInfo].DeepCopy()
	whole, err := a.wholeKubeconfig()
	if err != nil {
		return merged{}, err
	}
	result := merged{path: a.fileOf(owner, cluster)}
	err = changeKubeconfig(result.path, func(c *clientcmdapi.Config) bool {
		if result.name = owner.find(c, cluster); result.name == "" {
			result.name = owner.place(both(c, whole), cluster)
		}
		addEntry(c, result.name, owner, cluster, user)
		return true
	})
	if err != nil {
		return result, err
	}
	return result, a.selectContext(&result, choose)
}

// both are the names that a file and the whole kubeconfig have: the file may have been changed since the whole was read.
func both(file, whole *clientcmdapi.Config) *clientcmdapi.Config {
	c := whole.DeepCopy()
	maps.Copy(c.Contexts, file.Contexts)
	maps.Copy(c.Clusters, file.Clusters)
	maps.Copy(c.AuthInfos, file.AuthInfos)
	return c
}

func addEntry(c *clientcmdapi.Config, name string, owner entryOwner, cluster *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) {
	cluster.Extensions = map[string]runtime.Object{ownerExtension: owner.extension()}
	c.Clusters[name], c.AuthInfos[name] = cluster, user
	context := clientcmdapi.NewContext()
	context.Cluster, context.AuthInfo = name, name
	if old := c.Contexts[name]; old != nil {
		context.Namespace = old.Namespace
	}
	c.Contexts[name] = context
}

// selectContext makes a merged context the current one, as chosen, in the file that decides, and notes whether it is.
func (a *app) selectContext(m *merged, choose choice) error {
	whole, err := a.wholeKubeconfig()
	if err != nil {
		return err
	}
	m.selected = whole.CurrentContext == m.name
	none := whole.Contexts[whole.CurrentContext] == nil
	if m.selected || choose == neverChosen || choose == chosenIfNone && !none {
		return nil
	}
	path := a.fileWhere(func(c *clientcmdapi.Config) bool { return c.CurrentContext != "" })
	m.selected = true
	return changeKubeconfig(path, func(c *clientcmdapi.Config) bool {
		c.CurrentContext = m.name
		return true
	})
}

// removeContext takes out what mergeContext wrote for an owner and returns the context's name, "" when there is none. An entry
// of that name which is not the owner's stays.
func (a *app) removeContext(owner entryOwner) (string, error) {
	removed := ""
	// A file that does not have it is left alone, and so is its lock.
	drop := func(drops func(*clientcmdapi.Config) bool) error {
		path := a.fileWhere(drops)
		if _, err := os.Stat(path); err != nil {
			return nil //nolint:nilerr // without a kubeconfig there is nothing to take out
		}
		if c, err := clientcmd.LoadFromFile(path); err != nil || !drops(c) {
			return err
		}
		return changeKubeconfig(path, drops)
	}
	err := drop(func(c *clientcmdapi.Config) bool {
		name := owner.find(c, nil)
		if name == "" {
			return false
		}
		removed = name
		delete(c.Contexts, name)
		delete(c.Clusters, name)
		delete(c.AuthInfos, name)
		return true
	})
	if err != nil || removed == "" {
		return "", err
	}
	whole, err := a.wholeKubeconfig()
	if err != nil || whole.CurrentContext != removed || whole.Contexts[removed] != nil {
		return removed, err
	}
	return removed, drop(func(c *clientcmdapi.Config) bool {
		current := c.CurrentContext == removed
		if current {
			c.CurrentContext = ""
		}
		return current
	})
}
