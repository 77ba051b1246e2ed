package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Metadata changes labels, annotations, finalizers and owner references by a merge patch that holds only what change
// made different; it sends nothing where that is nothing, and returns whether it sent. The patch names the object's UID,
// and the resourceVersion too when it replaces a list, so that nobody's entry is lost: then a stale obj is a lost race.
// On success obj has the new metadata. obj is the caller's own copy, and change must touch only metadata.
func Metadata(ctx context.Context, c client.Client, manager string, obj client.Object, change func(metav1.Object)) (bool, error) {
	before := metadataOf(obj)
	after := before.DeepCopy()
	change(after)
	body, err := metadataPatch(before, after)
	if err != nil || body == nil {
		return false, err
	}
	gvk, err := apiutil.GVKForObject(obj, c.Scheme())
	if err != nil {
		return false, fmt.Errorf("tell the kind of %s: %w", client.ObjectKeyFromObject(obj), err)
	}
	target := &metav1.PartialObjectMetadata{}
	target.SetGroupVersionKind(gvk)
	target.Name, target.Namespace = obj.GetName(), obj.GetNamespace()
	if err := c.Patch(ctx, target, client.RawPatch(types.MergePatchType, body), client.FieldOwner(manager)); err != nil {
		return false, fmt.Errorf("patch metadata of %s: %w", describe(target), err)
	}
	obj.SetResourceVersion(target.GetResourceVersion())
	obj.SetLabels(target.GetLabels())
	obj.SetAnnotations(target.GetAnnotations())
	obj.SetFinalizers(target.GetFinalizers())
	obj.SetOwnerReferences(target.GetOwnerReferences())
	obj.SetDeletionTimestamp(target.GetDeletionTimestamp())
	return true, nil
}

func metadataOf(obj metav1.Object) *metav1.ObjectMeta {
	return &metav1.ObjectMeta{
		Name:            obj.GetName(),
		Namespace:       obj.GetNamespace(),
		UID:             obj.GetUID(),
		ResourceVersion: obj.GetResourceVersion(),
		Labels:          obj.GetLabels(),
		Annotations:     obj.GetAnnotations(),
		Finalizers:      obj.GetFinalizers(),
		OwnerReferences: obj.GetOwnerReferences(),
	}
}

// metadataPatch returns the merge patch from before to after, or nil where they are the same.
func metadataPatch(before, after *metav1.ObjectMeta) ([]byte, error) {
	patch := map[string]any{}
	if labels := mapPatch(before.Labels, after.Labels); len(labels) > 0 {
		patch["labels"] = labels
	}
	if annotations := mapPatch(before.Annotations, after.Annotations); len(annotations) > 0 {
		patch["annotations"] = annotations
	}
	lists := false
	if !slices.Equal(before.Finalizers, after.Finalizers) {
		patch["finalizers"], lists = after.Finalizers, true
	}
	if !equality.Semantic.DeepEqual(before.OwnerReferences, after.OwnerReferences) {
		patch["ownerReferences"], lists = after.OwnerReferences, true
	}
	if len(patch) == 0 {
		return nil, nil
	}
	if before.UID != "" {
		patch["uid"] = before.UID
	}
	if lists && before.ResourceVersion != "" {
		patch["resourceVersion"] = before.ResourceVersion
	}
	body, err := json.Marshal(map[string]any{"metadata": patch})
	if err != nil {
		return nil, fmt.Errorf("encode metadata patch of %s/%s: %w", before.Namespace, before.Name, err)
	}
	return body, nil
}

// mapPatch has the new and changed entries, and nil for each that goes.
func mapPatch(before, after map[string]string) map[string]any {
	patch := map[string]any{}
	for k, v := range after {
		if old, ok := before[k]; !ok || old != v {
			patch[k] = v
		}
	}
	for k := range before {
		if _, ok := after[k]; !ok {
			patch[k] = nil
		}
	}
	return patch
}

// AddFinalizer writes the finalizer where it is missing and returns whether it did. An object that is being deleted
// takes no new finalizer, so nothing is sent for it.
func AddFinalizer(ctx context.Context, c client.Client, manager string, obj client.Object, finalizer string) (bool, error) {
	if obj.GetDeletionTimestamp() != nil || slices.Contains(obj.GetFinalizers(), finalizer) {
		return false, nil
	}
	return Metadata(ctx, c, manager, obj, func(m metav1.Object) {
		m.SetFinalizers(append(m.GetFinalizers(), finalizer))
	})
}

// RemoveFinalizer takes the finalizer away where it is there and returns whether it did. An object that is gone already
// is no error.
func RemoveFinalizer(ctx context.Context, c client.Client, manager string, obj client.Object, finalizer string) (bool, error) {
	if !slices.Contains(obj.GetFinalizers(), finalizer) {
		return false, nil
	}
	removed, err := Metadata(ctx, c, manager, obj, func(m metav1.Object) {
		m.SetFinalizers(slices.DeleteFunc(m.GetFinalizers(), func(f string) bool { return f == finalizer }))
	})
	return removed, client.IgnoreNotFound(err)
}

// SetLabel puts a label into metadata, making the map where it is nil. An empty value is a value.
func SetLabel(m metav1.Object, key, value string) {
	labels := m.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[key] = value
	m.SetLabels(labels)
}

// SetAnnotation puts an annotation into metadata, making the map where it is nil.
func SetAnnotation(m metav1.Object, key, value string) {
	annotations := m.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	m.SetAnnotations(annotations)
}

// SetOwner puts an owner reference into metadata. A reference to the same owner, by kind, group and name, is replaced
// whatever its version and UID, so that restored objects are adopted again. When ref is a controller reference, another
// controller's stays and ref is added as a plain one, for the API server accepts only one.
func SetOwner(m metav1.Object, ref metav1.OwnerReference) {
	refs := slices.DeleteFunc(slices.Clone(m.GetOwnerReferences()), func(r metav1.OwnerReference) bool {
		return SameOwner(r, ref)
	})
	if ref.Controller != nil && *ref.Controller && slices.ContainsFunc(refs, isController) {
		ref.Controller = new(false)
	}
	if slices.ContainsFunc(m.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return equality.Semantic.DeepEqual(r, ref) }) {
		return
	}
	m.SetOwnerReferences(append(refs, ref))
}

// RemoveOwner takes the reference to that owner, by kind, group and name, out of metadata.
func RemoveOwner(m metav1.Object, ref metav1.OwnerReference) {
	m.SetOwnerReferences(slices.DeleteFunc(slices.Clone(m.GetOwnerReferences()), func(r metav1.OwnerReference) bool {
		return SameOwner(r, ref)
	}))
}

func isController(r metav1.OwnerReference) bool { return r.Controller != nil && *r.Controller }
