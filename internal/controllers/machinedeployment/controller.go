// Package machinedeployment is the controller of MachineDeployments: it rolls Machines from one template to the next by
// the sizes of MachineSets.
package machinedeployment

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
	// fieldManager writes status and metadata of MachineDeployments, and owners of templates.
	fieldManager = "slipway-machinedeployment"
	// setManager writes MachineSets.
	setManager = "capi-machinedeployment"
)

// statusInterval spaces out status writes of what need not be told at once.
const statusInterval = time.Second

// Reconciler makes MachineDeployments so.
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

	templates     *contract.Watches
	controlPlanes *contract.Watches
	sets          *apply.Applier
	own           *apply.Applier
	tracker       *freshness.Tracker
	pace          *apply.Pace
	acting        *acting
	told          events.Told
}

// SetupWithManager adds the controller to a manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, opts controller.Options) error {
	if r.Recorder == nil {
		r.Recorder = mgr.GetEventRecorder(fieldManager)
	}
	r.sets, r.own = apply.New(r.Client, setManager), apply.New(r.Client, fieldManager)
	r.tracker, r.pace, r.acting = freshness.New(r.Now), apply.NewPace(statusInterval), newActing()
	punctual := &outcome.Punctual{Reconciler: r}
	c, err := ctrl.NewControllerManagedBy(mgr).Named("machinedeployment").WithOptions(opts).
		For(&clusterv1.MachineDeployment{}).
		Watches(&clusterv1.MachineSet{}, handler.EnqueueRequestsFromMapFunc(r.ofSet), builder.WithPredicates(replicas.SetChanges())).
		Watches(&clusterv1.Machine{}, handler.EnqueueRequestsFromMapFunc(ofMachine), builder.WithPredicates(replicas.MachineChanges())).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(r.ofCluster), builder.WithPredicates(replicas.ClusterChanges())).
		WatchesRawSource(punctual.Source()).
		Build(punctual)
	if err != nil {
		return err
	}
	resolver := contract.NewResolver(r.Client).Asking(r.APIReader)
	r.templates = contract.NewWatches(resolver, c, mgr.GetCache(), handler.EnqueueRequestsFromMapFunc(r.ofTemplate))
	r.controlPlanes = contract.NewWatches(resolver, c, mgr.GetCache(), handler.EnqueueRequestsFromMapFunc(r.ofControlPlane), provision.VersionChanges())
	return nil
}

// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machinedeployments,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machinedeployments/status;machinedeployments/finalizers,verbs=patch;update
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machinesets,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters;machines,verbs=get;list;watch
// +kubebuilder:rbac:groups=bootstrap.cluster.x-k8s.io;infrastructure.cluster.x-k8s.io,resources=*,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups="";events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,verbs=get;list;watch

// Reconcile looks at one MachineDeployment.
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

// ofSet maps a MachineSet to the MachineDeployment that controls it, or to those that may adopt it.
func (r *Reconciler) ofSet(ctx context.Context, obj client.Object) []reconcile.Request {
	if owner := metav1.GetControllerOf(obj); owner != nil {
		if owner.Kind != "MachineDeployment" {
			return nil
		}
		return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: obj.GetNamespace(), Name: owner.Name}}}
	}
	return r.requests(ctx, obj.GetNamespace(), func(d *clusterv1.MachineDeployment) bool {
		selector, err := metav1.LabelSelectorAsSelector(&d.Spec.Selector)
		return err == nil && !selector.Empty() && selector.Matches(labels.Set(obj.GetLabels()))
	})
}

// ofMachine maps a Machine to the MachineDeployment that it comes from.
func ofMachine(_ context.Context, obj client.Object) []reconcile.Request {
	name := obj.GetLabels()[clusterv1.MachineDeploymentNameLabel]
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: obj.GetNamespace(), Name: name}}}
}

func (r *Reconciler) ofCluster(ctx context.Context, obj client.Object) []reconcile.Request {
	return r.requests(ctx, obj.GetNamespace(), func(d *clusterv1.MachineDeployment) bool {
		return d.Spec.ClusterName == obj.GetName()
	})
}

// ofTemplate maps a template to the MachineDeployments that refer to it.
func (r *Reconciler) ofTemplate(ctx context.Context, obj client.Object) []reconcile.Request {
	kind := obj.GetObjectKind().GroupVersionKind().GroupKind()
	names := func(ref clusterv1.ContractVersionedObjectReference) bool {
		return ref.Name == obj.GetName() && ref.GroupKind() == kind
	}
	return r.requests(ctx, obj.GetNamespace(), func(d *clusterv1.MachineDeployment) bool {
		return names(d.Spec.Template.Spec.InfrastructureRef) || names(d.Spec.Template.Spec.Bootstrap.ConfigRef)
	})
}

// ofControlPlane maps a control plane to the MachineDeployments of its Cluster: a rollout is held while new Machines
// would be.
func (r *Reconciler) ofControlPlane(ctx context.Context, obj client.Object) []reconcile.Request {
	cluster := provision.ClusterOf(obj)
	return r.requests(ctx, obj.GetNamespace(), func(d *clusterv1.MachineDeployment) bool { return d.Spec.ClusterName == cluster })
}

func (r *Reconciler) requests(ctx context.Context, namespace string, match func(*clusterv1.MachineDeployment) bool) []reconcile.Request {
	var deployments clusterv1.MachineDeploymentList
	if err := r.Client.List(ctx, &deployments, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil // The cache is filled before any event is mapped.
	}
	var requests []reconcile.Request
	for i := range deployments.Items {
		if match(&deployments.Items[i]) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&deployments.Items[i])})
		}
	}
	return requests
}
