package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	infrav1 "slipway.dev/slipway/api/infrastructure/v1alpha1"
	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
	"slipway.dev/slipway/internal/fault"
)

// planeContext is the context of the plane in the default state directory.
const planeContext = "slipway"

// fieldManager owns the fields that the command line writes.
const fieldManager = "slipway-cli"

// requestTimeout bounds the requests of one look at the status, and the request for a table.
const requestTimeout = 30 * time.Second

// contextName is the context in use: --context, else $SLIPWAY_CONTEXT, else that of the plane in the default state directory,
// else "slipway" when there is one, else the current.
func (a *app) contextName(config *clientcmdapi.Config) string {
	if a.flags.context != "" {
		return a.flags.context
	}
	if own := a.planeOwner(a.defaultStateDir()).find(config, nil); own != "" {
		return own
	}
	if config.Contexts[planeContext] != nil {
		return planeContext
	}
	return config.CurrentContext
}

// clientConfig finds the management cluster.
func (a *app) clientConfig() (clientcmd.ClientConfig, string, error) {
	rules := a.loadingRules()
	raw, err := rules.Load()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", fault.New(err, "cannot reach a management cluster", "the kubeconfig does not exist", a.kubeconfigPath(), "name another with --kubeconfig, or start a plane: "+a.try("up --detach"))
	}
	if err != nil {
		return nil, "", fault.New(err, "cannot read the kubeconfig", err.Error(), a.kubeconfigPath(), "mend the file, or name another with --kubeconfig")
	}
	name := a.contextName(raw)
	if name == "" {
		return nil, "", fault.New(nil, "cannot reach a management cluster", "the kubeconfig names none yet", a.kubeconfigPath(), a.try("up --detach"))
	}
	if raw.Contexts[name] == nil {
		return nil, "", fault.New(nil, "cannot reach the management cluster", fmt.Sprintf("there is no context %q", name), a.kubeconfigPath(), "--context with one of: "+strings.Join(sortedKeys(raw.Contexts), ", "))
	}
	return clientcmd.NewNonInteractiveClientConfig(*raw, name, &clientcmd.ConfigOverrides{}, rules), name, nil
}

// restConfig is how to reach the management cluster.
func (a *app) restConfig() (*rest.Config, error) {
	loaded, name, err := a.clientConfig()
	if err != nil {
		return nil, err
	}
	config, err := loaded.ClientConfig()
	if err != nil {
		return nil, fault.New(err, "cannot reach the management cluster", err.Error(), a.kubeconfigPath()+", context "+name, a.planeRemedy("mend that context, or choose another with --context"))
	}
	// A command asks a handful of questions; client-go's limit for controllers would only slow it down.
	config.QPS = -1
	config.UserAgent = "slipway/" + Version
	config.WarningHandler = rest.NewWarningWriter(a.talk, rest.WarningWriterOptions{Deduplicate: true, Color: a.talk.Color})
	if a.flags.quiet {
		config.WarningHandler = rest.NoWarnings{}
	}
	return config, nil
}

// namespace is the one in question: -n, else the context's, else default. With -A it is all of them: "".
func (a *app) namespace() string {
	if a.flags.allNamespaces {
		return ""
	}
	return a.oneNamespace()
}

// oneNamespace is the namespace for commands that work in exactly one.
func (a *app) oneNamespace() string {
	if a.flags.namespace != "" {
		return a.flags.namespace
	}
	loaded, _, err := a.clientConfig()
	if err != nil {
		return defaultNamespace
	}
	namespace, _, err := loaded.Namespace()
	if err != nil || namespace == "" {
		return defaultNamespace
	}
	return namespace
}

const defaultNamespace = "default"

// where names the management cluster for errors.
func (a *app) where() string {
	_, name, err := a.clientConfig()
	if err != nil {
		return a.kubeconfigPath()
	}
	return "context " + name
}

// newScheme knows every kind that the commands read by type.
func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, clusterv1.AddToScheme, bootstrapv1.AddToScheme, controlplanev1.AddToScheme, infrav1.AddToScheme,
	} {
		utilruntime.Must(add(scheme))
	}
	return scheme
}

// client opens the management cluster.
func (a *app) client() (client.WithWatch, error) {
	config, err := a.restConfig()
	if err != nil {
		return nil, err
	}
	// Without a logger the client's library prints a stack half a minute after the program began.
	log.SetLogger(logr.Discard())
	return client.NewWithWatch(config, client.Options{Scheme: newScheme()})
}
