package remote

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"slipway.dev/slipway/internal/kubeadm/certs"
)

// ensemble is an etcd cluster in name: what its members say and the changes asked of them.
type ensemble struct {
	ca     *certs.Authority
	pair   certs.KeyPair
	pods   *ports
	server *workload

	mu      sync.Mutex // guards what follows
	members []*pb.Member
	leader  uint64
	alarms  []*pb.AlarmMember
	asked   []string // the Nodes whose members were asked to change something
}

// ensembleMember is one member's end; it serves the calls that are made.
type ensembleMember struct {
	pb.UnimplementedClusterServer
	pb.UnimplementedMaintenanceServer
	all  *ensemble
	id   uint64
	node string
}

func newEnsemble(t *testing.T, nodes ...string) *ensemble {
	t.Helper()
	pair, err := certs.Generate(certs.EtcdCA, certs.Options{Algorithm: certs.ECDSAP256, Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	ca, err := certs.NewAuthority(pair)
	if err != nil {
		t.Fatal(err)
	}
	e := &ensemble{ca: ca, pair: pair, pods: &ports{}, server: newWorkload(t), leader: 1}
	e.server.extra = e.pods
	for i, name := range nodes {
		e.members = append(e.members, &pb.Member{ID: uint64(i + 1), Name: name, PeerURLs: []string{"https://" + name + ":2380"}})
		e.server.put(staticPod(EtcdServer, name, "3.7.0-0"))
		e.serve(t, uint64(i+1), name, name)
	}
	return e
}

// serve runs a member on a Node, with a certificate for a name.
func (e *ensemble) serve(t *testing.T, id uint64, node, name string) {
	t.Helper()
	certificate, err := e.ca.IssueTLS(certs.Request{
		CommonName: node, Hosts: []string{name}, Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		Algorithm: certs.ECDSAP256, Now: time.Now(),
	})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.Creds(credentials.NewTLS(&tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}, ClientCAs: e.ca.Pool(),
		ClientAuth: tls.RequireAndVerifyClientCert,
	})))
	m := &ensembleMember{all: e, id: id, node: node}
	pb.RegisterClusterServer(server, m)
	pb.RegisterMaintenanceServer(server, m)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		<-served
	})
	e.pods.set("etcd-"+node, listener.Addr().String())
}

func (m *ensembleMember) header() *pb.ResponseHeader { return &pb.ResponseHeader{MemberId: m.id} }

func (m *ensembleMember) note() {
	m.all.asked = append(m.all.asked, m.node)
}

func (m *ensembleMember) MemberList(context.Context, *pb.MemberListRequest) (*pb.MemberListResponse, error) {
	m.all.mu.Lock()
	defer m.all.mu.Unlock()
	return &pb.MemberListResponse{Header: m.header(), Members: slices.Clone(m.all.members)}, nil
}

func (m *ensembleMember) MemberRemove(_ context.Context, r *pb.MemberRemoveRequest) (*pb.MemberRemoveResponse, error) {
	m.all.mu.Lock()
	defer m.all.mu.Unlock()
	m.note()
	before := len(m.all.members)
	m.all.members = slices.DeleteFunc(m.all.members, func(o *pb.Member) bool { return o.ID == r.ID })
	if len(m.all.members) == before {
		return nil, rpctypes.ErrGRPCMemberNotFound
	}
	return &pb.MemberRemoveResponse{Header: m.header(), Members: m.all.members}, nil
}

func (m *ensembleMember) MemberPromote(_ context.Context, r *pb.MemberPromoteRequest) (*pb.MemberPromoteResponse, error) {
	m.all.mu.Lock()
	defer m.all.mu.Unlock()
	m.note()
	for _, o := range m.all.members {
		if o.ID == r.ID && !o.IsLearner {
			return nil, rpctypes.ErrGRPCMemberNotLearner
		}
		if o.ID == r.ID {
			o.IsLearner = false
		}
	}
	return &pb.MemberPromoteResponse{Header: m.header()}, nil
}

func (m *ensembleMember) Status(context.Context, *pb.StatusRequest) (*pb.StatusResponse, error) {
	m.all.mu.Lock()
	defer m.all.mu.Unlock()
	return &pb.StatusResponse{Header: m.header(), Version: "3.7.0", DbSize: 4096, Leader: m.all.leader}, nil
}

