package workload

import (
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// deleteOptions say how an object is deleted.
type deleteOptions struct {
	grace         *int64
	preconditions *metav1.Preconditions
	dryRun        bool
	// orphan lets the dependents live, without the owner.
	orphan bool
	// guard is asked under the lock, before anything changes; errMoved has the caller decide anew.
	guard func() error
}

// remove deletes an object. gone is false when it now waits for finalizers or for its node.
func (s *Store) remove(k *kind, key objectKey, o deleteOptions) (e *entry, gone bool, err error) {
	for try := 1; ; try++ {
		old := s.load(k, key)
		if old == nil {
			return nil, false, apierrors.NewNotFound(k.resource(), key.name)
		}
		if err := preconditionsHold(k, old, o.preconditions); err != nil {
			return nil, false, err
		}
		e, gone, err = s.removeEntry(k, old, o)
		if !errors.Is(err, errMoved) || o.guard != nil {
			return e, gone, err
		}
		if try == updateTries {
			return nil, false, apierrors.NewConflict(k.resource(), key.name, errMoved)
		}
	}
}

func (s *Store) removeEntry(k *kind, old *entry, o deleteOptions) (*entry, bool, error) {
	obj, err := old.decode()
	if err != nil {
		return nil, false, err
	}
	marked := s.mark(obj, o)
	if o.dryRun {
		return old, finished(marked), nil
	}
	next, err := old.kind.encode(marked)
	if err != nil {
		return nil, false, err
	}
	gone := finished(marked)
	err = s.transact(func(tx *transaction) error {
		if _, cur := s.find(k, old.key()); cur != old {
			return errMoved
		}
		if o.guard != nil {
			if err := o.guard(); err != nil {
				return err
			}
		}
		if o.orphan {
			tx.orphan(old.uid)
		}
		if gone {
			tx.remove(old)
			return nil
		}
		if string(next.data) == string(old.data) {
			next = old
		} else {
			tx.put(next, old)
		}
		gone = tx.proceed(next)
		return nil
	})
	if gone {
		next = old
	}
	return next, gone, err
}

// mark sets the deletion's metadata. Only a pod on a node has a grace period.
func (s *Store) mark(obj Object, o deleteOptions) Object {
	grace := int64(0)
	if p, ok := obj.(*corev1.Pod); ok {
		grace = podGrace(p, o.grace)
	}
	if obj.GetDeletionTimestamp() == nil {
		obj.SetDeletionTimestamp(&metav1.Time{Time: s.now().UTC().Truncate(time.Second).Add(time.Duration(grace) * time.Second)})
		obj.SetDeletionGracePeriodSeconds(&grace)
		if obj.GetGeneration() > 0 {
			obj.SetGeneration(obj.GetGeneration() + 1)
		}
	} else if current := obj.GetDeletionGracePeriodSeconds(); current != nil && grace < *current {
		obj.SetDeletionGracePeriodSeconds(&grace)
	}
	if ns, ok := obj.(*corev1.Namespace); ok {
		ns.Status.Phase = corev1.NamespaceTerminating
	}
	return obj
}

// podGrace is how long a pod may take to end.
func podGrace(p *corev1.Pod, asked *int64) int64 {
	if p.Spec.NodeName == "" || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		return 0
	}
	switch {
	case asked != nil:
		return max(0, *asked)
	case p.Spec.TerminationGracePeriodSeconds != nil:
		return *p.Spec.TerminationGracePeriodSeconds
	}
	return corev1.DefaultTerminationGracePeriodSeconds
}

// proceed does at once what follows a deletion's mark: the kubelet of a live node ends the pod, the namespace
// controller empties the namespace.
func (tx *transaction) proceed(e *entry) bool {
	obj, err := e.decode()
	if err != nil || len(obj.GetFinalizers()) > 0 {
		return false
	}
	switch o := obj.(type) {
	case *corev1.Pod:
		if alive := tx.store.alive; alive != nil && !alive(o.Spec.NodeName) {
			return false
		}
		tx.remove(e)
		return true
	case *corev1.Namespace:
		tx.empty(o.Name)
		_, left := tx.store.find(e.kind, e.key())
		return left == nil
	}
	return false
}

// empty deletes everything in a namespace that is being deleted, and the namespace when nothing is left.
func (tx *transaction) empty(namespace string) {
	for _, k := range tx.store.catalog.kinds {
		if !k.namespaced || k.storage != nil {
			continue
		}
		for _, e := range tx.store.within(k, namespace) {
			tx.discard(e)
		}
	}
	tx.finishNamespace(namespace)
}

// discard deletes one object as part of a larger deletion.
func (tx *transaction) discard(e *entry) {
	// An earlier discard may have taken it along.
	if _, cur := tx.store.find(e.kind, e.key()); cur != e {
		return
	}
	obj, err := e.decode()
	if err != nil {
		tx.remove(e)
		return
	}
	marked := tx.store.mark(obj, deleteOptions{})
	if finished(marked) {
		tx.remove(e)
		return
	}
	next, err := e.kind.encode(marked)
	if err != nil || string(next.data) == string(e.data) {
		return
	}
	tx.put(next, e)
	tx.proceed(next)
}

// finishNamespace removes a namespace that is being deleted and holds nothing.
func (tx *transaction) finishNamespace(namespace string) {
	s := tx.store
	_, ns := s.find(s.catalog.byName["namespaces"], objectKey{name: namespace})
	if ns == nil || !ns.deleting {
		return
	}
	for _, k := range s.catalog.kinds {
		if k.namespaced && k.storage == nil && len(s.within(k, namespace)) > 0 {
			return
		}
	}
	obj, err := ns.decode()
	if err != nil || len(obj.GetFinalizers()) > 0 {
		return
	}
	tx.remove(ns)
}

// cascade deletes what an object's end takes along: its dependents, and the emptied namespace.
func (tx *transaction) cascade(old *entry) {
	for _, e := range tx.store.dependents(old.uid) {
		if !tx.ownedByAnother(e, old.uid) {
			tx.discard(e)
		}
	}
	if old.namespace != "" {
		tx.finishNamespace(old.namespace)
	}
}

// dependents are the objects that name an owner. The caller holds the lock.
func (s *Store) dependents(owner types.UID) []*entry {
	var found []*entry
	for _, t := range s.tables {
		for _, e := range t {
			if slices.Contains(e.owners, owner) {
				found = append(found, e)
			}
		}
	}
	return found
}

// orphan takes an owner off all that name it.
func (tx *transaction) orphan(owner types.UID) {
	for _, e := range tx.store.dependents(owner) {
		obj, err := e.decode()
		if err != nil {
			continue
		}
		obj.SetOwnerReferences(slices.DeleteFunc(obj.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == owner }))
		if next, err := e.kind.encode(obj); err == nil {
			tx.put(next, e)
		}
	}
}

// ownedByAnother says that an object has a living owner besides one.
func (tx *transaction) ownedByAnother(e *entry, but types.UID) bool {
	for _, owner := range e.owners {
		if owner == but {
			continue
		}
		for _, t := range tx.store.tables {
			if slices.ContainsFunc(t, func(o *entry) bool { return o.uid == owner }) {
				return true
			}
		}
	}
	return false
}
