package kubeadmcontrolplane

import (
	"context"
	"errors"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
	"slipway.dev/slipway/internal/apply"
	corev1ac "slipway.dev/slipway/internal/applyconfigurations/core/v1beta2"
	"slipway.dev/slipway/internal/contract"
	"slipway.dev/slipway/internal/outcome"
	"slipway.dev/slipway/internal/plan"
	"slipway.dev/slipway/internal/provision"
)

// labels are those that Machines and their objects carry because of the control plane.
func (s *scene) labels() map[string]string {
	out := map[string]string{}
	maps.Copy(out, s.kcp.Spec.MachineTemplate.ObjectMeta.Labels)
	out[clusterv1.ClusterNameLabel] = s.key.Name
	out[clusterv1.MachineControlPlaneLabel] = ""
	out[clusterv1.MachineControlPlaneNameLabel] = plan.LabelValue(s.kcp.Name)
	return out
}

// metadata is what bootstrap and infrastructure objects get from the control plane.
func (s *scene) metadata() provision.Metadata {
	return provision.Metadata{Labels: s.labels(), Annotations: s.kcp.Spec.MachineTemplate.ObjectMeta.Annotations}
}

// newMachine returns a Machine to be created.
func (s *scene) newMachine(name string, infrastructure schema.GroupKind) (*corev1ac.MachineApplyConfiguration, error) {
	return s.machineIntent(name, clusterv1.MachineSpec{
		Version:       s.kcp.Spec.Version,
		FailureDomain: s.step.FailureDomain,
		Bootstrap: clusterv1.Bootstrap{ConfigRef: clusterv1.ContractVersionedObjectReference{
			APIGroup: bootstrapv1.GroupVersion.Group, Kind: configKind, Name: name,
		}},
		InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrastructure.Group, Kind: infrastructure.Kind, Name: name},
	})
}

// sameMachine returns what the control plane wants of a Machine that exists: what may change in place as the spec has it
// now, the rest as the Machine has it. The hook is put on one that came without it, such as an adopted one: else its etcd
// member would stay when it goes, and count against every majority.
func (s *scene) sameMachine(m *machine) (*corev1ac.MachineApplyConfiguration, error) {
	spec := clusterv1.MachineSpec{
		Version: m.Spec.Version, FailureDomain: m.Spec.FailureDomain, InfrastructureRef: m.Spec.InfrastructureRef,
		Bootstrap: clusterv1.Bootstrap{ConfigRef: m.Spec.Bootstrap.ConfigRef},
	}
	return s.machineIntent(m.Name, spec)
}

func (s *scene) machineIntent(name string, spec clusterv1.MachineSpec) (*corev1ac.MachineApplyConfiguration, error) {
	template := &s.kcp.Spec.MachineTemplate
	spec.ClusterName = s.key.Name
	spec.ReadinessGates = s.readinessGates()
	spec.Deletion, spec.Taints = template.Spec.Deletion, template.Spec.Taints
	configuration, err := apply.Convert[corev1ac.MachineSpecApplyConfiguration](spec)
	if err != nil {
		return nil, err
	}
	annotations := map[string]string{}
	maps.Copy(annotations, template.ObjectMeta.Annotations)
	annotations[controlplanev1.PreTerminateHookCleanupAnnotation] = ""
	return corev1ac.Machine(name, s.kcp.Namespace).
		WithLabels(s.labels()).
		WithAnnotations(annotations).
		WithFinalizers(clusterv1.MachineFinalizer).
		WithOwnerReferences(apply.OwnerConfiguration(s.owner())).
		WithSpec(configuration), nil
}

// readinessGates are our own conditions, then those that the spec adds.
func (s *scene) readinessGates() []clusterv1.MachineReadinessGate {
	types := gateTypes(s.etcdManaged())
	gates := make([]clusterv1.MachineReadinessGate, 0, len(types)+len(s.kcp.Spec.MachineTemplate.Spec.ReadinessGates))
	for _, t := range types {
		gates = append(gates, clusterv1.MachineReadinessGate{ConditionType: t})
	}
	for _, g := range s.kcp.Spec.MachineTemplate.Spec.ReadinessGates {
		if !slices.Contains(types, g.ConditionType) {
			gates = append(gates, g)
		}
	}
	return gates
}

// propagate makes what may change in place so on all Machines and their objects. Machines that are being deleted take
// on new deletion timeouts.
func (r *Reconciler) propagate(ctx context.Context, s *scene) error {
	before := s.kcp.Status.ObservedGeneration == s.kcp.Generation
	var errs []error
	for _, m := range s.machines {
		switch {
		case m.deleting():
			errs = append(errs, r.keeper.KeepDeletion(ctx, m.Machine, s.kcp.Spec.MachineTemplate.Spec.Deletion))
		case !s.deleting:
			errs = append(errs, r.propagateTo(ctx, s, m, before))
		}
	}
	err := errors.Join(errs...)
	s.inPlace = err == nil
	return err
}

func (r *Reconciler) propagateTo(ctx context.Context, s *scene, m *machine, before bool) error {
	intent, err := s.sameMachine(m)
	if err != nil {
		return err
	}
	result, err := r.machines.Ensure(ctx, m.Machine, intent, before)
	if err != nil {
		return err
	}
	if result.Object != nil {
		r.tracker.Wrote(s.kcp.UID, result.Object)
	}
	infrastructure, err := r.infrastructure(ctx, m.Machine)
	if err != nil {
		return err
	}
	if infrastructure != nil {
		part := provision.Part{Object: infrastructure, Machine: m.Machine, Template: s.template.Object}
		if err := r.keeper.Keep(ctx, part, s.metadata(), before); err != nil {
			return err
		}
	}
	return r.keepConfig(ctx, s, m, before)
}

// keepConfig makes the metadata of a Machine's KubeadmConfig so.
func (r *Reconciler) keepConfig(ctx context.Context, s *scene, m *machine, before bool) error {
	if m.config == nil {
		return nil
	}
	object, err := r.resolver.Get(ctx, m.Spec.Bootstrap.ConfigRef, m.Namespace)
	if err != nil {
		return ignoreMissing(err)
	}
	own := func(key string) bool { return key == fingerprintAnnotation }
	return r.keeper.Keep(ctx, provision.Part{Object: object, Machine: m.Machine, Own: own}, s.metadata(), before)
}

// infrastructure reads the infrastructure object of a Machine; nil where there is none, which the Machine's controller
// tells.
func (r *Reconciler) infrastructure(ctx context.Context, m *clusterv1.Machine) (*contract.Object, error) {
	if !m.Spec.InfrastructureRef.IsDefined() {
		return nil, nil
	}
	object, err := r.resolver.Get(ctx, m.Spec.InfrastructureRef, m.Namespace)
	if err != nil {
		return nil, ignoreMissing(err)
	}
	return object, nil
}

func ignoreMissing(err error) error {
	if _, stalled := outcome.AsStall(err); stalled || apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
