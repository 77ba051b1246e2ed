package machine

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/conditions"
	"slipway.dev/slipway/internal/outcome"
	"slipway.dev/slipway/internal/plan"
)

// owned are the conditions that this controller writes. UpToDate belongs to the owner of a Machine; for those of a
// MachineDeployment this controller works it out.
func owned(m *clusterv1.Machine) []string {
	list := []string{
		clusterv1.AvailableCondition, clusterv1.ReadyCondition, clusterv1.BootstrapConfigReadyCondition, clusterv1.InfrastructureReadyCondition,
		clusterv1.MachineNodeReadyCondition, clusterv1.MachineNodeHealthyCondition, clusterv1.MachineUpdatingCondition,
		clusterv1.VersionsMatchCondition, clusterv1.DeletingCondition, clusterv1.PausedCondition,
	}
	if ofDeployment(m) {
		list = append(list, clusterv1.MachineUpToDateCondition)
	}
	return list
}

func ofDeployment(m *clusterv1.Machine) bool {
	owner := metav1.GetControllerOf(m)
	return owner != nil && owner.Kind == machineSetKind && m.Labels[clusterv1.MachineDeploymentNameLabel] != ""
}

// report writes the status if it differs from what is observed: at once when others wait for the news, else when it has
// been news for a moment. It returns when to look again.
func (r *Reconciler) report(ctx context.Context, w *world, err error) error {
	if w.finished || w.deleting() && !slices.Contains(w.machine.Finalizers, clusterv1.MachineFinalizer) {
		return nil
	}
	desired, again := r.desired(w, err)
	look := outcome.Quietly(again, "Time", "a condition changes by time alone")
	if sameStatus(w.machine, desired) {
		r.settling.Done(nameOf(w.machine))
		return look
	}
	if !urgent(&w.machine.Status, desired) {
		if wait := r.settling.Hold(nameOf(w.machine), w.now); wait > 0 {
			return outcome.Quietly(outcome.Sooner(again, wait), "Settling", "the status gathers changes")
		}
	}
	result, failure := r.applier.ApplyStatus(ctx, w.machine, statusConfiguration(w.machine, desired))
	if failure != nil {
		return failure
	}
	if result.Object != nil {
		r.written.note(result.Object)
	}
	r.settling.Done(nameOf(w.machine))
	r.tellChanges(w, desired)
	return look
}

// desired is the part of the status that this controller owns, as it should be, and when it changes by time alone.
func (r *Reconciler) desired(w *world, err error) (*clusterv1.MachineStatus, time.Duration) {
	m := w.machine
	s := m.Status.DeepCopy()
	types := owned(m)
	mine, others := split(m.Status.Conditions, types)
	if w.paused {
		// What was reported before the pause stays, of the generation that it was seen at.
		now := conditions.Stamp(mine, []metav1.Condition{paused(w)}, m.Generation, w.now)
		s.Conditions = conditions.Sorted(append(conditions.Without(mine, clusterv1.PausedCondition), now...))
		return s, 0
	}
	r.fillFacts(w, s)
	built := r.conditionsOf(w, err)
	known := slices.Concat(built, others)
	ready := ready(w, known)
	stamped := conditions.Stamp(m.Status.Conditions, []metav1.Condition{ready}, m.Generation, w.now)
	available, again := available(w, stamped)
	built = append(built, ready, available)
	s.Conditions = conditions.Stamp(m.Status.Conditions, built, m.Generation, w.now)
	if m.Status.Phase != s.Phase {
		s.LastUpdated = metav1.NewTime(w.now.Truncate(time.Second))
	}
	if !failed(err) || w.deleting() {
		s.ObservedGeneration = m.Generation
	}
	s.Deprecated = deprecated(w, slices.Concat(s.Conditions, others))
	return s, outcome.Sooner(again, w.lateDeletion())
}

func split(all []metav1.Condition, types []string) (mine, others []metav1.Condition) {
	for _, c := range all {
		if slices.Contains(types, c.Type) {
			mine = append(mine, c)
		} else {
			others = append(others, c)
		}
	}
	return mine, others
}

