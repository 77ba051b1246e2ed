package cluster

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/contract"
	"slipway.dev/slipway/internal/events"
	"slipway.dev/slipway/internal/outcome"
	"slipway.dev/slipway/internal/plan"
	"slipway.dev/slipway/internal/provision"
	"slipway.dev/slipway/internal/replicas"
)

// conflictDelay is when to look again where the cache lags; its event usually comes first.
const conflictDelay = 200 * time.Millisecond

// delete brings the deletion of a Cluster one step on; the end of each step is an event.
func (r *Reconciler) delete(ctx context.Context, w *world) error {
	if !slices.Contains(w.cluster.Finalizers, clusterv1.ClusterFinalizer) {
		w.gone = true
		return nil
	}
	f, objects := w.descendantFacts()
	var err error
	if f.ControlPlane, err = r.externalFacts(ctx, w, w.controlPlane); err != nil {
		return err
	}
	if f.Infrastructure, err = r.externalFacts(ctx, w, w.infra); err != nil {
		return err
	}
	w.deletion = plan.ClusterDeletion(f)
	if len(f.Descendants) == 0 && (w.deletion.DeleteObject || w.deletion.Step == plan.FinishCluster) {
		// The cache may not show yet what was created a moment ago, and nothing would take that down later.
		if left, err := r.anyLeft(ctx, w); err != nil || left {
			w.deletion = plan.ClusterDeletion(plan.ClusterDeletionFacts{})
			return orWait(err)
		}
	}
	return r.step(ctx, w, objects)
}

// step does what is planned.
func (r *Reconciler) step(ctx context.Context, w *world, objects map[descendantKey]client.Object) error {
	for _, d := range w.deletion.Delete {
		if err := provision.Remove(ctx, r.Client, objects[descendantKey{d.Kind, d.Name}]); err != nil {
			return err
		}
	}
	switch w.deletion.Step {
	case plan.DeleteControlPlane:
		return r.remove(ctx, w, w.controlPlane)
	case plan.DeleteClusterInfrastructure:
		return r.remove(ctx, w, w.infra)
	case plan.FinishCluster:
		return r.finish(ctx, w)
	case plan.DeleteWorkers:
	}
	return nil
}

func orWait(err error) error {
	if err != nil {
		return err
	}
	return outcome.Quietly(conflictDelay, "CacheLags", "the cache does not show all workers yet")
}

// remove begins the deletion of an object that the Cluster refers to.
func (r *Reconciler) remove(ctx context.Context, w *world, e external) error {
	if !w.deletion.DeleteObject || e.object == nil {
		return nil
	}
	return provision.Remove(ctx, r.Client, e.object.Metadata())
}

func (r *Reconciler) finish(ctx context.Context, w *world) error {
	if _, err := apply.RemoveFinalizer(ctx, r.Client, fieldManager, w.cluster, clusterv1.ClusterFinalizer); err != nil {
		return err
	}
	w.gone = true
	r.settle.Done(w.cluster.UID)
	r.pace.Forget(w.cluster.UID)
	r.tell(w, events.Deleted, events.Delete, "Everything that belonged to the Cluster is gone")
	return nil
}

func (r *Reconciler) tell(w *world, reason, action, note string) {
	r.Recorder.Eventf(w.cluster, nil, corev1.EventTypeNormal, reason, action, note)
}

// externalFacts are what the plan asks of an object. The cache's word is not enough for one that is not there: nobody
// would delete it later. A kind that is not installed any more has no objects, and what is another Cluster's stays with that.
func (r *Reconciler) externalFacts(ctx context.Context, w *world, e external) (plan.External, error) {
	if e.claimed {
		return plan.External{}, nil
	}
	f := plan.External{Referenced: e.ref.IsDefined(), Kind: e.ref.Kind, Name: e.ref.Name}
	if e.object != nil {
		f.Exists, f.Deleting = plan.True, e.object.Deleting()
	}
	if !e.missing() && !e.notInstalled() {
		return f, nil
	}
	missing, err := contract.NewResolver(r.APIReader).Missing(ctx, e.ref, w.cluster.Namespace)
	if err != nil {
		return f, fmt.Errorf("look for %s %s: %w", e.ref.Kind, e.ref.Name, err)
	}
	// One that is there after all is waited for until the cache shows it, which makes an event, and then deleted.
	f.Exists, f.Deleting = plan.TriOf(!missing), !missing
	return f, nil
}

type descendantKey struct {
	kind plan.DescendantKind
	name string
}

// descendantFacts are what the plan asks about everything below the Cluster, with the objects by kind and name.
func (w *world) descendantFacts() (plan.ClusterDeletionFacts, map[descendantKey]client.Object) {
	f, objects := plan.ClusterDeletionFacts{DescendantsRead: plan.True}, map[descendantKey]client.Object{}
	add := func(kind plan.DescendantKind, obj client.Object, controlPlane bool) {
		objects[descendantKey{kind, obj.GetName()}] = identity(obj, string(kind))
		f.Descendants = append(f.Descendants, plan.Descendant{
			Kind: kind, Name: obj.GetName(), ControlPlane: controlPlane,
			Managed: w.managed(obj), Deleting: !obj.GetDeletionTimestamp().IsZero(),
		})
	}
	for _, o := range w.pools {
		add(plan.MachinePoolKind, o, false)
	}
	for _, o := range w.deployments {
		add(plan.MachineDeploymentKind, o, false)
	}
	for _, o := range w.sets {
		add(plan.MachineSetKind, o, false)
	}
	for _, o := range w.machines {
		add(plan.MachineKind, o, replicas.IsControlPlane(o))
	}
	return f, objects
}

// identity is enough of an object to delete it; the cache's own is never handed to a client.
func identity(obj client.Object, kind string) client.Object {
	m := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: obj.GetNamespace(), Name: obj.GetName(), UID: obj.GetUID()}}
	m.SetGroupVersionKind(clusterv1.GroupVersion.WithKind(kind))
	return m
}

// managed reports whether an object that exists controls this one and deletes it.
func (w *world) managed(obj client.Object) bool {
	owner := metav1.GetControllerOf(obj)
	if owner == nil {
		return false
	}
	is := func(o client.Object) bool { return o.GetUID() == owner.UID }
	return slices.ContainsFunc(w.deployments, func(o *clusterv1.MachineDeployment) bool { return is(o) }) ||
		slices.ContainsFunc(w.sets, func(o *clusterv1.MachineSet) bool { return is(o) }) ||
		slices.ContainsFunc(w.pools, func(o *clusterv1.MachinePool) bool { return is(o) }) ||
		w.controlPlane.object != nil && w.controlPlane.object.UID() == owner.UID
}

// anyLeft asks the API server whether something belongs to the Cluster after all.
func (r *Reconciler) anyLeft(ctx context.Context, w *world) (bool, error) {
	for _, kind := range []plan.DescendantKind{plan.MachineKind, plan.MachineSetKind, plan.MachineDeploymentKind, plan.MachinePoolKind} {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(clusterv1.GroupVersion.WithKind(string(kind) + "List"))
		err := r.APIReader.List(ctx, list, client.InNamespace(w.cluster.Namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: w.cluster.Name}, client.Limit(1))
		if err != nil {
			return false, fmt.Errorf("list the %ss of Cluster %s: %w", kind, w.key(), err)
		}
		if len(list.Items) > 0 {
			return true, nil
		}
	}
	return false, nil
}
