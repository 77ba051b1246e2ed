// Package owner is what the sim provider's controllers read of the Cluster and the SimCluster that their objects belong to.
package owner

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	infrav1 "slipway.dev/slipway/api/infrastructure/v1alpha1"
	"slipway.dev/slipway/internal/conditions"
	"slipway.dev/slipway/internal/providers/sim/world"
)

// IsPaused tells whether a Cluster pauses all that belongs to it.
func IsPaused(c *clusterv1.Cluster) bool { return c.Spec.Paused != nil && *c.Spec.Paused }

// PauseChanges lets pass a Cluster that is paused or goes on.
func PauseChanges() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		DeleteFunc: func(event.DeleteEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			old, okOld := e.ObjectOld.(*clusterv1.Cluster)
			now, okNow := e.ObjectNew.(*clusterv1.Cluster)
			return okOld && okNow && IsPaused(old) != IsPaused(now)
		},
	}
}

// PausedCondition is the condition Paused.
func PausedCondition(paused bool) metav1.Condition {
	if paused {
		return conditions.True(clusterv1.PausedCondition, clusterv1.PausedReason, "The Cluster's spec.paused or the annotation "+clusterv1.PausedAnnotation+" is set")
	}
	return conditions.False(clusterv1.PausedCondition, clusterv1.NotPausedReason, "")
}

// PlaceOf says where a SimCluster's simulated cluster lives, and false while its endpoint is not chosen.
func PlaceOf(sim *infrav1.SimCluster) (world.Place, bool) {
	e := sim.Spec.ControlPlaneEndpoint
	return world.Place{Key: client.ObjectKeyFromObject(sim), ID: sim.UID, Host: e.Host, Port: e.Port}, e.Host != "" && e.Port != 0
}
