package remote

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"slipway.dev/slipway/internal/kubeadm/certs"
)

const (
	etcdPort = 2379
	// etcdCertificateTTL is how long our client certificate for etcd is valid; a new one is made at half of it.
	etcdCertificateTTL = 12 * time.Hour
	// maxEtcdAnswer bounds an answer of etcd.
	maxEtcdAnswer = 4 << 20
)

// etcdPool holds the connections to one cluster's etcd members that are in use or were a moment ago, and the
// certificate for them. Reconciles come in bursts; each connection costs three handshakes.
type etcdPool struct {
	forward *forwarder

	mu      sync.Mutex // guards what follows
	tls     *tls.Config
	renew   time.Time
	members map[string]*etcdMember
	closed  bool
}

// etcdMember is a connection to one member. The calls are etcd's own gRPC ones: its client library would wait out the
// deadline for a member that is down, and dial anew for each status.
type etcdMember struct {
	node        string
	conn        *grpc.ClientConn
	cluster     etcdserverpb.ClusterClient
	maintenance etcdserverpb.MaintenanceClient

	users int       // guarded by etcdPool.mu, as is what follows
	idle  time.Time // since when there are none
	stale bool      // to be closed when the last user is gone
}

func newEtcdPool(forward *forwarder) *etcdPool {
	return &etcdPool{forward: forward, members: map[string]*etcdMember{}}
}

// take returns the connection to the member on a Node, for one more user, and whether it has been used before. Nothing
// is dialled before the first call.
func (p *etcdPool) take(node string, options Options) (*etcdMember, bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, false, ErrNotConnected
	}
	if m, ok := p.members[node]; ok {
		m.users++
		return m, true, nil
	}
	conn, err := p.open(node, options)
	if err != nil {
		return nil, false, err
	}
	m := &etcdMember{
		node: node, users: 1, conn: conn,
		cluster: etcdserverpb.NewClusterClient(conn), maintenance: etcdserverpb.NewMaintenanceClient(conn),
	}
	p.members[node] = m
	return m, false, nil
}

func (p *etcdPool) open(node string, options Options) (*grpc.ClientConn, error) {
	pod := string(EtcdServer) + "-" + node
	conn, err := grpc.NewClient("passthrough:///"+pod,
		grpc.WithTransportCredentials(credentials.NewTLS(memberTLS(p.tls, node))),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return p.forward.dial(ctx, pod, etcdPort)
		}),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.DefaultConfig, MinConnectTimeout: options.EtcdDialTimeout}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxEtcdAnswer)),
		grpc.WithDisableServiceConfig(),
		grpc.WithUserAgent(options.UserAgent),
	)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	return conn, nil
}

// distrust has the next use begin with a new certificate, of the CA as it is then.
func (p *etcdPool) distrust() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.renew = time.Time{}
}

// giveBack ends one use of a connection. It returns when the connection may be closed, and itself if that is now.
func (p *etcdPool) giveBack(m *etcdMember, now time.Time, idle time.Duration) (time.Time, *grpc.ClientConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m.users--
	m.idle = now
	if m.users == 0 && m.stale {
		return time.Time{}, m.conn
	}
	return now.Add(idle), nil
}

// discard ends one use of a connection that is of no use to others either, and returns it when it is to be closed.
func (p *etcdPool) discard(m *etcdMember) *grpc.ClientConn {
	p.mu.Lock()
	defer p.mu.Unlock()
	m.users--
	m.stale = true
	if p.members[m.node] == m {
		delete(p.members, m.node)
	}
	if m.users > 0 {
		return nil
	}
	return m.conn
}

// reap takes out connections that nobody has used for a while, to be closed, and returns when there may be more; zero
// when there is nothing left.
func (p *etcdPool) reap(now time.Time, idle time.Duration) (time.Time, []*grpc.ClientConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var next time.Time
	var unused []*grpc.ClientConn
	for node, m := range p.members {
		end := m.idle.Add(idle)
		switch {
		case m.users > 0: // giving it back makes it due
		case !end.After(now):
			delete(p.members, node)
			unused = append(unused, m.conn)
		case next.IsZero() || end.Before(next):
			next = end
		}
	}
	return next, unused
}

// close takes out all connections, in use or not, to be closed; there will be no more.
func (p *etcdPool) close() []*grpc.ClientConn {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	var all []*grpc.ClientConn
	for _, m := range p.members {
		all = append(all, m.conn)
	}
	clear(p.members)
	return all
}

