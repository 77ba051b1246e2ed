package cli

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
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
// it is Stuck or Failed as a whole, or a part of it has Failed that nothing replaces.
func neverReady(s *view.Snapshot, now time.Time) bool {
	if !seen(s) {
		return false
	}
	if state := s.Status(now).State; state == view.Stuck || state == view.Failed {
		return true
	}
	replaced := map[string]bool{}
	for i := range s.Machines {
		replaced[s.Machines[i].Name] = isReplaced(s, &s.Machines[i])
	}
	return hasFailed(s.Tree(view.TreeOptions{}, now), replaced)
}

// hasFailed tells whether a part of a tree has Failed, apart from machines that are replaced.
func hasFailed(n *view.Node, replaced map[string]bool) bool {
	if n.Status != nil && n.Status.State == view.Failed && (n.Kind != "Machine" || !replaced[n.Name]) {
		return true
	}
	return slices.ContainsFunc(n.Children, func(c *view.Node) bool { return hasFailed(c, replaced) })
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

// isReplaced tells whether a machine is on its way out: it is deleted, remediated, or not what is wanted any more.
func isReplaced(s *view.Snapshot, m *clusterv1.Machine) bool {
	if !m.DeletionTimestamp.IsZero() {
		return true
	}
	for _, kind := range []string{clusterv1.MachineUpToDateCondition, clusterv1.MachineOwnerRemediatedCondition} {
		if meta.IsStatusConditionFalse(m.Status.Conditions, kind) {
			return true
		}
	}
	wanted := m.Spec.Version
	if _, found := m.Labels[clusterv1.MachineControlPlaneLabel]; found && s.ControlPlane != nil {
		wanted = s.ControlPlane.Spec.Version
	}
	for i := range s.Deployments {
		if md := &s.Deployments[i]; m.Labels[clusterv1.MachineDeploymentNameLabel] == md.Name {
			wanted = md.Spec.Template.Spec.Version
		}
	}
	return m.Spec.Version != wanted
}
