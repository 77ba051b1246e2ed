package plan

import (
	"time"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
)

// MachineDeletionFacts is everything that decides the next step of the deletion of a Machine.
type MachineDeletionFacts struct {
	// DeletedAt is the deletion timestamp.
	DeletedAt time.Time

	// ClusterDeleting says that the Cluster is gone or being deleted, ControlPlaneDeleting that its control plane object
	// is, ControlPlaneLeft whether a control-plane Machine is left that is not being deleted, ExternalControlPlane that
	// the control plane does not run on Machines.
	ClusterDeleting, ControlPlaneDeleting, ExternalControlPlane bool
	ControlPlaneLeft                                            Tri
	// KubeconfigGone says that the Cluster's kubeconfig secret does not exist, so that its Nodes are out of reach for good.
	KubeconfigGone bool

	// Node is the name of the Node from status.nodeRef, else as found by provider ID; empty when not known.
	Node string
	// NodeExists says whether there is such a Node: False also when none has the Machine's provider ID, Unknown when the
	// cluster could not be asked.
	NodeExists Tri
	// NodeFailed says that the cluster was asked about the Node, or to delete it, just now and in vain: it refused, or
	// several Nodes may be meant.
	NodeFailed bool
	// SilentSince is since when the cluster has answered nothing at all; zero while it answers, or was not asked yet.
	SilentSince time.Time

	// PreDrainHooks and PreTerminateHooks are the hook annotations that are present.
	PreDrainHooks, PreTerminateHooks []string
	// ExcludeDrain and ExcludeVolumeDetach say that the annotations of these meanings are present.
	ExcludeDrain, ExcludeVolumeDetach bool

	// DrainTimeout, VolumeTimeout and NodeTimeout are those of spec.deletion; 0 waits without bound.
	DrainTimeout, VolumeTimeout, NodeTimeout time.Duration
	// PreDrainStarted, DrainStarted, VolumeWaitStarted and PreTerminateStarted are the times in status.deletion; zero when
	// not begun.
	PreDrainStarted, DrainStarted, VolumeWaitStarted, PreTerminateStarted time.Time

	// Drained says whether the Node is drained, and VolumesDetached whether its volumes are detached; Unknown when that was
	// not tried yet or failed.
	Drained, VolumesDetached Tri

	// Infrastructure and Bootstrap are what the Machine's references name.
	Infrastructure, Bootstrap External
}

// MachineDeletionStep is what the deletion of a Machine does next.
type MachineDeletionStep int8

// The steps of deleting a Machine, in their order.
const (
	// FindNode: ask the cluster which Node belongs to the Machine.
	FindNode MachineDeletionStep = iota
	// WaitPreDrainHook: a pre-drain hook is present.
	WaitPreDrainHook
	// Drain: drain the Node.
	Drain
	// WaitVolumes: see whether the volumes are detached.
	WaitVolumes
	// WaitPreTerminateHook: a pre-terminate hook is present.
	WaitPreTerminateHook
	// DeleteInfrastructure: delete the infrastructure object, wait for it.
	DeleteInfrastructure
	// DeleteBootstrap: delete the bootstrap object, wait for it.
	DeleteBootstrap
	// DeleteNode: delete the Node.
	DeleteNode
	// FinishMachine: nothing is left, remove the finalizer.
	FinishMachine
)

// String returns the name of the step.
func (s MachineDeletionStep) String() string {
	return [...]string{"FindNode", "WaitPreDrainHook", "Drain", "WaitVolumes", "WaitPreTerminateHook",
		"DeleteInfrastructure", "DeleteBootstrap", "DeleteNode", "FinishMachine"}[s]
}

// MachineDeletionPlan is the next step of the deletion of a Machine.
type MachineDeletionPlan struct {
	// Step is what to do. After it succeeded, change the facts and ask again.
	Step MachineDeletionStep
	// Start says to record now as the start of the step in status.deletion, before doing it.
	Start bool
	// DeleteObject says to delete the object of the step (DeleteInfrastructure, DeleteBootstrap) now; otherwise it is
	// being deleted, or could not be read, and is waited for.
	DeleteObject bool
	// Reason and Message are those of the Deleting condition.
	Reason, Message string
	// GiveUpAt is when the step is given up and the next begins; zero when it waits without bound.
	GiveUpAt time.Time
	// NodeLeft says why the Node is neither drained nor deleted; empty when it is.
	NodeLeft string
	// NodeGivenUp says that NodeLeft is no decision but a failure: the Node was to be deleted.
	NodeGivenUp bool
}

