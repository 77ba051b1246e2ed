package machineset

import (
	"context"
	"errors"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/apply"
	corev1ac "slipway.dev/slipway/internal/applyconfigurations/core/v1beta2"
	"slipway.dev/slipway/internal/plan"
	"slipway.dev/slipway/internal/provision"
)

// labels are those that Machines and their objects carry because of the set.
func (s *scene) labels() map[string]string {
	out := map[string]string{}
	maps.Copy(out, s.set.Spec.Template.ObjectMeta.Labels)
	if deployment, ok := s.set.Labels[clusterv1.MachineDeploymentNameLabel]; ok {
		out[clusterv1.MachineDeploymentNameLabel] = deployment
	}
	out[clusterv1.MachineSetNameLabel] = plan.LabelValue(s.set.Name)
	out[clusterv1.ClusterNameLabel] = s.set.Spec.ClusterName
	return out
}

func (s *scene) controllerOfMachines() metav1.OwnerReference {
	return provision.OwnerOfMachines(clusterv1.GroupVersion.String(), "MachineSet", s.set.Name, s.set.UID)
}

// newMachine returns a Machine to be created.
func (s *scene) newMachine(name string, bootstrap, infrastructure *unstructured.Unstructured) (*corev1ac.MachineApplyConfiguration, error) {
	spec := s.set.Spec.Template.Spec.DeepCopy()
	spec.ClusterName = s.set.Spec.ClusterName
	if bootstrap != nil {
		spec.Bootstrap = clusterv1.Bootstrap{ConfigRef: reference(bootstrap)}
	}
	if infrastructure != nil {
		spec.InfrastructureRef = reference(infrastructure)
	}
	return s.machineIntent(name, spec)
}

func reference(u *unstructured.Unstructured) clusterv1.ContractVersionedObjectReference {
	gk := u.GroupVersionKind().GroupKind()
	return clusterv1.ContractVersionedObjectReference{APIGroup: gk.Group, Kind: gk.Kind, Name: u.GetName()}
}

// sameMachine returns what the set wants of a Machine that exists: what may change in place as the template has it now,
// the rest as the Machine has it.
func (s *scene) sameMachine(m *clusterv1.Machine) (*corev1ac.MachineApplyConfiguration, error) {
	spec := m.Spec.DeepCopy()
	spec.ProviderID = s.set.Spec.Template.Spec.ProviderID
	if spec.Bootstrap.ConfigRef.IsDefined() {
		spec.Bootstrap.DataSecretName = nil // The Machine's controller sets it.
	}
	template := &s.set.Spec.Template.Spec
	spec.MinReadySeconds, spec.ReadinessGates = template.MinReadySeconds, template.ReadinessGates
	spec.Deletion, spec.Taints = template.Deletion, template.Taints
	return s.machineIntent(m.Name, spec)
}

func (s *scene) machineIntent(name string, spec *clusterv1.MachineSpec) (*corev1ac.MachineApplyConfiguration, error) {
	configuration, err := apply.Convert[corev1ac.MachineSpecApplyConfiguration](spec)
	if err != nil {
		return nil, err
	}
	return corev1ac.Machine(name, s.set.Namespace).
		WithLabels(s.labels()).
		WithAnnotations(s.set.Spec.Template.ObjectMeta.Annotations).
		WithFinalizers(clusterv1.MachineFinalizer).
		WithOwnerReferences(apply.OwnerConfiguration(s.controllerOfMachines())).
		WithSpec(configuration), nil
}

// propagate makes what may change in place so on all Machines and their objects. Machines that are being deleted take
// on new deletion timeouts, or a drain that hangs could not be ended by its owner.
func (r *Reconciler) propagate(ctx context.Context, s *scene) error {
	before := s.set.Status.ObservedGeneration == s.set.Generation
	var errs []error
	for _, m := range s.machines {
		if !m.DeletionTimestamp.IsZero() {
			errs = append(errs, r.keeper.KeepDeletion(ctx, m, s.set.Spec.Template.Spec.Deletion))
			continue
		}
		if s.deleting {
			continue
		}
		errs = append(errs, r.propagateTo(ctx, s, m, before))
	}
	err := errors.Join(errs...)
	s.inPlace = err == nil
	return err
}

func (r *Reconciler) propagateTo(ctx context.Context, s *scene, m *clusterv1.Machine, before bool) error {
	intent, err := s.sameMachine(m)
	if err != nil {
		return err
	}
	result, err := r.machines.Ensure(ctx, m, intent, before)
	if err != nil {
		return err
	}
	if result.Object != nil {
		r.tracker.Wrote(s.set.UID, result.Object)
	}
	return errors.Join(
		r.propagateMetadata(ctx, s, m, m.Spec.InfrastructureRef, s.infrastructure, before),
		r.propagateMetadata(ctx, s, m, m.Spec.Bootstrap.ConfigRef, s.bootstrap, before))
}

// propagateMetadata makes labels and annotations so on a Machine's bootstrap or infrastructure object.
func (r *Reconciler) propagateMetadata(ctx context.Context, s *scene, m *clusterv1.Machine, ref clusterv1.ContractVersionedObjectReference, t provision.Template, before bool) error {
	if !ref.IsDefined() {
		return nil
	}
	object, err := r.resolver.Get(ctx, ref, s.set.Namespace)
	if apierrors.IsNotFound(err) {
		return nil // The Machine's own controller tells that.
	}
	if err != nil {
		return err
	}
	return r.keeper.Keep(ctx, provision.Part{Object: object, Machine: m, Template: t.Object}, s.metadata(), before)
}

// metadata is what bootstrap and infrastructure objects get from the set.
func (s *scene) metadata() provision.Metadata {
	return provision.Metadata{Labels: s.labels(), Annotations: s.set.Spec.Template.ObjectMeta.Annotations}
}
