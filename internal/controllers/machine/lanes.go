package machine

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

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
