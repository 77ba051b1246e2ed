package provision

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// maxSwept bounds the owners that Sweeps remembers; above it all are forgotten, which costs each a list.
const maxSwept = 1 << 17

// Sweeps remembers for which owners nothing is left of creations that were interrupted, in this process or in an earlier
// one. It is safe for concurrent use.
type Sweeps struct {
	mu    sync.Mutex // guards clean
	clean map[types.UID]bool
}

// NewSweeps returns Sweeps that know of no owner.
func NewSweeps() *Sweeps { return &Sweeps{clean: map[types.UID]bool{}} }

// Clean reports whether nothing is left for the owner.
func (s *Sweeps) Clean(owner types.UID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clean[owner]
}

// Done says that nothing is left for the owner.
func (s *Sweeps) Done(owner types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.clean) >= maxSwept {
		clear(s.clean)
	}
	s.clean[owner] = true
}

// Dirty says that something may be left for the owner, or that it is gone.
func (s *Sweeps) Dirty(owner types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.clean, owner)
}
