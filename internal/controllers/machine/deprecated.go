package machine

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
	"slipway.dev/slipway/internal/conditions"
	"slipway.dev/slipway/internal/plan"
)

// Condition types and reasons that only v1beta1 of the API has.
const (
	oldBootstrapReady      clusterv1.ConditionType = "BootstrapReady"
	oldInfrastructureReady clusterv1.ConditionType = "InfrastructureReady"
	oldNodeHealthy         clusterv1.ConditionType = "NodeHealthy"
	oldPreDrainHook        clusterv1.ConditionType = "PreDrainDeleteHookSucceeded"
	oldDraining            clusterv1.ConditionType = "DrainingSucceeded"
	oldVolumeDetach        clusterv1.ConditionType = "VolumeDetachSucceeded"
	oldPreTerminateHook    clusterv1.ConditionType = "PreTerminateDeleteHookSucceeded"
	oldReady               clusterv1.ConditionType = "Ready"

	oldWaitingForDataSecret     = "WaitingForDataSecret"
	oldWaitingForInfrastructure = "WaitingForInfrastructure"
	oldWaitingForNodeRef        = "WaitingForNodeRef"
	oldNodeProvisioning         = "NodeProvisioning"
	oldNodeNotFound             = "NodeNotFound"
	oldNodeConditionsFailed     = "NodeConditionsFailed"
	oldNodeInspectionFailed     = "NodeInspectionFailed"
	oldDrainingReason           = "Draining"
	oldDrainingFailed           = "DrainingFailed"
	oldWaitingForVolumeDetach   = "WaitingForVolumeDetach"
	oldWaitingExternalHook      = "WaitingExternalHook"
	oldDeleted                  = "Deleted"
	oldInvalidConfiguration     = "InvalidConfiguration"
)

// mirroredTypes are conditions of other controllers that v1beta1 has under the same name. The list of v1beta1 has no keys,
// so it has one writer, and that is this controller.
func mirroredTypes() []string {
	return []string{
		clusterv1.MachineHealthCheckSucceededCondition, clusterv1.MachineOwnerRemediatedCondition,
		controlplanev1.KubeadmControlPlaneMachineAPIServerPodHealthyCondition, controlplanev1.KubeadmControlPlaneMachineControllerManagerPodHealthyCondition,
		controlplanev1.KubeadmControlPlaneMachineSchedulerPodHealthyCondition, controlplanev1.KubeadmControlPlaneMachineEtcdPodHealthyCondition,
		controlplanev1.KubeadmControlPlaneMachineEtcdMemberHealthyCondition,
	}
}

