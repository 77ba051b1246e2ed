package apply

import (
	"sync"
	"time"
)

// Settle holds back changes of a status that nobody waits for until a moment has passed: an object that sums up many
// others changes in many small steps, and readers need only the last of each moment. Forgetting costs a write. It is safe
// for concurrent use. K is what an object goes by, such as its UID or its name.
type Settle[K comparable] struct {
	window time.Duration

	mu    sync.Mutex // guards since
	since map[K]time.Time
}

// NewSettle returns a Settle that gathers changes for as long as the window.
func NewSettle[K comparable](window time.Duration) *Settle[K] {
	return &Settle[K]{window: window, since: map[K]time.Time{}}
}

// Hold returns for how long a pending change of the object is held back still; zero when it is to be written now.
func (s *Settle[K]) Hold(object K, now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	since, pending := s.since[object]
	if !pending {
		if len(s.since) >= maxPaced {
			clear(s.since)
		}
		s.since[object] = now
		return s.window
	}
	return max(0, since.Add(s.window).Sub(now))
}

// Done says that nothing of the object is pending any more.
func (s *Settle[K]) Done(object K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.since, object)
}
