package machinedeployment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/apply"
	corev1ac "slipway.dev/slipway/internal/applyconfigurations/core/v1beta2"
	"slipway.dev/slipway/internal/plan"
	"slipway.dev/slipway/internal/provision"
)

// Annotations of the older API that a MachineDeployment may still carry: what its conversion keeps of it, which would be
// read as the MachineSet's own, and a history that nobody writes any more.
const (
	conversionDataAnnotation  = "cluster.x-k8s.io/conversion-data"
	revisionHistoryAnnotation = "machinedeployment.clusters.x-k8s.io/revision-history"
)

// ownAnnotations are those of a MachineDeployment that its MachineSets do not get: they mean it alone, or are computed
// for each set.
func ownAnnotations() []string {
	return []string{
		corev1.LastAppliedConfigAnnotation, clusterv1.PausedAnnotation, clusterv1.RevisionAnnotation,
		clusterv1.DesiredReplicasAnnotation, clusterv1.MaxReplicasAnnotation, clusterv1.DisableMachineCreateAnnotation,
		conversionDataAnnotation, revisionHistoryAnnotation,
	}
}

func (s *scene) controllerOfSets() metav1.OwnerReference {
	return provision.OwnerOfMachines(clusterv1.GroupVersion.String(), "MachineDeployment", s.deployment.Name, s.deployment.UID)
}

// newSet returns a MachineSet to be created, with a random part of its name.
func (s *scene) newSet(random string, p plan.NewSet) (*corev1ac.MachineSetApplyConfiguration, error) {
	unique := plan.TemplateHash(s.deployment.Spec.Template) + "-" + random
	selector := *s.deployment.Spec.Selector.DeepCopy()
	selector.MatchLabels = with(selector.MatchLabels, clusterv1.MachineDeploymentUniqueLabel, unique)
	return s.setIntent(&clusterv1.MachineSet{
		ObjectMeta: metav1.ObjectMeta{
			Name:   plan.SetName(s.deployment.Name, random),
			Labels: map[string]string{clusterv1.MachineDeploymentUniqueLabel: unique},
		},
		Spec: clusterv1.MachineSetSpec{Selector: selector, Template: s.deployment.Spec.Template},
	}, plan.SetPlan{
		Replicas: p.Replicas, Revision: p.Revision,
		Desired: *s.deployment.Spec.Replicas, Max: *s.deployment.Spec.Replicas + s.plan.MaxSurge,
	})
}

// setIntent returns what the deployment wants of a MachineSet: what may change in place as the deployment has it now, the
// rest as the set has it.
func (s *scene) setIntent(set *clusterv1.MachineSet, p plan.SetPlan) (*corev1ac.MachineSetApplyConfiguration, error) {
	d := s.deployment
	spec := clusterv1.MachineSetSpec{
		ClusterName:   d.Spec.ClusterName,
		Replicas:      new(p.Replicas),
		Selector:      set.Spec.Selector,
		Template:      s.template(set),
		MachineNaming: d.Spec.MachineNaming,
		Deletion:      clusterv1.MachineSetDeletionSpec{Order: d.Spec.Deletion.Order},
	}
	configuration, err := apply.Convert[corev1ac.MachineSetSpecApplyConfiguration](spec)
	if err != nil {
		return nil, err
	}
	return corev1ac.MachineSet(set.Name, d.Namespace).
		WithLabels(s.labels(set)).
		WithAnnotations(s.annotations(p)).
		WithFinalizers(clusterv1.MachineSetFinalizer).
		WithOwnerReferences(apply.OwnerConfiguration(s.controllerOfSets())).
		WithSpec(configuration), nil
}

// template is the set's template with what may change in place taken from the deployment.
func (s *scene) template(set *clusterv1.MachineSet) clusterv1.MachineTemplateSpec {
	t, want := *set.Spec.Template.DeepCopy(), s.deployment.Spec.Template.DeepCopy()
	t.ObjectMeta = want.ObjectMeta
	if unique, ok := set.Labels[clusterv1.MachineDeploymentUniqueLabel]; ok {
		t.ObjectMeta.Labels = with(t.ObjectMeta.Labels, clusterv1.MachineDeploymentUniqueLabel, unique)
	}
	t.Spec.MinReadySeconds, t.Spec.ReadinessGates = want.Spec.MinReadySeconds, want.Spec.ReadinessGates
	t.Spec.Deletion, t.Spec.Taints = want.Spec.Deletion, want.Spec.Taints
	return t
}

func (s *scene) labels(set *clusterv1.MachineSet) map[string]string {
	out := map[string]string{}
	maps.Copy(out, s.deployment.Spec.Template.ObjectMeta.Labels)
	if unique, ok := set.Labels[clusterv1.MachineDeploymentUniqueLabel]; ok {
		out[clusterv1.MachineDeploymentUniqueLabel] = unique
	}
	out[clusterv1.MachineDeploymentNameLabel] = s.deployment.Name
	out[clusterv1.ClusterNameLabel] = s.deployment.Spec.ClusterName
	return out
}

func (s *scene) annotations(p plan.SetPlan) map[string]string {
	out := map[string]string{}
	for k, v := range s.deployment.Annotations {
		if !slices.Contains(ownAnnotations(), k) {
			out[k] = v
		}
	}
	out[clusterv1.DesiredReplicasAnnotation] = strconv.Itoa(int(p.Desired))
	out[clusterv1.MaxReplicasAnnotation] = strconv.Itoa(int(p.Max))
	if p.Revision > 0 {
		out[clusterv1.RevisionAnnotation] = strconv.FormatInt(p.Revision, 10)
	}
	if p.DisableCreate {
		out[clusterv1.DisableMachineCreateAnnotation] = "true"
	}
	return out
}

// with returns a copy of the map with one more entry.
func with(m map[string]string, key, value string) map[string]string {
	out := map[string]string{key: value}
	for k, v := range m {
		if k != key {
			out[k] = v
		}
	}
	return out
}

// propagateDeletion patches the deletion timeouts of MachineSets that are being deleted, which pass them on to Machines
// whose drain may hang. It is no apply: the finalizers of the whole intent could not be put back on such an object.
func (r *Reconciler) propagateDeletion(ctx context.Context, s *scene) error {
	want := s.deployment.Spec.Template.Spec.Deletion
	var errs []error
	for _, set := range s.leaving {
		if equality.Semantic.DeepEqual(set.Spec.Template.Spec.Deletion, want) {
			continue
		}
		deletion := map[string]any{
			"nodeDrainTimeoutSeconds":        want.NodeDrainTimeoutSeconds,
			"nodeVolumeDetachTimeoutSeconds": want.NodeVolumeDetachTimeoutSeconds,
			"nodeDeletionTimeoutSeconds":     want.NodeDeletionTimeoutSeconds,
		}
		body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": set.UID},
			"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"deletion": deletion}}}})
		if err != nil {
			return fmt.Errorf("encode deletion timeouts of MachineSet %s: %w", set.Name, err)
		}
		err = r.Client.Patch(ctx, set.DeepCopy(), client.RawPatch(types.MergePatchType, body), client.FieldOwner(setManager))
		if client.IgnoreNotFound(err) != nil {
			errs = append(errs, fmt.Errorf("patch deletion timeouts of MachineSet %s: %w", set.Name, err))
		}
	}
	return errors.Join(errs...)
}
