package machine

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
	"slipway.dev/slipway/internal/conditions"
	"slipway.dev/slipway/internal/contract"
	"slipway.dev/slipway/internal/outcome"
	"slipway.dev/slipway/internal/plan"
	"slipway.dev/slipway/internal/replicas"
)

const (
	// lateAfter is when a deletion takes so long that the summary says so.
	lateAfter = 15 * time.Minute
	// drainLateAfter is when a drain takes so long that the summary names what holds it up.
	drainLateAfter = 5 * time.Minute
)

// conditionsOf are the conditions of this controller but Ready and Available, which rest on all others.
func (r *Reconciler) conditionsOf(w *world, err error) []metav1.Condition {
	nodeReady, nodeHealthy := r.nodeConditions(w)
	list := []metav1.Condition{
		bootstrapReady(w), infrastructureReady(w), nodeReady, nodeHealthy, updatingCondition(w), deletingCondition(w, err), paused(w),
	}
	match := versionsMatch(w, versions(w))
	list = append(list, metav1.Condition{
		Type: clusterv1.VersionsMatchCondition, Status: metav1.ConditionStatus(match.Status.String()), Reason: match.Reason, Message: match.Message,
	})
	if ofDeployment(w.machine) {
		list = append(list, upToDate(w))
	}
	return list
}

func paused(w *world) metav1.Condition { return replicas.Paused(w.cluster, w.machine) }

func bootstrapReady(w *world) metav1.Condition {
	const t = clusterv1.BootstrapConfigReadyCondition
	if !w.bootstrap.ref.IsDefined() {
		return conditions.True(t, clusterv1.MachineBootstrapDataSecretProvidedReason, "")
	}
	if w.bootstrap.object != nil && w.bootstrap.err == nil {
		return w.bootstrap.object.Mirror(t, clusterv1.ReadyCondition, w.bootstrapFacts.DataSecretCreated)
	}
	return unreadable(w, t, w.bootstrap, w.machine.Spec.Bootstrap.DataSecretName != nil)
}

func infrastructureReady(w *world) metav1.Condition {
	const t = clusterv1.InfrastructureReadyCondition
	if w.infra.object == nil || w.infra.err != nil {
		return unreadable(w, t, w.infra, isTrue(w.machine.Status.Initialization.InfrastructureProvisioned))
	}
	if w.infraFacts.Provisioned.IsTrue() && w.infraFacts.ProviderID == "" {
		wait, _ := outcome.AsWait(missing(w.infra, "spec.providerID", "the machine's identity"))
		return conditions.False(t, contract.InvalidFieldReportedReason, wait.Message)
	}
	return w.infra.object.Mirror(t, clusterv1.ReadyCondition, w.infraFacts.Provisioned)
}

// unreadable is the condition about an object that is not there or makes no sense. Seen says that it was there before.
func unreadable(w *world, t string, e external, seen bool) metav1.Condition {
	name := e.ref.Kind + " " + e.ref.Name
	if stall, ok := outcome.AsStall(e.err); ok {
		return conditions.False(t, stall.Reason, stall.Message)
	}
	switch {
	case e.err != nil:
		return conditions.Unknown(t, clusterv1.InternalErrorReason, name+" could not be read; the controller's log says why, and it is tried again")
	case seen && w.deleting():
		return conditions.False(t, clusterv1.ObjectDeletedReason, name+" has been deleted")
	case seen:
		return conditions.False(t, clusterv1.ObjectDeletedReason, name+" has been deleted while the Machine still exists; delete the Machine to replace it")
	case w.deleting():
		return conditions.Unknown(t, clusterv1.ObjectDoesNotExistReason, name+" does not exist")
	default:
		return conditions.Unknown(t, clusterv1.ObjectDoesNotExistReason, name+" does not exist; create it, or correct the reference")
	}
}

func updatingCondition(w *world) metav1.Condition {
	if updating(w.machine) {
		return conditions.True(clusterv1.MachineUpdatingCondition, clusterv1.MachineInPlaceUpdatingReason, "The Machine is being updated in place")
	}
	return conditions.False(clusterv1.MachineUpdatingCondition, clusterv1.MachineNotUpdatingReason, "")
}

func deletingCondition(w *world, err error) metav1.Condition {
	const t = clusterv1.DeletingCondition
	if w.deletion == nil {
		return conditions.False(t, clusterv1.NotDeletingReason, "")
	}
	p, last := w.deletion.plan, conditions.Find(w.machine.Status.Conditions, t)
	planned := p.Message != ""
	if stall, ok := outcome.AsStall(err); ok {
		return conditions.True(t, orElse(p.Reason, stall.Reason), stall.Message)
	}
	switch {
	case !planned && failed(err):
		return conditions.True(t, clusterv1.InternalErrorReason, "The deletion could not go on; the controller's log says why, and it is tried again")
	case last != nil && last.Status == metav1.ConditionTrue && (!planned || outcome.IsQuiet(err) && last.Reason == p.Reason):
		// Nothing was found out this time, so what was said last still holds.
		return *last
	}
	message := p.Message
	if p.NodeLeft != "" && w.machine.Status.NodeRef.IsDefined() {
		message += fmt.Sprintf(" (Node %s is left alone, since %s)", w.machine.Status.NodeRef.Name, p.NodeLeft)
	}
	return conditions.True(t, p.Reason, message)
}

func orElse(text, otherwise string) string {
	if text != "" {
		return text
	}
	return otherwise
}

// failed reports whether a step went wrong, rather than that it waits.
func failed(err error) bool {
	_, waits := outcome.AsWait(err)
	return err != nil && !waits && !outcome.IsQuiet(err)
}

