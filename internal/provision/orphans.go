package provision

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Orphan is what was made for a Machine that does not exist.
type Orphan struct {
	// Name that the Machine was to have.
	Name string
	// Bootstrap and Infrastructure are what there is; at least one is set. They may be the cache's own.
	Bootstrap, Infrastructure *unstructured.Unstructured
}

// Parts returns the objects that there are.
func (o Orphan) Parts() []*unstructured.Unstructured {
	return slices.DeleteFunc([]*unstructured.Unstructured{o.Bootstrap, o.Infrastructure}, func(u *unstructured.Unstructured) bool {
		return u == nil
	})
}

// Discard deletes what there is of an orphan, if it is still as it was seen: a Machine that came meanwhile, whoever's, may
// have taken it over.
func (o Orphan) Discard(ctx context.Context, c client.Client) error {
	var errs []error
	for _, part := range o.Parts() {
		errs = append(errs, removeUntouched(ctx, c, part.DeepCopy()))
	}
	return errors.Join(errs...)
}

// Search says where orphans are looked for.
type Search struct {
	// Owner is the UID of who made them, which is in their owner references.
	Owner types.UID
	// Bootstrap and Infrastructure are the kinds; an empty one is not looked for.
	Bootstrap, Infrastructure schema.GroupVersionKind
	// Options select the objects, by namespace and labels.
	Options []client.ListOption
	// Exists reports whether there is a Machine of that name. It must know all that the owner has made.
	Exists func(name string) bool
}

// Orphans returns the orphans, sorted by name. Objects that are being deleted are none.
func Orphans(ctx context.Context, reader client.Reader, s Search) ([]Orphan, error) {
	found := map[string]*Orphan{}
	at := func(name string) *Orphan {
		if found[name] == nil {
			found[name] = &Orphan{Name: name}
		}
		return found[name]
	}
	err := s.each(ctx, reader, s.Bootstrap, func(u *unstructured.Unstructured) { at(u.GetName()).Bootstrap = u })
	if err != nil {
		return nil, err
	}
	err = s.each(ctx, reader, s.Infrastructure, func(u *unstructured.Unstructured) { at(u.GetName()).Infrastructure = u })
	if err != nil {
		return nil, err
	}
	orphans := make([]Orphan, 0, len(found))
	for _, o := range found {
		orphans = append(orphans, *o)
	}
	slices.SortFunc(orphans, func(a, b Orphan) int { return strings.Compare(a.Name, b.Name) })
	return orphans, nil
}

func (s Search) each(ctx context.Context, reader client.Reader, gvk schema.GroupVersionKind, visit func(*unstructured.Unstructured)) error {
	if gvk.Empty() {
		return nil
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	if err := reader.List(ctx, list, append(slices.Clone(s.Options), client.UnsafeDisableDeepCopy)...); err != nil {
		return fmt.Errorf("list objects of kind %s: %w", gvk.Kind, err)
	}
	for i := range list.Items {
		u := &list.Items[i]
		if u.GetDeletionTimestamp() == nil && s.owns(u) && !s.Exists(u.GetName()) {
			visit(u)
		}
	}
	return nil
}

// owns reports whether the owner has made the object, and no Machine has taken it over.
func (s Search) owns(u *unstructured.Unstructured) bool {
	if metav1.GetControllerOfNoCopy(u) != nil {
		return false
	}
	for _, ref := range u.GetOwnerReferences() {
		if ref.UID == s.Owner {
			return true
		}
	}
	return false
}
