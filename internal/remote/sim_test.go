package remote

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/kubeadm/certs"
	"slipway.dev/slipway/internal/providers/sim/etcd"
	simapi "slipway.dev/slipway/internal/providers/sim/workload"
)

// simulated is a cluster of the simulator with a control plane of some Nodes.
type simulated struct {
	cluster *simapi.Cluster
	etcd    *etcd.Cluster
	ca      *certs.Authority
	etcdCA  certs.KeyPair
}

func newCA(tb testing.TB, purpose certs.Purpose) (*certs.Authority, certs.KeyPair) {
	tb.Helper()
	pair, err := certs.Generate(purpose, certs.Options{Algorithm: certs.ECDSAP256, Now: time.Now()})
	if err != nil {
		tb.Fatal(err)
	}
	ca, err := certs.NewAuthority(pair)
	if err != nil {
		tb.Fatal(err)
	}
	return ca, pair
}

func newSimulated(tb testing.TB, nodes ...string) *simulated {
	tb.Helper()
	s := &simulated{}
	s.ca, _ = newCA(tb, certs.ClusterCA)
	etcdCA, etcdPair := newCA(tb, certs.EtcdCA)
	s.etcdCA = etcdPair
	serving, err := s.ca.Issue(certs.Request{
		CommonName: "kube-apiserver", Hosts: []string{"127.0.0.1"}, Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, Now: time.Now(),
	})
	if err != nil {
		tb.Fatal(err)
	}
	server, err := simapi.NewServer(simapi.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	members := etcd.NewServer()
	tb.Cleanup(func() {
		members.Close()
		if err := server.Close(); err != nil {
			tb.Error(err)
		}
	})
	s.cluster, err = server.Open(key("one"), simapi.Config{
		Dir: tb.TempDir(), ListenAddr: "127.0.0.1:0", ServingCertPEM: serving.Cert, ServingKeyPEM: serving.Key, ClientCAPEM: s.ca.PEM,
		Version: "v1.37.2",
		Hooks: simapi.Hooks{PodDial: func(ctx context.Context, pod *corev1.Pod, _ int32) (net.Conn, error) {
			return s.etcd.Dial(ctx, strings.TrimPrefix(pod.Name, "etcd-"))
		}},
	})
	if err != nil {
		tb.Fatal(err)
	}
	s.etcd, err = members.Open(etcd.Config{
		Storage: s.cluster.Store(), ClientCAs: etcdCA.Pool(), RequestTimeout: 50 * time.Millisecond,
		Certificate: func(member string) (*tls.Certificate, error) {
			certificate, err := etcdCA.IssueTLS(certs.Request{
				CommonName: member, Hosts: []string{member, "localhost"}, Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, Now: time.Now(),
			})
			return &certificate, err
		},
	})
	if err != nil {
		tb.Fatal(err)
	}
	for _, name := range nodes {
		s.join(tb, name)
	}
	return s
}

// join adds a control-plane Node with its static Pods and its etcd member, as kubeadm does.
func (s *simulated) join(tb testing.TB, name string) {
	tb.Helper()
	if _, err := simapi.Create(s.cluster.Store(), node(name, "sim://"+name)); err != nil {
		tb.Fatal(err)
	}
	for component, version := range map[Component]string{APIServer: "v1.37.2", EtcdServer: "3.7.0-0"} {
		if _, err := simapi.Create(s.cluster.Store(), staticPod(component, name, version)); err != nil {
			tb.Fatal(err)
		}
	}
	peers, clients := []string{"https://" + name + ":2380"}, []string{"https://" + name + ":2379"}
	if len(s.etcd.State().Members) == 0 {
		if _, err := s.etcd.Bootstrap(name, peers, clients, "3.7.0"); err != nil {
			tb.Fatal(err)
		}
		return
	}
	m, err := s.etcd.Add(peers, true)
	if err == nil {
		_, err = s.etcd.Start(m.ID, name, clients, "3.7.0")
	}
	if err == nil {
		err = s.etcd.Promote(m.ID)
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// kubeconfig is an administrator's, with a client certificate.
func (s *simulated) kubeconfig(tb testing.TB) []byte {
	tb.Helper()
	admin, err := s.ca.Issue(certs.Request{CommonName: "kubernetes-admin", Organizations: []string{"system:masters"}, Now: time.Now()})
	if err != nil {
		tb.Fatal(err)
	}
	data, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "c",
		"clusters": []any{map[string]any{"name": "c", "cluster": map[string]any{
			"server": "https://" + s.cluster.Addr(), "certificate-authority-data": s.ca.PEM,
		}}},
		"users": []any{map[string]any{"name": "u", "user": map[string]any{
			"client-certificate-data": admin.Cert, "client-key-data": admin.Key,
		}}},
		"contexts": []any{map[string]any{"name": "c", "context": map[string]any{"cluster": "c", "user": "u"}}},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

func newSimulatedWorld(t *testing.T, nodes ...string) (*simulated, *world) {
	t.Helper()
	s, w := newSimulated(t, nodes...), newWorld(t, hasty())
	w.secrets.put("default", "one-etcd", map[string][]byte{certs.CertKey: s.etcdCA.Cert, certs.KeyKey: s.etcdCA.Key})
	w.admit("one", s.kubeconfig(t))
	w.expect(t, ConnectionEvent{key("one"), Opened})
	return s, w
}

func TestSimulatedCluster_IsReachedLikeAnyOther(t *testing.T) {
	t.Parallel()
	s, w := newSimulatedWorld(t, "a")
	c, err := w.Client(t.Context(), key("one"))
	if err != nil {
		t.Fatal(err)
	}
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "kubeadm-config"}, Data: map[string]string{"a": "b"}}
	if err := c.Create(t.Context(), config); err != nil {
		t.Error(err)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(config), config); err != nil || config.Data["a"] != "b" {
		t.Errorf("read back %v, %v", config.Data, err)
	}
	if cp, err := w.ControlPlane(key("one"), "a"); err != nil || cp.APIServer.Version != "v1.37.2" || cp.Etcd.Health != PodRunning {
		t.Errorf("control plane %+v, %v", cp, err)
	}

	s.join(t, "b")
	nodes, err := w.Nodes(key("one"))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the Node that joined is seen", func() bool {
		n, err := nodes.ByProviderID("sim://b")
		return err == nil && n.Name == "b"
	})
	changed := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "b"}}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"role":"x"}}}`))
	if err := c.Patch(t.Context(), changed, patch); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a label is seen", func() bool {
		n, err := nodes.ByName("b")
		return err == nil && n.Labels["role"] == "x"
	})

	if err := s.cluster.SetReachable(false); err != nil {
		t.Fatal(err)
	}
	w.expect(t, ConnectionEvent{key("one"), Closed})
	if err := s.cluster.SetReachable(true); err != nil {
		t.Fatal(err)
	}
	w.expect(t, ConnectionEvent{key("one"), Opened})
}

func TestSimulatedEtcd_LetsAMemberGoByWayOfAnother(t *testing.T) {
	t.Parallel()
	s, w := newSimulatedWorld(t, "a", "b", "c")
	door, err := w.Etcd(t.Context(), key("one"), "a")
	if err != nil {
		t.Fatal(err)
	}
	defer door.Close()
	if door.Contact() == "a" {
		t.Error("the member that leaves was asked")
	}
	members, err := door.Members(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var leaving, newest Member
	for _, m := range members {
		if m.Health != MemberHealthy || m.Version != "3.7.0" || m.Learner {
			t.Errorf("member %+v", m)
		}
		switch m.Name {
		case "a":
			leaving = m
		case "c":
			newest = m
		}
	}
	if len(members) != 3 || !leaving.Leader {
		t.Fatalf("members %+v", members)
	}
	if err := door.MoveLeader(t.Context(), newest.ID); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a controller that was killed does it again
		if err := door.RemoveMember(t.Context(), leaving.ID); err != nil {
			t.Fatal(err)
		}
	}
	if left := s.etcd.State().Members; len(left) != 2 {
		t.Errorf("left: %+v", left)
	}

	if err := s.etcd.SetAlive("b", false); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	again, err := w.Etcd(t.Context(), key("one"), "a")
	if err != nil {
		t.Fatalf("with one member down: %v", err)
	}
	defer again.Close()
	if again.Contact() != "c" || time.Since(began) > 2*time.Second {
		t.Errorf("asked %s after %v", again.Contact(), time.Since(began))
	}
}
