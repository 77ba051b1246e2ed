package workload

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// writeOptions say how an object is written.
type writeOptions struct {
	// subresource is "" or "status".
	subresource string
	// manager is who the changed fields belong to; "" tracks nothing, which is the simulator's own door: there spec and
	// status are both taken as given.
	manager string
	// applied says that the object is the outcome of a server-side apply and bears its managed fields.
	applied bool
	dryRun  bool
}

func (o writeOptions) internal() bool { return o.manager == "" }

const (
	nameTries   = 8 // for generateName
	updateTries = 8 // against other writers
)

// create stores a new object. obj is changed on the way and must not be used afterwards.
func (s *Store) create(k *kind, obj Object, o writeOptions) (*entry, error) {
	generated := obj.GetName() == "" && obj.GetGenerateName() != ""
	for try := 1; ; try++ {
		if generated {
			obj.SetName(obj.GetGenerateName() + rand.String(5))
		}
		e, err := s.createNamed(k, obj, o)
		if !generated || !apierrors.IsAlreadyExists(err) || try == nameTries {
			return e, err
		}
	}
}

func (s *Store) createNamed(k *kind, obj Object, o writeOptions) (*entry, error) {
	if obj.GetResourceVersion() != "" {
		return nil, apierrors.NewBadRequest("resourceVersion should not be set on objects to be created")
	}
	s.prepareNew(k, obj, o)
	if !o.internal() {
		var err error
		if obj, err = s.writer.trackCreate(k, obj, o); err != nil {
			return nil, err
		}
	}
	if errs := k.check(obj, nil); len(errs) > 0 {
		return nil, apierrors.NewInvalid(k.gvk.GroupKind(), obj.GetName(), errs)
	}
	e, err := k.encodeView(obj)
	if err != nil {
		return nil, err
	}
	if o.dryRun {
		s.mu.RLock()
		defer s.mu.RUnlock()
		e.rv = 0
		return e, s.mayCreate(k, e)
	}
	return e, s.transact(func(tx *transaction) error {
		if err := s.mayCreate(k, e); err != nil {
			return err
		}
		tx.put(e, nil)
		return nil
	})
}

// prepareNew sets what the server decides about a new object.
func (s *Store) prepareNew(k *kind, obj Object, o writeOptions) {
	obj.SetUID(uuid.NewUUID())
	obj.SetCreationTimestamp(metav1.NewTime(s.now().UTC().Truncate(1e9)))
	obj.SetDeletionTimestamp(nil)
	obj.SetDeletionGracePeriodSeconds(nil)
	obj.SetSelfLink("")
	obj.SetGeneration(0)
	if k.generation {
		obj.SetGeneration(1)
	}
	if k.status != nil && !k.keepStatus && !o.internal() {
		k.status.copy(obj, k.make())
	}
	if k.defaults != nil {
		k.defaults(obj)
	}
}

// mayCreate checks a new object against the others. The caller holds the lock.
func (s *Store) mayCreate(k *kind, e *entry) error {
	if _, old := s.find(k, e.key()); old != nil {
		return apierrors.NewAlreadyExists(k.resource(), e.name)
	}
	if !k.namespaced {
		return nil
	}
	_, ns := s.find(s.catalog.byName["namespaces"], objectKey{name: e.namespace})
	switch {
	case ns == nil:
		return apierrors.NewNotFound(corev1.Resource("namespaces"), e.namespace)
	case ns.deleting:
		err := apierrors.NewForbidden(k.resource(), e.name, fmt.Errorf("unable to create new content in namespace %s because it is being terminated", e.namespace))
		err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{
			Type: corev1.NamespaceTerminatingCause, Message: fmt.Sprintf("namespace %s is being terminated", e.namespace), Field: "metadata.namespace",
		})
		return err
	}
	return nil
}

// check validates an object as its kind demands.
func (k *kind) check(obj, old Object) field.ErrorList {
	path := field.NewPath("metadata")
	errs := validation.ValidateObjectMetaAccessor(obj, k.namespaced, k.rule(), path)
	if old != nil {
		errs = validation.ValidateObjectMetaAccessorUpdate(obj, old, path)
	}
	if k.validate != nil {
		errs = append(errs, k.validate(obj, old)...)
	}
	return errs
}

// encodeView makes the stored entry of an object of this kind.
func (k *kind) encodeView(obj Object) (*entry, error) {
	if k.storage == nil {
		return k.encode(obj)
	}
	return k.storage.encode(k.toStorage(obj))
}

// producer computes the next state from a copy of the live one; live is nil when there is none.
type producer func(live Object) (Object, error)

// update replaces an object by what produce makes of it, again when another writer was faster. When there is no object,
// produce may make one (server-side apply), or return nil for not found.
func (s *Store) update(k *kind, key objectKey, o writeOptions, produce producer) (e *entry, created bool, err error) {
	for try := 1; ; try++ {
		e, created, err = s.updateOnce(k, key, o, produce)
		if !errors.Is(err, errMoved) {
			return e, created, err
		}
		if try == updateTries {
			return nil, false, apierrors.NewConflict(k.resource(), key.name, errMoved)
		}
	}
}

