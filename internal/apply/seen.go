package apply

import (
	"crypto/sha256"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// maxSeen bounds one generation of remembered applies; there are two.
const maxSeen = 1 << 14

type seenKey struct {
	uid         types.UID
	subresource string
}

type seenEntry struct {
	version string
	hash    [sha256.Size]byte
}

// seen remembers for each object what was applied last and at which resourceVersion it is in place. It keeps two
// generations: when the younger is full it becomes the older, and what was not asked for since is dropped.
type seen struct {
	limit int

	mu             sync.Mutex // guards both generations
	younger, older map[seenKey]seenEntry
}

func newSeen(limit int) *seen {
	return &seen{limit: limit, younger: map[seenKey]seenEntry{}}
}

func keyOf(obj client.Object, subresource string) seenKey {
	return seenKey{uid: obj.GetUID(), subresource: subresource}
}

func (s *seen) has(key seenKey, version string, hash [sha256.Size]byte) bool {
	entry, ok := s.last(key)
	return ok && entry.hash == hash && notNewer(version, entry.version)
}

// last returns what was applied last; ok is false where that is not remembered.
func (s *seen) last(key seenKey) (entry seenEntry, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if entry, ok = s.younger[key]; ok {
		return entry, true
	}
	if entry, ok = s.older[key]; ok {
		s.store(key, entry)
	}
	return entry, ok
}

// notNewer reports whether the observed version is at most the one at which the intent was in place. An older
// observation is a cache that lags behind our own write; had someone written since, its event would show a newer one.
func notNewer(observed, applied string) bool {
	order, err := resourceversion.CompareResourceVersion(observed, applied)
	if err != nil {
		return observed == applied
	}
	return order <= 0
}

func (s *seen) put(key seenKey, version string, hash [sha256.Size]byte) {
	if key.uid == "" || version == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.store(key, seenEntry{version, hash})
}

func (s *seen) store(key seenKey, entry seenEntry) {
	if len(s.younger) >= s.limit {
		s.older, s.younger = s.younger, map[seenKey]seenEntry{}
	}
	s.younger[key] = entry
}
