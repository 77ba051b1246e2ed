package contract

import (
	"fmt"
	"maps"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/outcome"
)

const templateSuffix = "Template"

// Clone says how the object that is made from a template differs from it.
type Clone struct {
	// Name of the object.
	Name string
	// Namespace of the object.
	Namespace string
	// ClusterName becomes the label that ties the object to its Cluster; empty for none.
	ClusterName string
	// Owners of the object.
	Owners []metav1.OwnerReference
	// Labels win over those in the template.
	Labels map[string]string
	// Annotations win over those in the template.
	Annotations map[string]string
}

// KindFromTemplate returns the kind of what is made from a template of that kind.
func KindFromTemplate(kind string) string { return strings.TrimSuffix(kind, templateSuffix) }

// Clone returns the object that the template makes: the template's spec.template.metadata and spec, under the clone's
// name, with annotations that say which template it came from. The error is an *outcome.Stall when the object is not a
// template.
func (o *Object) Clone(c Clone) (*unstructured.Unstructured, error) {
	f := o.fields()
	spec := f.mapping("spec.template.spec")
	labels := f.texts("spec.template.metadata.labels")
	annotations := f.texts("spec.template.metadata.annotations")
	if err := f.done(o); err != nil {
		return nil, fmt.Errorf("clone %s: %w", o, err)
	}
	gvk := o.GroupVersionKind()
	if f.mapping("spec.template") == nil || gvk.Kind == KindFromTemplate(gvk.Kind) {
		return nil, fmt.Errorf("clone %s: %w", o, outcome.Stalled(InvalidFieldReportedReason,
			"%s %s is no template: its kind has to end in Template and spec.template has to be set; correct the reference", o.Kind(), o.Name()))
	}
	clone := &unstructured.Unstructured{Object: map[string]any{}}
	clone.SetGroupVersionKind(gvk.GroupVersion().WithKind(KindFromTemplate(gvk.Kind)))
	clone.SetName(c.Name)
	clone.SetNamespace(c.Namespace)
	clone.SetLabels(merge(labels, c.Labels, c.clusterLabel()))
	clone.SetAnnotations(merge(annotations, c.Annotations, map[string]string{
		clusterv1.TemplateClonedFromNameAnnotation:      o.Name(),
		clusterv1.TemplateClonedFromGroupKindAnnotation: gvk.GroupKind().String(),
	}))
	clone.SetOwnerReferences(c.Owners)
	if spec != nil {
		clone.Object["spec"] = runtime.DeepCopyJSONValue(spec)
	}
	return clone, nil
}

func (c Clone) clusterLabel() map[string]string {
	if c.ClusterName == "" {
		return nil
	}
	return map[string]string{clusterv1.ClusterNameLabel: c.ClusterName}
}

// ClonedFrom returns the template that an object says it was made from; ok is false when it does not say.
func ClonedFrom(obj metav1.Object) (name string, gk schema.GroupKind, ok bool) {
	annotations := obj.GetAnnotations()
	name = annotations[clusterv1.TemplateClonedFromNameAnnotation]
	groupKind := annotations[clusterv1.TemplateClonedFromGroupKindAnnotation]
	return name, schema.ParseGroupKind(groupKind), name != "" && groupKind != ""
}

// merge returns all entries in one new map; later maps win.
func merge(all ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, m := range all {
		maps.Copy(out, m)
	}
	return out
}
