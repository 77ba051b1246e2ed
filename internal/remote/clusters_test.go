package remote

import (
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestClusters_ConnectWhenTheKubeconfigComes(t *testing.T) {
	t.Parallel()
	server, w := newWorkload(t), newWorld(t, patient())
	server.put(node("a", "sim://a"))
	server.put(staticPod(APIServer, "a", "v1.37.2"))
	w.Changed(key("one"))
	eventually(t, "looked for the Secret", func() bool { return w.Status(key("one")).LastError != "" })
	if s := w.Status(key("one")); s.State != Absent || s.KubeconfigExists() || s.ConsecutiveFailures != 0 {
		t.Fatalf("without a Secret: %+v", s)
	}
	if _, err := w.Client(t.Context(), key("one")); !errors.Is(err, ErrNotConnected) {
		t.Fatalf("client without a connection: %v", err)
	}

	one := w.admit("one", server.kubeconfig(token))
	w.expect(t, ConnectionEvent{one, Opened})
	if s := w.Status(one); !s.Connected() || !s.EverConnected() || s.LastError != "" || s.ConnectedSince.IsZero() {
		t.Errorf("connected: %+v", s)
	}
	nodes, err := w.Nodes(one)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := nodes.ByProviderID("sim://a"); err != nil || got.Name != "a" {
		t.Errorf("by provider ID: %v, %v", got, err)
	}
	if cp, err := w.ControlPlane(one, "a"); err != nil || cp.APIServer.Version != "v1.37.2" || cp.Etcd.Health != PodDoesNotExist {
		t.Errorf("control plane: %+v, %v", cp, err)
	}
	c, err := w.Client(t.Context(), one)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.List(t.Context(), &corev1.NodeList{}); err != nil {
		t.Errorf("list through the client: %v", err)
	}
}

func TestClusters_ReadAgainAndAtOnceWhenSomethingChanged(t *testing.T) {
	t.Parallel()
	server, w := newWorkload(t), newWorld(t, patient())
	one := w.admit("one", server.kubeconfig("wrong"))
	eventually(t, "refused", func() bool { return w.Status(one).ConsecutiveFailures == 1 })
	if s := w.Status(one); s.State != Connecting || !strings.Contains(s.LastError, "credentials") || s.NextAttempt.IsZero() {
		t.Errorf("with a wrong token: %+v", s)
	}
	w.admit("one", server.kubeconfig(token))
	w.expect(t, ConnectionEvent{one, Opened})

	w.Changed(one) // nothing did
	other := newWorkload(t)
	w.admit("one", other.kubeconfig(token))
	w.expect(t, ConnectionEvent{one, Closed})
	w.expect(t, ConnectionEvent{one, Opened})
	eventually(t, "the other is asked", func() bool { return other.probes.Load() == 1 })

	w.secrets.remove("default", "one-kubeconfig")
	w.Changed(one)
	w.expect(t, ConnectionEvent{one, Closed})
	eventually(t, "absent", func() bool { return w.Status(one).State == Absent })
	if _, err := w.Nodes(one); !errors.Is(err, ErrNotConnected) {
		t.Errorf("Nodes of a cluster that is gone: %v", err)
	}
}

func TestClusters_ForgetCloses(t *testing.T) {
	t.Parallel()
	server, w := newWorkload(t), newWorld(t, patient())
	one := w.admit("one", server.kubeconfig(token))
	w.expect(t, ConnectionEvent{one, Opened})
	c, err := w.Client(t.Context(), one)
	if err != nil {
		t.Fatal(err)
	}
	w.Forget(one)
	w.expect(t, ConnectionEvent{one, Closed})
	if err := c.List(t.Context(), &corev1.NodeList{}); !errors.Is(err, ErrNotConnected) {
		t.Errorf("a client whose connection is closed: %v", err)
	}
	w.Forget(one)
}

func TestClusters_RefuseAKubeconfigThatReachesOutOfItsSecret(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hasty())
	for name, user := range map[string]string{
		"exec":     `{"exec":{"apiVersion":"client.authentication.k8s.io/v1","command":"touch","args":["/tmp/x"],"interactiveMode":"Never"}}`,
		"provider": `{"auth-provider":{"name":"gcp"}}`,
		"token":    `{"tokenFile":"/etc/passwd"}`,
		"files":    `{"client-certificate":"/etc/passwd","client-key":"/etc/passwd"}`,
	} {
		kubeconfig := `{"apiVersion":"v1","kind":"Config","current-context":"c",
			"clusters":[{"name":"c","cluster":{"server":"https://127.0.0.1:1"}}],
			"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],"users":[{"name":"u","user":` + user + `}]}`
		c := w.admit(name, []byte(kubeconfig))
		eventually(t, name+" is refused", func() bool { return w.Status(c).State == Malformed })
		if s := w.Status(c); !s.NextAttempt.IsZero() || !strings.Contains(s.LastError, `user "u"`) {
			t.Errorf("%s: %+v", name, s)
		}
	}
	empty := w.admit("empty", nil)
	eventually(t, "an empty one is refused", func() bool { return w.Status(empty).State == Malformed })
}

