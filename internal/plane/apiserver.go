package plane

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	apiextensionsapiserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/server/healthz"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/rest"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/kubernetes/pkg/controlplane/apiserver/options"
	generic "k8s.io/kubernetes/pkg/controlplane/apiserver/samples/generic/server"
	"k8s.io/kubernetes/pkg/serviceaccount"

	"slipway.dev/slipway/internal/statedir"
)

// apiServer is a running generic control plane.
type apiServer struct {
	loopback *rest.Config
	// done delivers why the API server ended, once, and is closed then: whoever waits later sees that it ended too.
	done <-chan error
}

// admissionPlugins are the plugins that act on the kinds this plane serves; everything about pods is off.
var admissionPlugins = sets.New(
	"NamespaceLifecycle", "MutatingAdmissionPolicy", "MutatingAdmissionWebhook", "ValidatingAdmissionPolicy", "ValidatingAdmissionWebhook", "ResourceQuota",
)

// startAPIServer assembles and starts the API server on ln. It serves users from the moment that gate opens, and creates what
// hold lets pass.
func startAPIServer(ctx context.Context, s *statedir.Dir, ln net.Listener, gate *gate, hold *hold, metrics http.Handler) (*apiServer, error) {
	opts, err := apiServerOptions(ctx, s, ln)
	if err != nil {
		return nil, err
	}
	config, err := generic.NewConfig(opts)
	if err != nil {
		return nil, fmt.Errorf("configure the API server: %w", err)
	}
	loopback := config.ControlPlane.Generic.LoopbackClientConfig
	front := &config.Aggregator.GenericConfig.Config
	front.BuildHandlerChainFunc = gate.wrap(front.BuildHandlerChainFunc, loopback.BearerToken)
	front.EnableMetrics = metrics == nil
	// With more servers than one, each new kind would wait five seconds until the others have heard of it.
	config.APIExtensions.ExtraConfig.MasterCount = 1
	front.ReadyzChecks = append(front.ReadyzChecks, healthz.NamedCheck("slipway", gate.check))

	kinds := config.APIExtensions.GenericConfig
	kinds.AdmissionControl = admission.NewChainHandler(hold, kinds.AdmissionControl)

	completed, err := config.Complete()
	if err != nil {
		return nil, fmt.Errorf("configure the API server: %w", err)
	}
	server, err := generic.CreateServerChain(completed)
	if err != nil {
		return nil, fmt.Errorf("assemble the API server: %w", err)
	}
	if metrics != nil {
		server.GenericAPIServer.Handler.NonGoRestfulMux.Handle("/metrics", metrics)
	}
	prepared, err := server.PrepareRun()
	if err != nil {
		return nil, fmt.Errorf("prepare the API server: %w", err)
	}
	api := serve(ctx, rest.CopyConfig(loopback), prepared.Run)
	return api, api.waitServing(ctx)
}

// serve runs an API server until ctx ends.
func serve(ctx context.Context, loopback *rest.Config, run func(context.Context) error) *apiServer {
	done := make(chan error, 1)
	go func() {
		done <- run(ctx)
		close(done)
	}()
	return &apiServer{loopback: loopback, done: done}
}

func apiServerOptions(ctx context.Context, s *statedir.Dir, ln net.Listener) (options.CompletedOptions, error) {
	opts := options.NewOptions()
	if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(map[string]bool{
		// One API server needs no identity lease, and an idle plane writes nothing.
		"APIServerIdentity": false, "UnknownVersionInteroperabilityProxy": false,
	}); err != nil {
		return options.CompletedOptions{}, err
	}
	opts.Etcd.StorageConfig.Transport.ServerList = []string{"unix:" + etcdSocket}
	opts.SecureServing.Listener = ln
	opts.SecureServing.BindPort = port(ln)
	opts.SecureServing.BindAddress = net.IPv4(127, 0, 0, 1)
	opts.SecureServing.ServerCert.CertKey.CertFile = s.Join("pki", "apiserver.crt")
	opts.SecureServing.ServerCert.CertKey.KeyFile = s.Join("pki", "apiserver.key")
	// Given, so that it starts on a machine without any network.
	opts.GenericServerRunOptions.AdvertiseAddress = net.IPv4(127, 0, 0, 1)
	opts.GenericServerRunOptions.ShutdownWatchTerminationGracePeriod = time.Second
	opts.Features.EnablePriorityAndFairness = false
	opts.GenericServerRunOptions.MaxRequestsInFlight = 2000
	opts.GenericServerRunOptions.MaxMutatingRequestsInFlight = 1000

	opts.Authentication.Anonymous.Allow = false
	opts.Authentication.ClientCert.ClientCA = s.Join("pki", "ca.crt")
	opts.Authentication.ServiceAccounts.Issuers = []string{"https://kubernetes.default.svc"}
	opts.Authentication.ServiceAccounts.KeyFiles = []string{s.Join("pki", "sa.key")}
	opts.Authentication.ServiceAccounts.OptionalTokenGetter = tokenGetter
	opts.ServiceAccountSigningKeyFile = s.Join("pki", "sa.key")
	opts.Authorization.Modes = []string{"RBAC"}

	all := sets.New(opts.Admission.GenericAdmission.RecommendedPluginOrder...)
	opts.Admission.GenericAdmission.DefaultOffPlugins = all.Difference(admissionPlugins)
	opts.APIEnablement.RuntimeConfig = cliflag.ConfigurationMap{"flowcontrol.apiserver.k8s.io/v1": "false", "certificates.k8s.io/v1": "false"}
	return opts.Complete(ctx, nil, nil)
}

// waitServing returns when the API server answers /livez.
func (a *apiServer) waitServing(ctx context.Context) error {
	client, err := rest.UnversionedRESTClientFor(unversioned(a.loopback))
	if err != nil {
		return err
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		var status int
		client.Get().AbsPath("/livez").Do(ctx).StatusCode(&status)
		if status == http.StatusOK {
			return nil
		}
		select {
		case err := <-a.done:
			return fmt.Errorf("run the API server: %w", err)
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

func unversioned(cfg *rest.Config) *rest.Config {
	c := rest.CopyConfig(cfg)
	c.NegotiatedSerializer = apiextensionsapiserver.Codecs.WithoutConversion()
	return c
}

// tokenGetter looks up what service account tokens are bound to, without pods and nodes, which this plane does not serve.
func tokenGetter(factory informers.SharedInformerFactory) serviceaccount.ServiceAccountTokenGetter {
	return boundObjects{secrets: factory.Core().V1().Secrets().Lister(), accounts: factory.Core().V1().ServiceAccounts().Lister()}
}
