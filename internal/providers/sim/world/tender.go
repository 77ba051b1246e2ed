package world

import (
	"errors"
	"log/slog"
	"sync"
	"syscall"
)

// tender looks after clusters in which something changed: the part that controller managers, schedulers and kubelets play in
// real clusters. One goroutine serves all clusters.
type tender struct {
	log *slog.Logger

	mu     sync.Mutex // guards due and closed
	due    map[*Cluster]struct{}
	closed bool
	wake   chan struct{}
	done   chan struct{}
}

func newTender(log *slog.Logger) *tender {
	t := &tender{log: log, due: map[*Cluster]struct{}{}, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go t.run()
	return t
}

// add asks for a look at a cluster. It does not block.
func (t *tender) add(c *Cluster) {
	t.mu.Lock()
	if !t.closed {
		t.due[c] = struct{}{}
	}
	t.mu.Unlock()
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

func (t *tender) run() {
	defer close(t.done)
	for range t.wake {
		t.mu.Lock()
		due, closed := t.due, t.closed
		t.due = map[*Cluster]struct{}{}
		t.mu.Unlock()
		if closed {
			return
		}
		for c := range due {
			if err := c.tend(); err != nil {
				t.log.Error("tend simulated cluster", "cluster", c.place.Key, "error", err)
			}
		}
	}
}

func (t *tender) close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	select {
	case t.wake <- struct{}{}:
	default:
	}
	<-t.done
}

func isNotEmpty(err error) bool { return errors.Is(err, syscall.ENOTEMPTY) }
