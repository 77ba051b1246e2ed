package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
	if list := a.env.Getenv("KUBECONFIG"); list != "" {
		rules.Precedence = filepath.SplitList(list)
	}
	if a.flags.kubeconfig != "" {
		rules.ExplicitPath = a.flags.kubeconfig
	}
	return rules
}

// kubeconfigPath is the file that is written: the first of KUBECONFIG that exists, else the last of it, as kubectl does.
func (a *app) kubeconfigPath() string {
	rules := a.loadingRules()
	if rules.ExplicitPath != "" {
		return rules.ExplicitPath
	}
	for _, path := range rules.Precedence {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return rules.Precedence[len(rules.Precedence)-1]
}

// changeKubeconfig changes the user's kubeconfig under its lock and replaces it in one step. Entries that change does not
// touch stay, and nothing is written when nothing changes.
func changeKubeconfig(path string, change func(*clientcmdapi.Config) bool) error {
	// A kubeconfig may be a link into another directory: the file it points to is what is replaced.
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return kubeconfigFault(err, path)
	}
	unlock, err := lockKubeconfig(path)
	if err != nil {
		return err
	}
	defer unlock()
	config, err := clientcmd.LoadFromFile(path)
	switch {
	case os.IsNotExist(err):
		config = clientcmdapi.NewConfig()
	case err != nil:
		return kubeconfigFault(err, path)
	}
	if !change(config) {
		return nil
	}
	content, err := clientcmd.Write(*config)
	if err != nil {
		return kubeconfigFault(err, path)
	}
	if err := statedir.WriteFile(path, content); err != nil {
		return kubeconfigFault(err, path)
	}
	return nil
}

// lockWait is how long another writer of the kubeconfig may take.
const lockWait = 5 * time.Second

// lockKubeconfig takes the lock that kubectl takes too: the existence of a file.
func lockKubeconfig(path string) (func(), error) {
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

// mergeContext writes the current context of a kubeconfig into the user's, as the owner's. It becomes the current context when
// there is none, or on request. Entries of others stay as they are.
func (a *app) mergeContext(from *clientcmdapi.Config, owner entryOwner, choose bool) (merged, error) {
	context := from.Contexts[from.CurrentContext]
	if context == nil || from.Clusters[context.Cluster] == nil || from.AuthInfos[context.AuthInfo] == nil {
		return merged{}, fmt.Errorf("merge kubeconfig: its context %q is incomplete", from.CurrentContext)
	}
	result := merged{path: a.kubeconfigPath()}
	err := changeKubeconfig(result.path, func(c *clientcmdapi.Config) bool {
		cluster, user := from.Clusters[context.Cluster].DeepCopy(), from.AuthInfos[context.AuthInfo].DeepCopy()
		name := owner.place(c, cluster)
		cluster.Extensions = map[string]runtime.Object{ownerExtension: owner.extension()}
		c.Clusters[name], c.AuthInfos[name] = cluster, user
		merged := clientcmdapi.NewContext()
		merged.Cluster, merged.AuthInfo = name, name
		if old := c.Contexts[name]; old != nil {
			merged.Namespace = old.Namespace
		}
		c.Contexts[name] = merged
		if choose || c.CurrentContext == "" || c.Contexts[c.CurrentContext] == nil {
			c.CurrentContext = name
		}
		result.name, result.selected = name, c.CurrentContext == name
		return true
	})
	return result, err
}

// removeContext takes out what mergeContext wrote for an owner and returns the context's name, "" when there is none. An entry
// of that name which is not the owner's stays.
func (a *app) removeContext(owner entryOwner) (string, error) {
	path := a.kubeconfigPath()
	if _, err := os.Stat(path); err != nil {
		return "", nil //nolint:nilerr // without a kubeconfig there is nothing to take out
	}
	removed := ""
	err := changeKubeconfig(path, func(c *clientcmdapi.Config) bool {
		name := owner.find(c, nil)
		if name == "" {
			return false
		}
		delete(c.Contexts, name)
		delete(c.Clusters, name)
		delete(c.AuthInfos, name)
		if c.CurrentContext == name {
			c.CurrentContext = ""
		}
		removed = name
		return true
	})
	return removed, err
}
