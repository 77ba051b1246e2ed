package kubeadmcontrolplane

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/conditions"
	"slipway.dev/slipway/internal/events"
	"slipway.dev/slipway/internal/outcome"
	"slipway.dev/slipway/internal/plan"
	"slipway.dev/slipway/internal/provision"
)

// act makes one step towards what the control plane asks for.
func (r *Reconciler) act(ctx context.Context, s *scene) error {
	if s.deleting {
		return errors.Join(r.propagate(ctx, s), r.tearDown(ctx, s))
	}
	if _, err := apply.AddFinalizer(ctx, r.Client, fieldManager, s.kcp, controlplanev1.KubeadmControlPlaneFinalizer); err != nil {
		return err
	}
	// Machines that are there, and those on their way out, do not wait for what keeps new ones from being made.
	kept := errors.Join(r.propagate(ctx, s), r.leave(ctx, s))
	if err := errors.Join(s.template.Failure(), provision.OwnTemplates(ctx, r.Client, fieldManager, s.cluster, s.template.Object), r.adopt(ctx, s)); err != nil {
		return errors.Join(kept, err)
	}
	if err := r.secure(ctx, s); err != nil {
		return errors.Join(kept, err)
	}
	return errors.Join(kept, r.scale(ctx, s))
}

// adopt takes over control-plane Machines of the Cluster that nobody controls, such as restored ones. Those that are
// further than a minor version away are left to people.
func (r *Reconciler) adopt(ctx context.Context, s *scene) error {
	var errs []error
	for _, m := range s.strays {
		if !m.DeletionTimestamp.IsZero() || !adoptable(s.kcp, m) {
			continue
		}
		adopted := m.DeepCopy()
		changed, err := apply.Metadata(ctx, r.Client, machineManager, adopted, func(meta metav1.Object) {
			apply.SetOwner(meta, s.owner())
		})
		if err != nil {
			errs = append(errs, fmt.Errorf("adopt Machine %s: %w", m.Name, err))
		} else if changed {
			r.tracker.Wrote(s.kcp.UID, adopted)
			r.Recorder.Eventf(s.kcp, adopted, corev1.EventTypeNormal, events.SuccessfulAdopt, events.Adopt, "Adopted Machine %s", m.Name)
			errs = append(errs, outcome.Quietly(0, "Adopted", "Machine %s was adopted and is counted when the cache shows it", m.Name))
		}
	}
	return errors.Join(errs...)
}

func adoptable(kcp *controlplanev1.KubeadmControlPlane, m *clusterv1.Machine) bool {
	if m.Spec.Bootstrap.ConfigRef.Kind != configKind {
		return false
	}
	want, err := plan.ParseVersion(kcp.Spec.Version)
	if err != nil {
		return false
	}
	have, err := plan.ParseVersion(plan.NormalizeVersion(m.Spec.Version))
	if err != nil {
		return false
	}
	return want.Major == have.Major && max(want.Minor, have.Minor)-min(want.Minor, have.Minor) <= 1
}

// scale makes the number of Machines so and replaces outdated ones, one at a time.
func (r *Reconciler) scale(ctx context.Context, s *scene) error {
	s.step = plan.ControlPlane(s.facts())
	if s.step.Kind == plan.ScaleUpAction && s.etcd.remembered {
		r.look(ctx, s) // A join changes the majority: not on the strength of what was seen minutes ago.
		s.step = plan.ControlPlane(s.facts())
	}
	if err := r.sweep(ctx, s); err != nil {
		return err
	}
	switch s.step.Kind {
	case plan.NoAction:
		r.patience.forget(s.kcp.UID)
		return r.readExpiries(ctx, s)
	case plan.WaitAction:
		r.tellUnhealthy(s)
		return nil
	case plan.InitAction, plan.ScaleUpAction, plan.ScaleDownAction:
	}
	if err := r.fresh(ctx, s); err != nil {
		return err
	}
	if s.step.RollingOut {
		if err := r.prepareRollout(ctx, s); err != nil {
			return err
		}
	}
	if s.step.Kind == plan.ScaleDownAction {
		return r.shrink(ctx, s)
	}
	return r.grow(ctx, s)
}

// look reads etcd's members now.
func (r *Reconciler) look(ctx context.Context, s *scene) {
	ctx, cancel := context.WithTimeout(ctx, insideTimeout)
	defer cancel()
	s.etcd = r.readEtcd(ctx, s)
}

// facts are what the plan decides on. What is not seen right now is unknown to it, whatever conditions still say.
func (s *scene) facts() plan.ControlPlaneFacts {
	f := plan.ControlPlaneFacts{
		Replicas: replicasOf(s.kcp), MaxSurge: maxSurge(s.kcp), Machines: s.machineFacts(),
		Initialized:         s.inside.initialized,
		InfrastructureReady: isTrue(s.cluster.Status.Initialization.InfrastructureProvisioned),
		CertificatesReady:   s.authorities.ready(),
		EndpointReady:       endpointReady(s.cluster.Spec.ControlPlaneEndpoint),
		EtcdManaged:         s.etcdManaged(),
		Etcd:                s.etcdFacts(s.etcd.members, s.etcd.known),
	}
	for _, d := range s.cluster.Status.FailureDomains {
		f.Domains = append(f.Domains, plan.FailureDomain{Name: d.Name, ControlPlane: isTrue(d.ControlPlane)})
	}
	if names := s.unowned(); len(names) > 0 {
		f.Hold = fmt.Sprintf("Cluster %s has control plane Machines that this object does not control: %s; delete them, or let them be adopted (no controller, a KubeadmConfig, and at most one minor version from spec.version)",
			s.cluster.Name, plan.NameList(names))
	}
	if !s.cluster.DeletionTimestamp.IsZero() {
		f.Hold = fmt.Sprintf("Cluster %s is being deleted", s.cluster.Name)
	}
	return f
}

