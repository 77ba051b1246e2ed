package apply

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// maxPaced bounds the objects that a Pace remembers; above it all are forgotten, which costs a write each.
const maxPaced = 1 << 14

// Pace spaces out status writes that are not urgent: an object that sums up many others would else be written with each
// step of each of them. It is safe for concurrent use.
type Pace struct {
	interval time.Duration

	mu     sync.Mutex // guards writes
	writes map[types.UID]time.Time
}

// NewPace returns a Pace that lets the same object be written once in an interval.
func NewPace(interval time.Duration) *Pace {
	return &Pace{interval: interval, writes: map[types.UID]time.Time{}}
}

// Wait returns for how long a write that is not urgent should wait still; zero when it may be made.
func (p *Pace) Wait(uid types.UID, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	last, ok := p.writes[uid]
	if !ok {
		return 0
	}
	return max(0, last.Add(p.interval).Sub(now))
}

// Wrote remembers that the object was written.
func (p *Pace) Wrote(uid types.UID, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.writes) >= maxPaced {
		clear(p.writes)
	}
	p.writes[uid] = now
}

// Forget drops an object that is gone.
func (p *Pace) Forget(uid types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.writes, uid)
}
