// Package machineset is the controller of MachineSets: it keeps a number of like Machines.
package machineset

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/contract"
	"slipway.dev/slipway/internal/events"
	"slipway.dev/slipway/internal/freshness"
	"slipway.dev/slipway/internal/outcome"
	"slipway.dev/slipway/internal/provision"
	"slipway.dev/slipway/internal/replicas"
)

const (
	// fieldManager writes status and metadata of MachineSets.
	fieldManager = "slipway-machineset"
	// machineManager writes Machines, and creates their bootstrap and infrastructure objects.
	machineManager = "capi-machineset"
	// metadataManager writes labels and annotations of bootstrap and infrastructure objects.
	metadataManager = "capi-machineset-metadata"
)

// statusInterval spaces out status writes of what need not be told at once.
const statusInterval = time.Second

// Reconciler makes MachineSets so.
type Reconciler struct {
	// Client reads from the manager's cache.
	Client client.Client
	// APIReader reads from the API server.
	APIReader client.Reader
	// Recorder writes Events; nil takes the manager's.
	Recorder recorder.EventRecorder
	// Now is the clock.
	Now func() time.Time
	// Random returns a random number from 0 up to, not including, n; it makes names.
	Random func(n int) int

	resolver      *contract.Resolver
	templates     *contract.Watches
	controlPlanes *contract.Watches
	machines      *apply.Applier
	keeper        *provision.Keeper
	own           *apply.Applier
	maker         *provision.Maker
	tracker       *freshness.Tracker
	pace          *apply.Pace
	told          events.Told
	swept         *provision.Sweeps
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
	r.tracker, r.pace, r.swept = freshness.New(r.Now), apply.NewPace(statusInterval), provision.NewSweeps()
	punctual := &outcome.Punctual{Reconciler: r}
	c, err := ctrl.NewControllerManagedBy(mgr).Named("machineset").WithOptions(opts).
		For(&clusterv1.MachineSet{}).
		Watches(&clusterv1.Machine{}, handler.EnqueueRequestsFromMapFunc(r.ofMachine), builder.WithPredicates(replicas.MachineChanges())).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(r.ofCluster), builder.WithPredicates(replicas.ClusterChanges())).
		WatchesRawSource(punctual.Source()).
		Build(punctual)
	if err != nil {
		return err
	}
	r.templates = contract.NewWatches(r.resolver, c, mgr.GetCache(), handler.EnqueueRequestsFromMapFunc(r.ofTemplate))
	r.controlPlanes = contract.NewWatches(r.resolver, c, mgr.GetCache(), handler.EnqueueRequestsFromMapFunc(r.ofControlPlane), provision.VersionChanges())
	return nil
}

// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machinesets,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machinesets/status;machinesets/finalizers,verbs=patch;update
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machines,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters;machinedeployments,verbs=get;list;watch
// +kubebuilder:rbac:groups=bootstrap.cluster.x-k8s.io;controlplane.cluster.x-k8s.io;infrastructure.cluster.x-k8s.io,resources=*,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="";events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,verbs=get;list;watch

// Reconcile looks at one MachineSet.
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

// ofMachine maps a Machine to the MachineSet that controls it, or to those that may adopt it.
func (r *Reconciler) ofMachine(ctx context.Context, obj client.Object) []reconcile.Request {
	if owner := metav1.GetControllerOf(obj); owner != nil {
		if owner.Kind != "MachineSet" {
			return nil
		}
		return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: obj.GetNamespace(), Name: owner.Name}}}
	}
	return r.requests(ctx, obj.GetNamespace(), func(set *clusterv1.MachineSet) bool {
		selector, err := metav1.LabelSelectorAsSelector(&set.Spec.Selector)
		return err == nil && !selector.Empty() && selector.Matches(labels.Set(obj.GetLabels()))
	})
}

func (r *Reconciler) ofCluster(ctx context.Context, obj client.Object) []reconcile.Request {
	return r.requests(ctx, obj.GetNamespace(), func(set *clusterv1.MachineSet) bool {
		return set.Spec.ClusterName == obj.GetName()
	})
}

// ofTemplate maps a template to the MachineSets that refer to it.
func (r *Reconciler) ofTemplate(ctx context.Context, obj client.Object) []reconcile.Request {
	kind := obj.GetObjectKind().GroupVersionKind().GroupKind()
	names := func(ref clusterv1.ContractVersionedObjectReference) bool {
		return ref.Name == obj.GetName() && ref.GroupKind() == kind
	}
	return r.requests(ctx, obj.GetNamespace(), func(set *clusterv1.MachineSet) bool {
		return names(set.Spec.Template.Spec.InfrastructureRef) || names(set.Spec.Template.Spec.Bootstrap.ConfigRef)
	})
}

// ofControlPlane maps a control plane to the MachineSets of its Cluster: preflight checks look at its version.
func (r *Reconciler) ofControlPlane(ctx context.Context, obj client.Object) []reconcile.Request {
	cluster := provision.ClusterOf(obj)
	return r.requests(ctx, obj.GetNamespace(), func(set *clusterv1.MachineSet) bool { return set.Spec.ClusterName == cluster })
}

func (r *Reconciler) requests(ctx context.Context, namespace string, match func(*clusterv1.MachineSet) bool) []reconcile.Request {
	var sets clusterv1.MachineSetList
	if err := r.Client.List(ctx, &sets, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil // The cache is filled before any event is mapped.
	}
	var requests []reconcile.Request
	for i := range sets.Items {
		if match(&sets.Items[i]) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&sets.Items[i])})
		}
	}
	return requests
}