func TestClusters_GiveUpAConnectionAfterFailedProbesAndComeBack(t *testing.T) {
	t.Parallel()
	server, w := newWorkload(t), newWorld(t, hasty(), 10*time.Millisecond)
	one := w.admit("one", server.kubeconfig(token))
	w.expect(t, ConnectionEvent{one, Opened})
	server.readyz.Store(http.StatusInternalServerError)
	w.expect(t, ConnectionEvent{one, Failing})
	w.expect(t, ConnectionEvent{one, Closed})
	s := w.Status(one)
	if s.ConsecutiveFailures < 5 || !strings.Contains(s.LastError, "[-]etcd failed") || !s.EverConnected() {
		t.Errorf("after failed probes: %+v", s)
	}
	server.readyz.Store(http.StatusOK)
	w.expect(t, ConnectionEvent{one, Opened})
}

func TestClusters_TellWhenTheyNeverAnsweredAndWhenTheyRecover(t *testing.T) {
	t.Parallel()
	server := newWorkload(t)
	server.readyz.Store(http.StatusServiceUnavailable)
	w := newWorld(t, hasty())
	one := w.admit("one", server.kubeconfig(token))
	w.expect(t, ConnectionEvent{one, Failing})
	server.readyz.Store(http.StatusForbidden) // it may keep this from us, but it works
	w.expect(t, ConnectionEvent{one, Opened})

	options := hasty()
	options.ProbeFailures = 1000
	w = newWorld(t, options, 30*time.Millisecond)
	two := w.admit("two", server.kubeconfig(token))
	w.expect(t, ConnectionEvent{two, Opened})
	server.readyz.Store(http.StatusServiceUnavailable)
	w.expect(t, ConnectionEvent{two, Failing})
	server.readyz.Store(http.StatusOK)
	w.expect(t, ConnectionEvent{two, Recovered})
}

func TestClusters_DoNotProbeWhatIsInUse(t *testing.T) {
	t.Parallel()
	options := hasty()
	options.ProbeInterval = 100 * time.Millisecond
	server, w := newWorkload(t), newWorld(t, options)
	one := w.admit("one", server.kubeconfig(token))
	w.expect(t, ConnectionEvent{one, Opened})
	c, err := w.Client(t.Context(), one)
	if err != nil {
		t.Fatal(err)
	}
	began, first := time.Now(), w.Status(one).LastProbeSuccess
	eventually(t, "half a second of use", func() bool {
		if err := c.Get(t.Context(), client.ObjectKey{Name: "x"}, &corev1.Node{}); client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
		return time.Since(began) > 500*time.Millisecond
	})
	if probes := server.probes.Load(); probes > 2 {
		t.Errorf("%d probes of a cluster that answered all the time", probes)
	}
	if s := w.Status(one); !s.LastProbeSuccess.After(first) {
		t.Errorf("answers did not count as probes: %+v", s)
	}
}