// fillFacts sets everything but conditions. What cannot be seen now keeps what was seen last.
func (r *Reconciler) fillFacts(w *world, s *clusterv1.MachineStatus) {
	m := w.machine
	if m.Spec.Bootstrap.DataSecretName != nil {
		s.Initialization.BootstrapDataSecretCreated = new(true)
	}
	if w.infraFacts.Provisioned.IsTrue() && m.Spec.ProviderID != "" {
		s.Initialization.InfrastructureProvisioned = new(true)
	}
	if w.infraFacts.Provisioned.IsTrue() {
		s.Addresses = w.infraFacts.Addresses
		if w.infraFacts.FailureDomain != "" {
			s.FailureDomain = w.infraFacts.FailureDomain
		}
	}
	if node := w.node.node; node != nil {
		s.NodeRef.Name = node.Name
		s.NodeInfo = node.Status.NodeInfo.DeepCopy()
	}
	s.CertificatesExpiryDate = certificatesExpiry(w)
	if w.deletion != nil && w.deletion.started != (clusterv1.MachineDeletionStatus{}) {
		s.Deletion = &w.deletion.started
	}
	if v := versions(w); v != (clusterv1.MachineVersions{}) {
		s.Slipway = &clusterv1.MachineSlipwayStatus{Versions: v}
	}
	s.Phase = string(plan.MachinePhase(plan.MachinePhaseFacts{
		Deleting: w.deleting(), Updating: updating(m),
		BootstrapDataCreated:      isTrue(s.Initialization.BootstrapDataSecretCreated),
		InfrastructureProvisioned: isTrue(s.Initialization.InfrastructureProvisioned),
		HasProviderID:             m.Spec.ProviderID != "", HasNode: s.NodeRef.IsDefined(),
	}))
}

// certificatesExpiry is what the Machine's annotation says, else that of its bootstrap object.
func certificatesExpiry(w *world) metav1.Time {
	if !w.isControlPlane() {
		return metav1.Time{}
	}
	text := w.machine.Annotations[clusterv1.MachineCertificatesExpiryDateAnnotation]
	if text == "" && w.bootstrap.object != nil {
		text = w.bootstrap.object.Annotations()[clusterv1.MachineCertificatesExpiryDateAnnotation]
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return metav1.Time{}
	}
	return metav1.NewTime(at)
}

func updating(m *clusterv1.Machine) bool {
	_, ok := m.Annotations[clusterv1.UpdateInProgressAnnotation]
	return ok
}

// sameStatus reports whether writing desired would change nothing.
func sameStatus(m *clusterv1.Machine, desired *clusterv1.MachineStatus) bool {
	if !conditions.EqualOwned(m.Status.Conditions, desired.Conditions, owned(m)...) {
		return false
	}
	if !conditions.EqualV1Beta1(v1beta1Conditions(&m.Status), v1beta1Conditions(desired)) {
		return false
	}
	have, want := withoutConditions(&m.Status), withoutConditions(desired)
	return equality.Semantic.DeepEqual(have, want)
}

func withoutConditions(s *clusterv1.MachineStatus) *clusterv1.MachineStatus {
	bare := *s
	bare.Conditions = nil
	if v := v1beta1(s); v != nil {
		rest := *v
		rest.Conditions = nil
		bare.Deprecated = &clusterv1.MachineDeprecatedStatus{V1Beta1: &rest}
	}
	return &bare
}

// urgent reports whether the change is one that owners, the door to the cluster or hooks wait for.
func urgent(have, want *clusterv1.MachineStatus) bool {
	switch {
	case have.NodeRef != want.NodeRef, phaseMatters(have.Phase, want.Phase), !equality.Semantic.DeepEqual(have.Deletion, want.Deletion):
		return true
	}
	for _, t := range []string{
		clusterv1.AvailableCondition, clusterv1.ReadyCondition, clusterv1.MachineUpToDateCondition, clusterv1.PausedCondition, clusterv1.DeletingCondition,
	} {
		// What becomes good, or stops being so, is waited for; a first report that all is still to come is not.
		first := t == clusterv1.MachineUpToDateCondition && !conditions.Has(have.Conditions, t)
		if !first && conditions.IsTrue(have.Conditions, t) != conditions.IsTrue(want.Conditions, t) {
			return true
		}
	}
	return false
}

func phaseMatters(have, want string) bool {
	return have != want && (want == string(clusterv1.MachinePhaseRunning) || want == string(clusterv1.MachinePhaseDeleting))
}