// MachineDeletion decides the next step of the deletion of a Machine. Every wait is for something named; those for the
// Node are bounded by the timeouts of spec.deletion, also while the cluster does not answer. Steps behind a pre-terminate
// hook that has begun are not taken up again: what such a hook does may cut the way to the Node.
func MachineDeletion(f MachineDeletionFacts, now time.Time) MachineDeletionPlan {
	nodeAllowed, why := DeleteNodeAllowed(f)
	steps := []func(MachineDeletionFacts, bool, time.Time) (MachineDeletionPlan, bool){
		findNode, waitPreDrain, drainNode, waitVolumes, waitPreTerminate, deleteInfrastructure, deleteBootstrap, deleteNode,
	}
	for _, step := range steps {
		if p, due := step(f, nodeAllowed, now); due {
			p.NodeLeft = why
			return p
		}
	}
	p := MachineDeletionPlan{Step: FinishMachine, Reason: clusterv1.DeletionCompletedReason, Message: "Deletion completed", NodeLeft: why}
	if nodeAllowed && f.NodeExists != False {
		p.NodeGivenUp, p.NodeLeft = true, "it could not be deleted within nodeDeletionTimeoutSeconds"
	}
	return p
}

// DeleteNodeAllowed decides whether the deletion of a Machine touches its Node (drains and deletes it), and says why it
// does not.
func DeleteNodeAllowed(f MachineDeletionFacts) (bool, string) {
	switch {
	case f.ClusterDeleting:
		return false, "the Cluster is being deleted"
	case f.ControlPlaneDeleting:
		return false, "the control plane is being deleted"
	case f.ControlPlaneLeft == False && !f.ExternalControlPlane:
		return false, "no control plane Machine is left"
	case f.KubeconfigGone:
		return false, "the Cluster has no kubeconfig secret"
	case f.Node == "" && f.NodeExists == False:
		return false, "the Machine has no Node"
	}
	return true, ""
}

// until returns when a step that began then is given up; zero without a timeout.
func until(started time.Time, timeout time.Duration) time.Time {
	if timeout <= 0 {
		return time.Time{}
	}
	return started.Add(timeout)
}

// over reports whether a step that began then has used up its time.
func over(started time.Time, timeout time.Duration, now time.Time) bool {
	return timeout > 0 && !started.IsZero() && !now.Before(started.Add(timeout))
}

// unseenNode bounds the search for a Node that nobody has ever seen.
const unseenNode = 10 * time.Second

// nodeTimeout is how long the deletion cares for the Node. One that was never seen may not exist at all, so that it is
// not looked for without end in a cluster that may never answer.
func (f MachineDeletionFacts) nodeTimeout() time.Duration {
	if f.NodeTimeout == 0 && f.Node == "" {
		return unseenNode
	}
	return f.NodeTimeout
}

// nodeGivenUp reports whether the deletion stops caring for the Node. Time alone does not decide it, since the steps before
// may have used it up: what is given up was tried, or its cluster has been silent for as long.
func nodeGivenUp(f MachineDeletionFacts, now time.Time) bool {
	tried := f.NodeFailed || f.NodeExists == Unknown && over(f.SilentSince, f.nodeTimeout(), now)
	return tried && over(f.DeletedAt, f.nodeTimeout(), now)
}

// nodeGiveUpAt is when nodeGivenUp becomes true if nothing else changes; zero for never.
func nodeGiveUpAt(f MachineDeletionFacts) time.Time {
	from := f.DeletedAt
	if f.NodeExists == Unknown && f.SilentSince.After(from) {
		from = f.SilentSince
	}
	return until(from, f.nodeTimeout())
}

// findNode looks for a Node that may have registered while the Machine was already going; without it such a Node would
// stay behind.
func findNode(f MachineDeletionFacts, allowed bool, now time.Time) (MachineDeletionPlan, bool) {
	due := allowed && f.Node == "" && f.NodeExists == Unknown && f.PreTerminateStarted.IsZero() && !nodeGivenUp(f, now)
	return MachineDeletionPlan{
		Step: FindNode, Reason: clusterv1.DeletingReason, Message: "Looking for the Node of the Machine",
		GiveUpAt: nodeGiveUpAt(f),
	}, due
}