func (s *Store) updateOnce(k *kind, key objectKey, o writeOptions, produce producer) (*entry, bool, error) {
	old := s.load(k, key)
	if old == nil {
		next, err := produce(nil)
		if err == nil && next == nil {
			err = apierrors.NewNotFound(k.resource(), key.name)
		}
		if err != nil {
			return nil, false, err
		}
		e, err := s.create(k, next, o)
		if apierrors.IsAlreadyExists(err) {
			err = errMoved
		}
		return e, true, err
	}
	live, err := k.decodeEntry(old)
	if err != nil {
		return nil, false, err
	}
	next, err := produce(live.DeepCopyObject().(Object))
	if err != nil {
		return nil, false, err
	}
	if next == nil {
		return nil, false, apierrors.NewNotFound(k.resource(), key.name)
	}
	if next, err = s.prepareUpdate(k, next, live, o); err != nil {
		return nil, false, err
	}
	e, err := s.replace(k, old, next, o)
	return e, false, err
}

// prepareUpdate applies the server's rules to the next state of an object.
func (s *Store) prepareUpdate(k *kind, next, live Object, o writeOptions) (Object, error) {
	if err := samePlace(k, next, live); err != nil {
		return nil, err
	}
	next.SetUID(live.GetUID())
	next.SetCreationTimestamp(live.GetCreationTimestamp())
	next.SetDeletionTimestamp(live.GetDeletionTimestamp())
	next.SetDeletionGracePeriodSeconds(live.GetDeletionGracePeriodSeconds())
	next.SetGeneration(live.GetGeneration())
	next.SetGenerateName(live.GetGenerateName())
	next.SetSelfLink("")
	next.SetResourceVersion(live.GetResourceVersion())
	switch {
	case o.internal():
	case o.subresource == "status":
		if k.spec != nil {
			k.spec.copy(next, live)
		}
		next.SetFinalizers(live.GetFinalizers())
		next.SetOwnerReferences(live.GetOwnerReferences())
	case k.status != nil:
		k.status.copy(next, live)
	}
	if k.defaults != nil {
		k.defaults(next)
	}
	if k.generation && !k.spec.equal(next, live) {
		next.SetGeneration(live.GetGeneration() + 1)
	}
	next, err := s.writer.trackUpdate(k, next, live, o)
	if err != nil {
		return nil, err
	}
	if errs := k.check(next, live); len(errs) > 0 {
		return nil, apierrors.NewInvalid(k.gvk.GroupKind(), next.GetName(), errs)
	}
	return next, nil
}

// samePlace checks the identity and the version that a writer names.
func samePlace(k *kind, next, live Object) error {
	if next.GetName() == "" {
		next.SetName(live.GetName())
	}
	if next.GetNamespace() == "" {
		next.SetNamespace(live.GetNamespace())
	}
	if next.GetName() != live.GetName() || next.GetNamespace() != live.GetNamespace() {
		return apierrors.NewBadRequest(fmt.Sprintf("the object is %s/%s, the request says %s/%s",
			next.GetNamespace(), next.GetName(), live.GetNamespace(), live.GetName()))
	}
	if uid := next.GetUID(); uid != "" && uid != live.GetUID() {
		return apierrors.NewConflict(k.resource(), live.GetName(),
			fmt.Errorf("Precondition failed: UID in precondition: %v, UID in object meta: %v", uid, live.GetUID())) //nolint:staticcheck // the text clients know
	}
	if rv := next.GetResourceVersion(); rv != "" && rv != live.GetResourceVersion() {
		return apierrors.NewConflict(k.resource(), live.GetName(),
			errors.New("the object has been modified; please apply your changes to the latest version and try again"))
	}
	return nil
}

// replace stores the prepared next state, or removes the object when its last finalizer went.
func (s *Store) replace(k *kind, old *entry, next Object, o writeOptions) (*entry, error) {
	e, err := k.encodeView(next)
	if err != nil {
		return nil, err
	}
	finished := finished(next)
	if !finished && bytes.Equal(e.data, old.data) {
		return old, nil
	}
	if o.dryRun {
		e.rv = old.rv
		return e, nil
	}
	err = s.transact(func(tx *transaction) error {
		if _, cur := s.find(k, old.key()); cur != old {
			return errMoved
		}
		if finished {
			e.rv = old.rv
			tx.remove(e)
			return nil
		}
		tx.put(e, old)
		if e.deleting {
			tx.proceed(e)
		}
		return nil
	})
	return e, err
}

// finished says that nothing holds a deleted object any more.
func finished(o Object) bool {
	if o.GetDeletionTimestamp() == nil || len(o.GetFinalizers()) > 0 {
		return false
	}
	if ns, ok := o.(*corev1.Namespace); ok {
		return len(ns.Spec.Finalizers) == 0
	}
	grace := o.GetDeletionGracePeriodSeconds()
	return grace == nil || *grace == 0
}

// preconditionsHold compares what a request demands with what is stored.
func preconditionsHold(k *kind, e *entry, p *metav1.Preconditions) error {
	if p == nil {
		return nil
	}
	if p.UID != nil && *p.UID != e.uid {
		return preconditionFailed(k, e, "UID", string(*p.UID), string(e.uid))
	}
	if rv := strconv.FormatUint(e.rv, 10); p.ResourceVersion != nil && *p.ResourceVersion != rv {
		return preconditionFailed(k, e, "ResourceVersion", *p.ResourceVersion, rv)
	}
	return nil
}

func preconditionFailed(k *kind, e *entry, what, want, have string) error {
	return apierrors.NewConflict(k.resource(), e.name,
		fmt.Errorf("Precondition failed: %s in precondition: %s, %s in object meta: %s", what, want, what, have)) //nolint:staticcheck // the text clients know
}
