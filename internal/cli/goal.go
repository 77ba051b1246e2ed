package cli

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/view"
)

// goal is what a command waits for.
type goal struct {
	key types.NamespacedName
	// verb says what is going on, as in "create cluster demo"; done what is printed at the end.
	verb, done string
	// reached tells whether the goal is met, and what it waits for if not. The snapshot is nil when the cluster is gone.
	reached func(*view.Snapshot, time.Time) (bool, string)
	// hopeless tells whether the goal cannot be met any more by itself.
	hopeless func(*view.Snapshot, time.Time) bool
	// undo is the command that takes the work back, for those who stop looking; empty when there is none.
	undo string
}

// clusterReady is met when the cluster is as it was asked for, for its current generation.
func clusterReady(s *view.Snapshot, now time.Time) (bool, string) {
	if s == nil {
		return false, "the cluster is gone"
	}
	status := s.Status(now)
	return status.State == view.Ready, status.Message
}

// clusterGone is met when the cluster does not exist any more.
func clusterGone(s *view.Snapshot, now time.Time) (bool, string) {
	if s == nil {
		return true, ""
	}
	return false, s.Status(now).Message
}

// neverGone tells whether a deletion hangs. That a part of the cluster has failed is often why it is deleted.
func neverGone(s *view.Snapshot, now time.Time) bool {
	return !s.Object.DeletionTimestamp.IsZero() && s.Status(now).State == view.Stuck
}

// neverReady tells whether the cluster can no longer become Ready by itself: the controllers have seen what is wanted of it, and
// it is Stuck or Failed as a whole, or what it is made of has Failed.
func neverReady(s *view.Snapshot, now time.Time) bool {
	if !seen(s) {
		return false
	}
	if state := s.Status(now).State; state == view.Stuck || state == view.Failed {
		return true
	}
	return slices.ContainsFunc(s.Tree(view.TreeOptions{}, now).Children, func(n *view.Node) bool { return n.Status != nil && n.Status.State == view.Failed })
}

// seen tells whether the controllers have looked at what is wanted of the cluster now.
func seen(s *view.Snapshot) bool {
	if s.Object.Status.ObservedGeneration < s.Object.Generation {
		return false
	}
	if cp := s.ControlPlane; cp != nil && cp.Status.ObservedGeneration < cp.Generation {
		return false
	}
	return !slices.ContainsFunc(s.Deployments, func(md clusterv1.MachineDeployment) bool { return md.Status.ObservedGeneration < md.Generation })
}
