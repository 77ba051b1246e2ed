package workload

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Config is what one cluster needs to be served.
type Config struct {
	// Dir holds the cluster's file; it is made when missing.
	Dir string
	// ListenAddr is a host and port; port 0 takes a free one, see Cluster.Addr.
	ListenAddr string
	// Listen opens the address, also again after it was closed; nil means that of net.
	Listen func(addr string) (net.Listener, error)
	// ServingCertPEM and ServingKeyPEM are the API server's certificate and key. Without them the cluster is loaded but listens only
	// from Cluster.SetCertificates on, for callers who keep their CAs in the Store.
	ServingCertPEM, ServingKeyPEM []byte
	// ClientCAPEM are the certificates that client certificates are checked against: the cluster's CA.
	ClientCAPEM []byte
	// Version is what /version tells, such as v1.37.2. See Cluster.SetVersion.
	Version string
	Hooks   Hooks
}

// Cluster is one served cluster.
type Cluster struct {
	server *Server
	key    types.NamespacedName
	store  *Store
	hooks  Hooks
	open   func(addr string) (net.Listener, error)
	rbac   rbacCache

	version atomic.Pointer[string]
	creds   atomic.Pointer[credentials]

	mu        sync.Mutex // guards what follows
	addr      string     // where it listens; the port is kept while unreachable
	reachable bool       // whether it should listen, once it has certificates
	listener  *trackedListener
	closed    bool
}

// credentials are the TLS material in use.
type credentials struct {
	serving tls.Certificate
	clients *x509.CertPool
}

// open builds a cluster. The caller holds the server's lock.
func (s *Server) open(key types.NamespacedName, cfg Config) (*Cluster, error) {
	c := &Cluster{server: s, key: key, hooks: cfg.Hooks, open: cfg.Listen, addr: cfg.ListenAddr, reachable: true}
	if c.open == nil {
		c.open = func(addr string) (net.Listener, error) { return net.Listen("tcp", addr) }
	}
	c.SetVersion(cfg.Version)
	store, err := openStore(filepath.Join(cfg.Dir, "cluster.state"), s.shared, s.now)
	if err != nil {
		return nil, err
	}
	c.store = store
	store.changed = cfg.Hooks.Changed
	if beat := cfg.Hooks.Heartbeat; beat != nil {
		store.alive = func(node string) bool { _, alive := beat(node); return alive }
	}
	if store.created {
		err = store.seed()
	}
	if err == nil && len(cfg.ServingCertPEM) > 0 {
		err = c.SetCertificates(cfg.ServingCertPEM, cfg.ServingKeyPEM, cfg.ClientCAPEM)
	}
	if err != nil {
		return nil, errors.Join(err, store.close())
	}
	return c, nil
}

// Key is the name the cluster was opened with.
func (c *Cluster) Key() types.NamespacedName { return c.key }

// Addr is where the cluster listens, or will again when it is reachable.
func (c *Cluster) Addr() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.addr
}

// Store is the cluster's objects.
func (c *Cluster) Store() *Store { return c.store }

// SetVersion changes what /version tells, such as v1.37.2: the lowest version of the API servers behind the endpoint.
func (c *Cluster) SetVersion(version string) { c.version.Store(&version) }

