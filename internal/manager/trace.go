package manager

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"

	"k8s.io/client-go/rest"
)

// Write is a write of a controller that the API server has answered with success.
type Write struct {
	// Manager is the field manager, or of a deletion the controller, as slipway-machine; empty when neither is known.
	Manager string `json:"manager,omitempty"`
	// Verb is create, apply, patch, update or delete.
	Verb string `json:"verb"`
	// Resource is what was written, such as machines or machines/status.
	Resource string `json:"resource"`
	// Namespace and Name are empty where the path has none, Name also when something was created.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
}

// withWriteTrace has a client configuration report each write to whoever listens on a unix socket: a line of JSON, for
// which a line must come back before the controller learns the outcome. So a test can kill the plane exactly after a write.
func withWriteTrace(ctx context.Context, cfg *rest.Config, socket string) error {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", socket)
	if err != nil {
		return fmt.Errorf("reach the listener for writes: %w", err)
	}
	context.AfterFunc(ctx, func() { _ = conn.Close() }) // Nobody is left to hear of it.
	trace := &writeTrace{conn: conn, answers: bufio.NewReader(conn)}
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return writeTracer{next, trace} })
	return nil
}

// writeTrace is the connection to the listener, one write at a time.
type writeTrace struct {
	mu      sync.Mutex // guards what follows
	conn    net.Conn
	answers *bufio.Reader
}

func (t *writeTrace) report(w Write) {
	t.mu.Lock()
	defer t.mu.Unlock()
	// A listener that has gone wants nothing any more; the plane goes on without it.
	if json.NewEncoder(t.conn).Encode(w) == nil {
		_, _ = t.answers.ReadString('\n')
	}
}

type writeTracer struct {
	next  http.RoundTripper
	trace *writeTrace
}

// RoundTrip reports a request that has written something.
func (t writeTracer) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(r)
	if err == nil && resp.StatusCode < http.StatusMultipleChoices {
		if w, ok := writeOf(r); ok {
			t.trace.report(w)
		}
	}
	return resp, err
}

func writeOf(r *http.Request) (Write, bool) {
	w := Write{Manager: writerOf(r), Resource: resourceOf(r.URL.Path)}
	switch r.Method {
	case http.MethodPost:
		w.Verb = "create"
	case http.MethodPut:
		w.Verb = "update"
	case http.MethodDelete:
		w.Verb = "delete"
	case http.MethodPatch:
		w.Verb = "patch"
		if strings.HasPrefix(r.Header.Get("Content-Type"), "application/apply-patch") {
			w.Verb = "apply"
		}
	default:
		return Write{}, false
	}
	if _, rest, ok := strings.Cut(r.URL.Path, "/namespaces/"); ok {
		parts := strings.Split(rest, "/")
		w.Namespace = parts[0]
		if len(parts) > 2 {
			w.Name = parts[2]
		}
	}
	return w, true
}