func upToDate(w *world) metav1.Condition {
	f := plan.WorkerSpecFacts{
		Updating: updating(w.machine), Version: w.machine.Spec.Version,
	}
	if w.set != nil && w.deployment != nil {
		f.SetDiffers = plan.TemplateDiffers(w.set.Spec.Template, w.deployment.Spec.Template)
		f.SetCurrent = plan.TriOf(len(f.SetDiffers) == 0)
		f.RolloutAfter, f.SetCreated = w.deployment.Spec.Rollout.After.Time, w.set.CreationTimestamp.Time
	}
	if w.node.node != nil {
		f.KubeletVersion = w.node.node.Status.NodeInfo.KubeletVersion
	} else if info := w.machine.Status.NodeInfo; info != nil {
		f.KubeletVersion = info.KubeletVersion
	}
	result := plan.WorkerUpToDate(f, w.now)
	lines := make([]string, 0, len(result.Messages))
	for _, m := range result.Messages {
		lines = append(lines, "* "+m)
	}
	return metav1.Condition{
		Type: clusterv1.MachineUpToDateCondition, Status: metav1.ConditionStatus(result.Status.String()), Reason: result.Reason, Message: strings.Join(lines, "\n"),
	}
}

// ready sums up the conditions that count.
func ready(w *world, known []metav1.Condition) metav1.Condition {
	s := conditions.Summary{
		Type: clusterv1.ReadyCondition,
		For: []string{
			clusterv1.DeletingCondition, clusterv1.MachineUpdatingCondition, clusterv1.BootstrapConfigReadyCondition,
			clusterv1.InfrastructureReadyCondition, clusterv1.MachineNodeHealthyCondition, clusterv1.MachineHealthCheckSucceededCondition,
		},
		IgnoreIfAbsent: []string{clusterv1.MachineHealthCheckSucceededCondition},
		Polarity:       map[string]conditions.Polarity{},
		Collapse:       []conditions.Collapse{{Label: "Control plane components", Types: controlPlaneComponents()}},
	}
	for _, gate := range w.machine.Spec.ReadinessGates {
		if !slices.Contains(s.For, gate.ConditionType) {
			s.For = append(s.For, gate.ConditionType)
		}
		if gate.Polarity == clusterv1.NegativePolarityCondition {
			s.Polarity[gate.ConditionType] = conditions.Negative
		}
	}
	if w.deletion != nil {
		s.Overrides = []metav1.Condition{shortDeleting(w, conditions.Find(known, clusterv1.DeletingCondition))}
	}
	return s.Of(known)
}

func controlPlaneComponents() []string {
	return []string{
		controlplanev1.KubeadmControlPlaneMachineAPIServerPodHealthyCondition, controlplanev1.KubeadmControlPlaneMachineControllerManagerPodHealthyCondition,
		controlplanev1.KubeadmControlPlaneMachineSchedulerPodHealthyCondition, controlplanev1.KubeadmControlPlaneMachineEtcdPodHealthyCondition,
		controlplanev1.KubeadmControlPlaneMachineEtcdMemberHealthyCondition,
	}
}

// shortDeleting is the Deleting condition as the summary tells it: owners merge those of many Machines, so it holds
// nothing that differs between two that are at the same step.
func shortDeleting(w *world, c *metav1.Condition) metav1.Condition {
	message := "Machine deletion in progress, stage: " + c.Reason
	since := w.now.Sub(w.machine.DeletionTimestamp.Time)
	if since > lateAfter {
		message += fmt.Sprintf(", since more than %d minutes", int(lateAfter.Minutes()))
	}
	if start := w.deletion.started.NodeDrainStartTime; c.Reason == clusterv1.MachineDeletingDrainingNodeReason && !start.IsZero() && w.now.Sub(start.Time) > drainLateAfter {
		message += ", delay likely due to " + whatDelays(c.Message)
	}
	short := *c
	short.Message = message
	return short
}

// whatDelays sums up what the message of a drain names.
func whatDelays(message string) string {
	var causes []string
	for _, cause := range []struct{ sign, name string }{
		{"disruption budget", "PodDisruptionBudgets"}, {"waiting for termination", "Pods not terminating"},
		{"waiting for completion", "Pods not completed"}, {"could not", "evictions that fail"},
	} {
		if strings.Contains(message, cause.sign) {
			causes = append(causes, cause.name)
		}
	}
	if len(causes) == 0 {
		return "the workload cluster"
	}
	return strings.Join(causes, ", ")
}

// lateDeletion is when the summary of a deletion changes by time alone; zero for never.
func (w *world) lateDeletion() time.Duration {
	if w.deletion == nil {
		return 0
	}
	var next time.Duration
	for _, mark := range []time.Time{w.machine.DeletionTimestamp.Add(lateAfter), w.deletion.started.NodeDrainStartTime.Add(drainLateAfter)} {
		if wait := mark.Sub(w.now); wait > 0 {
			next = outcome.Sooner(next, wait+time.Second)
		}
	}
	return next
}

// available tells whether the Machine has been Ready for long enough, and when it will be.
func available(w *world, stamped []metav1.Condition) (metav1.Condition, time.Duration) {
	const t = clusterv1.AvailableCondition
	since, isReady := conditions.TrueSince(stamped, clusterv1.ReadyCondition)
	if !isReady {
		return conditions.False(t, clusterv1.NotReadyReason, ""), 0
	}
	var least int32
	if w.machine.Spec.MinReadySeconds != nil {
		least = *w.machine.Spec.MinReadySeconds
	}
	ok, wait := plan.AvailableAfter(true, since, least, w.now)
	if !ok {
		return conditions.False(t, clusterv1.MachineWaitingForMinReadySecondsReason, ""), wait
	}
	return conditions.True(t, clusterv1.AvailableReason, ""), 0
}
