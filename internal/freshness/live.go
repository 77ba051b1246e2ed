package freshness

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// pageSize bounds one answer of the API server.
const pageSize = 500

// Live returns a ListFunc that lists the metadata of the given kinds by the uncached reader, with the options (namespace
// and labels) and only what keep accepts; a nil keep accepts all. Together they must select what the controller's cached
// view selects.
func Live(reader client.Reader, keep func(metav1.Object) bool, kinds []schema.GroupVersionKind, opts ...client.ListOption) ListFunc {
	return func(ctx context.Context) ([]metav1.Object, error) {
		var out []metav1.Object
		for _, gvk := range kinds {
			items, err := listAll(ctx, reader, gvk, opts)
			if err != nil {
				return nil, fmt.Errorf("list %s: %w", gvk.Kind, err)
			}
			for i := range items {
				if keep == nil || keep(&items[i]) {
					out = append(out, &items[i])
				}
			}
		}
		return out, nil
	}
}

// With returns a ListFunc that lists the owner besides what list does; the children that Fresh is shown must then hold it
// too. What an earlier leader made for a newer spec of the owner would else be judged by an older one.
func With(reader client.Reader, kind schema.GroupVersionKind, owner metav1.Object, list ListFunc) ListFunc {
	return func(ctx context.Context) ([]metav1.Object, error) {
		// The owner comes first: its children may be newer than it, never the other way round.
		live := &metav1.PartialObjectMetadata{}
		live.SetGroupVersionKind(kind)
		err := reader.Get(ctx, client.ObjectKey{Namespace: owner.GetNamespace(), Name: owner.GetName()}, live)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("get %s %s: %w", kind.Kind, owner.GetName(), err)
		}
		children, listErr := list(ctx)
		if listErr != nil || err != nil {
			return children, listErr
		}
		return append(children, live), nil
	}
}

func listAll(ctx context.Context, reader client.Reader, gvk schema.GroupVersionKind, opts []client.ListOption) ([]metav1.PartialObjectMetadata, error) {
	var out []metav1.PartialObjectMetadata
	next := ""
	for {
		page := &metav1.PartialObjectMetadataList{}
		page.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		pageOpts := append([]client.ListOption{client.Limit(pageSize), client.Continue(next)}, opts...)
		if err := reader.List(ctx, page, pageOpts...); err != nil {
			return nil, err
		}
		out = append(out, page.Items...)
		if next = page.GetContinue(); next == "" {
			return out, nil
		}
	}
}
