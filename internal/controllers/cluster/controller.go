// Package cluster is the controller of Clusters: it ties a Cluster's infrastructure and control plane together, reports how
// the whole fares, and takes it down in order.
package cluster

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/contract"
	"slipway.dev/slipway/internal/outcome"
	"slipway.dev/slipway/internal/remote"
)

// fieldManager writes Clusters, the metadata of what they refer to, and their kubeconfigs.
const fieldManager = "slipway-cluster"

const (
	// defaultConnectionGrace is how long a cluster may be silent before its condition RemoteConnectionProbe says so.
	defaultConnectionGrace = 50 * time.Second
	// defaultSettle is how long a change of the status that nobody waits for gathers others.
	defaultSettle = time.Second
	// statusInterval spaces out changes of counts and messages.
	statusInterval = 5 * time.Second
)

// Reconciler makes Clusters so.
type Reconciler struct {
	// Client reads from the manager's cache.
	Client client.Client
	// APIReader reads from the API server. It is asked before a Cluster is given up.
	APIReader client.Reader
	// Clusters is the way into workload clusters.
	Clusters *remote.Clusters
	// Recorder writes Events; nil takes the manager's.
	Recorder recorder.EventRecorder
	// Now is the clock.
	Now func() time.Time
	// ConnectionGrace is how long a cluster may be silent before that shows; zero means 50 s.
	ConnectionGrace time.Duration
	// Settle is how long a change of the status that nobody waits for gathers others; zero means 1 s.
	Settle time.Duration

	externals *contract.Watches
	applier   *apply.Applier
	settle    *apply.Settle[types.UID]
	pace      *apply.Pace
}

// SetupWithManager adds the controller to a manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, opts controller.Options) error {
	if r.Recorder == nil {
		r.Recorder = mgr.GetEventRecorder(fieldManager)
	}
	if r.ConnectionGrace == 0 {
		r.ConnectionGrace = defaultConnectionGrace
	}
	if r.Settle == 0 {
		r.Settle = defaultSettle
	}
	r.applier = apply.New(r.Client, fieldManager)
	r.settle, r.pace = apply.NewSettle[types.UID](r.Settle), apply.NewPace(statusInterval)
	if err := addIndexes(mgr); err != nil {
		return err
	}
	toCluster := handler.EnqueueRequestsFromMapFunc(clustersOf)
	punctual := &outcome.Punctual{Reconciler: r}
	c, err := ctrl.NewControllerManagedBy(mgr).Named("cluster").WithOptions(opts).
		For(&clusterv1.Cluster{}).
		Watches(&clusterv1.Machine{}, toCluster, builder.WithPredicates(machineChanges())).
		Watches(&clusterv1.MachineSet{}, toCluster, builder.WithPredicates(setChanges())).
		Watches(&clusterv1.MachineDeployment{}, toCluster).
		Watches(&clusterv1.MachinePool{}, toCluster).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.ofSecret), builder.WithPredicates(comesOrGoes())).
		WatchesRawSource(r.Clusters.Source(ofConnection, r.ConnectionGrace)).
		WatchesRawSource(punctual.Source()).
		Build(punctual)
	if err != nil {
		return err
	}
	r.externals = contract.NewWatches(contract.NewResolver(r.Client).Asking(r.APIReader), c, mgr.GetCache(), handler.EnqueueRequestsFromMapFunc(r.ofExternal))
	return nil
}

// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters/status;clusters/finalizers,verbs=patch;update
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machines;machinesets;machinedeployments;machinepools,verbs=get;list;watch;delete
// +kubebuilder:rbac:groups=bootstrap.cluster.x-k8s.io;controlplane.cluster.x-k8s.io;infrastructure.cluster.x-k8s.io,resources=*,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups="";events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,verbs=get;list;watch

// Reconcile looks at one Cluster.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	w, err := r.observe(ctx, req.NamespacedName)
	if err != nil || w == nil {
		return ctrl.Result{}, err
	}
	if !w.paused {
		err = r.act(ctx, w)
	}
	return outcome.Result(err, r.report(ctx, w, err))
}
