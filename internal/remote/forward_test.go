package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

// ports serves port-forwards to addresses of this machine, as an API server does to Pods.
type ports struct {
	noTunnel atomic.Bool // it is an API server from before 1.31
	tunnels  atomic.Int32
	upgrades atomic.Int32
	mute     atomic.Bool // it takes the connection and answers nothing on it
	muted    atomic.Int32

	mu   sync.Mutex // guards pods
	pods map[string]string
}

func (p *ports) address(pod string) (string, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	address, ok := p.pods[pod]
	return address, ok
}

func (p *ports) set(pod, address string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pods == nil {
		p.pods = map[string]string{}
	}
	p.pods[pod] = address
}

func (p *ports) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	pod, ok := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/api/v1/namespaces/kube-system/pods/"), "/portforward")
	address, known := p.address(pod)
	switch {
	case !ok || !known:
		status(rw, apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, pod))
	case websocket.IsWebSocketUpgrade(r) && p.noTunnel.Load():
		http.Error(rw, "unable to upgrade", http.StatusBadRequest)
	case websocket.IsWebSocketUpgrade(r):
		p.tunnels.Add(1)
		upgrader := websocket.Upgrader{Subprotocols: []string{tunnelPrefix + forwardProtocol}}
		conn, err := upgrader.Upgrade(rw, r, nil)
		if err != nil {
			return
		}
		if p.mute.Load() {
			p.muted.Add(1)
			defer p.muted.Add(-1)
			_, _ = io.Copy(io.Discard, conn.NetConn())
			_ = conn.Close()
			return
		}
		streams := make(chan httpstream.Stream, 2)
		server, err := spdy.NewServerConnection(quietConn{portforward.NewTunnelingConnection("test", conn)}, into(streams))
		if err != nil {
			return
		}
		forwardTo(server, streams, address)
	default:
		p.upgrades.Add(1)
		rw.Header().Set(httpstream.HeaderProtocolVersion, forwardProtocol)
		streams := make(chan httpstream.Stream, 2)
		server := spdy.NewResponseUpgrader().UpgradeResponse(rw, r, into(streams))
		if server == nil {
			return
		}
		forwardTo(server, streams, address)
	}
}

func into(streams chan httpstream.Stream) httpstream.NewStreamHandler {
	return func(s httpstream.Stream, _ <-chan struct{}) error {
		streams <- s
		return nil
	}
}

// forwardTo connects the data stream with an address until either end is done.
func forwardTo(server httpstream.Connection, streams chan httpstream.Stream, address string) {
	defer func() { _ = server.Close() }()
	failure, data := <-streams, <-streams
	if failure.Headers().Get(corev1.StreamType) != corev1.StreamTypeError || data.Headers().Get(corev1.PortHeader) != "2379" {
		return
	}
	conn, err := net.Dial("tcp", address)
	if err != nil {
		_, _ = fmt.Fprintf(failure, "connect to %s: connection refused", address)
		_ = failure.Close()
		_ = data.Close()
		<-server.CloseChan()
		return
	}
	defer func() { _ = conn.Close() }()
	done := make(chan struct{}, 2)
	go func() { _, _ = io.Copy(conn, data); done <- struct{}{} }()
	go func() { _, _ = io.Copy(data, conn); done <- struct{}{} }()
	select {
	case <-done:
	case <-server.CloseChan():
	}
}

func TestForward_SpeaksBothWaysAndRemembersWhich(t *testing.T) {
	t.Parallel()
	echo, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = echo.Close() })
	go func() {
		for {
			conn, err := echo.Accept()
			if err != nil {
				return
			}
			_, _ = io.Copy(conn, conn)
			_ = conn.Close()
		}
	}()
	for name, noTunnel := range map[string]bool{"web socket": false, "SPDY": true} {
		pods := &ports{}
		pods.noTunnel.Store(noTunnel)
		pods.set("etcd-a", echo.Addr().String())
		pods.set("etcd-down", "127.0.0.1:1")
		server := newWorkload(t)
		server.extra = pods
		config, err := parseKubeconfig(server.kubeconfig(token))
		if err != nil {
			t.Fatal(err)
		}
		conn, err := newForwarder(config, patient().withDefaults())
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			checkEcho(t, name, conn)
		}
		if pods.upgrades.Load() != 2 && noTunnel || pods.tunnels.Load() != 2 && !noTunnel {
			t.Errorf("%s: %d tunnels, %d upgrades", name, pods.tunnels.Load(), pods.upgrades.Load())
		}
		if _, err := conn.dial(t.Context(), "etcd-gone", 2379); err == nil || !strings.Contains(err.Error(), "404") {
			t.Errorf("%s: a Pod that does not exist: %v", name, err)
		}
		down, err := conn.dial(t.Context(), "etcd-down", 2379)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := down.Read(make([]byte, 1)); err == nil || !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("%s: a port that nobody listens on: %v", name, err)
		}
		_ = down.Close()
	}
}

func checkEcho(t *testing.T, name string, f *forwarder) {
	t.Helper()
	conn, err := f.dial(t.Context(), "etcd-a", 2379)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	defer func() { _ = conn.Close() }()
	sent := strings.Repeat("ping", 50_000)
	go func() { _, _ = io.WriteString(conn, sent) }()
	got := make([]byte, len(sent))
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != sent {
		t.Errorf("%s: what came back is not what was sent: %v", name, err)
	}
}

func TestForward_EndsWithItsContextThoughNobodyAnswers(t *testing.T) {
	t.Parallel()
	pods := &ports{}
	pods.mute.Store(true)
	pods.set("etcd-a", "127.0.0.1:1")
	server := newWorkload(t)
	server.extra = pods
	config, err := parseKubeconfig(server.kubeconfig(token))
	if err != nil {
		t.Fatal(err)
	}
	options := patient().withDefaults()
	options.EtcdDialTimeout = time.Hour
	f, err := newForwarder(config, options)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := f.dial(ctx, "etcd-a", 2379)
		done <- err
	}()
	eventually(t, "the connection is made", func() bool { return pods.muted.Load() == 1 })
	cancel()
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("dial: %v", err)
		}
	case <-time.After(20 * time.Second): // the library would wait for thirty
		t.Error("dial does not end with its context")
	}
	eventually(t, "no connection stays behind", func() bool { return pods.muted.Load() == 0 })
}
