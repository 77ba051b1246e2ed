package contract

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/conditions"
)

// Object is a foreign object, read only: it may be the cache's own.
type Object struct {
	object   *unstructured.Unstructured
	contract Version
}

// NewObject returns the Object for u, which keeps the contract and must not change any more.
func NewObject(u *unstructured.Unstructured, contract Version) *Object {
	return &Object{object: u, contract: contract}
}

// Contract returns the contract that the object keeps.
func (o *Object) Contract() Version { return o.contract }

// GroupVersionKind returns the kind in the version in which the object was read.
func (o *Object) GroupVersionKind() schema.GroupVersionKind { return o.object.GroupVersionKind() }

// Kind returns the object's kind.
func (o *Object) Kind() string { return o.object.GetKind() }

// Name returns the object's name.
func (o *Object) Name() string { return o.object.GetName() }

// Namespace returns the object's namespace.
func (o *Object) Namespace() string { return o.object.GetNamespace() }

// UID returns the object's UID.
func (o *Object) UID() types.UID { return o.object.GetUID() }

// ResourceVersion returns the object's resourceVersion.
func (o *Object) ResourceVersion() string { return o.object.GetResourceVersion() }

// Labels returns a copy of the object's labels.
func (o *Object) Labels() map[string]string { return o.object.GetLabels() }

// Annotations returns a copy of the object's annotations.
func (o *Object) Annotations() map[string]string { return o.object.GetAnnotations() }

// OwnerReferences returns a copy of the object's owner references.
func (o *Object) OwnerReferences() []metav1.OwnerReference { return o.object.GetOwnerReferences() }

// Deleting reports whether the object's deletion has begun.
func (o *Object) Deleting() bool { return o.object.GetDeletionTimestamp() != nil }

// Paused reports whether the object carries the annotation that pauses it.
func (o *Object) Paused() bool {
	_, ok := o.object.GetAnnotations()[clusterv1.PausedAnnotation]
	return ok
}

// String returns kind, namespace and name for messages and errors.
func (o *Object) String() string {
	return o.Kind() + " " + o.Namespace() + "/" + o.Name()
}

// Copy returns a copy that may be changed.
func (o *Object) Copy() *unstructured.Unstructured { return o.object.DeepCopy() }

// Metadata returns the object's identity and metadata alone, as a copy: enough to delete it, to patch its metadata or to
// tell the freshness tracker of it.
func (o *Object) Metadata() *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(o.GroupVersionKind())
	m.SetName(o.Name())
	m.SetNamespace(o.Namespace())
	m.SetUID(o.UID())
	m.SetResourceVersion(o.ResourceVersion())
	m.SetLabels(o.Labels())
	m.SetAnnotations(o.Annotations())
	m.SetFinalizers(o.object.GetFinalizers())
	m.SetOwnerReferences(o.OwnerReferences())
	m.SetDeletionTimestamp(o.object.GetDeletionTimestamp())
	return m
}

// Flag is a boolean of a contract: true, false, or unset. Its zero value is unset.
type Flag struct {
	// Path of the field, for messages.
	Path string
	// Value of the field; nil when unset.
	Value *bool
}

// IsTrue reports whether the flag is set and true.
func (f Flag) IsTrue() bool { return f.Value != nil && *f.Value }

// IsSet reports whether the flag has a value.
func (f Flag) IsSet() bool { return f.Value != nil }

// Failure is what a provider of the v1beta1 contract says of a terminal failure. It is empty for other contracts.
type Failure struct {
	// Reason is one word.
	Reason string
	// Message is for people.
	Message string
}

// IsZero reports whether no failure is told.
func (f Failure) IsZero() bool { return f == Failure{} }

// Mirror returns the object's condition of the type of (Ready or Available) under the name target. While the object does
// not report that condition, the flag stands in for it: unset counts as false there.
func (o *Object) Mirror(target, of string, flag Flag) metav1.Condition {
	conds, err := o.Conditions()
	if err != nil {
		return conditions.Unknown(target, conditions.InvalidConditionReported,
			fmt.Sprintf("%s %s reports conditions that cannot be read: %v", o.Kind(), o.Name(), err))
	}
	fallback := conditions.Fallback(flag.IsTrue(), of, o.Kind(), flag.Path)
	return conditions.Mirror{Type: target, Of: of, Fallback: fallback}.From(conds)
}
