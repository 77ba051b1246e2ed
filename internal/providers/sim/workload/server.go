package workload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Options configure a Server. The zero value works.
type Options struct {
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Logger takes what no client is told, such as TLS handshakes that fail; nil discards it.
	Logger *slog.Logger
}

// Hooks are what a cluster asks of its simulator. All may be nil, are called from many goroutines, and must not call back
// into the store when it says so.
type Hooks struct {
	// Heartbeat tells when a node was last heard of, and whether its kubelet is alive. Readers see that time in the node's Lease and
	// status. A zero time leaves what is stored. Pods deleted from a node that is not alive wait for Store deletes.
	// It is called with the store locked, so it must not call the store. nil: all nodes are alive, and heartbeats are those stored.
	Heartbeat func(node string) (last time.Time, alive bool)
	// Changed hears of every write, after it, in no strict order between writers. It must not block.
	Changed func(Change)
	// PodLog opens a container's log. nil: every log is empty.
	PodLog func(ctx context.Context, pod *corev1.Pod, opts *corev1.PodLogOptions) (io.ReadCloser, error)
	// PodDial connects to a port of a pod. nil: every port refuses.
	PodDial func(ctx context.Context, pod *corev1.Pod, port int32) (net.Conn, error)
}

// shared is what all clusters use.
type shared struct {
	catalog *catalog
	writer  *writer
	flusher flusher
	openapi *openAPI
	docs    *discoveryDocs
}

// Server serves any number of simulated clusters in this process.
type Server struct {
	shared *shared
	now    func() time.Time
	http   *http.Server
	logger *slog.Logger

	mu       sync.Mutex // guards what follows
	clusters map[types.NamespacedName]*Cluster
	closed   bool
	serving  sync.WaitGroup // one per open listener
}

// NewServer builds what all clusters share.
func NewServer(opts Options) (*Server, error) {
	c, err := newCatalog()
	if err != nil {
		return nil, err
	}
	s := &Server{
		shared:   &shared{catalog: c, writer: newWriter(c)},
		now:      opts.Now,
		logger:   opts.Logger,
		clusters: map[types.NamespacedName]*Cluster{},
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.logger == nil {
		s.logger = slog.New(slog.DiscardHandler)
	}
	if s.shared.docs, err = newDiscoveryDocs(c); err != nil {
		return nil, err
	}
	s.shared.openapi = newOpenAPI(s.shared)
	s.http = &http.Server{
		Handler:           http.HandlerFunc(s.serveHTTP),
		ReadHeaderTimeout: 30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          slog.NewLogLogger(s.logger.Handler(), slog.LevelDebug),
		BaseContext:       func(l net.Listener) context.Context { return contextOf(l) },
		ConnContext:       connContext,
	}
	return s, nil
}

// ErrOpen is returned by Open for a cluster that is open already.
var ErrOpen = errors.New("the cluster is already open")

// Open loads a cluster's state and begins to serve it. Store.Created of the result tells whether there was any state.
// A *CorruptError means that the file must be set aside and the cluster rebuilt; a port that is taken is an error of net.
func (s *Server) Open(key types.NamespacedName, cfg Config) (*Cluster, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, http.ErrServerClosed
	}
	if s.clusters[key] != nil {
		return nil, fmt.Errorf("open simulated cluster %s: %w", key, ErrOpen)
	}
	c, err := s.open(key, cfg)
	if err != nil {
		return nil, fmt.Errorf("open simulated cluster %s: %w", key, err)
	}
	s.clusters[key] = c
	return c, nil
}

// Cluster returns an open cluster, or nil.
func (s *Server) Cluster(key types.NamespacedName) *Cluster {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clusters[key]
}

// Close closes every cluster. Their files stay.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	open := make([]*Cluster, 0, len(s.clusters))
	for _, c := range s.clusters {
		open = append(open, c)
	}
	s.mu.Unlock()
	var errs []error
	for _, c := range open {
		errs = append(errs, c.Close())
	}
	// Its listeners are closed; it must have noticed, or it closes them again.
	s.serving.Wait()
	errs = append(errs, s.http.Close())
	s.shared.flusher.wait()
	return errors.Join(errs...)
}

func (s *Server) forget(c *Cluster) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.clusters[c.key] == c {
		delete(s.clusters, c.key)
	}
}
