package kubeadmcontrolplane

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// patienceFor is how long a control plane may be unhealthy before an Event tells it: joins make it so for a moment.
const patienceFor = 15 * time.Second

// patience remembers since when control planes wait for their Machines to be healthy, and whether that was told. It is
// safe for concurrent use.
type patience struct {
	mu    sync.Mutex // guards since
	since map[types.UID]waiting
}

type waiting struct {
	since time.Time
	told  bool
}

func newPatience() *patience { return &patience{since: map[types.UID]waiting{}} }

// lost notes that the control plane is not healthy. It is due once, when that has lasted; until then wait says how long.
func (p *patience) lost(owner types.UID, now time.Time) (due bool, wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w, ok := p.since[owner]
	if !ok {
		w = waiting{since: now}
	}
	left := w.since.Add(patienceFor).Sub(now)
	due = left <= 0 && !w.told
	w.told = w.told || due
	p.since[owner] = w
	return due, max(left, 0)
}

// forget notes that the control plane is well, or gone.
func (p *patience) forget(owner types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.since, owner)
}