func (s *scene) machineFacts() []plan.ControlPlaneMachine {
	facts := make([]plan.ControlPlaneMachine, 0, len(s.machines))
	for _, m := range s.machines {
		_, annotated := m.Annotations[clusterv1.DeleteMachineAnnotation]
		f := plan.ControlPlaneMachine{
			Name: m.Name, Created: m.CreationTimestamp.Time, FailureDomain: m.Spec.FailureDomain, Outdated: m.outdated,
			Deleting: m.deleting(), DeleteAnnotated: annotated, HasNode: m.Status.NodeRef.IsDefined(),
		}
		if s.connected() {
			live := s.health(m)
			f.APIServer = triOf(live, controlplanev1.KubeadmControlPlaneMachineAPIServerPodHealthyCondition)
			f.ControllerManager = triOf(live, controlplanev1.KubeadmControlPlaneMachineControllerManagerPodHealthyCondition)
			f.Scheduler = triOf(live, controlplanev1.KubeadmControlPlaneMachineSchedulerPodHealthyCondition)
			f.EtcdPod = triOf(live, controlplanev1.KubeadmControlPlaneMachineEtcdPodHealthyCondition)
			f.EtcdMember = triOf(live, controlplanev1.KubeadmControlPlaneMachineEtcdMemberHealthyCondition)
		}
		facts = append(facts, f)
	}
	return facts
}

// shrink deletes the Machine that the plan has chosen. Its etcd member leaves in the pre-terminate hook.
func (r *Reconciler) shrink(ctx context.Context, s *scene) error {
	m := s.machine(s.step.Machine)
	if err := r.deleteMachine(ctx, s, m); err != nil {
		if r.told.IsNew(s.kcp.UID, events.FailedScaleDown, err.Error()) {
			r.Recorder.Eventf(s.kcp, m.Machine, corev1.EventTypeWarning, events.FailedScaleDown, events.Scale, "%s", conditions.Bounded(err.Error()))
		}
		return err
	}
	r.told.Mended(s.kcp.UID, events.FailedScaleDown)
	r.Recorder.Eventf(s.kcp, m.Machine, corev1.EventTypeNormal, events.SuccessfulDelete, events.Delete, "%s", s.step.Reason)
	return nil
}

func (r *Reconciler) deleteMachine(ctx context.Context, s *scene, m *machine) error {
	err := r.Client.Delete(ctx, m.DeepCopy(), client.Preconditions{UID: &m.UID})
	if client.IgnoreNotFound(err) != nil {
		r.doubt(s, err)
		return fmt.Errorf("delete Machine %s: %w", m.Name, err)
	}
	r.tracker.Deleted(s.kcp.UID, m.Machine)
	return nil
}

// doubt says that a write has failed, and may have arrived though its answer did not: before the next step the API server
// is asked.
func (r *Reconciler) doubt(s *scene, err error) {
	r.swept.Dirty(s.kcp.UID)
	r.tracker.Failed(s.kcp.UID, err)
}

// tellUnhealthy tells once, in an Event, that the control plane is not well for longer than a Machine takes to settle.
func (r *Reconciler) tellUnhealthy(s *scene) {
	if !s.step.Unhealthy {
		r.patience.forget(s.kcp.UID)
		return
	}
	due, wait := r.patience.lost(s.kcp.UID, s.now)
	if due {
		r.Recorder.Eventf(s.kcp, nil, corev1.EventTypeWarning, events.ControlPlaneUnhealthy, events.Scale, "%s", conditions.Bounded(s.step.Reason))
	}
	s.after = outcome.Sooner(s.after, wait)
}

func replicasOf(kcp *controlplanev1.KubeadmControlPlane) int32 {
	if kcp.Spec.Replicas == nil {
		return 1
	}
	return *kcp.Spec.Replicas
}

func maxSurge(kcp *controlplanev1.KubeadmControlPlane) int32 {
	if surge := kcp.Spec.Rollout.Strategy.RollingUpdate.MaxSurge; surge != nil {
		return int32(surge.IntValue())
	}
	return 1
}

func triOf(conds []metav1.Condition, conditionType string) plan.Tri {
	i := slices.IndexFunc(conds, func(c metav1.Condition) bool { return c.Type == conditionType })
	switch {
	case i >= 0 && conds[i].Status == metav1.ConditionTrue:
		return plan.True
	case i >= 0 && conds[i].Status == metav1.ConditionFalse:
		return plan.False
	}
	return plan.Unknown
}
