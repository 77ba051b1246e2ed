package manager

import (
	"context"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	infrav1 "slipway.dev/slipway/api/infrastructure/v1alpha1"
	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
)

// Options say what a manager runs and where it is reached.
type Options struct {
	// WebhookHost and WebhookPort are where the webhooks listen.
	WebhookHost string
	WebhookPort int
	// CertDir holds tls.crt and tls.key of the webhooks; CABundle is the PEM of the CA that signed them.
	CertDir  string
	CABundle []byte
	// StateDir is where the sim provider keeps its clusters.
	StateDir string
	// WithoutControllers installs kinds and webhooks only, for developing controllers outside.
	WithoutControllers bool
	// WriteTrace is a unix socket on which each write is told, for tests; empty tells nobody.
	WriteTrace string
	// Report is called with each step: its name, a detail, and when it began. Nil reports nothing.
	Report func(name, detail string, since time.Time)
}

func (o Options) report(name, detail string, since time.Time) {
	if o.Report != nil {
		o.Report(name, detail, since)
	}
}

// Scheme knows every kind that the manager reads or writes.
func Scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(apiextensionsv1.AddToScheme(s))
	utilruntime.Must(clusterv1.AddToScheme(s))
	utilruntime.Must(bootstrapv1.AddToScheme(s))
	utilruntime.Must(controlplanev1.AddToScheme(s))
	utilruntime.Must(infrav1.AddToScheme(s))
	return s
}

// Start installs the kinds, starts webhooks and controllers, and returns when the webhooks answer and the caches are
// filled. The channel delivers the manager's end, which comes when ctx ends.
func Start(ctx context.Context, cfg *rest.Config, opts Options) (<-chan error, error) {
	begin := time.Now()
	cfg = withWriteCounts(rest.CopyConfig(cfg))
	cfg.QPS, cfg.Burst = -1, 0 // The API server is ours; its own limits hold.
	// Warnings are for whoever writes an object by hand, as that a finalizer of the Cluster API's names no path.
	cfg.WarningHandlerWithContext = rest.NoWarnings{}
	if opts.WriteTrace != "" {
		if err := withWriteTrace(ctx, cfg, opts.WriteTrace); err != nil {
			return nil, err
		}
	}
	scheme := Scheme()
	direct, err := client.NewWithWatch(cfg, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	served, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("make a discovery client: %w", err)
	}
	kinds, err := InstallKinds(ctx, direct, served)
	if err != nil {
		return nil, err
	}
	opts.report("kinds", fmt.Sprintf("%d installed", kinds), begin)

	begin = time.Now()
	mgr, err := newManager(cfg, scheme, opts)
	if err != nil {
		return nil, err
	}
	count := 0
	if !opts.WithoutControllers {
		if count, err = addControllers(ctx, mgr, opts); err != nil {
			return nil, err
		}
	}
	addWebhooks(mgr)
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	if err := ready(ctx, mgr, direct, opts, ended); err != nil {
		return nil, err
	}
	opts.report("controllers", fmt.Sprintf("%d running, webhooks answering", count), begin)
	return ended, nil
}

func newManager(cfg *rest.Config, scheme *runtime.Scheme, opts Options) (ctrl.Manager, error) {
	settings, err := Settings(scheme)
	if err != nil {
		return nil, err
	}
	settings.WebhookServer = newWebhookServer(opts)
	settings.GracefulShutdownTimeout = new(10 * time.Second)
	mgr, err := ctrl.NewManager(cfg, settings)
	if err != nil {
		return nil, fmt.Errorf("make the manager: %w", err)
	}
	return mgr, nil
}

// Settings are what every manager of Slipway's controllers has in common: what is cached and how. Tests narrow them to a
// namespace.
func Settings(scheme *runtime.Scheme) (ctrl.Options, error) {
	labelled, err := labels.NewRequirement(clusterv1.ClusterNameLabel, selection.Exists, nil)
	if err != nil {
		return ctrl.Options{}, err
	}
	return ctrl.Options{
		Scheme:                 scheme,
		Metrics:                server.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0",
		Controller:             controllerDefaults(),
		NewCache:               newClusterCache,
		Cache: cache.Options{
			DefaultTransform: cache.TransformStripManagedFields(),
			ByObject: map[client.Object]cache.ByObject{
				// Secrets of clusters carry the cluster's label; others are none of our business.
				&corev1.Secret{}: {Label: labels.NewSelector().Add(*labelled)},
			},
		},
		Client: client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.ConfigMap{}}, Unstructured: true}},
	}, nil
}

// ready returns when the webhooks listen, the configurations that send objects to them are in place, and the caches are
// filled with our own kinds. A provider's kind may never be listed, which keeps its objects back, but not the plane.
func ready(ctx context.Context, mgr ctrl.Manager, direct client.Client, opts Options, ended <-chan error) error {
	started := mgr.GetWebhookServer().StartedChecker()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for started((&http.Request{}).WithContext(ctx)) != nil {
		select {
		case err := <-ended:
			return fmt.Errorf("run the controllers: %w", err)
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
	if err := installWebhooks(ctx, direct, opts); err != nil {
		return err
	}
	if opts.WithoutControllers {
		return nil
	}
	return fill(ctx, mgr.GetCache())
}

// fill returns when a cache holds all objects of our own kinds.
func fill(ctx context.Context, c cache.Cache) error {
	var filled []toolscache.InformerSynced
	for _, kind := range watched() {
		// To wait for one that was not started is not to wait.
		informer, err := c.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("fill the cache with each %T: %w", kind, err)
		}
		filled = append(filled, informer.HasSynced)
	}
	if !toolscache.WaitForCacheSync(ctx.Done(), filled...) {
		return context.Cause(ctx)
	}
	return nil
}
