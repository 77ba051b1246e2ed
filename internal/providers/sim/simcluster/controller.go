// Package simcluster is the controller of SimClusters: it chooses each cluster's API endpoint, serves it and takes it down.
package simcluster

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	infrav1 "slipway.dev/slipway/api/infrastructure/v1alpha1"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/outcome"
	"slipway.dev/slipway/internal/providers/sim/owner"
	"slipway.dev/slipway/internal/providers/sim/stray"
	"slipway.dev/slipway/internal/providers/sim/world"
)

// fieldManager is the name under which this controller writes.
const fieldManager = "slipway-simcluster"

// Reconciler makes SimClusters so.
type Reconciler struct {
	// Client reads from the manager's cache.
	Client client.Client
	// APIReader reads from the API server. It is asked before anything is taken away for an object that is gone.
	APIReader client.Reader
	// World is what is simulated.
	World *world.World
	// Now is the clock.
	Now func() time.Time

	applier *apply.Applier
	strays  stray.Sweeper
}

// SetupWithManager adds the controller to a manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, opts controller.Options) error {
	r.applier = apply.New(r.Client, fieldManager)
	r.strays = stray.Sweeper{Live: r.APIReader, World: r.World}
	return ctrl.NewControllerManagedBy(mgr).Named("simcluster").WithOptions(opts).
		For(&infrav1.SimCluster{}, builder.WithPredicates(predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, metadataChanges()))).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(ofCluster), builder.WithPredicates(owner.PauseChanges())).
		Watches(&infrav1.SimMachine{}, handler.EnqueueRequestsFromMapFunc(r.ofMachine), builder.WithPredicates(predicate.Funcs{
			CreateFunc: func(event.CreateEvent) bool { return false }, UpdateFunc: func(event.UpdateEvent) bool { return false },
		})).
		WatchesRawSource(source.Func(r.left)).
		Complete(r)
}

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=simclusters,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=simclusters/status;simclusters/finalizers,verbs=patch;update
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters,verbs=get;list;watch

// Reconcile looks at one SimCluster.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	seen, err := r.observe(ctx, req.NamespacedName)
	if err != nil {
		return ctrl.Result{}, err
	}
	if seen == nil {
		return ctrl.Result{}, r.strays.Clusters(ctx, req.NamespacedName, "")
	}
	if seen.paused {
		return outcome.Result(r.report(ctx, seen, nil))
	}
	err = r.act(ctx, seen)
	return outcome.Result(err, r.report(ctx, seen, err), r.sweep(ctx, seen))
}

// left has every SimCluster looked at that left a file: it may have gone while nobody watched.
func (r *Reconciler) left(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	names, err := r.World.Look()
	for _, name := range names {
		queue.Add(reconcile.Request{NamespacedName: name})
	}
	return err
}

// metadataChanges lets pass what may pause an object, own it or delete it, and the loss of its status.
func metadataChanges() predicate.Predicate {
	return predicate.Or[client.Object](predicate.AnnotationChangedPredicate{}, predicate.LabelChangedPredicate{}, predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			return len(e.ObjectOld.GetOwnerReferences()) != len(e.ObjectNew.GetOwnerReferences()) ||
				e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero() || statusLost(e.ObjectOld, e.ObjectNew)
		},
	})
}

// statusLost tells that somebody took the status away, as a restore does.
func statusLost(before, after client.Object) bool {
	old, okOld := before.(*infrav1.SimCluster)
	now, okNow := after.(*infrav1.SimCluster)
	return okOld && okNow && len(old.Status.Conditions) != 0 && len(now.Status.Conditions) == 0
}

func ofCluster(_ context.Context, obj client.Object) []reconcile.Request {
	cluster, ok := obj.(*clusterv1.Cluster)
	if !ok || cluster.Spec.InfrastructureRef.Kind != "SimCluster" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: cluster.Namespace, Name: cluster.Spec.InfrastructureRef.Name}}}
}

// ofMachine maps a SimMachine that is gone to the SimCluster that may be waiting for it.
func (r *Reconciler) ofMachine(ctx context.Context, obj client.Object) []reconcile.Request {
	var clusters infrav1.SimClusterList
	name := obj.GetLabels()[clusterv1.ClusterNameLabel]
	if name == "" || r.Client.List(ctx, &clusters, client.InNamespace(obj.GetNamespace()), client.MatchingLabels{clusterv1.ClusterNameLabel: name}) != nil {
		return nil
	}
	var requests []reconcile.Request
	for i := range clusters.Items {
		if !clusters.Items[i].DeletionTimestamp.IsZero() {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&clusters.Items[i])})
		}
	}
	return requests
}
