package workload

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// reserveStep is how far the file's reservation of resource versions runs ahead of those in use.
const reserveStep = 1 << 14

// versionEpoch is where the clock that starts resource versions begins. Counting four a second since then, a rebuilt store
// starts above a lost one that had fewer changes than that.
var versionEpoch = time.Date(2025, time.January, 1, 0, 0, 0, 0, time.UTC)

// Store holds the objects of one cluster. The exported methods are the simulator's own door; they know no
// authorization, and write status and metadata as given. All methods may be called concurrently.
type Store struct {
	catalog *catalog
	writer  *writer
	now     func() time.Time
	created bool
	journal *journal
	changed func(Change)
	alive   func(node string) bool // nil: every node's kubelet ends its pods at once

	mu       sync.RWMutex // guards what follows
	tables   [][]*entry   // by kind.slot, sorted by key
	rv       uint64       // of the last change
	rbacRV   uint64       // of the last change of an RBAC object
	reserved uint64       // resource versions up to here may be used without a word in the file
	log      changeLog
	watchers map[*watcher]struct{}
	blobs    map[string][]byte
}

// errMoved says that the object is no longer the one the change was computed from.
var errMoved = errors.New("the object changed meanwhile")

// openStore loads a cluster's file, or begins it.
func openStore(path string, sh *shared, now func() time.Time) (*Store, error) {
	s := &Store{
		catalog:  sh.catalog,
		writer:   sh.writer,
		now:      now,
		tables:   make([][]*entry, sh.catalog.slots),
		watchers: map[*watcher]struct{}{},
		log:      changeLog{dropped: make([]uint64, sh.catalog.slots)},
		blobs:    map[string][]byte{},
	}
	j, created, err := openJournal(path, &sh.flusher, s.replayOp)
	if err != nil {
		return nil, err
	}
	s.journal = j
	j.snapshot = s.snapshotFrame
	// A process that was killed between making the file and seeding it has left no cluster either.
	_, system := s.find(s.catalog.byName["namespaces"], objectKey{name: metav1.NamespaceSystem})
	s.created = system == nil
	if created {
		s.rv = 4 * uint64(max(0, now().Sub(versionEpoch))/time.Second)
	} else {
		s.rv = max(s.rv, s.reserved)
	}
	s.log.base, s.rbacRV = s.rv, s.rv
	if err := s.reserve(); err != nil {
		return nil, errors.Join(err, j.close())
	}
	return s, nil
}

// reserve puts a first reservation into the file, before any version above the old one is handed out.
func (s *Store) reserve() error {
	var f frame
	s.mu.Lock()
	s.reserveInto(&f)
	g := s.journal.append(f.seal())
	s.mu.Unlock()
	return g.wait()
}

func (s *Store) reserveInto(f *frame) {
	s.reserved = s.rv + reserveStep
	f.op(opReserve)
	f.number(s.reserved)
}

// replayOp applies one operation of the file.
func (s *Store) replayOp(code opCode, r *reader) error {
	switch code {
	case opPut:
		k := s.catalog.byName[r.text()]
		if k == nil {
			return errors.New("it holds a kind that this version does not serve")
		}
		e := r.entry(k)
		s.rv = max(s.rv, e.rv)
		s.set(e)
	case opDelete:
		k := s.catalog.byName[r.text()]
		if k == nil {
			return errors.New("it holds a kind that this version does not serve")
		}
		key := objectKey{r.text(), r.text()}
		s.rv = max(s.rv, r.number())
		s.unset(k, key)
	case opBlob:
		name := r.text()
		s.blobs[name] = bytes.Clone(r.bytes())
	case opBlobDelete:
		delete(s.blobs, r.text())
	case opReserve:
		s.reserved = max(s.reserved, r.number())
	default:
		return fmt.Errorf("unknown operation %d", code)
	}
	return r.err
}

// snapshotFrame encodes everything that is kept in the file.
func (s *Store) snapshotFrame() []byte {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var f frame
	f.op(opReserve)
	f.number(s.reserved)
	for _, t := range s.tables {
		for _, e := range t {
			if !e.volatile() {
				f.put(e)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.blobs)) {
		f.op(opBlob, name, string(s.blobs[name]))
	}
	return f.seal()
}

func (e *entry) volatile() bool { return e.kind.volatile != nil && e.kind.volatile(e.namespace) }

// Created says that the cluster had no file when it was opened: the caller builds its objects anew.
func (s *Store) Created() bool { return s.created }

// ResourceVersion is that of the last change.
func (s *Store) ResourceVersion() string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return strconv.FormatUint(s.rv, 10)
}

// find looks an object up. The caller holds the lock.
func (s *Store) find(k *kind, key objectKey) (int, *entry) {
	t := s.tables[k.slot]
	i, ok := slices.BinarySearchFunc(t, key, func(e *entry, key objectKey) int { return e.key().compare(key) })
	if !ok {
		return i, nil
	}
	return i, t[i]
}

// set puts an entry in its place. The caller holds the lock.
func (s *Store) set(e *entry) {
	i, old := s.find(e.kind, e.key())
	if old != nil {
		s.tables[e.kind.slot][i] = e
		return
	}
	s.tables[e.kind.slot] = slices.Insert(s.tables[e.kind.slot], i, e)
}

