package machinedeployment

import (
	"context"
	"fmt"
	"slices"
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
	availableV1Beta1       clusterv1.ConditionType = "Available"
	machineSetReadyV1Beta1 clusterv1.ConditionType = "MachineSetReady"

	waitingForAvailableMachinesV1Beta1 = "WaitingForAvailableMachines"
	waitingForMachineSetV1Beta1        = "WaitingForMachineSet"
)

// owned are the conditions that this controller writes.
func owned() []string {
	return []string{
		clusterv1.AvailableCondition, clusterv1.MachinesReadyCondition, clusterv1.MachinesUpToDateCondition,
		clusterv1.RollingOutCondition, clusterv1.ScalingUpCondition, clusterv1.ScalingDownCondition,
		clusterv1.RemediatingCondition, clusterv1.DeletingCondition, clusterv1.PausedCondition,
	}
}

// report writes the status if it differs from what is observed, and returns the error that asks for another look when
// time alone changes what it says.
func (r *Reconciler) report(ctx context.Context, s *scene, acted error) error {
	if s.gone {
		return nil
	}
	status, after := s.status(acted)
	urgent, differs := compare(s.deployment.Status, status)
	if differs && !urgent {
		if left := r.pace.Wait(s.deployment.UID, s.now); left > 0 {
			return outcome.Quietly(left, "Paced", "what changed may wait")
		}
	}
	if differs {
		if err := r.write(ctx, s, status); err != nil {
			return err
		}
		r.pace.Wrote(s.deployment.UID, s.now)
	}
	if after > 0 {
		return outcome.Quietly(after, "Clock", "the plan or a condition changes by time alone")
	}
	return nil
}

func (r *Reconciler) write(ctx context.Context, s *scene, status clusterv1.MachineDeploymentStatus) error {
	configuration, err := apply.Convert[corev1ac.MachineDeploymentStatusApplyConfiguration](status)
	if err != nil {
		return err
	}
	d := s.deployment
	_, err = r.own.ApplyStatus(ctx, d, corev1ac.MachineDeployment(d.Name, d.Namespace).WithUID(d.UID).WithStatus(configuration))
	return err
}

// prompt are the conditions whose change is told at once. The others, the counters and all messages change with every
// step of every Machine, and may wait a moment for the next step.
func prompt() []string {
	return []string{clusterv1.AvailableCondition, clusterv1.RollingOutCondition, clusterv1.DeletingCondition, clusterv1.PausedCondition}
}

// compare reports whether the own part of the status differs, and whether in something that is told at once.
func compare(observed, want clusterv1.MachineDeploymentStatus) (urgent, differs bool) {
	same := conditions.EqualOwned(observed.Conditions, want.Conditions, owned()...)
	was, is := v1beta1(observed), v1beta1(want)
	same = same && conditions.EqualV1Beta1(was.Conditions, is.Conditions)
	urgent = observed.ObservedGeneration != want.ObservedGeneration || observed.Phase != want.Phase ||
		!conditions.EqualOwned(promptOf(observed.Conditions), promptOf(want.Conditions))
	was.Conditions, is.Conditions = nil, nil
	observed.Conditions, want.Conditions = nil, nil
	observed.Deprecated, want.Deprecated = nil, nil
	counters := equality.Semantic.DeepEqual(observed, want) && equality.Semantic.DeepEqual(was, is)
	return urgent, !same || !counters
}

func v1beta1(status clusterv1.MachineDeploymentStatus) clusterv1.MachineDeploymentV1Beta1DeprecatedStatus {
	if status.Deprecated == nil || status.Deprecated.V1Beta1 == nil {
		return clusterv1.MachineDeploymentV1Beta1DeprecatedStatus{}
	}
	return *status.Deprecated.V1Beta1
}

func promptOf(conds []metav1.Condition) []metav1.Condition {
	return conditions.WithoutMessages(conditions.Only(conds, prompt()...))
}