func waitPreDrain(f MachineDeletionFacts, allowed bool, _ time.Time) (MachineDeletionPlan, bool) {
	return MachineDeletionPlan{
		Step: WaitPreDrainHook, Start: f.PreDrainStarted.IsZero(), Reason: clusterv1.MachineDeletingWaitingForPreDrainHookReason,
		Message: "Waiting for pre-drain hooks to be removed: " + NameList(f.PreDrainHooks),
	}, allowed && len(f.PreDrainHooks) > 0
}

// nodeWorkPossible reports whether draining and detaching still make sense.
func nodeWorkPossible(f MachineDeletionFacts) bool {
	infrastructureLeft := !f.Infrastructure.Referenced || f.Infrastructure.Exists != False && !f.Infrastructure.Deleting
	return f.Node != "" && f.NodeExists != False && f.PreTerminateStarted.IsZero() && infrastructureLeft
}

func drainNode(f MachineDeletionFacts, allowed bool, now time.Time) (MachineDeletionPlan, bool) {
	due := allowed && !f.ExcludeDrain && f.Drained != True && nodeWorkPossible(f) && !over(f.DrainStarted, f.DrainTimeout, now)
	return MachineDeletionPlan{
		Step: Drain, Start: f.DrainStarted.IsZero(), Reason: clusterv1.MachineDeletingDrainingNodeReason,
		Message: "Draining Node " + f.Node, GiveUpAt: untilFrom(f.DrainStarted, now, f.DrainTimeout),
	}, due
}

func waitVolumes(f MachineDeletionFacts, allowed bool, now time.Time) (MachineDeletionPlan, bool) {
	due := allowed && !f.ExcludeVolumeDetach && f.VolumesDetached != True && nodeWorkPossible(f) && !over(f.VolumeWaitStarted, f.VolumeTimeout, now)
	return MachineDeletionPlan{
		Step: WaitVolumes, Start: f.VolumeWaitStarted.IsZero(), Reason: clusterv1.MachineDeletingWaitingForVolumeDetachReason,
		Message: "Waiting for the volumes of Node " + f.Node + " to be detached", GiveUpAt: untilFrom(f.VolumeWaitStarted, now, f.VolumeTimeout),
	}, due
}

func waitPreTerminate(f MachineDeletionFacts, _ bool, _ time.Time) (MachineDeletionPlan, bool) {
	return MachineDeletionPlan{
		Step: WaitPreTerminateHook, Start: f.PreTerminateStarted.IsZero(), Reason: clusterv1.MachineDeletingWaitingForPreTerminateHookReason,
		Message: "Waiting for pre-terminate hooks to be removed: " + NameList(f.PreTerminateHooks),
	}, len(f.PreTerminateHooks) > 0
}

func deleteInfrastructure(f MachineDeletionFacts, _ bool, _ time.Time) (MachineDeletionPlan, bool) {
	return MachineDeletionPlan{
		Step: DeleteInfrastructure, DeleteObject: deleteNow(f.Infrastructure), Reason: clusterv1.MachineDeletingWaitingForInfrastructureDeletionReason,
		Message: waitingForObject(f.Infrastructure),
	}, !f.Infrastructure.gone()
}

func deleteBootstrap(f MachineDeletionFacts, _ bool, _ time.Time) (MachineDeletionPlan, bool) {
	return MachineDeletionPlan{
		Step: DeleteBootstrap, DeleteObject: deleteNow(f.Bootstrap), Reason: clusterv1.MachineDeletingWaitingForBootstrapDeletionReason,
		Message: waitingForObject(f.Bootstrap),
	}, !f.Bootstrap.gone()
}

// deleteNode deletes the Node last, when no kubelet can register it again. It is given up some time after the deletion of
// the Machine began, but not untried, so that a cluster that never answers does not keep the Machine for ever.
func deleteNode(f MachineDeletionFacts, allowed bool, now time.Time) (MachineDeletionPlan, bool) {
	due := allowed && f.NodeExists != False && !nodeGivenUp(f, now)
	return MachineDeletionPlan{
		Step: DeleteNode, Reason: clusterv1.MachineDeletingDeletingNodeReason, Message: "Deleting Node " + orElse(f.Node, "of the Machine"),
		GiveUpAt: nodeGiveUpAt(f),
	}, due
}

// untilFrom is until for a step that may begin only now.
func untilFrom(started, now time.Time, timeout time.Duration) time.Time {
	if started.IsZero() {
		started = now
	}
	return until(started, timeout)
}

func orElse(text, otherwise string) string {
	if text != "" {
		return text
	}
	return otherwise
}
