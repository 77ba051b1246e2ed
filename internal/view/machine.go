package view

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
)

// OfMachine returns the status of a Machine.
func OfMachine(m *clusterv1.Machine, now time.Time) Status {
	conditions, created := m.Status.Conditions, m.CreationTimestamp.Time
	ready := find(conditions, clusterv1.ReadyCondition)
	failure, hasFailed := failureOfMachine(m)
	_, paused := m.Annotations[clusterv1.PausedAnnotation]
	switch {
	case !m.DeletionTimestamp.IsZero():
		return deletion(&m.ObjectMeta, conditions, now)
	case hasFailed:
		return failure
	case isTrue(conditions, clusterv1.MachineUpdatingCondition):
		updating := find(conditions, clusterv1.MachineUpdatingCondition)
		return late(Status{State: Working, Message: firstText(Flatten(updating.Message), "updating in place"), Since: since(updating, created)}, expectedRollout, now)
	case ready.Status == metav1.ConditionTrue:
		return Status{State: Ready, Since: since(ready, created)}
	case paused:
		return Status{State: Paused, Message: "paused"}
	case m.Status.NodeRef.IsDefined():
		return lostReadiness(m, now)
	default:
		return becoming(m, now)
	}
}

// failureOfMachine is what the Machine's makers call final, since they do as far as is known, and false when there is nothing.
func failureOfMachine(m *clusterv1.Machine) (Status, bool) {
	created := m.CreationTimestamp.Time
	if d := m.Status.Deprecated; d != nil && d.V1Beta1 != nil && d.V1Beta1.FailureMessage != nil {
		ready := find(m.Status.Conditions, clusterv1.ReadyCondition)
		return Status{State: Failed, Message: Flatten(*d.V1Beta1.FailureMessage), Since: since(ready, created)}, true
	}
	for _, kind := range []string{clusterv1.InfrastructureReadyCondition, clusterv1.BootstrapConfigReadyCondition} {
		if c := find(m.Status.Conditions, kind); gaveUp(c) {
			return Status{State: Failed, Message: firstText(Flatten(c.Message), c.Reason), Since: since(c, created)}, true
		}
	}
	return Status{}, false
}

// lostReadiness is a Machine with a Node that is not ready, or not seen.
func lostReadiness(m *clusterv1.Machine, now time.Time) Status {
	created := m.CreationTimestamp.Time
	ready := find(m.Status.Conditions, clusterv1.ReadyCondition)
	node := find(m.Status.Conditions, clusterv1.MachineNodeReadyCondition)
	s := Status{State: Working, Message: firstText(reported(ready.Message), Flatten(node.Message)), Since: since(ready, created)}
	if node.Status == metav1.ConditionUnknown && node.Reason != "" && node.Reason != clusterv1.MachineNodeDoesNotExistReason {
		s.State = Unknown
		s.Message = firstText(Flatten(node.Message), s.Message)
		s.Since = since(node, created)
	}
	if node.Reason == clusterv1.MachineNodeDeletedReason {
		s.State = Failed
	}
	return late(s, expectedReady, now)
}

// becoming is a Machine on its way to a Node.
func becoming(m *clusterv1.Machine, now time.Time) Status {
	created := m.CreationTimestamp.Time
	bootstrap := find(m.Status.Conditions, clusterv1.BootstrapConfigReadyCondition)
	infrastructure := find(m.Status.Conditions, clusterv1.InfrastructureReadyCondition)
	s := Status{State: Working, Since: created}
	switch {
	case bootstrap.Status != metav1.ConditionTrue:
		s.Message = firstText(told(bootstrap.Message), "making its bootstrap data")
		if strings.HasPrefix(bootstrap.Reason, "WaitingFor") {
			s.State = Waiting
		}
	case infrastructure.Status != metav1.ConditionTrue:
		s.Message = firstText(told(infrastructure.Message), strings.TrimSpace("making its infrastructure "+m.Spec.InfrastructureRef.Kind))
		if strings.HasPrefix(infrastructure.Reason, "WaitingFor") && infrastructure.Reason != clusterv1.WaitingForBootstrapDataReason {
			s.State = Waiting
		}
	default:
		s.Message = "waiting for its Node to join"
	}
	if now.Sub(created) > expectedReady {
		s.State = Stuck
	}
	return s
}

// told is a condition's message, unless it only names the field that is not set yet.
func told(message string) string {
	if strings.Contains(message, "status.initialization.") {
		return ""
	}
	return Flatten(message)
}

// reported is a Ready condition's message without the parts that nobody has reported about yet: of a new control-plane
// machine that is most of them.
func reported(message string) string {
	var lines []string
	missing := false
	for line := range strings.Lines(message) {
		if strings.Contains(line, "not yet reported") {
			missing = true
			continue
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 && missing {
		return "waiting for its components to be seen"
	}
	return Flatten(strings.Join(lines, ""))
}