func (m *ensembleMember) Alarm(context.Context, *pb.AlarmRequest) (*pb.AlarmResponse, error) {
	m.all.mu.Lock()
	defer m.all.mu.Unlock()
	return &pb.AlarmResponse{Header: m.header(), Alarms: m.all.alarms}, nil
}

func (m *ensembleMember) MoveLeader(_ context.Context, r *pb.MoveLeaderRequest) (*pb.MoveLeaderResponse, error) {
	m.all.mu.Lock()
	defer m.all.mu.Unlock()
	m.note()
	if m.all.leader != m.id {
		return nil, rpctypes.ErrGRPCNotLeader
	}
	m.all.leader = r.TargetID
	return &pb.MoveLeaderResponse{Header: m.header()}, nil
}

func (e *ensemble) connect(t *testing.T, w *world) {
	t.Helper()
	w.secrets.put("default", "one-etcd", map[string][]byte{certs.CertKey: e.pair.Cert, certs.KeyKey: e.pair.Key})
	one := w.admit("one", e.server.kubeconfig(token))
	w.expect(t, ConnectionEvent{one, Opened})
}

func etcdSettings() Options {
	options := patient()
	options.EtcdDialTimeout, options.EtcdIdle = 2*time.Second, 50*time.Millisecond
	return options
}

func TestEtcd_SaysHowEveryMemberDoes(t *testing.T) {
	t.Parallel()
	e, w := newEnsemble(t, "a", "b", "c", "d"), newWorld(t, etcdSettings())
	e.pods.set("etcd-b", "127.0.0.1:1") // nobody listens there
	e.serve(t, 77, "c", "c")            // another member than the list says
	e.members = append(e.members, &pb.Member{ID: 9, IsLearner: true})
	e.alarms = []*pb.AlarmMember{{MemberID: 4, Alarm: pb.AlarmType_NOSPACE}}
	e.connect(t, w)
	etcd, err := w.Etcd(t.Context(), key("one"))
	if err != nil {
		t.Fatal(err)
	}
	defer etcd.Close()
	members, err := etcd.Members(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []struct {
		name, message string
		health        MemberHealth
		leader        bool
	}{
		{"", "has not started", MemberUnknown, false},
		{"a", "", MemberHealthy, true},
		{"b", "connection refused", MemberUnknown, false},
		{"c", "another member (4d)", MemberUnhealthy, false},
		{"d", "NOSPACE", MemberUnhealthy, false},
	}
	if len(members) != len(want) {
		t.Fatalf("%d members: %+v", len(members), members)
	}
	for i, m := range members {
		if m.Name != want[i].name || m.Health != want[i].health || m.Leader != want[i].leader || !strings.Contains(m.Message, want[i].message) {
			t.Errorf("member %d: %+v, want %+v", i, m, want[i])
		}
	}
	if !members[0].Learner || members[1].Version != "3.7.0" || members[1].DBSize != 4096 {
		t.Errorf("facts are missing: %+v", members[:2])
	}
}

func TestEtcd_AsksAnotherThanTheMemberThatLeaves(t *testing.T) {
	t.Parallel()
	e, w := newEnsemble(t, "a", "b", "c"), newWorld(t, etcdSettings())
	e.connect(t, w)
	etcd, err := w.Etcd(t.Context(), key("one"), "a")
	if err != nil {
		t.Fatal(err)
	}
	defer etcd.Close()
	if etcd.Contact() != "b" {
		t.Errorf("asked %s", etcd.Contact())
	}
	// a leads, so that a alone can hand over; everything after goes by way of b.
	for _, do := range []func() error{
		func() error { return etcd.MoveLeader(t.Context(), 3) },
		func() error { return etcd.MoveLeader(t.Context(), 3) },
		func() error { return etcd.RemoveMember(t.Context(), 1) },
		func() error { return etcd.RemoveMember(t.Context(), 1) },
		func() error { return etcd.PromoteMember(t.Context(), 2) },
	} {
		if err := do(); err != nil {
			t.Error(err)
		}
	}
	if got := strings.Join(e.asked, ""); got != "abbb" {
		t.Errorf("asked %q", got)
	}
	if len(e.members) != 2 || e.leader != 3 {
		t.Errorf("left: %v, leader %d", e.members, e.leader)
	}
}

func TestEtcd_TriesOneMemberAfterTheOther(t *testing.T) {
	t.Parallel()
	e, w := newEnsemble(t, "a", "b"), newWorld(t, etcdSettings())
	e.pods.set("etcd-a", "127.0.0.1:1")
	e.connect(t, w)
	etcd, err := w.Etcd(t.Context(), key("one"))
	if err != nil {
		t.Fatal(err)
	}
	etcd.Close()
	if etcd.Contact() != "b" {
		t.Errorf("asked %s", etcd.Contact())
	}
	e.pods.set("etcd-b", "127.0.0.1:1")
	eventually(t, "the idle connection is closed", func() bool {
		conn, err := w.connection(key("one"))
		if err != nil {
			t.Fatal(err)
		}
		conn.etcd.mu.Lock()
		defer conn.etcd.mu.Unlock()
		return len(conn.etcd.members) == 0
	})
	_, err = w.Etcd(t.Context(), key("one"))
	if !errors.Is(err, ErrNoEtcdMember) || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("with no member left: %v", err)
	}
}