// closeEtcd closes connections where nobody waits for it. The caller holds c.mu.
func (c *Clusters) closeEtcd(conns ...*grpc.ClientConn) {
	for _, conn := range conns {
		if conn != nil {
			c.tasks.Go(func() { _ = conn.Close() })
		}
	}
}

// reapEtcd puts the closing of idle etcd connections on the timetable.
func (c *Clusters) reapEtcd(key types.NamespacedName, conn *connection, due time.Time, stale *grpc.ClientConn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if stale != nil && !c.runLocked(func() { _ = stale.Close() }) {
		_ = stale.Close()
	}
	if due.IsZero() {
		return
	}
	cl, ok := c.clusters[key]
	if !ok || cl.conn != conn || (!cl.etcdDue.IsZero() && cl.etcdDue.Before(due)) {
		return
	}
	cl.etcdDue = due
	c.reschedule(cl)
}

// etcdCredentials makes sure that the cluster's pool has a client certificate that is good for a while.
func (c *Clusters) etcdCredentials(ctx context.Context, key types.NamespacedName, conn *connection) error {
	now := c.options.Now()
	conn.etcd.mu.Lock()
	good := conn.etcd.tls != nil && now.Before(conn.etcd.renew)
	conn.etcd.mu.Unlock()
	if good {
		return nil
	}
	made, err := c.etcdTLS(ctx, key, now)
	if err != nil {
		return err
	}
	conn.etcd.mu.Lock()
	defer conn.etcd.mu.Unlock()
	conn.etcd.tls, conn.etcd.renew = made, now.Add(etcdCertificateTTL/2)
	return nil
}

func (c *Clusters) etcdTLS(ctx context.Context, key types.NamespacedName, now time.Time) (*tls.Config, error) {
	secret := &corev1.Secret{}
	name := types.NamespacedName{Namespace: key.Namespace, Name: certs.EtcdCA.SecretName(key.Name)}
	err := c.options.Reader.Get(ctx, name, secret)
	if apierrors.IsNotFound(err) || (err == nil && len(secret.Data[certs.KeyKey]) == 0) {
		return nil, fmt.Errorf("secret %s: %w", name, ErrEtcdUnmanaged)
	}
	if err != nil {
		return nil, fmt.Errorf("read Secret %s: %w", name, err)
	}
	authority, err := certs.NewAuthority(certs.KeyPair{Cert: secret.Data[certs.CertKey], Key: secret.Data[certs.KeyKey]})
	if err != nil {
		return nil, fmt.Errorf("secret %s: %w", name, err)
	}
	certificate, err := authority.IssueTLS(certs.Request{
		CommonName: "slipway-etcd-client", TTL: etcdCertificateTTL, Algorithm: certs.ECDSAP256, Now: now,
	})
	if err != nil {
		return nil, fmt.Errorf("make a client certificate for etcd: %w", err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority.PEM) // all of them: while a CA is exchanged there are two
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}, RootCAs: roots}, nil
}

// memberTLS is the configuration for the member on one Node. kubeadm's etcd certificates name the Node and localhost; a
// user's own may lack the Node's name, so either will do. Go checks one name only, hence its check is replaced.
func memberTLS(config *tls.Config, node string) *tls.Config {
	config = config.Clone()
	roots := config.RootCAs
	config.InsecureSkipVerify = true //nolint:gosec // VerifyConnection below does all of it
	config.VerifyConnection = func(state tls.ConnectionState) error {
		if len(state.PeerCertificates) == 0 {
			return errNoCertificate
		}
		chain := x509.NewCertPool()
		for _, other := range state.PeerCertificates[1:] {
			chain.AddCert(other)
		}
		leaf := state.PeerCertificates[0]
		_, err := leaf.Verify(x509.VerifyOptions{
			Roots: roots, Intermediates: chain, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		})
		if err != nil {
			return fmt.Errorf("check the certificate of the etcd on %s: %w", node, err)
		}
		if leaf.VerifyHostname(node) != nil && leaf.VerifyHostname("localhost") != nil {
			return fmt.Errorf("check the certificate of the etcd on %s: it names neither the Node nor localhost", node)
		}
		return nil
	}
	return config
}

var errNoCertificate = errors.New("the etcd member shows no certificate")
