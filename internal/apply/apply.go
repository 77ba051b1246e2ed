// Package apply writes objects the way the house does: server-side apply with a named field manager, skipped where the
// same intent is known to be in place, and small merge patches for metadata that many write.
package apply

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const statusSubresource = "status"

// Configuration is an apply configuration, generated or typed by hand: it marshals to the fields that the caller owns.
type Configuration interface {
	// IsApplyConfiguration marks apply configurations.
	IsApplyConfiguration()
	// GetAPIVersion returns the API version of the object.
	GetAPIVersion() *string
	// GetKind returns the kind of the object.
	GetKind() *string
	// GetName returns the name of the object.
	GetName() *string
	// GetNamespace returns the namespace of the object, or nil.
	GetNamespace() *string
}

// Result tells what an apply did.
type Result struct {
	// Skipped is true when nothing was sent, because the same intent is in place at the observed resourceVersion.
	Skipped bool
	// Changed is true when the API server's object differs from the observed one. It is true for a created object.
	Changed bool
	// Object is the metadata that the API server returned, with apiVersion and kind; nil when Skipped.
	Object *metav1.PartialObjectMetadata
}

// Applier applies intents as one field manager. It is safe for concurrent use.
type Applier struct {
	client  client.Client
	manager string
	seen    *seen
}

// New returns an Applier that writes by c as the named field manager. Share one a controller: its memory of what it
// applied is what saves repeats.
func New(c client.Client, manager string) *Applier {
	return &Applier{client: c, manager: manager, seen: newSeen(maxSeen)}
}

// Manager returns the field manager's name.
func (a *Applier) Manager() string { return a.manager }

// Apply makes the intent's fields so, and gives up fields that an earlier intent of this manager had and this one has
// not. observed is the object as the caller's cache shows it, or nil where it is not known to exist; it is used only to
// skip what was sent already. Conflicts over fields are won; a lost race is an error for which IsLostRace is true. The
// answer is metadata alone: what else the API server made of the object comes by the cache.
func (a *Applier) Apply(ctx context.Context, observed client.Object, intent Configuration) (Result, error) {
	return a.send(ctx, observed, intent, "")
}

// ApplyStatus is Apply for the status subresource.
func (a *Applier) ApplyStatus(ctx context.Context, observed client.Object, intent Configuration) (Result, error) {
	return a.send(ctx, observed, intent, statusSubresource)
}

// Lags reports whether the observed object is older than the last status that this Applier gave it: the cache has not seen
// that yet, and its event is still to come. A status made from such an object would be written twice.
func (a *Applier) Lags(observed client.Object) bool {
	last, known := a.seen.last(keyOf(observed, statusSubresource))
	return known && observed.GetResourceVersion() != last.version && notNewer(observed.GetResourceVersion(), last.version)
}

// ApplyObject is Apply for an object of a kind that has no Go type. The object must hold only what the caller owns; it
// is left alone.
func (a *Applier) ApplyObject(ctx context.Context, observed client.Object, intent *unstructured.Unstructured) (Result, error) {
	return a.send(ctx, observed, untyped{intent}, "")
}

func (a *Applier) send(ctx context.Context, observed client.Object, intent Configuration, subresource string) (Result, error) {
	target, err := identify(intent)
	if err != nil {
		return Result{}, err
	}
	body, err := json.Marshal(intent)
	if err != nil {
		return Result{}, fmt.Errorf("encode %s: %w", describe(target), err)
	}
	hash := sha256.Sum256(body)
	if observed != nil && a.seen.has(keyOf(observed, subresource), observed.GetResourceVersion(), hash) {
		return Result{Skipped: true}, nil
	}
	return a.deliver(ctx, observed, target, body, hash, subresource)
}

// deliver sends the body and remembers it by the hash, which may be that of another form of the same intent.
func (a *Applier) deliver(ctx context.Context, observed client.Object, target *metav1.PartialObjectMetadata, body []byte, hash [sha256.Size]byte, subresource string) (Result, error) {
	if err := a.patch(ctx, target, body, subresource); err != nil {
		return Result{}, fmt.Errorf("apply %s as %s: %w", describe(target), a.manager, err)
	}
	a.seen.put(keyOf(target, subresource), target.GetResourceVersion(), hash)
	changed := observed == nil || observed.GetResourceVersion() != target.GetResourceVersion()
	return Result{Changed: changed, Object: target}, nil
}

// patch sends the body through the metadata client: the API server then answers with metadata alone, which is a small
// part of what it would encode and we decode otherwise.
func (a *Applier) patch(ctx context.Context, target *metav1.PartialObjectMetadata, body []byte, subresource string) error {
	data := client.RawPatch(types.ApplyPatchType, yamlSafe(body))
	if subresource == "" {
		return a.client.Patch(ctx, target, data, client.FieldOwner(a.manager), client.ForceOwnership)
	}
	return a.client.SubResource(subresource).Patch(ctx, target, data, client.FieldOwner(a.manager), client.ForceOwnership)
}

// IsLostRace reports whether the write came too late and a fresh look will mend it: someone else wrote in between, or
// the object was replaced. It wants a quiet requeue and no condition.
func IsLostRace(err error) bool { return apierrors.IsConflict(err) }

var errUnnamed = errors.New("apply configuration lacks apiVersion, kind or name")

func identify(intent Configuration) (*metav1.PartialObjectMetadata, error) {
	version, kind, name := deref(intent.GetAPIVersion()), deref(intent.GetKind()), deref(intent.GetName())
	if version == "" || kind == "" || name == "" {
		return nil, errUnnamed
	}
	target := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: version, Kind: kind}}
	target.Name, target.Namespace = name, deref(intent.GetNamespace())
	return target, nil
}

func describe(obj *metav1.PartialObjectMetadata) string {
	return obj.Kind + " " + client.ObjectKeyFromObject(obj).String()
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// untyped makes an unstructured object a Configuration.
type untyped struct{ object *unstructured.Unstructured }

func (u untyped) IsApplyConfiguration()        {}
func (u untyped) MarshalJSON() ([]byte, error) { return u.object.MarshalJSON() }
func (u untyped) GetAPIVersion() *string       { return new(u.object.GetAPIVersion()) }
func (u untyped) GetKind() *string             { return new(u.object.GetKind()) }
func (u untyped) GetName() *string             { return new(u.object.GetName()) }
func (u untyped) GetNamespace() *string        { return new(u.object.GetNamespace()) }
