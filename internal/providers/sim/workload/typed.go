package workload

import (
	"errors"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// The simulator's own door. Errors are those of the Kubernetes API (IsNotFound, IsConflict, …).

// Read returns a copy of an object, such as Read[*corev1.Node](store, key).
func Read[O Object](s *Store, key types.NamespacedName) (O, error) {
	var zero O
	k, err := s.catalog.of(zero)
	if err != nil {
		return zero, err
	}
	e := s.load(k, objectKey{key.Namespace, key.Name})
	if e == nil {
		return zero, apierrors.NewNotFound(k.resource(), key.Name)
	}
	return decodeAs[O](k, e)
}

func decodeAs[O Object](k *kind, e *entry) (O, error) {
	var zero O
	obj, err := k.decodeEntry(e)
	if err != nil {
		return zero, err
	}
	out, ok := obj.(O)
	if !ok {
		return zero, fmt.Errorf("stored %s decodes to %T", k.gvk.Kind, obj)
	}
	return out, nil
}

// List returns copies of the objects of a kind, sorted by namespace and name: of one namespace unless it is empty, and only those
// that match the selector unless it is nil.
func List[O Object](s *Store, namespace string, selector labels.Selector) ([]O, error) {
	var zero O
	k, err := s.catalog.of(zero)
	if err != nil {
		return nil, err
	}
	entries, _ := s.list(k, namespace)
	var out []O
	for _, e := range entries {
		if selector != nil && !selector.Matches(e.labels) {
			continue
		}
		obj, err := decodeAs[O](k, e)
		if err != nil {
			return nil, err
		}
		out = append(out, obj)
	}
	return out, nil
}

// Has says whether an object exists, without decoding it.
func Has[O Object](s *Store, key types.NamespacedName) bool {
	var zero O
	k, err := s.catalog.of(zero)
	return err == nil && s.load(k, objectKey{key.Namespace, key.Name}) != nil
}

// Create stores a new object as given, status included, and returns it as stored. Its namespace must exist.
func Create[O Object](s *Store, obj O) (O, error) {
	var zero O
	k, err := s.catalog.of(obj)
	if err != nil {
		return zero, err
	}
	e, err := s.create(k, obj.DeepCopyObject().(Object), writeOptions{})
	if err != nil {
		return zero, err
	}
	return decodeAs[O](k, e)
}

// Update replaces an object, status included, and returns it as stored. A resourceVersion in it must be the current one.
func Update[O Object](s *Store, obj O) (O, error) {
	key := types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
	rv := obj.GetResourceVersion()
	next := obj.DeepCopyObject().(Object)
	return modify[O](s, key, func(live Object) (Object, error) {
		if live == nil {
			return nil, nil
		}
		next.SetResourceVersion(rv)
		return next, nil
	})
}

// Modify changes an object in place, again on a newer copy when another writer was faster, and returns it as stored.
// Nothing is written when change leaves it as it was.
func Modify[O Object](s *Store, key types.NamespacedName, change func(O) error) (O, error) {
	return modify[O](s, key, func(live Object) (Object, error) {
		if live == nil {
			return nil, nil
		}
		return live, change(live.(O))
	})
}

func modify[O Object](s *Store, key types.NamespacedName, produce producer) (O, error) {
	var zero O
	k, err := s.catalog.of(zero)
	if err != nil {
		return zero, err
	}
	e, _, err := s.update(k, objectKey{key.Namespace, key.Name}, writeOptions{}, produce)
	if err != nil {
		return zero, err
	}
	return decodeAs[O](k, e)
}

// Delete removes an object at once, whatever its grace period; finalizers still hold it. An object that is not there is no error.
func Delete[O Object](s *Store, key types.NamespacedName) error {
	var zero O
	k, err := s.catalog.of(zero)
	if err != nil {
		return err
	}
	now := int64(0)
	_, _, err = s.remove(k, objectKey{key.Namespace, key.Name}, deleteOptions{grace: &now})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// Put makes objects be as given, in one transaction with one sync: missing ones are created, others replaced with their
// identity and managed fields kept, and those that are already so are not written. Where a resourceVersion is given, it must be
// the current one. Namespaces may be among them, before what they hold. It returns how many were written.
func (s *Store) Put(objs ...Object) (int, error) {
	steps := make([]putStep, 0, len(objs))
	for _, obj := range objs {
		k, err := s.catalog.of(obj)
		if err != nil {
			return 0, err
		}
		steps = append(steps, putStep{kind: k, key: objectKey{obj.GetNamespace(), obj.GetName()}, obj: obj})
	}
	for try := 1; ; try++ {
		n, err := s.putOnce(steps)
		if err == nil || !errors.Is(err, errMoved) || try == updateTries {
			return n, err
		}
	}
}

// putStep is one object of a Put: what is to be stored and what it was computed from.
type putStep struct {
	kind      *kind
	key       objectKey
	obj       Object
	old, next *entry
}

func (s *Store) putOnce(steps []putStep) (int, error) {
	for i := range steps {
		if err := s.preparePut(&steps[i]); err != nil {
			return 0, fmt.Errorf("put %s %s/%s: %w", steps[i].kind.gvk.Kind, steps[i].key.namespace, steps[i].key.name, err)
		}
	}
	n := 0
	err := s.transact(func(tx *transaction) error {
		tx.byPut = true
		for _, st := range steps {
			if _, cur := s.find(st.kind, st.key); cur != st.old {
				return errMoved
			}
		}
		if err := s.namespacesExist(steps); err != nil {
			return err
		}
		for _, st := range steps {
			if st.next != nil {
				tx.put(st.next, st.old)
				n++
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// preparePut computes the next entry of one object; none when it is already as wanted.
func (s *Store) preparePut(st *putStep) error {
	obj := st.obj.DeepCopyObject().(Object)
	expected := obj.GetResourceVersion()
	obj.SetResourceVersion("")
	st.old, st.next = s.load(st.kind, st.key), nil
	if expected != "" && (st.old == nil || strconv.FormatUint(st.old.rv, 10) != expected) {
		return apierrors.NewConflict(st.kind.resource(), st.key.name, errMoved)
	}
	if st.old == nil {
		s.prepareNew(st.kind, obj, writeOptions{})
		if errs := st.kind.check(obj, nil); len(errs) > 0 {
			return apierrors.NewInvalid(st.kind.gvk.GroupKind(), st.key.name, errs)
		}
	} else {
		live, err := st.kind.decodeEntry(st.old)
		if err != nil {
			return err
		}
		obj.SetUID("")
		if len(obj.GetManagedFields()) == 0 {
			obj.SetManagedFields(live.GetManagedFields())
		}
		if obj, err = s.prepareUpdate(st.kind, obj, live, writeOptions{}); err != nil {
			return err
		}
	}
	next, err := st.kind.encodeView(obj)
	if err != nil {
		return err
	}
	if st.old == nil || string(st.old.data) != string(next.data) {
		st.next = next
	}
	return nil
}

// namespacesExist checks that each object's namespace is there, or is made by an earlier step. The caller holds the lock.
func (s *Store) namespacesExist(steps []putStep) error {
	made := map[string]bool{}
	for _, st := range steps {
		switch {
		case st.kind.gvk.Kind == "Namespace":
			made[st.key.name] = true
		case st.old == nil && !made[st.key.namespace]:
			if err := s.mayCreate(st.kind, st.next); err != nil {
				return err
			}
		}
	}
	return nil
}
