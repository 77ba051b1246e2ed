// Package kubeadmconfig is the controller of KubeadmConfigs: it turns each into the bootstrap data of one machine, sees to
// it that exactly one machine starts a control plane, and keeps the token by which a machine joins alive while it is
// needed.
package kubeadmconfig

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	corev1 "k8s.io/api/core/v1"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/contract"
	"slipway.dev/slipway/internal/outcome"
	"slipway.dev/slipway/internal/remote"
)

// fieldManager writes KubeadmConfigs' status and the Secrets.
const fieldManager = "slipway-kubeadmconfig"

const (
	// firstReport is how old a KubeadmConfig is when it first says that it waits: most waits are over before.
	firstReport = 5 * time.Second
	// reportInterval spaces out further reports of waits.
	reportInterval = 10 * time.Second
)

// Reconciler makes bootstrap data.
type Reconciler struct {
	// Client reads from the manager's cache; ConfigMaps it reads from the API server.
	Client client.Client
	// APIReader reads from the API server.
	APIReader client.Reader
	// Clusters is the way into workload clusters, where the bootstrap tokens are.
	Clusters *remote.Clusters
	// Recorder writes Events; nil takes the manager's.
	Recorder recorder.EventRecorder
	// Now is the clock.
	Now func() time.Time
	// TokenTTL is how long a bootstrap token lives unless prolonged; zero means 15 min.
	TokenTTL time.Duration

	resolver *contract.Resolver
	own      *apply.Applier
	pace     *apply.Pace
	// spent are the KubeadmConfigs whose token is known to be gone, unlocked the Clusters whose lock is.
	spent, unlocked *known
}

// SetupWithManager adds the controller to a manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, opts controller.Options) error {
	if r.Recorder == nil {
		r.Recorder = mgr.GetEventRecorder(fieldManager)
	}
	r.resolver = contract.NewResolver(r.Client).Asking(r.APIReader)
	r.own, r.pace = apply.New(r.Client, fieldManager), apply.NewPace(reportInterval)
	r.spent, r.unlocked = newKnown(), newKnown()
	punctual := &outcome.Punctual{Reconciler: r}
	return ctrl.NewControllerManagedBy(mgr).Named("kubeadmconfig").WithOptions(opts).
		For(&bootstrapv1.KubeadmConfig{}).
		Watches(&clusterv1.Machine{}, handler.EnqueueRequestsFromMapFunc(r.ofMachine), builder.WithPredicates(machineChanges())).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(r.ofCluster), builder.WithPredicates(clusterChanges())).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.ofSecret), builder.WithPredicates(secretChanges())).
		WatchesRawSource(r.Clusters.Source(r.ofConnection)).
		WatchesRawSource(punctual.Source()).
		Complete(punctual)
}

// +kubebuilder:rbac:groups=bootstrap.cluster.x-k8s.io,resources=kubeadmconfigs,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=bootstrap.cluster.x-k8s.io,resources=kubeadmconfigs/status;kubeadmconfigs/finalizers,verbs=patch;update
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters;machines;machinesets;machinepools,verbs=get;list;watch
// +kubebuilder:rbac:groups=controlplane.cluster.x-k8s.io;infrastructure.cluster.x-k8s.io,resources=*,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;create;patch;update;delete
// +kubebuilder:rbac:groups="";events.k8s.io,resources=events,verbs=create;patch

// Reconcile looks at one KubeadmConfig.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	s, err := r.observe(ctx, req.NamespacedName)
	if err != nil || s == nil {
		return ctrl.Result{}, err
	}
	if !s.paused {
		err = r.act(ctx, s)
	}
	return outcome.Result(err, r.report(ctx, s, err))
}

// maxKnown bounds what is remembered; forgetting it costs one request each.
const maxKnown = 1 << 16

// known is a set of objects about which something is known for good.
type known struct {
	mu  sync.Mutex // guards all
	all map[types.UID]struct{}
}

func newKnown() *known { return &known{all: map[types.UID]struct{}{}} }

func (k *known) has(uid types.UID) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, ok := k.all[uid]
	return ok
}

func (k *known) add(uid types.UID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.all) >= maxKnown {
		clear(k.all)
	}
	k.all[uid] = struct{}{}
}
