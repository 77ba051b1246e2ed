package machineset

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/apply"
	corev1ac "slipway.dev/slipway/internal/applyconfigurations/core/v1beta2"
	"slipway.dev/slipway/internal/conditions"
	"slipway.dev/slipway/internal/outcome"
	"slipway.dev/slipway/internal/plan"
	"slipway.dev/slipway/internal/replicas"
)

// Conditions and reasons of the older form.
const (
	machinesCreatedV1Beta1 clusterv1.ConditionType = "MachinesCreated"
	resizedV1Beta1         clusterv1.ConditionType = "Resized"
	machinesReadyV1Beta1   clusterv1.ConditionType = "MachinesReady"

	machineCreationFailedV1Beta1 = "MachineCreationFailed"
	preflightCheckFailedV1Beta1  = "PreflightCheckFailed"
)

// owned are the conditions that this controller writes.
func owned() []string {
	return []string{
		clusterv1.MachinesReadyCondition, clusterv1.MachinesUpToDateCondition, clusterv1.ScalingUpCondition,
		clusterv1.ScalingDownCondition, clusterv1.RemediatingCondition, clusterv1.DeletingCondition, clusterv1.PausedCondition,
	}
}

// report writes the status if it differs from what is observed, and returns the error that asks for another look when
// time alone changes what it says.
func (r *Reconciler) report(ctx context.Context, s *scene, acted error) error {
	if s.gone {
		return nil
	}
	status, after := s.status(acted)
	urgent, differs := compare(s.set.Status, status)
	if differs && !urgent {
		if left := r.pace.Wait(s.set.UID, s.now); left > 0 {
			return outcome.Quietly(left, "Paced", "what changed may wait")
		}
	}
	if differs {
		if err := r.write(ctx, s, status); err != nil {
			return err
		}
		r.pace.Wrote(s.set.UID, s.now)
	}
	if after > 0 {
		return outcome.Quietly(after, "Clock", "a condition changes by time alone")
	}
	return nil
}

func (r *Reconciler) write(ctx context.Context, s *scene, status clusterv1.MachineSetStatus) error {
	configuration, err := apply.Convert[corev1ac.MachineSetStatusApplyConfiguration](status)
	if err != nil {
		return err
	}
	_, err = r.own.ApplyStatus(ctx, s.set, corev1ac.MachineSet(s.set.Name, s.set.Namespace).WithUID(s.set.UID).WithStatus(configuration))
	return err
}

// prompt are the conditions whose change is told at once. The others, the counters and all messages change with every
// step of every Machine, and may wait a moment for the next step.
func prompt() []string {
	return []string{clusterv1.DeletingCondition, clusterv1.PausedCondition}
}

// compare reports whether the own part of the status differs, and whether in something that is told at once.
func compare(observed, want clusterv1.MachineSetStatus) (urgent, differs bool) {
	same := conditions.EqualOwned(observed.Conditions, want.Conditions, owned()...)
	was, is := v1beta1(observed), v1beta1(want)
	same = same && conditions.EqualV1Beta1(was.Conditions, is.Conditions)
	urgent = observed.ObservedGeneration != want.ObservedGeneration ||
		!conditions.EqualOwned(promptOf(observed.Conditions), promptOf(want.Conditions))
	was.Conditions, is.Conditions = nil, nil
	observed.Conditions, want.Conditions = nil, nil
	observed.Deprecated, want.Deprecated = nil, nil
	counters := equality.Semantic.DeepEqual(observed, want) && equality.Semantic.DeepEqual(was, is)
	return urgent, !same || !counters
}

func v1beta1(status clusterv1.MachineSetStatus) clusterv1.MachineSetV1Beta1DeprecatedStatus {
	if status.Deprecated == nil || status.Deprecated.V1Beta1 == nil {
		return clusterv1.MachineSetV1Beta1DeprecatedStatus{}
	}
	return *status.Deprecated.V1Beta1
}

func promptOf(conds []metav1.Condition) []metav1.Condition {
	return conditions.WithoutMessages(conditions.Only(conds, prompt()...))
}

// status is what the set's status has to be, and when that changes by time alone; zero for never.
func (s *scene) status(acted error) (clusterv1.MachineSetStatus, time.Duration) {
	if s.paused {
		return s.pausedStatus(), 0
	}
	counts := replicas.Count(s.machines, s.set.Spec.Replicas, &s.set.Spec.Template, s.now)
	upToDate, after := replicas.MachinesUpToDate(s.machines, s.now)
	_, stale := replicas.Stale(s.machines, s.now)
	scale := replicas.Scale{Desired: s.set.Spec.Replicas, Machines: s.machines, Deleting: s.deleting, Obstacles: s.told(), Now: s.now}
	want := []metav1.Condition{
		replicas.MachinesReady(s.machines), upToDate, scale.Up(), scale.Down(), replicas.Remediating(), s.deletingCondition(),
		replicas.Paused(s.cluster, s.set),
	}
	status := clusterv1.MachineSetStatus{
		Conditions:         conditions.Stamp(s.set.Status.Conditions, want, s.set.Generation, s.now),
		Selector:           s.selector.String(),
		Replicas:           new(counts.Replicas),
		ReadyReplicas:      new(counts.Ready),
		AvailableReplicas:  new(counts.Available),
		UpToDateReplicas:   new(counts.UpToDate),
		Versions:           replicas.Versions(counts.Versions),
		ObservedGeneration: s.set.Status.ObservedGeneration,
	}
	if s.inPlace && !failed(acted) {
		status.ObservedGeneration = s.set.Generation
	}
	status.Deprecated = &clusterv1.MachineSetDeprecatedStatus{V1Beta1: s.deprecated(counts, want)}
	return status, outcome.Sooner(s.recheck, outcome.Sooner(after, stale))
}