// status is what the deployment's status has to be, and when that, or the plan, changes by time alone; zero for never.
func (s *scene) status(acted error) (clusterv1.MachineDeploymentStatus, time.Duration) {
	if s.paused {
		return s.pausedStatus(), 0
	}
	d := s.deployment
	counts := replicas.Count(s.machines, d.Spec.Replicas, &d.Spec.Template, s.now)
	upToDate, after := replicas.MachinesUpToDate(s.machines, s.now)
	_, stale := replicas.Stale(s.machines, s.now)
	scale := replicas.Scale{Desired: d.Spec.Replicas, Machines: s.machines, Deleting: s.deleting, Obstacles: s.scalingObstacles(), Now: s.now}
	want := []metav1.Condition{
		s.available(counts.Available), replicas.MachinesReady(s.machines), upToDate, s.rollingOut(), scale.Up(), scale.Down(),
		replicas.Remediating(), s.deletingCondition(), replicas.Paused(s.cluster, d),
	}
	status := clusterv1.MachineDeploymentStatus{
		Conditions:         conditions.Stamp(d.Status.Conditions, want, d.Generation, s.now),
		ObservedGeneration: d.Status.ObservedGeneration,
		Selector:           s.selector.String(),
		Replicas:           new(counts.Replicas),
		ReadyReplicas:      new(counts.Ready),
		AvailableReplicas:  new(counts.Available),
		UpToDateReplicas:   new(counts.UpToDate),
		Versions:           replicas.Versions(counts.Versions),
		Phase:              string(s.phase()),
		Deprecated:         &clusterv1.MachineDeploymentDeprecatedStatus{V1Beta1: s.deprecated(counts, want)},
	}
	if s.inPlace && !failed(acted) {
		status.ObservedGeneration = d.Generation
	}
	after = outcome.Sooner(s.recheck, outcome.Sooner(after, stale))
	if !s.plan.CheckAt.IsZero() {
		after = outcome.Sooner(after, max(time.Second, s.plan.CheckAt.Sub(s.now)))
	}
	return status, after
}

// failed reports whether the reconcile has to be repeated before it counts as done for this generation.
func failed(err error) bool {
	_, plain := outcome.Result(err)
	return plain != nil || outcome.IsQuiet(err)
}

// pausedStatus is the observed status with the condition Paused alone made anew.
func (s *scene) pausedStatus() clusterv1.MachineDeploymentStatus {
	status := *s.deployment.Status.DeepCopy()
	status.Conditions = conditions.Only(status.Conditions, owned()...)
	conditions.Set(&status.Conditions, replicas.Paused(s.cluster, s.deployment), s.deployment.Generation, s.now)
	return status
}

func (s *scene) phase() clusterv1.MachineDeploymentPhase {
	want := s.deployment.Spec.Replicas
	if s.deleting {
		want = new(int32(0))
	}
	return plan.MachineDeploymentPhase(want, int32(len(s.machines)))
}

// scalingObstacles are what the condition ScalingUp tells. Preflight checks, and what else keeps the MachineSet from making
// Machines, count only while Machines are missing: they come and go with every upgrade of the control plane.
func (s *scene) scalingObstacles() []string {
	obstacles := s.obstacles()
	if s.refused != nil {
		obstacles = append(obstacles, s.refused.Error())
	}
	if want := s.deployment.Spec.Replicas; want != nil && len(s.machines) < int(*want) && !s.deleting {
		obstacles = append(obstacles, s.held...)
		if set := s.set(s.plan.New); set != nil && len(s.bySet[set.UID]) < int(sizeOf(set)) {
			for _, text := range replicas.Told(set.Status.Conditions) {
				if !slices.Contains(obstacles, text) {
					obstacles = append(obstacles, text)
				}
			}
		}
	}
	return obstacles
}

func (s *scene) available(available int32) metav1.Condition {
	const t = clusterv1.AvailableCondition
	want := s.deployment.Spec.Replicas
	switch {
	case s.deleting:
		return conditions.False(t, clusterv1.NotAvailableReason, "Deletion in progress")
	case want == nil:
		return conditions.Unknown(t, clusterv1.WaitingForReplicasSetReason, "Waiting for spec.replicas to be set")
	}
	unavailable := s.maxUnavailable()
	if least := *want - unavailable; available < least {
		message := fmt.Sprintf("%d available replicas, at least %d required", available, least)
		if unavailable > 0 {
			message += fmt.Sprintf(" (spec.rollout.strategy.rollingUpdate.maxUnavailable is %d of %d replicas)", unavailable, *want)
		}
		return conditions.False(t, clusterv1.NotAvailableReason, message)
	}
	return conditions.True(t, clusterv1.AvailableReason, "")
}