// SetCertificates changes the serving certificate and the CAs of client certificates, for connections made from now on. The first
// call begins to listen, unless the cluster was made unreachable; a port that is taken is an error of net.
func (c *Cluster) SetCertificates(certPEM, keyPEM, clientCAPEM []byte) error {
	cert, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return fmt.Errorf("read the serving certificate: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(clientCAPEM) {
		return errors.New("read the client CA: there is no certificate in it")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.creds.Store(&credentials{serving: cert, clients: pool})
	return c.settle()
}

// SetReachable opens the endpoint, or refuses new connections and cuts those there are. It changes nothing when it is already so.
func (c *Cluster) SetReachable(reachable bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reachable = reachable
	return c.settle()
}

// settle listens, or not, as is wanted. The caller holds the lock.
func (c *Cluster) settle() error {
	switch {
	case c.closed:
		return errClosed
	case c.reachable && c.listener == nil && c.creds.Load() != nil:
		return c.listen()
	case !c.reachable && c.listener != nil:
		c.listener.cut()
		c.listener = nil
	}
	return nil
}

// listen begins to accept connections. The caller holds the lock.
func (c *Cluster) listen() error {
	inner, err := c.open(c.addr)
	if err != nil {
		return fmt.Errorf("listen for the cluster's API: %w", err)
	}
	c.addr = inner.Addr().String()
	c.listener = &trackedListener{Listener: inner, conns: map[*trackedConn]struct{}{}}
	l := &clusterListener{Listener: tls.NewListener(c.listener, c.tlsConfig()), cluster: c}
	c.server.serving.Go(func() {
		// Serve ends with the listener, which only cut and Close do.
		_ = c.server.http.Serve(l)
	})
	return nil
}

func (c *Cluster) tlsConfig() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"h2", "http/1.1"},
		// Certificates are checked by authentication, which can answer 401; here nobody is turned away.
		ClientAuth:     tls.RequestClientCert,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &c.creds.Load().serving, nil },
	}
}

// Close stops serving and closes the file, which stays.
func (c *Cluster) Close() error {
	if !c.stop() {
		return nil
	}
	c.server.forget(c)
	if err := c.store.close(); err != nil {
		return fmt.Errorf("close simulated cluster %s: %w", c.key, err)
	}
	return nil
}

// Remove closes the cluster and deletes its file.
func (c *Cluster) Remove() error {
	return errors.Join(c.Close(), c.store.removeFile())
}

// stop closes the endpoint for good and says whether it was open.
func (c *Cluster) stop() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.closed = true
	if c.listener != nil {
		c.listener.cut()
		c.listener = nil
	}
	return true
}

// beat adapts the heartbeat hook for readers.
func (c *Cluster) beat() heartbeat {
	if c.hooks.Heartbeat == nil {
		return nil
	}
	return func(node string) (time.Time, bool) {
		last, _ := c.hooks.Heartbeat(node)
		return last, !last.IsZero()
	}
}

// clusterListener carries its cluster to the handlers of its connections.
type clusterListener struct {
	net.Listener
	cluster *Cluster
}

type contextKey int

const (
	clusterKey contextKey = iota
	connKey
)

func contextOf(l net.Listener) context.Context {
	return context.WithValue(context.Background(), clusterKey, l.(*clusterListener).cluster) //nolint:forbidigo // A server's contexts begin here.
}

// connContext gives each connection a place to keep who its client is.
func connContext(ctx context.Context, _ net.Conn) context.Context {
	return context.WithValue(ctx, connKey, &connIdentity{})
}

// trackedListener knows its connections, so that they can be cut.
type trackedListener struct {
	net.Listener

	mu     sync.Mutex // guards what follows
	conns  map[*trackedConn]struct{}
	closed bool
}

// Accept waits for a connection.
func (l *trackedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &trackedConn{Conn: conn, listener: l}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, errors.Join(net.ErrClosed, conn.Close())
	}
	l.conns[c] = struct{}{}
	return c, nil
}

// cut closes the listener and all its connections.
func (l *trackedListener) cut() {
	_ = l.Listener.Close() // nothing to do about it: it is going away
	l.mu.Lock()
	l.closed = true
	conns := l.conns
	l.conns = map[*trackedConn]struct{}{}
	l.mu.Unlock()
	for c := range conns {
		_ = c.Conn.Close() // the other end may have been faster
	}
}

// trackedConn leaves its listener's list when it closes.
type trackedConn struct {
	net.Conn
	listener *trackedListener
}

// Close closes the connection.
func (c *trackedConn) Close() error {
	c.listener.mu.Lock()
	delete(c.listener.conns, c)
	c.listener.mu.Unlock()
	return c.Conn.Close()
}