// failed reports whether the reconcile has to be repeated before it counts as done for this generation.
func failed(err error) bool {
	_, plain := outcome.Result(err)
	return plain != nil || outcome.IsQuiet(err)
}

// pausedStatus is the observed status with the condition Paused alone made anew.
func (s *scene) pausedStatus() clusterv1.MachineSetStatus {
	status := *s.set.Status.DeepCopy()
	status.Conditions = conditions.Only(status.Conditions, owned()...)
	conditions.Set(&status.Conditions, replicas.Paused(s.cluster, s.set), s.set.Generation, s.now)
	return status
}

// told are the obstacles as the condition ScalingUp has them. While the set is as large as wanted, only those count that
// somebody has to mend before it could ever grow.
func (s *scene) told() []string {
	obstacles := s.obstacles()
	if s.refused != nil {
		obstacles = append(obstacles, s.refused.Error())
	}
	if s.set.Annotations[clusterv1.DisableMachineCreateAnnotation] == "true" {
		if len(s.machines) >= int(desired(s.set)) {
			return nil
		}
		return []string{fmt.Sprintf("The annotation %s forbids it", clusterv1.DisableMachineCreateAnnotation)}
	}
	return obstacles
}

func (s *scene) deletingCondition() metav1.Condition {
	if !s.deleting {
		return conditions.False(clusterv1.DeletingCondition, clusterv1.NotDeletingReason, "")
	}
	if len(s.machines) == 0 {
		return conditions.True(clusterv1.DeletingCondition, clusterv1.DeletingReason, "Deletion is about to complete")
	}
	names := plan.NameList(replicas.Names(s.machines))
	stale, _ := replicas.Stale(s.machines, s.now)
	message := fmt.Sprintf("Waiting for %s to be gone: %s", conditions.Count(len(s.machines), "Machine"), names)
	for _, line := range stale {
		message += "\n* " + line
	}
	return conditions.True(clusterv1.DeletingCondition, clusterv1.DeletingReason, message)
}

// deprecated is what readers of v1beta1 look at.
func (s *scene) deprecated(counts plan.Counts, want []metav1.Condition) *clusterv1.MachineSetV1Beta1DeprecatedStatus {
	observed := v1beta1(s.set.Status)
	conds := clusterv1.Conditions{
		s.machinesCreated(), s.resized(),
		conditions.V1Beta1From(machinesReadyV1Beta1, *conditions.Find(want, clusterv1.MachinesReadyCondition), clusterv1.ConditionSeverityWarning),
	}
	conds = append(conds, conditions.V1Beta1Ready(conds))
	return &clusterv1.MachineSetV1Beta1DeprecatedStatus{
		Conditions:           conditions.StampV1Beta1(observed.Conditions, conds, s.now),
		FullyLabeledReplicas: counts.Deprecated.FullyLabeled,
		ReadyReplicas:        counts.Deprecated.Ready,
		AvailableReplicas:    counts.Deprecated.Available,
	}
}

func (s *scene) machinesCreated() clusterv1.Condition {
	missing := len(s.machines) < int(desired(s.set)) && !s.deleting
	switch {
	case s.refused != nil:
		return conditions.V1Beta1False(machinesCreatedV1Beta1, machineCreationFailedV1Beta1, clusterv1.ConditionSeverityError, s.refused.Error())
	case missing && len(s.held) > 0:
		return conditions.V1Beta1False(machinesCreatedV1Beta1, preflightCheckFailedV1Beta1, clusterv1.ConditionSeverityError, strings.Join(s.held, "; "))
	case missing && len(s.obstacles()) > 0:
		return conditions.V1Beta1False(machinesCreatedV1Beta1, machineCreationFailedV1Beta1, clusterv1.ConditionSeverityError, strings.Join(s.obstacles(), "; "))
	default:
		return conditions.V1Beta1True(machinesCreatedV1Beta1)
	}
}

func (s *scene) resized() clusterv1.Condition {
	want, have := int(desired(s.set)), len(s.machines)
	if s.deleting {
		want = 0
	}
	switch {
	case have < want:
		return conditions.V1Beta1False(resizedV1Beta1, clusterv1.ScalingUpReason, clusterv1.ConditionSeverityWarning, fmt.Sprintf("Scaling up MachineSet to %d replicas (actual %d)", want, have))
	case have > want:
		return conditions.V1Beta1False(resizedV1Beta1, clusterv1.ScalingDownReason, clusterv1.ConditionSeverityWarning, fmt.Sprintf("Scaling down MachineSet to %d replicas (actual %d)", want, have))
	default:
		return conditions.V1Beta1True(resizedV1Beta1)
	}
}
