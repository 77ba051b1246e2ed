package kubeadmcontrolplane

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
	"slipway.dev/slipway/internal/apply"
	controlplanev1ac "slipway.dev/slipway/internal/applyconfigurations/controlplane/v1beta2"
	corev1ac "slipway.dev/slipway/internal/applyconfigurations/core/v1beta2"
	"slipway.dev/slipway/internal/conditions"
	"slipway.dev/slipway/internal/outcome"
	"slipway.dev/slipway/internal/plan"
	"slipway.dev/slipway/internal/replicas"
)

// firstReport is how old a Machine is when its conditions are written for the first time, unless all is well before.
const firstReport = 10 * time.Second

// report writes the conditions of Machines and the own status, as far as they differ from what is observed, and returns
// the error that asks for another look when time alone changes what they say.
func (r *Reconciler) report(ctx context.Context, s *scene, acted error) error {
	if s.gone {
		return nil
	}
	var errs []error
	if !s.paused && !s.deleting {
		s.assess()
		errs = append(errs, r.reportMachines(ctx, s))
	}
	errs = append(errs, r.reportOwn(ctx, s, acted))
	if s.after > 0 {
		errs = append(errs, outcome.Quietly(s.after, "Clock", "something changes without an event"))
	}
	return errors.Join(errs...)
}

func (r *Reconciler) reportMachines(ctx context.Context, s *scene) error {
	var errs []error
	for _, m := range s.machines {
		want := conditions.Stamp(m.Status.Conditions, m.conditions, m.Generation, s.now)
		if conditions.EqualOwned(m.Status.Conditions, want, machineTypes()...) {
			continue
		}
		if wait := r.holdBack(s, m, want); wait > 0 {
			s.after = outcome.Sooner(s.after, wait)
			continue
		}
		status := corev1ac.MachineStatus().WithConditions(conditions.ApplyConfigurations(want)...)
		if _, err := r.machines.ApplyStatus(ctx, m.Machine, corev1ac.Machine(m.Name, m.Namespace).WithUID(m.UID).WithStatus(status)); err != nil {
			errs = append(errs, fmt.Errorf("write conditions of Machine %s: %w", m.Name, err))
			continue
		}
		r.calm.Wrote(m.UID, s.now)
	}
	return errors.Join(errs...)
}

// holdBack returns for how long a Machine's conditions should wait. What is all well, or was and no longer is, is written at
// once; the many steps of coming up are not worth a write each.
func (r *Reconciler) holdBack(s *scene, m *machine, want []metav1.Condition) time.Duration {
	well, worse := true, false
	for _, c := range want {
		good := c.Status == metav1.ConditionTrue
		well = well && good
		worse = worse || !good && conditions.IsTrue(m.Status.Conditions, c.Type)
	}
	if well || worse {
		return 0
	}
	if !conditions.Has(m.Status.Conditions, clusterv1.MachineUpToDateCondition) {
		if left := m.CreationTimestamp.Add(firstReport).Sub(s.now); left > 0 {
			return left
		}
	}
	return r.calm.Wait(m.UID, s.now)
}

func (r *Reconciler) reportOwn(ctx context.Context, s *scene, acted error) error {
	status := s.status(acted)
	rank := compare(&s.kcp.Status, &status)
	wait := time.Duration(0)
	switch rank {
	case same:
		return nil
	case words:
		wait = r.calm.Wait(s.kcp.UID, s.now)
	case numbers:
		wait = max(r.pace.Wait(s.kcp.UID, s.now), s.kcp.CreationTimestamp.Add(statusInterval).Sub(s.now))
	case milestone:
	}
	if wait > 0 {
		s.after = outcome.Sooner(s.after, wait)
		return nil
	}
	configuration, err := apply.Convert[controlplanev1ac.KubeadmControlPlaneStatusApplyConfiguration](status)
	if err != nil {
		return err
	}
	intent := controlplanev1ac.KubeadmControlPlane(s.kcp.Name, s.kcp.Namespace).WithUID(s.kcp.UID).WithStatus(configuration)
	if _, err := r.own.ApplyStatus(ctx, s.kcp, intent); err != nil {
		return err
	}
	r.pace.Wrote(s.kcp.UID, s.now)
	r.calm.Wrote(s.kcp.UID, s.now)
	return nil
}

// difference says how much a new status matters.
type difference int

const (
	same difference = iota
	// words: only messages and the like differ.
	words
	// numbers: counters or conditions differ.
	numbers
	// milestone: what others wait for differs.
	milestone
)

