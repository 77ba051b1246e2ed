// Package machine is the controller of Machines: it takes over what a Machine is made of, finds its Node, reports how both
// fare, and takes everything down again.
package machine

import (
	"context"
	"time"

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

// fieldManager writes Machines, and the metadata of what they refer to. The status is applied; the three fields of the
// spec that belong to this controller are merge-patched one by one, since each is written once and must stay when
// another is written.
const fieldManager = "slipway-machine"

const (
	// defaultConditionsGrace is how long a cluster may be silent before what is known of its Nodes counts as unknown.
	defaultConditionsGrace = 5 * time.Minute
	// defaultSettle is how long a change of the status that nobody waits for gathers others.
	defaultSettle = 500 * time.Millisecond
	// workers is how many Machines are looked at together. Most of the time they wait for somebody to answer.
	workers = 32
	// remoteLanes is how many Machines of one cluster may be drained at once: a cluster that hangs must not take all
	// workers of this controller.
	remoteLanes = 3
)

// Reconciler makes Machines so.
type Reconciler struct {
	// Client reads from the manager's cache.
	Client client.Client
	// APIReader reads from the API server. It is asked before something is given up for good.
	APIReader client.Reader
	// Clusters is the way into workload clusters.
	Clusters *remote.Clusters
	// Recorder writes Events; nil takes the manager's.
	Recorder recorder.EventRecorder
	// Now is the clock.
	Now func() time.Time
	// ConditionsGrace is how long a cluster may be silent before its Nodes' conditions become Unknown; zero means 5 min.
	ConditionsGrace time.Duration
	// Settle is how long a change of the status that nobody waits for gathers others; zero means 500 ms.
	Settle time.Duration

	// began is when this process began to look.
	began     time.Time
	externals *contract.Watches
	applier   *apply.Applier
	settling  *apply.Settle[types.NamespacedName]
	written   *written
	lanes     *lanes
}

// SetupWithManager adds the controller to a manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, opts controller.Options) error {
	if r.ConditionsGrace == 0 {
		r.ConditionsGrace = defaultConditionsGrace
	}
	if r.Settle == 0 {
		r.Settle = defaultSettle
	}
	if r.Recorder == nil {
		r.Recorder = mgr.GetEventRecorder(fieldManager)
	}
	if opts.MaxConcurrentReconciles == 0 {
		opts.MaxConcurrentReconciles = workers
	}
	r.began, r.applier = r.Now(), apply.New(r.Client, fieldManager)
	r.settling, r.written, r.lanes = apply.NewSettle[types.NamespacedName](r.Settle), newWritten(), newLanes(remoteLanes)
	if err := addIndexes(mgr); err != nil {
		return err
	}
	punctual := &outcome.Punctual{Reconciler: r}
	c, err := ctrl.NewControllerManagedBy(mgr).Named("machine").WithOptions(opts).
		For(&clusterv1.Machine{}).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(r.ofCluster), builder.WithPredicates(clusterChanges())).
		Watches(&clusterv1.MachineSet{}, handler.EnqueueRequestsFromMapFunc(r.ofMachineSet), builder.WithPredicates(setChanges())).
		Watches(&clusterv1.MachineDeployment{}, handler.EnqueueRequestsFromMapFunc(r.ofDeployment), builder.WithPredicates(deploymentChanges())).
		WatchesRawSource(r.Clusters.Source(r.ofConnection, r.ConditionsGrace)).
		WatchesRawSource(r.Clusters.NodeSource(r.ofNode)).
		WatchesRawSource(punctual.Source()).
		Build(punctual)
	if err != nil {
		return err
	}
	r.externals = contract.NewWatches(contract.NewResolver(r.Client).Asking(r.APIReader), c, mgr.GetCache(), handler.EnqueueRequestsFromMapFunc(r.ofExternal))
	return nil
}

// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machines,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machines/status;machines/finalizers,verbs=patch;update
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters;machinesets;machinedrainrules,verbs=get;list;watch
// +kubebuilder:rbac:groups=bootstrap.cluster.x-k8s.io;controlplane.cluster.x-k8s.io;infrastructure.cluster.x-k8s.io,resources=*,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups="";events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,verbs=get;list;watch

// Reconcile looks at one Machine.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	w, err := r.observe(ctx, req.NamespacedName)
	if err != nil || w == nil {
		return outcome.Result(err)
	}
	if !w.paused {
		err = r.act(ctx, w)
	}
	return outcome.Result(err, r.report(ctx, w, err))
}
