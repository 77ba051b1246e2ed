package workload

import (
	"sort"
	"sync"

	"k8s.io/apimachinery/pkg/watch"
)

// The log of changes keeps what watchers may still ask for. Beyond minChanges it is cut when the replaced states that only
// it keeps alive pass deadBytes: an idle cluster must stay small.
const (
	minChanges = 32
	maxChanges = 1024
	deadBytes  = 64 << 10
)

// change is one entry of the log. cur of a deletion is the last state with the deletion's version.
type change struct {
	typ  watch.EventType
	cur  *entry
	prev *entry
}

// dead is how many bytes the log alone keeps alive by this change, roughly.
func (c change) dead() int {
	if c.prev == nil {
		return 0
	}
	return len(c.prev.data)
}

// changeLog is the recent past of a store.
type changeLog struct {
	changes []change
	base    uint64   // nothing up to this version is known
	dropped []uint64 // by kind.slot: changes up to this version are gone
	bytes   int
}

func (l *changeLog) add(c change) {
	l.changes = append(l.changes, c)
	l.bytes += c.dead()
	drop := 0
	for rest := len(l.changes); rest > maxChanges || (rest > minChanges && l.bytes > deadBytes); rest-- {
		l.bytes -= l.changes[drop].dead()
		l.dropped[l.changes[drop].cur.kind.slot] = l.changes[drop].cur.rv
		l.changes[drop] = change{}
		drop++
	}
	l.changes = l.changes[drop:]
}

// compacted is the newest version from which a kind can no longer be watched. It is counted by kind: the churn of one must not
// end the watches of the others.
func (l *changeLog) compacted(slot int) uint64 { return max(l.base, l.dropped[slot]) }

// since returns the changes after a version, of all kinds; false when some of this kind are gone.
func (l *changeLog) since(slot int, rv uint64) ([]change, bool) {
	if rv < l.compacted(slot) {
		return nil, false
	}
	i := sort.Search(len(l.changes), func(i int) bool { return l.changes[i].cur.rv > rv })
	return l.changes[i:], true
}

// watcher is one reader of the log.
type watcher struct {
	slot   int
	signal chan struct{} // holds one token while there may be something new
	done   chan struct{} // closed when the store closes
	once   sync.Once
}

// wake is called with the store locked; it never blocks.
func (w *watcher) wake(slot int) {
	if w.slot != slot {
		return
	}
	select {
	case w.signal <- struct{}{}:
	default:
	}
}

func (w *watcher) end() { w.once.Do(func() { close(w.done) }) }

// subscribe adds a watcher of a kind.
func (s *Store) subscribe(k *kind) *watcher {
	w := &watcher{slot: k.slot, signal: make(chan struct{}, 1), done: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watchers[w] = struct{}{}
	return w
}

func (s *Store) unsubscribe(w *watcher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.watchers, w)
}

// changesSince returns the changes of a watcher's kind after a version, and the version they reach. False: compacted.
func (s *Store) changesSince(w *watcher, rv uint64) (out []change, reached uint64, ok bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	all, ok := s.log.since(w.slot, rv)
	if !ok {
		return nil, 0, false
	}
	for _, c := range all {
		if c.cur.kind.slot == w.slot {
			out = append(out, c)
		}
	}
	return out, s.rv, true
}
