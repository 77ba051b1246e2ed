package contract

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
)

// Watches gives a controller the foreign objects that its objects refer to, and events about them: it starts a watch on
// a kind when it first meets a reference to it. It is safe for concurrent use.
type Watches struct {
	resolver   *Resolver
	controller controller.Controller
	cache      cache.Cache
	handler    handler.EventHandler
	predicates []predicate.Predicate

	mu      sync.Mutex // guards started
	started map[schema.GroupVersionKind]bool
}

// NewWatches returns Watches for one controller. The handler maps a foreign object to the controller's own, usually by
// owner reference.
func NewWatches(resolver *Resolver, c controller.Controller, informers cache.Cache, h handler.EventHandler, predicates ...predicate.Predicate) *Watches {
	return &Watches{
		resolver:   resolver,
		controller: c,
		cache:      informers,
		handler:    h,
		predicates: predicates,
		started:    map[schema.GroupVersionKind]bool{},
	}
}

// Get watches the reference's kind and returns the object as Resolver.Get does. The watch comes first, so that no
// change after the read is missed.
func (w *Watches) Get(ctx context.Context, ref clusterv1.ContractVersionedObjectReference, namespace string) (*Object, error) {
	kind, err := w.resolver.Resolve(ctx, ref.GroupKind())
	if err != nil {
		return nil, fmt.Errorf("resolve %s %s/%s: %w", ref.Kind, namespace, ref.Name, err)
	}
	if err := w.Watch(kind.GroupVersionKind); err != nil {
		return nil, err
	}
	return w.resolver.get(ctx, kind, client.ObjectKey{Namespace: namespace, Name: ref.Name})
}

// Watch starts the controller's watch on the kind unless it runs.
func (w *Watches) Watch(gvk schema.GroupVersionKind) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.started[gvk] {
		return nil
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvk)
	if err := w.controller.Watch(source.Kind[client.Object](w.cache, u, w.handler, w.predicates...)); err != nil {
		return fmt.Errorf("watch %s: %w", gvk, err)
	}
	w.started[gvk] = true
	return nil
}
