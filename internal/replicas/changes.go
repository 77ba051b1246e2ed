package replicas

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/conditions"
)

// MachineChanges lets pass the changes of a Machine that its owners act on or report. A Machine is written many times
// while it comes up; most of it is nobody else's business.
func MachineChanges() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		old, okOld := e.ObjectOld.(*clusterv1.Machine)
		now, okNow := e.ObjectNew.(*clusterv1.Machine)
		return okOld && okNow && (metadataDiffers(old, now) || statusDiffers(old, now))
	}}
}

func metadataDiffers(old, now *clusterv1.Machine) bool {
	return old.Generation != now.Generation ||
		old.DeletionTimestamp.IsZero() != now.DeletionTimestamp.IsZero() ||
		!maps.Equal(old.Labels, now.Labels) ||
		!maps.Equal(old.Annotations, now.Annotations) ||
		!slices.Equal(old.Finalizers, now.Finalizers) ||
		!equality.Semantic.DeepEqual(old.OwnerReferences, now.OwnerReferences)
}

// told are the conditions of a Machine that its owners count, merge or decide on.
func told() []string {
	return []string{
		clusterv1.AvailableCondition, clusterv1.ReadyCondition, clusterv1.MachineUpToDateCondition,
		clusterv1.MachineNodeReadyCondition, clusterv1.MachineNodeHealthyCondition, clusterv1.MachineUpdatingCondition,
		clusterv1.MachineHealthCheckSucceededCondition, clusterv1.MachineOwnerRemediatedCondition,
	}
}

func statusDiffers(old, now *clusterv1.Machine) bool {
	if old.Status.NodeRef != now.Status.NodeRef || version(old) != version(now) {
		return true
	}
	for _, t := range told() {
		if !sameCondition(old, now, t) {
			return true
		}
	}
	return false
}

func sameCondition(a, b *clusterv1.Machine, t string) bool {
	x, y := conditions.Find(a.Status.Conditions, t), conditions.Find(b.Status.Conditions, t)
	if x == nil || y == nil {
		return x == y
	}
	return x.Status == y.Status && x.Reason == y.Reason && x.Message == y.Message && x.LastTransitionTime.Equal(&y.LastTransitionTime)
}

// ClusterChanges lets pass the changes of a Cluster that its workers look at: that it is there, pauses, gets its control
// plane or is deleted.
func ClusterChanges() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		old, okOld := e.ObjectOld.(*clusterv1.Cluster)
		now, okNow := e.ObjectNew.(*clusterv1.Cluster)
		return okOld && okNow && (isPaused(old) != isPaused(now) ||
			old.UID != now.UID ||
			old.Spec.ControlPlaneRef != now.Spec.ControlPlaneRef ||
			old.DeletionTimestamp.IsZero() != now.DeletionTimestamp.IsZero())
	}}
}

func isPaused(c *clusterv1.Cluster) bool { return c.Spec.Paused != nil && *c.Spec.Paused }

// SetChanges lets pass the changes of a MachineSet that its MachineDeployment acts on. Of its status it is only that it has
// acted on its spec, and what keeps it from making Machines: the Machines themselves are counted.
func SetChanges() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		old, now := e.ObjectOld, e.ObjectNew
		return old.GetGeneration() != now.GetGeneration() || acted(old) != acted(now) || !slices.Equal(obstacles(old), obstacles(now)) ||
			old.GetDeletionTimestamp().IsZero() != now.GetDeletionTimestamp().IsZero() ||
			!maps.Equal(old.GetLabels(), now.GetLabels()) ||
			!maps.Equal(old.GetAnnotations(), now.GetAnnotations()) ||
			!slices.Equal(old.GetFinalizers(), now.GetFinalizers()) ||
			!equality.Semantic.DeepEqual(old.GetOwnerReferences(), now.GetOwnerReferences())
	}}
}

// acted reports whether a MachineSet has acted on its spec.
func acted(obj client.Object) bool {
	set, ok := obj.(*clusterv1.MachineSet)
	return ok && set.Status.ObservedGeneration >= set.Generation
}

// obstacles are what keeps a MachineSet from making Machines.
func obstacles(obj client.Object) []string {
	set, ok := obj.(*clusterv1.MachineSet)
	if !ok {
		return nil
	}
	return Told(set.Status.Conditions)
}