func compare(observed, want *controlplanev1.KubeadmControlPlaneStatus) difference {
	was, is := v1beta1(observed), v1beta1(want)
	equalWords := conditions.EqualOwned(observed.Conditions, want.Conditions, owned()...) && conditions.EqualV1Beta1(was.Conditions, is.Conditions)
	if !equality.Semantic.DeepEqual(observed.Initialization, want.Initialization) {
		return milestone
	}
	for _, t := range []string{clusterv1.AvailableCondition, clusterv1.PausedCondition, clusterv1.DeletingCondition} {
		a, b := conditions.Find(observed.Conditions, t), conditions.Find(want.Conditions, t)
		if a != nil && b != nil && a.Status != b.Status {
			return milestone
		}
	}
	switch {
	case !conditions.EqualOwned(plain(observed.Conditions), plain(want.Conditions), owned()...), !equalCounters(observed, want):
		return numbers
	case !equalWords:
		return words
	}
	return same
}

// plain returns the conditions without messages and generations.
func plain(conds []metav1.Condition) []metav1.Condition {
	out := conditions.WithoutMessages(conds)
	for i := range out {
		out[i].ObservedGeneration = 0
	}
	return out
}

func equalCounters(observed, want *controlplanev1.KubeadmControlPlaneStatus) bool {
	a, b := *observed, *want
	was, is := v1beta1(observed), v1beta1(want)
	was.Conditions, is.Conditions = nil, nil
	a.Conditions, b.Conditions, a.Deprecated, b.Deprecated = nil, nil, nil, nil
	a.LastRemediation, b.LastRemediation = controlplanev1.LastRemediationStatus{}, controlplanev1.LastRemediationStatus{}
	return equality.Semantic.DeepEqual(a, b) && equality.Semantic.DeepEqual(was, is)
}

func v1beta1(status *controlplanev1.KubeadmControlPlaneStatus) controlplanev1.KubeadmControlPlaneV1Beta1DeprecatedStatus {
	if status.Deprecated == nil || status.Deprecated.V1Beta1 == nil {
		return controlplanev1.KubeadmControlPlaneV1Beta1DeprecatedStatus{}
	}
	return *status.Deprecated.V1Beta1
}

// status is what the control plane's status has to be.
func (s *scene) status(acted error) controlplanev1.KubeadmControlPlaneStatus {
	if s.paused {
		status := *s.kcp.Status.DeepCopy()
		status.Conditions = conditions.Only(status.Conditions, owned()...)
		conditions.Set(&status.Conditions, replicas.Paused(s.cluster, s.kcp), s.kcp.Generation, s.now)
		return status
	}
	counts := replicas.Count(s.all(), s.kcp.Spec.Replicas, &clusterv1.MachineTemplateSpec{}, s.now)
	want := s.conditions()
	status := controlplanev1.KubeadmControlPlaneStatus{
		Conditions:         conditions.Stamp(s.kcp.Status.Conditions, want, s.kcp.Generation, s.now),
		Initialization:     s.kcp.Status.Initialization,
		Selector:           s.selector(),
		Replicas:           new(counts.Replicas),
		ReadyReplicas:      new(counts.Ready),
		AvailableReplicas:  new(counts.Available),
		UpToDateReplicas:   new(counts.UpToDate),
		Versions:           replicas.Versions(counts.Versions),
		ObservedGeneration: s.kcp.Status.ObservedGeneration,
		LastRemediation:    s.kcp.Status.LastRemediation,
	}
	names := make([]string, 0, len(counts.Versions))
	for _, v := range counts.Versions {
		names = append(names, v.Version)
	}
	status.Version = plan.LowestVersion(names)
	if s.inside.initialized {
		status.Initialization.ControlPlaneInitialized = new(true)
	}
	if s.inPlace && !failed(acted) {
		status.ObservedGeneration = s.kcp.Generation
	}
	status.Deprecated = &controlplanev1.KubeadmControlPlaneDeprecatedStatus{V1Beta1: s.deprecated(counts, want)}
	return status
}

// selector selects the Machines of the control plane, for the scale subresource.
func (s *scene) selector() string {
	return fmt.Sprintf("%s=%s,%s=", clusterv1.ClusterNameLabel, s.key.Name, clusterv1.MachineControlPlaneLabel)
}

// failed reports whether the reconcile has to be repeated before it counts as done for this generation.
func failed(err error) bool {
	_, plainError := outcome.Result(err)
	return plainError != nil || outcome.IsQuiet(err)
}

// owned are the conditions of the control plane that this controller writes.
func owned() []string {
	return []string{
		clusterv1.AvailableCondition, controlplanev1.KubeadmControlPlaneInitializedCondition,
		controlplanev1.KubeadmControlPlaneCertificatesAvailableCondition, controlplanev1.KubeadmControlPlaneEtcdClusterHealthyCondition,
		controlplanev1.KubeadmControlPlaneControlPlaneComponentsHealthyCondition,
		clusterv1.MachinesReadyCondition, clusterv1.MachinesUpToDateCondition, clusterv1.RollingOutCondition,
		clusterv1.ScalingUpCondition, clusterv1.ScalingDownCondition, clusterv1.RemediatingCondition,
		clusterv1.DeletingCondition, clusterv1.PausedCondition,
	}
}

// staying returns the Machines that are not being deleted.
func (s *scene) staying() []*machine {
	return slices.DeleteFunc(slices.Clone(s.machines), (*machine).deleting)
}