func TestEtcd_TrustsNobodyElse(t *testing.T) {
	t.Parallel()
	e, w := newEnsemble(t, "a"), newWorld(t, etcdSettings())
	e.serve(t, 1, "a", "somebody.example")
	e.connect(t, w)
	if _, err := w.Etcd(t.Context(), key("one")); err == nil || !strings.Contains(err.Error(), "names neither") {
		t.Errorf("a certificate for another name: %v", err)
	}
	stranger := newEnsemble(t)
	stranger.pods = e.pods
	stranger.serve(t, 1, "a", "a")
	if _, err := w.Etcd(t.Context(), key("one")); !errors.Is(err, ErrNoEtcdMember) {
		t.Errorf("a certificate of another CA: %v", err)
	}
	e.serve(t, 1, "a", "localhost")
	etcd, err := w.Etcd(t.Context(), key("one"))
	if err != nil {
		t.Fatalf("kubeadm's certificates name localhost: %v", err)
	}
	etcd.Close()
}

func TestEtcd_WithoutTheKeyIsNotOurs(t *testing.T) {
	t.Parallel()
	e, w := newEnsemble(t, "a"), newWorld(t, etcdSettings())
	e.connect(t, w)
	w.secrets.put("default", "one-etcd", map[string][]byte{certs.CertKey: e.pair.Cert})
	if _, err := w.Etcd(t.Context(), key("one")); !errors.Is(err, ErrEtcdUnmanaged) {
		t.Errorf("with a CA that has no key: %v", err)
	}
	w.secrets.remove("default", "one-etcd")
	if _, err := w.Etcd(t.Context(), key("one")); !errors.Is(err, ErrEtcdUnmanaged) {
		t.Errorf("without a CA: %v", err)
	}
	if _, err := w.Etcd(t.Context(), key("two")); !errors.Is(err, ErrNotConnected) {
		t.Errorf("without a connection: %v", err)
	}
}

func TestEtcd_HeedsAnExchangedCA(t *testing.T) {
	t.Parallel()
	e, w := newEnsemble(t, "a"), newWorld(t, etcdSettings())
	e.connect(t, w)
	etcd, err := w.Etcd(t.Context(), key("one"))
	if err != nil {
		t.Fatal(err)
	}
	etcd.Close()
	conn, err := w.connection(key("one"))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the idle connection is closed", func() bool {
		conn.etcd.mu.Lock()
		defer conn.etcd.mu.Unlock()
		return len(conn.etcd.members) == 0
	})
	renewed := newEnsemble(t)
	renewed.pods = e.pods
	renewed.serve(t, 1, "a", "a")
	w.secrets.put("default", "one-etcd", map[string][]byte{certs.CertKey: renewed.pair.Cert, certs.KeyKey: renewed.pair.Key})
	if _, err := w.Etcd(t.Context(), key("one")); !errors.Is(err, ErrNoEtcdMember) {
		t.Errorf("with the old CA: %v", err)
	}
	if etcd, err = w.Etcd(t.Context(), key("one")); err != nil {
		t.Fatalf("with the new CA: %v", err)
	}
	etcd.Close()
}
