package apply

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Settle holds back changes of a status that nobody waits for until a moment has passed: an object that sums up many
// others changes in many small steps, and readers need only the last of each moment. Forgetting costs a write. It is safe
// for concurrent use.
type Settle struct {
	window time.Duration

	mu    sync.Mutex // guards since
	since map[types.UID]time.Time
}

// NewSettle returns a Settle that gathers changes for as long as the window.
func NewSettle(window time.Duration) *Settle {
	return &Settle{window: window, since: map[types.UID]time.Time{}}
}

// Hold returns for how long a pending change of the object is held back still; zero when it is to be written now.
func (s *Settle) Hold(uid types.UID, now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	since, pending := s.since[uid]
	if !pending {
		if len(s.since) >= maxPaced {
			clear(s.since)
		}
		s.since[uid] = now
		return s.window
	}
	return max(0, since.Add(s.window).Sub(now))
}

// Done says that nothing of the object is pending any more.
func (s *Settle) Done(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.since, uid)
}
