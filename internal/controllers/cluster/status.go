package cluster

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/apply"
	corev1ac "slipway.dev/slipway/internal/applyconfigurations/core/v1beta2"
	"slipway.dev/slipway/internal/conditions"
	"slipway.dev/slipway/internal/events"
	"slipway.dev/slipway/internal/outcome"
	"slipway.dev/slipway/internal/plan"
	"slipway.dev/slipway/internal/replicas"
)

// Conditions of the older form.
const (
	controlPlaneReadyV1Beta1       clusterv1.ConditionType = "ControlPlaneReady"
	controlPlaneInitializedV1Beta1 clusterv1.ConditionType = "ControlPlaneInitialized"
	infrastructureReadyV1Beta1     clusterv1.ConditionType = "InfrastructureReady"

	waitingForControlPlaneV1Beta1   = "WaitingForControlPlane"
	waitingForInfrastructureV1Beta1 = "WaitingForInfrastructure"
)

// report writes the status if it differs from what is observed. What others wait for is written at once, the rest when
// it has settled.
func (r *Reconciler) report(ctx context.Context, w *world, acted error) error {
	if w.gone {
		return nil
	}
	want, after := r.status(w, acted)
	change := compare(&w.cluster.Status, &want)
	if change == nothing {
		r.settle.Done(w.cluster.UID)
		return later(after)
	}
	if left := r.patience(w, change); left > 0 {
		return outcome.Quietly(left, "Settling", "more is about to change")
	}
	configuration, err := apply.Convert[corev1ac.ClusterStatusApplyConfiguration](want)
	if err != nil {
		return err
	}
	if _, err := r.applier.ApplyStatus(ctx, w.cluster, corev1ac.Cluster(w.cluster.Name, w.cluster.Namespace).WithUID(w.cluster.UID).WithStatus(configuration)); err != nil {
		return err
	}
	r.settle.Done(w.cluster.UID)
	r.pace.Wrote(w.cluster.UID, w.now)
	r.announce(w, &want)
	return later(after)
}

// weight is how much somebody waits for a change of the status.
type weight int8

const (
	// nothing differs.
	nothing weight = iota
	// detail is what people may look at: counts, messages.
	detail
	// notable is what people wait for: whether the Cluster is Available.
	notable
	// urgent is what machines wait for, the milestones, and the start of a deletion or pause.
	urgent
)

// patience is for how long a change is held back still.
func (r *Reconciler) patience(w *world, change weight) time.Duration {
	settling := r.settle.Hold(w.cluster.UID, w.now)
	switch change {
	case detail:
		return max(settling, r.pace.Wait(w.cluster.UID, w.now))
	case notable:
		return settling
	case nothing, urgent:
	}
	return 0
}

func later(after time.Duration) error {
	if after > 0 {
		return outcome.Quietly(after, "Clock", "a condition changes by time alone")
	}
	return nil
}

// announce tells of the milestones that the written status is the first to show.
func (r *Reconciler) announce(w *world, now *clusterv1.ClusterStatus) {
	was := &w.cluster.Status
	if isTrue(now.Initialization.InfrastructureProvisioned) && !isTrue(was.Initialization.InfrastructureProvisioned) && w.infra.ref.IsDefined() {
		r.tell(w, events.InfrastructureReady, events.Provision, "The infrastructure is there")
	}
	if isTrue(now.Initialization.ControlPlaneInitialized) && !isTrue(was.Initialization.ControlPlaneInitialized) {
		r.tell(w, events.ControlPlaneInitialized, events.Provision, "The control plane has answered for the first time")
	}
	if now.Phase != was.Phase {
		r.tell(w, now.Phase, events.Provision, "The Cluster is "+now.Phase)
	}
}

// compare reports whether the own part of the status differs, and how much somebody waits for the difference.
func compare(observed, want *clusterv1.ClusterStatus) weight {
	is, was := want.DeepCopy(), observed.DeepCopy()
	turned := func(t string) bool {
		return conditions.IsTrue(was.Conditions, t) != conditions.IsTrue(is.Conditions, t)
	}
	switch {
	case was.Phase != is.Phase && is.Phase == string(clusterv1.ClusterPhaseDeleting),
		!equality.Semantic.DeepEqual(was.Initialization, is.Initialization),
		!equality.Semantic.DeepEqual(was.FailureDomains, is.FailureDomains),
		turned(clusterv1.PausedCondition):
		return urgent
	case turned(clusterv1.AvailableCondition):
		return notable
	}
	same := conditions.EqualOwned(was.Conditions, is.Conditions, owned()...) && conditions.EqualV1Beta1(v1beta1(was).Conditions, v1beta1(is).Conditions)
	wasFailed, isFailed := v1beta1(was), v1beta1(is)
	wasFailed.Conditions, isFailed.Conditions = nil, nil
	was.Conditions, is.Conditions, was.Deprecated, is.Deprecated = nil, nil, nil, nil
	if same && equality.Semantic.DeepEqual(wasFailed, isFailed) && equality.Semantic.DeepEqual(was, is) {
		return nothing
	}
	return detail
}

