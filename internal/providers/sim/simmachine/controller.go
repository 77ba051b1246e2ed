// Package simmachine is the controller of SimMachines: it boots each simulated machine, lets it fail as it is told to, and
// takes it away.
package simmachine

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	infrav1 "slipway.dev/slipway/api/infrastructure/v1alpha1"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/outcome"
	"slipway.dev/slipway/internal/providers/sim/owner"
	"slipway.dev/slipway/internal/providers/sim/stray"
	"slipway.dev/slipway/internal/providers/sim/world"
)

// fieldManager is the name under which this controller writes.
const fieldManager = "slipway-simmachine"

// Reconciler makes SimMachines so.
type Reconciler struct {
	// Client reads from the manager's cache.
	Client client.Client
	// APIReader reads from the API server. It is asked before anything is taken away for an object that is gone.
	APIReader client.Reader
	// World is what is simulated.
	World *world.World
	// Recorder takes events.
	Recorder events.EventRecorder
	// Now is the clock.
	Now func() time.Time

	applier *apply.Applier
	strays  stray.Sweeper
	power   powerLog
}

// SetupWithManager adds the controller to a manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, opts controller.Options) error {
	r.applier = apply.New(r.Client, fieldManager)
	r.strays = stray.Sweeper{Live: r.APIReader, World: r.World}
	r.power.on = map[types.NamespacedName]switchedOn{}
	return ctrl.NewControllerManagedBy(mgr).Named("simmachine").WithOptions(opts).
		For(&infrav1.SimMachine{}, builder.WithPredicates(whenWanted())).
		Watches(&clusterv1.Machine{}, handler.EnqueueRequestsFromMapFunc(ofMachine), builder.WithPredicates(whenDataComes())).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(r.ofCluster), builder.WithPredicates(owner.PauseChanges())).
		Watches(&infrav1.SimCluster{}, handler.EnqueueRequestsFromMapFunc(r.ofSimCluster), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Complete(r)
}

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=simmachines,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=simmachines/status;simmachines/finalizers,verbs=patch;update
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=simclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters;machines,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch
// +kubebuilder:rbac:groups="";events.k8s.io,resources=events,verbs=create;patch

// Reconcile looks at one SimMachine.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	seen, err := r.observe(ctx, req.NamespacedName)
	if err != nil {
		return ctrl.Result{}, err
	}
	if seen == nil {
		r.power.forget(req.NamespacedName)
		return ctrl.Result{}, r.strays.Machines(ctx, req.NamespacedName)
	}
	if seen.paused {
		return outcome.Result(r.report(ctx, seen, nil))
	}
	err = r.act(ctx, seen)
	return outcome.Result(shown(err), r.report(ctx, seen, err))
}

// powerLog remembers when each machine was switched on, until it has booted.
type powerLog struct {
	mu sync.Mutex // guards on
	on map[types.NamespacedName]switchedOn
}

// switchedOn is a machine that boots, which another of its name does not go on with.
type switchedOn struct {
	uid types.UID
	at  time.Time
}

// since returns when the machine was switched on, which is now if it was off.
func (p *powerLog) since(sim *infrav1.SimMachine, now time.Time) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := client.ObjectKeyFromObject(sim)
	if on, ok := p.on[key]; ok && on.uid == sim.UID {
		return on.at
	}
	p.on[key] = switchedOn{sim.UID, now}
	return now
}

func (p *powerLog) forget(key types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.on, key)
}

// whenWanted lets pass changes of the spec, of owners and of annotations, and deletions; not our own status writes.
func whenWanted() predicate.Predicate {
	return predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			old, okOld := e.ObjectOld.(*infrav1.SimMachine)
			now, okNow := e.ObjectNew.(*infrav1.SimMachine)
			if !okOld || !okNow {
				return false
			}
			return len(old.OwnerReferences) != len(now.OwnerReferences) || old.DeletionTimestamp.IsZero() != now.DeletionTimestamp.IsZero() ||
				len(now.Status.Conditions) == 0 && len(old.Status.Conditions) != 0
		},
	})
}

func whenDataComes() predicate.Predicate {
	return predicate.Funcs{
		DeleteFunc: func(event.DeleteEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			old, okOld := e.ObjectOld.(*clusterv1.Machine)
			now, okNow := e.ObjectNew.(*clusterv1.Machine)
			return okOld && okNow && old.Spec.Bootstrap.DataSecretName == nil && now.Spec.Bootstrap.DataSecretName != nil
		},
	}
}

func ofMachine(_ context.Context, obj client.Object) []reconcile.Request {
	machine, ok := obj.(*clusterv1.Machine)
	if !ok || machine.Spec.InfrastructureRef.Kind != "SimMachine" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: machine.Namespace, Name: machine.Spec.InfrastructureRef.Name}}}
}

func (r *Reconciler) ofCluster(ctx context.Context, obj client.Object) []reconcile.Request {
	return r.ofClusterName(ctx, obj.GetNamespace(), obj.GetName())
}

func (r *Reconciler) ofSimCluster(ctx context.Context, obj client.Object) []reconcile.Request {
	return r.ofClusterName(ctx, obj.GetNamespace(), obj.GetLabels()[clusterv1.ClusterNameLabel])
}

func (r *Reconciler) ofClusterName(ctx context.Context, namespace, cluster string) []reconcile.Request {
	var machines infrav1.SimMachineList
	if cluster == "" || r.Client.List(ctx, &machines, client.InNamespace(namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: cluster}) != nil {
		return nil
	}
	requests := make([]reconcile.Request, 0, len(machines.Items))
	for i := range machines.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&machines.Items[i])})
	}
	return requests
}
