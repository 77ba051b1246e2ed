package machine

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// settling holds back status writes that nobody waits for until a change has been pending for a while: a Machine that
// comes up changes in a dozen small steps, and readers need only the last of each moment. Forgetting it costs a write.
type settling struct {
	window time.Duration

	mu    sync.Mutex // guards since
	since map[types.NamespacedName]time.Time
}

func newSettling(window time.Duration) *settling {
	return &settling{window: window, since: map[types.NamespacedName]time.Time{}}
}

// hold returns how long the change of an object's status still waits; zero when it is to be written now.
func (s *settling) hold(key types.NamespacedName, now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	since, pending := s.since[key]
	if !pending {
		s.since[key] = now
		return s.window
	}
	return max(0, since.Add(s.window).Sub(now))
}

// settled says that nothing of an object is pending any more.
func (s *settling) settled(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.since, key)
}

// lanes bounds how much is done in one workload cluster at once.
type lanes struct {
	width int

	mu   sync.Mutex // guards used
	used map[types.NamespacedName]int
}

func newLanes(width int) *lanes { return &lanes{width: width, used: map[types.NamespacedName]int{}} }

// enter takes a lane of a cluster, and returns how to leave it; ok is false when all are taken.
func (l *lanes) enter(cluster types.NamespacedName) (leave func(), ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.used[cluster] >= l.width {
		return nil, false
	}
	l.used[cluster]++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.used[cluster]--; l.used[cluster] == 0 {
			delete(l.used, cluster)
		}
	}, true
}
