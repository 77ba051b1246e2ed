package etcd_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"slipway.dev/slipway/internal/providers/sim/etcd"
)

// memory is a Storage for tests.
type memory struct {
	mu   sync.Mutex // guards what follows
	data map[string][]byte
}

func (m *memory) Value(name string) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.data[name]
}

func (m *memory) SetValue(name string, value []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.data == nil {
		m.data = map[string][]byte{}
	}
	m.data[name] = value
	return nil
}

// pair is a certificate with its key, good for both ends.
func pair(tb testing.TB, name string, parent *tls.Certificate) *tls.Certificate {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Minute),
		NotAfter: time.Now().Add(time.Hour), BasicConstraintsValid: true, IsCA: parent == nil,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}, DNSNames: []string{"localhost", name},
	}
	issuer, signer := template, key
	if parent != nil {
		issuer, signer = parent.Leaf, parent.PrivateKey.(*ecdsa.PrivateKey)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, issuer, &key.PublicKey, signer)
	if err != nil {
		tb.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		tb.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// fixture is a simulated etcd with its CA.
type fixture struct {
	tb      testing.TB
	server  *etcd.Server
	cluster *etcd.Cluster
	store   *memory
	ca      *tls.Certificate
	pool    *x509.CertPool
}

func newFixture(tb testing.TB) *fixture {
	tb.Helper()
	f := &fixture{tb: tb, server: etcd.NewServer(), store: &memory{}, ca: pair(tb, "etcd-ca", nil), pool: x509.NewCertPool()}
	f.pool.AddCert(f.ca.Leaf)
	f.open()
	tb.Cleanup(f.server.Close)
	return f
}

func (f *fixture) open() {
	f.tb.Helper()
	var err error
	f.cluster, err = f.server.Open(etcd.Config{
		Storage: f.store, ClientCAs: f.pool, RequestTimeout: 50 * time.Millisecond,
		Certificate: func(member string) (*tls.Certificate, error) { return pair(f.tb, member, f.ca), nil },
	})
	if err != nil {
		f.tb.Fatal(err)
	}
}

// grow joins members as kubeadm does.
func (f *fixture) grow(names ...string) {
	f.tb.Helper()
	for _, name := range names {
		peers, clients := []string{"https://" + name + ":2380"}, []string{"https://" + name + ":2379"}
		if len(f.cluster.State().Members) == 0 {
			if _, err := f.cluster.Bootstrap(name, peers, clients, "3.6.5"); err != nil {
				f.tb.Fatal(err)
			}
			continue
		}
		m, err := f.cluster.Add(peers, true)
		if err != nil {
			f.tb.Fatal(err)
		}
		if _, err := f.cluster.Start(m.ID, name, clients, "3.6.5"); err != nil {
			f.tb.Fatal(err)
		}
		if err := f.cluster.Promote(m.ID); err != nil {
			f.tb.Fatal(err)
		}
	}
}

// client talks to one member.
func (f *fixture) client(member string, cert *tls.Certificate) *clientv3.Client {
	f.tb.Helper()
	c, err := clientv3.New(clientv3.Config{
		Endpoints: []string{"https://localhost:2379"}, Logger: zap.NewNop(), DialTimeout: 5 * time.Second,
		TLS: &tls.Config{RootCAs: f.pool, Certificates: []tls.Certificate{*cert}, MinVersion: tls.VersionTLS12},
		DialOptions: []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return f.cluster.Dial(ctx, member)
		})},
	})
	if err != nil {
		f.tb.Fatal(err)
	}
	f.tb.Cleanup(func() { _ = c.Close() }) // a closed member's client complains
	return c
}

func (f *fixture) admin(member string) *clientv3.Client {
	f.tb.Helper()
	return f.client(member, pair(f.tb, "kube-apiserver-etcd-client", f.ca))
}

