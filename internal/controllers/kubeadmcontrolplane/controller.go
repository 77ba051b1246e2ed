// Package kubeadmcontrolplane is the controller of KubeadmControlPlanes: it makes the control plane of a cluster out of
// Machines, one at a time, and never against etcd's quorum.
package kubeadmcontrolplane

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/contract"
	"slipway.dev/slipway/internal/events"
	"slipway.dev/slipway/internal/freshness"
	"slipway.dev/slipway/internal/outcome"
	"slipway.dev/slipway/internal/provision"
	"slipway.dev/slipway/internal/remote"
)

const (
	// fieldManager writes KubeadmControlPlanes, and the Secrets of their clusters.
	fieldManager = "slipway-kubeadmcontrolplane"
	// machineManager writes Machines and their conditions, and creates their bootstrap and infrastructure objects.
	machineManager = "capi-kubeadmcontrolplane"
	// metadataManager writes labels and annotations of bootstrap and infrastructure objects.
	metadataManager = "capi-kubeadmcontrolplane-metadata"
)

const (
	// statusInterval spaces out status writes that can wait.
	statusInterval = time.Second
	// calmInterval spaces out writes that change nothing but what is told of something under way.
	calmInterval = 5 * time.Second
	// unreadInterval is between two attempts to read and record when a Machine's certificate ends.
	unreadInterval = time.Minute
	// connectionGrace is how long a cluster may not answer before what was known of its Machines counts as unknown.
	connectionGrace = 5 * time.Minute
)

// Reconciler makes KubeadmControlPlanes so.
type Reconciler struct {
	// Client reads from the manager's cache.
	Client client.Client
	// APIReader reads from the API server.
	APIReader client.Reader
	// Clusters is the door into workload clusters.
	Clusters *remote.Clusters
	// Recorder writes Events; nil takes the manager's.
	Recorder recorder.EventRecorder
	// Now is the clock.
	Now func() time.Time
	// Random returns a random number from 0 up to, not including, n; it makes names.
	Random func(n int) int

	resolver  *contract.Resolver
	templates *contract.Watches
	machines  *apply.Applier
	own       *apply.Applier
	keeper    *provision.Keeper
	maker     *provision.Maker
	tracker   *freshness.Tracker
	pace      *apply.Pace
	calm      *apply.Pace
	// unread spaces out attempts to read and record when the certificates of Machines end.
	unread   *apply.Pace
	members  *memberLog
	patience *patience
	swept    *provision.Sweeps
	told     events.Told
}

// SetupWithManager adds the controller to a manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, opts controller.Options) error {
	if r.Recorder == nil {
		r.Recorder = mgr.GetEventRecorder(fieldManager)
	}
	r.resolver = contract.NewResolver(r.Client).Asking(r.APIReader)
	r.machines, r.own = apply.New(r.Client, machineManager), apply.New(r.Client, fieldManager)
	r.keeper = provision.NewKeeper(r.Client, r.APIReader, apply.New(r.Client, metadataManager), machineManager)
	r.maker = provision.NewMaker(r.Client, r.machines)
	r.tracker = freshness.New(r.Now)
	r.pace, r.calm = apply.NewPace(statusInterval), apply.NewPace(calmInterval)
	r.unread = apply.NewPace(unreadInterval)
	r.members, r.patience = newMemberLog(), newPatience()
	r.swept = provision.NewSweeps()
	if err := addIndexes(mgr); err != nil {
		return err
	}
	punctual := &outcome.Punctual{Reconciler: r}
	c, err := ctrl.NewControllerManagedBy(mgr).Named("kubeadmcontrolplane").WithOptions(opts).
		For(&controlplanev1.KubeadmControlPlane{}, builder.WithPredicates(ownChanges())).
		Watches(&clusterv1.Machine{}, handler.EnqueueRequestsFromMapFunc(r.ofMachine), builder.WithPredicates(machineChanges())).
		Watches(&clusterv1.MachinePool{}, handler.EnqueueRequestsFromMapFunc(r.ofWorker), builder.WithPredicates(goes())).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(ofCluster), builder.WithPredicates(clusterChanges())).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.ofSecret), builder.WithPredicates(secretChanges())).
		WatchesRawSource(r.Clusters.Source(r.ofConnection, connectionGrace)).
		WatchesRawSource(r.Clusters.NodeSource(r.ofNode)).
		WatchesRawSource(punctual.Source()).
		Build(punctual)
	if err != nil {
		return err
	}
	r.templates = contract.NewWatches(r.resolver, c, mgr.GetCache(), handler.EnqueueRequestsFromMapFunc(r.ofTemplate), templateChanges())
	return nil
}

// +kubebuilder:rbac:groups=controlplane.cluster.x-k8s.io,resources=kubeadmcontrolplanes,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=controlplane.cluster.x-k8s.io,resources=kubeadmcontrolplanes/status;kubeadmcontrolplanes/finalizers,verbs=patch;update
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machines,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machines/status,verbs=patch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters;machinepools,verbs=get;list;watch
// +kubebuilder:rbac:groups=bootstrap.cluster.x-k8s.io;infrastructure.cluster.x-k8s.io,resources=*,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="";events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,verbs=get;list;watch

// Reconcile looks at one KubeadmControlPlane.
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

// forget drops what is remembered of an object that is gone.
func (r *Reconciler) forget(kcp *controlplanev1.KubeadmControlPlane) {
	r.tracker.Forget(kcp.UID)
	r.pace.Forget(kcp.UID)
	r.calm.Forget(kcp.UID)
	r.members.forget(kcp.UID)
	r.patience.forget(kcp.UID)
	r.told.Forget(kcp.UID)
	r.swept.Dirty(kcp.UID)
}
