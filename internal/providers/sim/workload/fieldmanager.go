package workload

import (
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// writer keeps what writes of all clusters share.
type writer struct {
	catalog *catalog
	// schema is built at the first need: it costs some hundred milliseconds.
	schema func() managedfields.TypeConverter

	mu       sync.Mutex // guards trackers
	trackers map[trackerKey]*managedfields.FieldManager
}

type trackerKey struct {
	kind        *kind
	subresource string
}

func newWriter(c *catalog) *writer {
	return &writer{
		catalog:  c,
		schema:   sync.OnceValue(func() managedfields.TypeConverter { return applyconfigurations.NewTypeConverter(c.scheme) }),
		trackers: map[trackerKey]*managedfields.FieldManager{},
	}
}

// tracker returns the shared field manager of a kind.
func (w *writer) tracker(k *kind, subresource string) (*managedfields.FieldManager, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := trackerKey{k, subresource}
	if t := w.trackers[key]; t != nil {
		return t, nil
	}
	t, err := managedfields.NewDefaultFieldManager(w.schema(), w.catalog.scheme, w.catalog.scheme, w.catalog.scheme,
		k.gvk, k.gvk.GroupVersion(), subresource, k.resetFields(subresource))
	if err != nil {
		return nil, fmt.Errorf("make the field manager of %s: %w", k.plural, err)
	}
	w.trackers[key] = t
	return t, nil
}

// resetFields are those that a writer of the resource, or of its status, cannot own.
func (k *kind) resetFields(subresource string) map[fieldpath.APIVersion]fieldpath.Filter {
	if k.status == nil {
		return nil
	}
	without := "status"
	if subresource == "status" {
		without = "spec"
	}
	version := fieldpath.APIVersion(k.gvk.GroupVersion().String())
	return map[fieldpath.APIVersion]fieldpath.Filter{
		version: fieldpath.NewExcludeSetFilter(fieldpath.NewSet(fieldpath.MakePathOrDie(without))),
	}
}

// internalManager owns what the simulator changes in objects whose fields are tracked.
const internalManager = "slipway-sim"

// trackCreate notes who made a new object.
func (w *writer) trackCreate(k *kind, obj Object, o writeOptions) (Object, error) {
	if o.applied {
		return obj, nil
	}
	empty := k.make()
	return w.track(k, obj, empty, o)
}

// trackUpdate notes who changed an object's fields, where that is tracked at all.
func (w *writer) trackUpdate(k *kind, next, live Object, o writeOptions) (Object, error) {
	switch {
	case o.applied:
	case len(live.GetManagedFields()) == 0:
		next.SetManagedFields(nil)
		return next, nil
	default:
		var err error
		if next, err = w.track(k, next, live.DeepCopyObject().(Object), o); err != nil {
			return nil, err
		}
	}
	keepTimes(next, live)
	return next, nil
}

func (w *writer) track(k *kind, next, live Object, o writeOptions) (Object, error) {
	t, err := w.tracker(k, o.subresource)
	if err != nil {
		return nil, err
	}
	manager := o.manager
	if manager == "" {
		manager = internalManager
	}
	next.GetObjectKind().SetGroupVersionKind(k.gvk)
	live.GetObjectKind().SetGroupVersionKind(k.gvk)
	return typed(t.UpdateNoErrors(live, next, manager))
}

// keepTimes undoes changes of managedFields that are only a newer time, so that a write that changes nothing is none.
func keepTimes(next, live Object) {
	fields := next.GetManagedFields()
	for i := range fields {
		for _, was := range live.GetManagedFields() {
			if sameOwnership(fields[i], was) {
				fields[i].Time = was.Time
			}
		}
	}
	next.SetManagedFields(fields)
}

func sameOwnership(a, b metav1.ManagedFieldsEntry) bool {
	return a.Manager == b.Manager && a.Operation == b.Operation && a.Subresource == b.Subresource && a.APIVersion == b.APIVersion &&
		a.FieldsV1 != nil && b.FieldsV1 != nil && a.FieldsV1.Equal(*b.FieldsV1)
}

// apply merges a server-side apply into the live object; live is nil when there is none.
func (w *writer) apply(k *kind, live Object, patch *unstructured.Unstructured, o writeOptions, force bool) (Object, error) {
	t, err := w.tracker(k, o.subresource)
	if err != nil {
		return nil, err
	}
	if live == nil {
		live = k.make()
	}
	live.GetObjectKind().SetGroupVersionKind(k.gvk)
	return typed(t.Apply(live, patch, o.manager, force))
}

// typed narrows what the field manager returns.
func typed(obj runtime.Object, errs ...error) (Object, error) {
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	out, ok := obj.(Object)
	if !ok {
		return nil, fmt.Errorf("the field manager made a %T", obj)
	}
	return out, nil
}