func TestClient_ListsPromotesMovesAndRemoves(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.grow("a", "b", "c")
	ctx, c := t.Context(), f.admin("a")
	list, err := c.MemberList(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	ids := map[string]uint64{}
	for _, m := range list.Members {
		names = append(names, m.Name)
		ids[m.Name] = m.ID
		if m.IsLearner {
			t.Errorf("%s is still a learner", m.Name)
		}
	}
	if !slices.Equal(names, []string{"a", "b", "c"}) {
		t.Fatalf("members: %v", names)
	}
	status, err := c.Status(ctx, "https://localhost:2379")
	if err != nil {
		t.Fatal(err)
	}
	if status.Leader != ids["a"] || status.Header.MemberId != ids["a"] || status.Version != "3.6.5" || len(status.Errors) > 0 {
		t.Errorf("status of a: %+v", status)
	}
	if _, err := f.admin("b").MoveLeader(ctx, ids["c"]); !errors.Is(err, rpctypes.ErrNotLeader) {
		t.Errorf("a follower was asked to move the lead: %v", err)
	}
	if _, err := c.MoveLeader(ctx, ids["c"]); err != nil {
		t.Fatal(err)
	}
	if _, err := c.MemberRemove(ctx, ids["a"]); err != nil {
		t.Fatal(err)
	}
	if got := f.cluster.State(); got.Leader != ids["c"] || len(got.Members) != 2 {
		t.Errorf("after the removal: %+v", got)
	}
	if _, err := f.cluster.Dial(ctx, "a"); !errors.Is(err, etcd.ErrRefused) {
		t.Errorf("a removed member still listens: %v", err)
	}
	learner, err := f.admin("b").MemberAddAsLearner(ctx, []string{"https://d:2380"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.admin("b").MemberPromote(ctx, learner.Member.ID); !errors.Is(err, rpctypes.ErrMemberLearnerNotReady) {
		t.Errorf("a learner that has not started was promoted: %v", err)
	}
	if err := f.cluster.SetAlarms("b", etcd.AlarmNoSpace); err != nil {
		t.Fatal(err)
	}
	alarms, err := f.admin("c").AlarmList(ctx)
	if err != nil || len(alarms.Alarms) != 1 || alarms.Alarms[0].MemberID != ids["b"] {
		t.Errorf("alarms: %v, %v", alarms, err)
	}
}

func TestWithoutAQuorum_NothingIsDecidedButMembersStillSpeak(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.grow("a", "b", "c")
	for _, down := range []string{"b", "c"} {
		if err := f.cluster.SetAlive(down, false); err != nil {
			t.Fatal(err)
		}
	}
	c := f.admin("a")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := c.MemberList(ctx); err == nil {
		t.Error("members were listed without a quorum")
	}
	if _, err := c.MemberList(clientv3.WithRequireLeader(t.Context())); !errors.Is(err, rpctypes.ErrNoLeader) {
		t.Errorf("a leader was required: %v", err)
	}
	list, err := c.MemberList(t.Context(), clientv3.WithSerializable())
	if err != nil || len(list.Members) != 3 {
		t.Errorf("serializable list: %v, %v", list, err)
	}
	status, err := c.Status(t.Context(), "https://localhost:2379")
	if err != nil {
		t.Fatal(err)
	}
	if status.Leader != 0 || len(status.Errors) != 1 {
		t.Errorf("status without a quorum: %+v", status)
	}
	if _, err := f.cluster.Add([]string{"https://d:2380"}, true); !errors.Is(err, rpctypes.ErrGRPCNoLeader) {
		t.Errorf("a member was added without a quorum: %v", err)
	}
	if err := f.cluster.SetAlive("c", true); err != nil {
		t.Fatal(err)
	}
	if _, err := c.MemberList(t.Context()); err != nil {
		t.Errorf("with the quorum back: %v", err)
	}
}

func TestMembership_SurvivesARestart(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.grow("a", "b", "c")
	before := f.cluster.State()
	f.cluster.Close()
	f.open()
	after := f.cluster.State()
	if after.Leader != before.Leader || len(after.Members) != 3 || after.ClusterID != before.ClusterID {
		t.Errorf("before %+v, after %+v", before, after)
	}
	if _, err := f.cluster.Bootstrap("z", nil, nil, ""); !errors.Is(err, etcd.ErrBootstrapped) {
		t.Errorf("bootstrapped twice: %v", err)
	}
}

func TestClient_OfAnotherCAIsTurnedAway(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.grow("a")
	c := f.client("a", pair(t, "intruder", pair(t, "other-ca", nil)))
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := c.MemberList(ctx, clientv3.WithSerializable()); err == nil {
		t.Error("a client of another CA was served")
	}
}

func TestDeadMember_DropsItsConnections(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.grow("a", "b", "c")
	conn, err := f.cluster.Dial(t.Context(), "b")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }() // dropped already
	if err := f.cluster.SetAlive("b", false); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("the connection to a dead member is open")
	}
}
