package machine

import (
	corev1 "k8s.io/api/core/v1"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/conditions"
	"slipway.dev/slipway/internal/contract"
	"slipway.dev/slipway/internal/events"
)

func (r *Reconciler) tell(w *world, eventType, reason, action, note string, args ...any) {
	r.Recorder.Eventf(w.machine, nil, eventType, reason, action, note, args...)
}

// tellTrouble tells what went wrong with the step of a deletion, unless the status tells it already.
func (r *Reconciler) tellTrouble(w *world, reason, action string) {
	if message := w.deletion.plan.Message; conditions.Message(w.machine.Status.Conditions, clusterv1.DeletingCondition) != message {
		r.tell(w, corev1.EventTypeWarning, reason, action, "%s", message)
	}
}

// tellChanges tells what the status that was just written has for news.
func (r *Reconciler) tellChanges(w *world, now *clusterv1.MachineStatus) {
	before := &w.machine.Status
	if now.NodeRef.IsDefined() && before.NodeRef != now.NodeRef {
		r.tell(w, corev1.EventTypeNormal, events.SuccessfulSetNodeRef, events.LinkNode, "Node %s is the Machine's", now.NodeRef.Name)
	}
	if w.deletion == nil {
		return
	}
	was, is := stageOf(before), stageOf(now)
	if w.deletion.drained && was <= stageDrain && is > stageDrain {
		r.tell(w, corev1.EventTypeNormal, events.SuccessfulDrainNode, events.DrainNode, "Node %s was drained", now.NodeRef.Name)
	}
	if w.deletion.detached && was <= stageVolumes && is > stageVolumes {
		r.tell(w, corev1.EventTypeNormal, events.NodeVolumesDetached, events.WaitForVolumes, "No volumes are attached to Node %s", now.NodeRef.Name)
	}
}

// The stages of a deletion that Events tell the end of.
const (
	stageBefore = iota
	stageDrain
	stageVolumes
	stageAfter
)

func stageOf(s *clusterv1.MachineStatus) int {
	switch conditions.Reason(s.Conditions, clusterv1.DeletingCondition) {
	case clusterv1.MachineDeletingDrainingNodeReason:
		return stageDrain
	case clusterv1.MachineDeletingWaitingForVolumeDetachReason:
		return stageVolumes
	case clusterv1.MachineDeletingWaitingForPreTerminateHookReason, clusterv1.MachineDeletingWaitingForInfrastructureDeletionReason,
		clusterv1.MachineDeletingWaitingForBootstrapDeletionReason, clusterv1.MachineDeletingDeletingNodeReason, clusterv1.DeletionCompletedReason:
		return stageAfter
	default:
		return stageBefore
	}
}

// failure is what a provider of the older contract takes for terminal.
func (w *world) failure() contract.Failure {
	if !w.infraFacts.Failure.IsZero() {
		return w.infraFacts.Failure
	}
	return w.bootstrapFacts.Failure
}