// unset removes an entry. The caller holds the lock.
func (s *Store) unset(k *kind, key objectKey) {
	if i, old := s.find(k, key); old != nil {
		s.tables[k.slot] = slices.Delete(s.tables[k.slot], i, i+1)
	}
}

// load returns an object's entry, or nil.
func (s *Store) load(k *kind, key objectKey) *entry {
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, e := s.find(k, key)
	return e
}

// list returns the entries of a kind, of one namespace if it is not empty, sorted by key, and the version they are of.
func (s *Store) list(k *kind, namespace string) ([]*entry, uint64) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.within(k, namespace), s.rv
}

// within copies a namespace's part of a table. The caller holds the lock.
func (s *Store) within(k *kind, namespace string) []*entry {
	t := s.tables[k.slot]
	if namespace == "" {
		return slices.Clone(t)
	}
	from, _ := s.find(k, objectKey{namespace: namespace})
	to := from
	for to < len(t) && t[to].namespace == namespace {
		to++
	}
	return slices.Clone(t[from:to])
}

// transaction is a set of changes made under the lock and written as one frame.
type transaction struct {
	store   *Store
	frame   frame
	changes []Change
	pods    map[string]bool // namespaces whose disruption budgets need another look
	byPut   bool            // made by Store.Put
}

// transact runs changes under the lock and waits until they are on disk. An error of fn must come before its first change.
func (s *Store) transact(fn func(*transaction) error) error {
	tx := &transaction{store: s}
	s.mu.Lock()
	err := fn(tx)
	if err != nil {
		s.mu.Unlock()
		return err
	}
	tx.settle()
	if s.rv+reserveStep/2 > s.reserved {
		s.reserveInto(&tx.frame)
	}
	var g *group
	if sealed := tx.frame.seal(); sealed != nil {
		g = s.journal.append(sealed)
	}
	s.mu.Unlock()
	if s.changed != nil {
		for _, c := range tx.changes {
			s.changed(c)
		}
	}
	return g.wait()
}

// put stores the next state of an object; old is what it replaces, nil for a new one.
func (tx *transaction) put(e, old *entry) {
	s := tx.store
	s.rv++
	e.rv = s.rv
	s.set(e)
	typ := watch.Modified
	if old == nil {
		typ = watch.Added
	}
	if !e.volatile() {
		tx.frame.put(e)
	}
	tx.record(typ, e, old)
}

// remove deletes an object, and what depends on it.
func (tx *transaction) remove(old *entry) {
	s := tx.store
	s.rv++
	s.unset(old.kind, old.key())
	gone := *old
	gone.rv = s.rv
	if !old.volatile() {
		tx.frame.op(opDelete, old.kind.fileName(), old.namespace, old.name)
		tx.frame.number(s.rv)
	}
	tx.record(watch.Deleted, &gone, old)
	tx.cascade(old)
}

// record tells the log, the watchers and the caller's hook.
func (tx *transaction) record(typ watch.EventType, cur, old *entry) {
	s := tx.store
	s.log.add(change{typ: typ, cur: cur, prev: old})
	for w := range s.watchers {
		w.wake(cur.kind.slot)
	}
	if s.changed != nil {
		tx.changes = append(tx.changes, Change{
			Type: typ, Kind: cur.kind.gvk.Kind,
			Key: types.NamespacedName{Namespace: cur.namespace, Name: cur.name}, Deleting: cur.deleting, Put: tx.byPut,
		})
	}
	if cur.kind.gvk.Group == rbacv1.GroupName {
		s.rbacRV = s.rv
	}
	if kind := cur.kind.gvk.Kind; kind == "Pod" || kind == "PodDisruptionBudget" || kind == "Deployment" {
		if tx.pods == nil {
			tx.pods = map[string]bool{}
		}
		tx.pods[cur.namespace] = true
	}
}

// Change says that an object was written.
type Change struct {
	Type watch.EventType
	Kind string
	Key  types.NamespacedName
	// Deleting says that the object waits for its finalizers or, a pod, for its node.
	Deleting bool
	// Put says that Store.Put wrote it.
	Put bool
}

// Value returns what SetValue stored under a name, and nil if nothing. The caller must not change it.
func (s *Store) Value(name string) []byte {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.blobs[name]
}

// SetValue stores bytes beside the objects, in the same file, and returns when they are on disk. An empty value removes it.
func (s *Store) SetValue(name string, value []byte) error {
	value = bytes.Clone(value)
	return s.transact(func(tx *transaction) error {
		if bytes.Equal(s.blobs[name], value) {
			return nil
		}
		if len(value) == 0 {
			delete(s.blobs, name)
			tx.frame.op(opBlobDelete, name)
			return nil
		}
		s.blobs[name] = value
		tx.frame.op(opBlob, name, string(value))
		return nil
	})
}

// close ends all watches and closes the file.
func (s *Store) close() error {
	s.mu.Lock()
	for w := range s.watchers {
		w.end()
	}
	s.mu.Unlock()
	return s.journal.close()
}

// removeFile deletes the closed store's file.
func (s *Store) removeFile() error {
	if err := os.Remove(s.journal.path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove state file: %w", err)
	}
	return nil
}