// deprecated builds status.deprecated. Old-style conditions of types that nobody here knows are kept.
func deprecated(w *world, known []metav1.Condition) *clusterv1.MachineDeprecatedStatus {
	list := clusterv1.Conditions{oldBootstrap(w, known), oldInfrastructure(w, known), oldNode(w, known)}
	list = append(list, oldDeletion(w)...)
	for _, t := range mirroredTypes() {
		if c := conditions.Find(known, t); c != nil {
			list = append(list, conditions.V1Beta1From(clusterv1.ConditionType(t), *c, clusterv1.ConditionSeverityWarning))
		}
	}
	list = append(list, conditions.V1Beta1Ready(list))
	observed := v1beta1Conditions(&w.machine.Status)
	for _, c := range observed {
		if !slices.Contains(ownOld(), string(c.Type)) && conditions.FindV1Beta1(list, c.Type) == nil {
			list = append(list, c)
		}
	}
	out := &clusterv1.MachineV1Beta1DeprecatedStatus{Conditions: conditions.StampV1Beta1(observed, list, w.now)}
	if isTrue(w.machine.Status.Initialization.InfrastructureProvisioned) && w.infra.exists() == plan.False && !w.deleting() {
		reason, message := oldInvalidConfiguration, w.infra.ref.Kind+" "+w.infra.ref.Name+" has been deleted after being ready"
		out.FailureReason, out.FailureMessage = &reason, &message
	} else {
		failure := w.failure()
		out.FailureReason, out.FailureMessage = optional(failure.Reason), optional(failure.Message)
	}
	return &clusterv1.MachineDeprecatedStatus{V1Beta1: out}
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// ownOld are the old types that come from here, so that one that no longer applies goes.
func ownOld() []string {
	return append(mirroredTypes(), string(oldBootstrapReady), string(oldInfrastructureReady), string(oldNodeHealthy), string(oldPreDrainHook),
		string(oldDraining), string(oldVolumeDetach), string(oldPreTerminateHook), string(oldReady))
}

func oldBootstrap(w *world, known []metav1.Condition) clusterv1.Condition {
	if w.machine.Spec.Bootstrap.DataSecretName != nil {
		return conditions.V1Beta1True(oldBootstrapReady)
	}
	return conditions.V1Beta1False(oldBootstrapReady, oldWaitingForDataSecret, clusterv1.ConditionSeverityInfo,
		conditions.Message(known, clusterv1.BootstrapConfigReadyCondition))
}

func oldInfrastructure(w *world, known []metav1.Condition) clusterv1.Condition {
	c := conditions.Find(known, clusterv1.InfrastructureReadyCondition)
	switch {
	case w.infra.exists() == plan.False:
		return conditions.V1Beta1False(oldInfrastructureReady, oldDeleted, clusterv1.ConditionSeverityInfo, c.Message)
	case c.Status == metav1.ConditionTrue:
		return conditions.V1Beta1True(oldInfrastructureReady)
	case !w.infraFacts.Provisioned.IsTrue():
		return conditions.V1Beta1False(oldInfrastructureReady, oldWaitingForInfrastructure, clusterv1.ConditionSeverityInfo, c.Message)
	default:
		return conditions.V1Beta1From(oldInfrastructureReady, *c, clusterv1.ConditionSeverityWarning)
	}
}

func oldNode(w *world, known []metav1.Condition) clusterv1.Condition {
	c := conditions.Find(known, clusterv1.MachineNodeHealthyCondition)
	switch {
	case c.Status == metav1.ConditionTrue:
		return conditions.V1Beta1True(oldNodeHealthy)
	case w.machine.Spec.ProviderID == "":
		return conditions.V1Beta1False(oldNodeHealthy, oldWaitingForNodeRef, clusterv1.ConditionSeverityInfo, "")
	case c.Reason == clusterv1.MachineNodeDeletedReason:
		return conditions.V1Beta1False(oldNodeHealthy, oldNodeNotFound, clusterv1.ConditionSeverityError, c.Message)
	case w.node.exists == plan.False:
		return conditions.V1Beta1False(oldNodeHealthy, oldNodeProvisioning, clusterv1.ConditionSeverityWarning, c.Message)
	case c.Status == metav1.ConditionFalse:
		return conditions.V1Beta1False(oldNodeHealthy, oldNodeConditionsFailed, clusterv1.ConditionSeverityWarning, c.Message)
	case c.Reason == clusterv1.MachineNodeHealthUnknownReason:
		return conditions.V1Beta1Unknown(oldNodeHealthy, oldNodeConditionsFailed, c.Message)
	default:
		return conditions.V1Beta1Unknown(oldNodeHealthy, oldNodeInspectionFailed, c.Message)
	}
}

// oldDeletion tells how far a deletion is: the steps behind are True, the one that is waited for is False.
func oldDeletion(w *world) clusterv1.Conditions {
	if w.deletion == nil {
		return nil
	}
	d, list := w.deletion, clusterv1.Conditions{}
	drainReason, severity := oldDrainingReason, clusterv1.ConditionSeverityInfo
	if d.trouble {
		drainReason, severity = oldDrainingFailed, clusterv1.ConditionSeverityWarning
	}
	for _, s := range []struct {
		t        clusterv1.ConditionType
		step     plan.MachineDeletionStep
		begun    bool
		reason   string
		severity clusterv1.ConditionSeverity
	}{
		{oldPreDrainHook, plan.WaitPreDrainHook, !d.started.WaitForPreDrainHookStartTime.IsZero(), oldWaitingExternalHook, clusterv1.ConditionSeverityInfo},
		{oldDraining, plan.Drain, !d.started.NodeDrainStartTime.IsZero(), drainReason, severity},
		{oldVolumeDetach, plan.WaitVolumes, !d.started.WaitForNodeVolumeDetachStartTime.IsZero(), oldWaitingForVolumeDetach, clusterv1.ConditionSeverityInfo},
		{oldPreTerminateHook, plan.WaitPreTerminateHook, !d.started.WaitForPreTerminateHookStartTime.IsZero(), oldWaitingExternalHook, clusterv1.ConditionSeverityInfo},
	} {
		switch {
		case d.plan.Step == s.step && d.plan.Reason != clusterv1.DeletingReason:
			list = append(list, conditions.V1Beta1False(s.t, s.reason, s.severity, d.plan.Message))
		case s.begun:
			list = append(list, clusterv1.Condition{Type: s.t, Status: corev1.ConditionTrue})
		}
	}
	return list
}
