package etcd

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

// Storage keeps a cluster's state; a workload.Store is one.
type Storage interface {
	Value(name string) []byte
	SetValue(name string, value []byte) error
}

// storageKey is where in the Storage the state is.
const storageKey = "etcd"

// Config is what a cluster's members need to be reached.
type Config struct {
	// Storage keeps the membership.
	Storage Storage
	// Certificate returns a member's serving certificate, signed by the etcd CA. It is asked on each connection.
	Certificate func(member string) (*tls.Certificate, error)
	// ClientCAs are those that clients' certificates must come from: the etcd CA.
	ClientCAs *x509.CertPool
	// RequestTimeout is how long a request that needs a quorum waits for one; 0 means 5 seconds.
	RequestTimeout time.Duration
}

// Errors of the simulator's own calls. What etcd itself would refuse is an error of rpctypes.
var (
	// ErrBootstrapped is returned by Bootstrap when there are members.
	ErrBootstrapped = errors.New("the etcd cluster has members already")
	// ErrRefused is returned by Dial when nothing listens at the member.
	ErrRefused = errors.New("connection refused")
)

// Cluster is the simulated etcd of one cluster. All methods may be called concurrently.
type Cluster struct {
	server *Server
	config Config

	mu      sync.Mutex // guards what follows
	state   *State
	changed chan struct{}        // closed at the next change
	conns   map[*memberConn]bool // open connections to members
}

// Open loads a cluster's membership from its storage; there is none in a new one.
func (s *Server) Open(cfg Config) (*Cluster, error) {
	if cfg.RequestTimeout == 0 {
		cfg.RequestTimeout = 5 * time.Second
	}
	c := &Cluster{server: s, config: cfg, state: &State{}, changed: make(chan struct{}), conns: map[*memberConn]bool{}}
	if data := cfg.Storage.Value(storageKey); len(data) > 0 {
		if err := json.Unmarshal(data, c.state); err != nil {
			return nil, fmt.Errorf("load the etcd membership: %w", err)
		}
	}
	return c, nil
}

// State returns a copy of the membership.
func (c *Cluster) State() *State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state.clone()
}

// Member returns the member of a node, or false.
func (c *Cluster) Member(name string) (Member, bool) {
	s := c.State()
	i := s.named(name)
	if i < 0 {
		return Member{}, false
	}
	return s.Members[i], true
}

// Bootstrap makes the first member, started and leading, as kubeadm init does.
func (c *Cluster) Bootstrap(name string, peerURLs, clientURLs []string, version string) (Member, error) {
	return c.withMember(func(s *State) (Member, error) {
		if len(s.Members) > 0 {
			return Member{}, ErrBootstrapped
		}
		s.ClusterID = s.nextID(append([]string{name}, peerURLs...))
		m := Member{
			ID: s.nextID(peerURLs), Name: name, PeerURLs: slices.Clone(peerURLs), ClientURLs: slices.Clone(clientURLs), Version: version,
		}
		s.Members = append(s.Members, m)
		return m, nil
	})
}

// Add admits a member, as a learner or to vote at once, that Start will start. Without a quorum it fails at once.
func (c *Cluster) Add(peerURLs []string, learner bool) (Member, error) {
	return c.withMember(func(s *State) (Member, error) {
		if !s.quorum() {
			return Member{}, rpctypes.ErrGRPCNoLeader
		}
		return s.add(peerURLs, learner)
	})
}

// Start runs a member for the first time: it learns its name and where clients find it.
func (c *Cluster) Start(id uint64, name string, clientURLs []string, version string) (Member, error) {
	return c.withMember(func(s *State) (Member, error) {
		i := s.at(id)
		if i < 0 {
			return Member{}, rpctypes.ErrGRPCMemberNotFound
		}
		m := &s.Members[i]
		m.Name, m.ClientURLs, m.Version, m.Down = name, slices.Clone(clientURLs), version, false
		return *m, nil
	})
}

// Promote lets a learner vote.
func (c *Cluster) Promote(id uint64) error {
	return c.change(func(s *State) error {
		if !s.quorum() {
			return rpctypes.ErrGRPCNoLeader
		}
		return s.promote(id)
	})
}

// Remove lets a member go as etcd would, asked at any living member.
func (c *Cluster) Remove(id uint64) error {
	return c.change(func(s *State) error {
		if !s.quorum() {
			return rpctypes.ErrGRPCNoLeader
		}
		return s.remove(id, 0)
	})
}

