package machineset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/apply"
	corev1ac "slipway.dev/slipway/internal/applyconfigurations/core/v1beta2"
	"slipway.dev/slipway/internal/contract"
	"slipway.dev/slipway/internal/plan"
	"slipway.dev/slipway/internal/provision"
)

// defaultNodeDeletionTimeout is what admission makes of an unset nodeDeletionTimeoutSeconds of a Machine.
const defaultNodeDeletionTimeout = int32(10)

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
			errs = append(errs, r.propagateDeletion(ctx, s, m))
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
		r.propagateMetadata(ctx, s, m.Spec.InfrastructureRef, s.infrastructure, before),
		r.propagateMetadata(ctx, s, m.Spec.Bootstrap.ConfigRef, s.bootstrap, before))
}

// propagateMetadata makes labels and annotations so on a Machine's bootstrap or infrastructure object.
func (r *Reconciler) propagateMetadata(ctx context.Context, s *scene, ref clusterv1.ContractVersionedObjectReference, t provision.Template, before bool) error {
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
	if object.Deleting() {
		return nil
	}
	observed, intent := object.Metadata(), s.metadataIntent(object.GroupVersionKind().GroupVersion().String(), object.Kind(), object.Name())
	holds, err := r.metadata.HoldsObject(observed, intent, before)
	if err != nil || holds {
		return err
	}
	key := client.ObjectKey{Namespace: object.Namespace(), Name: object.Name()}
	if err := apply.HandOver(ctx, r.APIReader, r.Client, object.GroupVersionKind(), key, machineManager, metadataManager, keptKeys(t.Object)); err != nil {
		return client.IgnoreNotFound(err)
	}
	_, err = r.metadata.EnsureObject(ctx, observed, intent, before)
	return err
}

// keptKeys are the labels and annotations that an object has not from the set but from its own template, or from having
// been made from one.
func keptKeys(template *contract.Object) func(string) bool {
	own := map[string]bool{clusterv1.TemplateClonedFromNameAnnotation: true, clusterv1.TemplateClonedFromGroupKindAnnotation: true}
	if template != nil {
		if clone, err := template.Clone(contract.Clone{}); err == nil {
			for k := range clone.GetLabels() {
				own[k] = true
			}
			for k := range clone.GetAnnotations() {
				own[k] = true
			}
		}
	}
	return func(key string) bool { return own[key] }
}

func (s *scene) metadataIntent(apiVersion, kind, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	u.SetName(name)
	u.SetNamespace(s.set.Namespace)
	u.SetLabels(s.labels())
	if annotations := s.set.Spec.Template.ObjectMeta.Annotations; len(annotations) > 0 {
		u.SetAnnotations(annotations)
	}
	return u
}

// assumeMetadata remembers that an object that was just created has the metadata of today.
func (r *Reconciler) assumeMetadata(s *scene, made *metav1.PartialObjectMetadata) error {
	if made == nil {
		return nil
	}
	return r.metadata.AssumeObject(made, s.metadataIntent(made.APIVersion, made.Kind, made.Name))
}

// propagateDeletion patches the deletion timeouts of a Machine that is being deleted. It is no apply: the finalizers of
// the whole intent could not be put back on such an object.
func (r *Reconciler) propagateDeletion(ctx context.Context, s *scene, m *clusterv1.Machine) error {
	want := s.set.Spec.Template.Spec.Deletion
	if want.NodeDeletionTimeoutSeconds == nil {
		want.NodeDeletionTimeoutSeconds = new(defaultNodeDeletionTimeout)
	}
	change := map[string]any{}
	differ(change, "nodeDrainTimeoutSeconds", m.Spec.Deletion.NodeDrainTimeoutSeconds, want.NodeDrainTimeoutSeconds)
	differ(change, "nodeVolumeDetachTimeoutSeconds", m.Spec.Deletion.NodeVolumeDetachTimeoutSeconds, want.NodeVolumeDetachTimeoutSeconds)
	differ(change, "nodeDeletionTimeoutSeconds", m.Spec.Deletion.NodeDeletionTimeoutSeconds, want.NodeDeletionTimeoutSeconds)
	if len(change) == 0 {
		return nil
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": m.UID}, "spec": map[string]any{"deletion": change}})
	if err != nil {
		return fmt.Errorf("encode deletion timeouts of Machine %s: %w", m.Name, err)
	}
	err = r.Client.Patch(ctx, m.DeepCopy(), client.RawPatch(types.MergePatchType, body), client.FieldOwner(machineManager))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("patch deletion timeouts of Machine %s: %w", m.Name, err)
	}
	return nil
}

func differ(change map[string]any, field string, have, want *int32) {
	if want == nil && have != nil {
		change[field] = nil
	}
	if want != nil && (have == nil || *have != *want) {
		change[field] = *want
	}
}