func (s *scene) maxUnavailable() int32 {
	rolling := s.deployment.Spec.Rollout.Strategy
	_, unavailable, err := plan.RolloutBounds(rolling.Type, rolling.RollingUpdate.MaxSurge, rolling.RollingUpdate.MaxUnavailable, *s.deployment.Spec.Replicas)
	if err != nil {
		return 0 // The condition RollingOut tells what is wrong.
	}
	return unavailable
}

func (s *scene) rollingOut() metav1.Condition {
	const t = clusterv1.RollingOutCondition
	switch {
	case s.planErr != nil:
		return conditions.Unknown(t, clusterv1.InternalErrorReason, strings.ToUpper(s.planErr.Error()[:1])+s.planErr.Error()[1:])
	case s.plan.RollingOut && !s.deleting:
		return conditions.True(t, clusterv1.RollingOutReason, s.plan.Reason)
	default:
		return conditions.False(t, clusterv1.NotRollingOutReason, "")
	}
}

func (s *scene) deletingCondition() metav1.Condition {
	const t = clusterv1.DeletingCondition
	if !s.deleting {
		return conditions.False(t, clusterv1.NotDeletingReason, "")
	}
	left := len(s.sets) + len(s.leaving)
	if left == 0 {
		return conditions.True(t, clusterv1.DeletingReason, "Deletion is about to complete")
	}
	message := fmt.Sprintf("Waiting for %s to be gone", conditions.Count(left, "MachineSet"))
	if len(s.machines) > 0 {
		message += fmt.Sprintf(" with %s: %s", conditions.Count(len(s.machines), "Machine"), plan.NameList(replicas.Names(s.machines)))
	}
	stale, _ := replicas.Stale(s.machines, s.now)
	for _, line := range stale {
		message += "\n* " + line
	}
	return conditions.True(t, clusterv1.DeletingReason, message)
}

// deprecated is what readers of v1beta1 look at.
func (s *scene) deprecated(counts plan.Counts, want []metav1.Condition) *clusterv1.MachineDeploymentV1Beta1DeprecatedStatus {
	available := conditions.V1Beta1From(availableV1Beta1, *conditions.Find(want, clusterv1.AvailableCondition), clusterv1.ConditionSeverityWarning)
	if available.Reason != "" {
		available.Reason = waitingForAvailableMachinesV1Beta1
	}
	conds := clusterv1.Conditions{available, s.machineSetReady()}
	conds = append(conds, conditions.V1Beta1Ready(conds))
	return &clusterv1.MachineDeploymentV1Beta1DeprecatedStatus{
		Conditions:          conditions.StampV1Beta1(v1beta1(s.deployment.Status).Conditions, conds, s.now),
		UpdatedReplicas:     counts.Deprecated.Updated,
		ReadyReplicas:       counts.Deprecated.Ready,
		AvailableReplicas:   counts.Deprecated.Available,
		UnavailableReplicas: counts.Deprecated.Unavailable,
	}
}

// machineSetReady is True when there is a MachineSet of the current template with as many Machines as it asks for.
func (s *scene) machineSetReady() clusterv1.Condition {
	set := s.set(s.plan.New)
	switch {
	case set == nil:
		return conditions.V1Beta1False(machineSetReadyV1Beta1, waitingForMachineSetV1Beta1, clusterv1.ConditionSeverityInfo, "")
	case len(s.bySet[set.UID]) < int(sizeOf(set)):
		return conditions.V1Beta1False(machineSetReadyV1Beta1, clusterv1.ScalingUpReason, clusterv1.ConditionSeverityInfo,
			fmt.Sprintf("Scaling up MachineSet to %d replicas (actual %d)", sizeOf(set), len(s.bySet[set.UID])))
	default:
		return conditions.V1Beta1True(machineSetReadyV1Beta1)
	}
}
