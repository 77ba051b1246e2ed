package provision

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/contract"
)

// defaultNodeDeletionTimeout is what admission makes of an unset nodeDeletionTimeoutSeconds of a Machine.
const defaultNodeDeletionTimeout = int32(10)

// Metadata are the labels and annotations that an owner wants on the objects of its Machines.
type Metadata struct {
	Labels, Annotations map[string]string
}

// Keeper keeps what may change in place on the objects of Machines that exist. It is safe for concurrent use.
type Keeper struct {
	client   client.Client
	live     client.Reader
	metadata *apply.Applier
	maker    string
}

// NewKeeper returns a Keeper of objects that the field manager maker creates. It writes labels and annotations by the
// applier, and reads managed fields by the uncached reader.
func NewKeeper(c client.Client, live client.Reader, metadata *apply.Applier, maker string) *Keeper {
	return &Keeper{client: c, live: live, metadata: metadata, maker: maker}
}

// Keep makes labels and annotations of a bootstrap or infrastructure object so. What own accepts comes from elsewhere,
// such as the template of the object, and stays. Before says that the same was in place when the owner was last looked at.
func (k *Keeper) Keep(ctx context.Context, object *contract.Object, want Metadata, own func(key string) bool, before bool) error {
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

// FromTemplate accepts the labels and annotations that an object has not from its Machine's owner but from its own
// template, or from having been made from one. The template may be nil.
func FromTemplate(template *contract.Object) func(key string) bool {
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