// SetAlive starts or stops a member's process. A member that stops drops its connections. An unknown name changes nothing.
func (c *Cluster) SetAlive(name string, alive bool) error {
	err := c.change(func(s *State) error {
		if i := s.named(name); i >= 0 {
			s.Members[i].Down = !alive
		}
		return nil
	})
	if !alive {
		c.cut(name)
	}
	return err
}

// SetVersion changes the version of a member's etcd.
func (c *Cluster) SetVersion(name, version string) error {
	return c.change(func(s *State) error {
		if i := s.named(name); i >= 0 {
			s.Members[i].Version = version
		}
		return nil
	})
}

// SetAlarms raises the alarms of a member, and clears its others.
func (c *Cluster) SetAlarms(name string, alarms ...Alarm) error {
	return c.change(func(s *State) error {
		if i := s.named(name); i >= 0 {
			s.Members[i].Alarms = slices.Clone(alarms)
		}
		return nil
	})
}

func (c *Cluster) withMember(fn func(*State) (Member, error)) (Member, error) {
	var m Member
	err := c.change(func(s *State) error {
		var err error
		m, err = fn(s)
		return err
	})
	return m, err
}

// change computes the next state and keeps it; on an error nothing changes.
func (c *Cluster) change(fn func(*State) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := c.state.clone()
	if err := fn(next); err != nil {
		return err
	}
	next.elect()
	before, err := json.Marshal(c.state)
	if err != nil {
		return fmt.Errorf("encode the etcd membership: %w", err)
	}
	data, err := json.Marshal(next)
	if err != nil {
		return fmt.Errorf("encode the etcd membership: %w", err)
	}
	if string(before) == string(data) {
		return nil
	}
	next.Index++
	if data, err = json.Marshal(next); err != nil {
		return fmt.Errorf("encode the etcd membership: %w", err)
	}
	if err := c.config.Storage.SetValue(storageKey, data); err != nil {
		return fmt.Errorf("keep the etcd membership: %w", err)
	}
	c.state = next
	close(c.changed)
	c.changed = make(chan struct{})
	return nil
}

// awaitQuorum waits until there is a quorum, as a proposal does in etcd, and then fails as one.
func (c *Cluster) awaitQuorum(ctx context.Context, requireLeader bool) error {
	var timeout <-chan time.Time
	for {
		c.mu.Lock()
		ok, changed := c.state.quorum(), c.changed
		c.mu.Unlock()
		switch {
		case ok:
			return nil
		case requireLeader:
			return rpctypes.ErrGRPCNoLeader
		case timeout == nil:
			t := time.NewTimer(c.config.RequestTimeout)
			defer t.Stop()
			timeout = t.C
		}
		select {
		case <-changed:
		case <-timeout:
			return rpctypes.ErrGRPCTimeout
		case <-ctx.Done():
			return rpctypes.ErrGRPCTimeout
		}
	}
}

// Dial connects to the client port of a member, as a port-forward into its pod does. It refuses when the member is not there or down.
func (c *Cluster) Dial(ctx context.Context, name string) (net.Conn, error) {
	if m, ok := c.Member(name); !ok || m.Down {
		return nil, fmt.Errorf("connect to etcd member %s: %w", name, ErrRefused)
	}
	near, far := net.Pipe()
	conn := &memberConn{Conn: far, cluster: c, member: name}
	c.mu.Lock()
	c.conns[conn] = true
	c.mu.Unlock()
	if err := c.server.accept(ctx, conn); err != nil {
		return nil, errors.Join(err, near.Close(), conn.Close())
	}
	return near, nil
}

// cut drops the connections to a member; to all when the name is empty.
func (c *Cluster) cut(name string) {
	c.mu.Lock()
	var open []*memberConn
	for conn := range c.conns {
		if name == "" || conn.member == name {
			open = append(open, conn)
		}
	}
	c.mu.Unlock()
	for _, conn := range open {
		_ = conn.Close() // the other end may have been faster
	}
}

// Close drops all connections. The membership stays in its storage.
func (c *Cluster) Close() { c.cut("") }

// memberConn is the member's end of a connection.
type memberConn struct {
	net.Conn
	cluster *Cluster
	member  string
}

// Close ends the connection.
func (m *memberConn) Close() error {
	m.cluster.mu.Lock()
	delete(m.cluster.conns, m)
	m.cluster.mu.Unlock()
	return m.Conn.Close()
}