func v1beta1(s *clusterv1.ClusterStatus) clusterv1.ClusterV1Beta1DeprecatedStatus {
	if s.Deprecated == nil || s.Deprecated.V1Beta1 == nil {
		return clusterv1.ClusterV1Beta1DeprecatedStatus{}
	}
	return *s.Deprecated.V1Beta1
}

// status is what the status has to be, and when that changes by time alone; zero for never.
func (r *Reconciler) status(w *world, acted error) (clusterv1.ClusterStatus, time.Duration) {
	observed := &w.cluster.Status
	if w.paused {
		status := *observed.DeepCopy()
		status.Conditions = conditions.Only(observed.Conditions, owned()...)
		conditions.Set(&status.Conditions, replicas.Paused(w.cluster, w.cluster), w.cluster.Generation, w.now)
		return status, 0
	}
	status := clusterv1.ClusterStatus{
		Initialization: w.initialization(), FailureDomains: observed.DeepCopy().FailureDomains,
		ControlPlane: w.controlPlaneStatus(), Workers: w.workersStatus(), ObservedGeneration: observed.ObservedGeneration,
	}
	if w.infraView.Provisioned.IsTrue() && w.infra.err == nil {
		status.FailureDomains = w.infraView.FailureDomains
	}
	if _, failed := outcome.Result(acted); failed == nil {
		status.ObservedGeneration = w.cluster.Generation
	}
	status.Phase = string(plan.ClusterPhase(plan.ClusterPhaseFacts{
		Deleting: w.deleting(), HasRefs: w.infra.ref.IsDefined() || w.controlPlane.ref.IsDefined(),
		InfrastructureProvisioned: isTrue(status.Initialization.InfrastructureProvisioned),
		EndpointValid:             w.cluster.Spec.ControlPlaneEndpoint.IsValid(),
	}))
	want, after := r.conditions(w, acted, status.Initialization)
	status.Conditions = conditions.Stamp(observed.Conditions, want, w.cluster.Generation, w.now)
	status.Deprecated = &clusterv1.ClusterDeprecatedStatus{V1Beta1: w.deprecated(want)}
	return status, after
}

// initialization are the milestones; one that was reached stays so.
func (w *world) initialization() clusterv1.ClusterInitializationStatus {
	init := *w.cluster.Status.Initialization.DeepCopy()
	if !w.infra.ref.IsDefined() && !w.cluster.Spec.Topology.IsDefined() || w.infraView.Provisioned.IsTrue() && w.infra.err == nil {
		init.InfrastructureProvisioned = new(true)
	}
	if w.controlPlaneStarted() {
		init.ControlPlaneInitialized = new(true)
	}
	return init
}

// controlPlaneStarted reports whether the control plane has answered: its object says so, or the first of its Machines has
// a Node.
func (w *world) controlPlaneStarted() bool {
	if w.controlPlane.ref.IsDefined() {
		return w.controlPlane.err == nil && w.controlPlaneView.Initialized.IsTrue()
	}
	for _, m := range w.controlPlaneMachines() {
		if m.Status.NodeRef.IsDefined() {
			return true
		}
	}
	return false
}

// deprecated is what readers of v1beta1 look at.
func (w *world) deprecated(want []metav1.Condition) *clusterv1.ClusterV1Beta1DeprecatedStatus {
	observed := v1beta1(&w.cluster.Status)
	old := func(t clusterv1.ConditionType, from, waiting string) clusterv1.Condition {
		c := *conditions.Find(want, from)
		if c.Status != metav1.ConditionTrue && (c.Reason == clusterv1.NotReadyReason || c.Reason == clusterv1.NotAvailableReason) {
			c.Reason = waiting
		}
		return conditions.V1Beta1From(t, c, clusterv1.ConditionSeverityInfo)
	}
	conds := clusterv1.Conditions{
		old(infrastructureReadyV1Beta1, clusterv1.InfrastructureReadyCondition, waitingForInfrastructureV1Beta1),
		old(controlPlaneInitializedV1Beta1, clusterv1.ClusterControlPlaneInitializedCondition, ""),
		old(controlPlaneReadyV1Beta1, clusterv1.ClusterControlPlaneAvailableCondition, waitingForControlPlaneV1Beta1),
	}
	conds = append(conds, conditions.V1Beta1Ready(conds))
	status := &clusterv1.ClusterV1Beta1DeprecatedStatus{Conditions: conditions.StampV1Beta1(observed.Conditions, conds, w.now)}
	if f := w.failure(); !f.IsZero() {
		status.FailureReason, status.FailureMessage = optional(f.Reason), optional(f.Message)
	}
	return status
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