func TestClusters_OneDeadClusterHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	// A listener that accepts nothing: connections are made by the kernel, and nobody ever speaks.
	hole, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = hole.Close() })
	options := hasty()
	options.Workers, options.Timeout, options.ProbeFailures = 2, 300*time.Millisecond, 1000
	server, w := newWorkload(t), newWorld(t, options)
	dead := strings.ReplaceAll(string(server.kubeconfig(token)), server.server.URL, "https://"+hole.Addr().String())
	for i := range 12 {
		w.admit("dead"+string(rune('A'+i)), []byte(dead))
	}
	eventually(t, "the dead have been tried", func() bool {
		for i := range 12 {
			if w.Status(key("dead"+string(rune('A'+i)))).ConsecutiveFailures == 0 {
				return false
			}
		}
		return true
	})
	began := time.Now()
	live := w.admit("live", server.kubeconfig(token))
	w.expect(t, ConnectionEvent{live, Opened})
	if took := time.Since(began); took > time.Second {
		t.Errorf("connecting took %v beside dead clusters", took)
	}
}

func TestClusters_TakeUpLostWatches(t *testing.T) {
	t.Parallel()
	options := patient()
	options.RetryFirst, options.RetryMost = 10*time.Millisecond, 10*time.Millisecond
	server, w := newWorkload(t), newWorld(t, options)
	server.put(node("a", "sim://a"))
	server.put(node("b", "sim://b"))
	one := w.admit("one", server.kubeconfig(token))
	w.expect(t, ConnectionEvent{one, Opened})

	server.put(node("c", ""))
	w.expectNode(t, NodeEvent{one, "c", ""})
	server.put(node("c", "sim://c"))
	got := map[NodeEvent]bool{<-w.nodes: true, <-w.nodes: true}
	if !got[NodeEvent{one, "c", ""}] || !got[NodeEvent{one, "c", "sim://c"}] {
		t.Errorf("events of a Node that gets its provider ID: %v", got)
	}

	server.mu.Lock()
	server.gone = true
	server.mu.Unlock()
	server.dropWatches()
	server.remove(node("a", "sim://a"))
	server.mu.Lock()
	server.gone = false
	server.mu.Unlock()
	w.expectNode(t, NodeEvent{one, "a", "sim://a"})
	nodes, err := w.Nodes(one)
	if err != nil {
		t.Fatal(err)
	}
	if all := names(nodes.List()); all != "b c" {
		t.Errorf("Nodes after the watch was lost: %s", all)
	}
	server.put(staticPod(EtcdServer, "b", "3.7.0-0"))
	w.expectNode(t, NodeEvent{one, "b", "sim://b"})
}

func TestClusters_HeartbeatsWakeNobody(t *testing.T) {
	t.Parallel()
	options := patient()
	options.RetryFirst, options.RetryMost = 10*time.Millisecond, 10*time.Millisecond
	server, w := newWorkload(t), newWorld(t, options)
	one := w.admit("one", server.kubeconfig(token))
	w.expect(t, ConnectionEvent{one, Opened})
	beat := func(at int64, ready corev1.ConditionStatus) *corev1.Node {
		n := node("a", "sim://a")
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready, LastHeartbeatTime: metav1.Unix(at, 0)}}
		return n
	}
	server.put(beat(1, corev1.ConditionTrue))
	w.expectNode(t, NodeEvent{one, "a", "sim://a"})
	server.put(beat(2, corev1.ConditionTrue))
	server.put(beat(3, corev1.ConditionTrue))
	server.put(node("last", ""))
	w.expectNode(t, NodeEvent{one, "last", ""})
	server.put(beat(4, corev1.ConditionFalse))
	w.expectNode(t, NodeEvent{one, "a", "sim://a"})
}

func TestClusters_DoWithoutPodsThatAreNotForUs(t *testing.T) {
	t.Parallel()
	server, w := newWorkload(t), newWorld(t, patient())
	server.pods403.Store(true)
	one := w.admit("one", server.kubeconfig(token))
	w.expect(t, ConnectionEvent{one, Opened})
	if _, err := w.ControlPlane(one, "a"); err == nil || errors.Is(err, ErrNotConnected) {
		t.Errorf("Pods that may not be read were taken for absent: %v", err)
	}
}
