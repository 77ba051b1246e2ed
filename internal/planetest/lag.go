package planetest

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// Lag holds watches back, so that caches behind it show an older world. Reads that are no watches pass. Its zero value
// holds nothing. It is safe for concurrent use.
type Lag struct {
	mu    sync.Mutex // guards what follows
	held  map[string]chan struct{}
	lists map[string]int
}

// Config returns a copy of the config whose watches the Lag can hold back.
func (l *Lag) Config(cfg *rest.Config) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return lagging{next, l} })
	return cfg
}

// Hold keeps back what watches of the resources (their plural names, such as "machines") deliver from now on. Release
// ends it.
func (l *Lag) Hold(resources ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == nil {
		l.held = map[string]chan struct{}{}
	}
	for _, resource := range resources {
		if l.held[resource] == nil {
			l.held[resource] = make(chan struct{})
		}
	}
}

// Release delivers all that was held back.
func (l *Lag) Release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for resource, free := range l.held {
		close(free)
		delete(l.held, resource)
	}
}

// heldFor is longer than a controller waits for its cache to show what it did.
const heldFor = 7 * time.Second

// WaitOut lets time pass in which a controller whose watches are held is to do nothing.
func WaitOut(t testing.TB) {
	t.Helper()
	select {
	case <-t.Context().Done():
	case <-time.After(heldFor):
	}
}

// Lists returns how often the resource was listed so far.
func (l *Lag) Lists(resource string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lists[resource]
}

func (l *Lag) listed(resource string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lists == nil {
		l.lists = map[string]int{}
	}
	l.lists[resource]++
}

// gate returns the channel that is closed when the resource is released; nil when it is not held.
func (l *Lag) gate(resource string) chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held[resource]
}

type lagging struct {
	next http.RoundTripper
	lag  *Lag
}

// RoundTrip passes a request on and puts the gate before what a watch delivers.
func (t lagging) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(r)
	resource := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	switch {
	case err != nil || r.Method != http.MethodGet:
	case r.URL.Query().Get("watch") == "true" || r.URL.Query().Get("watch") == "1":
		response.Body = &lateBody{ReadCloser: response.Body, lag: t.lag, resource: resource, closed: make(chan struct{})}
	default:
		t.lag.listed(resource)
	}
	return response, err
}

// WrappedRoundTripper lets client-go find the transport below.
func (t lagging) WrappedRoundTripper() http.RoundTripper { return t.next }

type lateBody struct {
	io.ReadCloser
	lag      *Lag
	resource string
	once     sync.Once
	closed   chan struct{}
}

// Read returns what came, once the resource is not held.
func (b *lateBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	for free := b.lag.gate(b.resource); free != nil; free = b.lag.gate(b.resource) {
		select {
		case <-free:
		case <-b.closed:
			return n, err
		}
	}
	return n, err
}

// Close ends the stream, and a Read that waits.
func (b *lateBody) Close() error {
	b.once.Do(func() { close(b.closed) })
	return b.ReadCloser.Close()
}
