package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// HandOver moves the ownership of labels and annotations of an object from one field manager to another, keys of keep
// excepted. Objects are created in one write by a manager that owns all of it; when their metadata changes later, it is
// for the other manager to take entries away that it has not set itself. It reads the object by the uncached reader,
// since caches hold no managed fields, and sends nothing where nothing is to be moved.
func HandOver(ctx context.Context, reader client.Reader, c client.Client, gvk schema.GroupVersionKind, key client.ObjectKey, from, to string, keep func(key string) bool) error {
	live := &metav1.PartialObjectMetadata{}
	live.SetGroupVersionKind(gvk)
	if err := reader.Get(ctx, key, live); err != nil {
		return fmt.Errorf("get metadata of %s %s: %w", gvk.Kind, key, err)
	}
	entries, moved, err := MoveFields(live.ManagedFields, from, to, keep)
	if err != nil {
		return fmt.Errorf("hand over fields of %s %s: %w", gvk.Kind, key, err)
	}
	if !moved {
		return nil
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": live.UID, "resourceVersion": live.ResourceVersion, "managedFields": entries,
	}})
	if err != nil {
		return fmt.Errorf("encode managed fields of %s %s: %w", gvk.Kind, key, err)
	}
	if err := c.Patch(ctx, live, client.RawPatch(types.MergePatchType, body), client.FieldOwner(to)); err != nil {
		return fmt.Errorf("hand over fields of %s %s to %s: %w", gvk.Kind, key, to, err)
	}
	return nil
}

// MoveFields is what HandOver does to an object's managed fields: it returns them with labels and annotations of one
// manager moved to another; moved is false where there are none.
func MoveFields(entries []metav1.ManagedFieldsEntry, from, to string, keep func(string) bool) (out []metav1.ManagedFieldsEntry, moved bool, err error) {
	for _, e := range entries {
		if e.Manager != from || e.Subresource != "" || e.FieldsV1 == nil {
			out = append(out, e)
			continue
		}
		rest, taken, err := split(e.FieldsV1.GetRawBytes(), keep)
		if err != nil {
			return nil, false, err
		}
		if taken == nil {
			out = append(out, e)
			continue
		}
		moved = true
		e.FieldsV1 = metav1.NewFieldsV1(string(rest))
		out = append(out, e)
		if slices.ContainsFunc(entries, func(o metav1.ManagedFieldsEntry) bool {
			return o.Manager == to && o.Operation == metav1.ManagedFieldsOperationApply && o.Subresource == ""
		}) {
			continue
		}
		out = append(out, metav1.ManagedFieldsEntry{
			Manager: to, Operation: metav1.ManagedFieldsOperationApply, APIVersion: e.APIVersion, Time: e.Time,
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(string(taken)),
		})
	}
	return out, moved, nil
}

// split takes labels and annotations out of a set of fields, but for the keys to keep; taken is nil where there are none.
func split(raw []byte, keep func(string) bool) (rest, taken []byte, err error) {
	var fields map[string]any
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, nil, err
	}
	metadata, _ := fields["f:metadata"].(map[string]any)
	out := map[string]any{}
	for _, name := range []string{"f:labels", "f:annotations"} {
		owned, _ := metadata[name].(map[string]any)
		part := map[string]any{}
		for field, v := range owned {
			if len(field) > 2 && field[:2] == "f:" && !keep(field[2:]) {
				part[field] = v
				delete(owned, field)
			}
		}
		if len(part) > 0 {
			out[name] = part
		}
	}
	if len(out) == 0 {
		return raw, nil, nil
	}
	if rest, err = json.Marshal(fields); err != nil {
		return nil, nil, err
	}
	taken, err = json.Marshal(map[string]any{"f:metadata": out})
	return rest, taken, err
}
