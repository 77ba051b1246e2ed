package provision

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/contract"
	"slipway.dev/slipway/internal/outcome"
)

// defaultNodeDeletionTimeout is what admission makes of an unset nodeDeletionTimeoutSeconds of a Machine.
const defaultNodeDeletionTimeout = int32(10)

// Metadata are the labels and annotations that an owner wants on the objects of its Machines.
type Metadata struct {
	Labels, Annotations map[string]string
}

// Keeper keeps what may change in place on the objects of Machines that exist. It is safe for concurrent use.
type Keeper struct {
	client    client.Client
	live      client.Reader
	templates Getter
	metadata  *apply.Applier
	maker     string
}

// NewKeeper returns a Keeper of objects that the field manager maker creates. It writes labels and annotations by the
// applier, and reads managed fields by the uncached reader.
func NewKeeper(c client.Client, live client.Reader, metadata *apply.Applier, maker string) *Keeper {
	return &Keeper{client: c, live: live, templates: contract.NewResolver(c), metadata: metadata, maker: maker}
}

// Part is a bootstrap or infrastructure object of a Machine.
type Part struct {
	// Object is the object itself.
	Object *contract.Object
	// Machine is the Machine as it was before the metadata of today reached it.
	Machine metav1.Object
	// Template is what such objects are made from today; nil where it cannot be read.
	Template *contract.Object
	// Own accepts the keys that an object of no template has not from its Machine's owner; nil for one made from a template.
	Own func(key string) bool
}

// Keep makes labels and annotations of a part so. What it has from elsewhere, such as from the template it was made from,
// stays. Before says that the same was in place when the owner was last looked at.
func (k *Keeper) Keep(ctx context.Context, part Part, want Metadata, before bool) error {
	object := part.Object
	if object.Deleting() {
		return nil
	}
	gvk := object.GroupVersionKind()
	key := client.ObjectKey{Namespace: object.Namespace(), Name: object.Name()}
	observed, intent := object.Metadata(), want.intent(gvk, key)
	holds, err := k.metadata.HoldsObject(observed, intent, before)
	if err != nil || holds {
		return err
	}
	own, err := k.ownOf(ctx, part, want)
	if err != nil {
		return err
	}
	if err := apply.HandOver(ctx, k.live, k.client, gvk, key, k.maker, k.metadata.Manager(), own); err != nil {
		return client.IgnoreNotFound(err)
	}
	_, err = k.metadata.EnsureObject(ctx, observed, intent, before)
	return err
}

// Assume remembers that objects that were just created have the metadata of today. Nil objects are passed over.
func (k *Keeper) Assume(want Metadata, objects ...*metav1.PartialObjectMetadata) error {
	for _, made := range objects {
		if made == nil {
			continue
		}
		if err := k.metadata.AssumeObject(made, want.intent(made.GroupVersionKind(), client.ObjectKeyFromObject(made))); err != nil {
			return err
		}
	}
	return nil
}

func (m Metadata) intent(gvk schema.GroupVersionKind, key client.ObjectKey) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGroupVersionKind(gvk)
	u.SetName(key.Name)
	u.SetNamespace(key.Namespace)
	u.SetLabels(m.Labels)
	if len(m.Annotations) > 0 {
		u.SetAnnotations(m.Annotations)
	}
	return u
}

// ownOf accepts the keys that a part has not from its Machine's owner. The template that tells is the one it was made from,
// which may be another than today's. Where that is gone, all is the part's own but what the owner wants, or wanted until
// now: that the Machine still has.
func (k *Keeper) ownOf(ctx context.Context, part Part, want Metadata) (func(key string) bool, error) {
	if part.Own != nil {
		return part.Own, nil
	}
	template, err := k.templateOf(ctx, part)
	if err != nil {
		return nil, err
	}
	if template == nil {
		return func(key string) bool {
			return cloned(key) || !in(key, want.Labels, want.Annotations, part.Machine.GetLabels(), part.Machine.GetAnnotations())
		}, nil
	}
	clone, err := template.Clone(contract.Clone{})
	if err != nil {
		return nil, err
	}
	return func(key string) bool { return in(key, clone.GetLabels(), clone.GetAnnotations()) }, nil
}

// templateOf returns the template that a part was made from; nil where it does not say, or where that is gone.
func (k *Keeper) templateOf(ctx context.Context, part Part) (*contract.Object, error) {
	name, kind, ok := contract.ClonedFrom(part.Object.Metadata())
	if !ok {
		return nil, nil
	}
	if t := part.Template; t != nil && t.Name() == name && t.GroupVersionKind().GroupKind() == kind {
		return t, nil
	}
	ref := clusterv1.ContractVersionedObjectReference{APIGroup: kind.Group, Kind: kind.Kind, Name: name}
	template, err := k.templates.Get(ctx, ref, part.Object.Namespace())
	if _, stalled := outcome.AsStall(err); stalled || apierrors.IsNotFound(err) {
		return nil, nil
	}
	return template, err
}

func cloned(key string) bool {
	return key == clusterv1.TemplateClonedFromNameAnnotation || key == clusterv1.TemplateClonedFromGroupKindAnnotation
}

func in(key string, maps ...map[string]string) bool {
	return slices.ContainsFunc(maps, func(m map[string]string) bool { _, ok := m[key]; return ok })
}

// KeepDeletion makes the deletion timeouts of a Machine that is being deleted so, or a drain that hangs could not be ended
// by the Machine's owner. It is no apply: the finalizers of the whole intent could not be put back on such an object.
func (k *Keeper) KeepDeletion(ctx context.Context, m *clusterv1.Machine, want clusterv1.MachineDeletionSpec) error {
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
	err = k.client.Patch(ctx, m.DeepCopy(), client.RawPatch(types.MergePatchType, body), client.FieldOwner(k.maker))
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
