package workload_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"

	"slipway.dev/slipway/internal/providers/sim/workload"
)

// echoing forwards to a port that answers each line with the pod's name and the line; port 1 refuses.
func echoing(c *workload.Config) {
	c.Hooks.PodDial = func(_ context.Context, p *corev1.Pod, port int32) (net.Conn, error) {
		if port == 1 {
			return nil, errors.New("connection refused")
		}
		near, far := net.Pipe()
		go func() {
			defer func() { _ = far.Close() }() // both ends are the test's
			buf := make([]byte, 1<<16)
			for {
				n, err := far.Read(buf)
				if err != nil {
					return
				}
				if _, err := fmt.Fprintf(far, "%s:%s", p.Name, buf[:n]); err != nil {
					return
				}
			}
		}()
		return near, nil
	}
}

func forwardURL(w *world, pod string) *url.URL {
	return &url.URL{Scheme: "https", Host: w.cluster.Addr(), Path: "/api/v1/namespaces/default/pods/" + pod + "/portforward"}
}

// forward runs client-go's port-forwarder until the test ends and returns the local address of a port.
func forward(tb testing.TB, w *world, pod string, port int, overWebSocket bool) string {
	tb.Helper()
	ready, stop := make(chan struct{}), make(chan struct{})
	f := must[*portforward.PortForwarder](tb)(newForwarder(tb, w, pod, port, overWebSocket, stop, ready))
	var running sync.WaitGroup
	running.Go(func() {
		if err := f.ForwardPorts(); err != nil && !errors.Is(err, portforward.ErrLostConnectionToPod) {
			tb.Errorf("forward: %v", err)
		}
	})
	tb.Cleanup(func() { close(stop); running.Wait() })
	select {
	case <-ready:
	case <-time.After(10 * time.Second):
		tb.Fatal("the port-forward did not become ready")
	}
	ports := must[[]portforward.ForwardedPort](tb)(f.GetPorts())
	return fmt.Sprintf("127.0.0.1:%d", ports[0].Local)
}

func newForwarder(tb testing.TB, w *world, pod string, port int, overWebSocket bool, stop, ready chan struct{}) (*portforward.PortForwarder, error) {
	tb.Helper()
	ports := []string{fmt.Sprintf("0:%d", port)}
	if overWebSocket {
		dialer, err := portforward.NewSPDYOverWebsocketDialer(forwardURL(w, pod), w.admin())
		if err != nil {
			return nil, err
		}
		return portforward.NewOnAddresses(dialer, []string{"127.0.0.1"}, ports, stop, ready, io.Discard, io.Discard)
	}
	transport, upgrader, err := spdy.RoundTripperFor(w.admin())
	if err != nil {
		return nil, err
	}
	dialer := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, forwardURL(w, pod))
	return portforward.NewOnAddresses(dialer, []string{"127.0.0.1"}, ports, stop, ready, io.Discard, io.Discard)
}

func TestPortForward_WorksOverSPDYAndWebSockets(t *testing.T) {
	t.Parallel()
	for _, overWebSocket := range []bool{false, true} {
		t.Run(fmt.Sprintf("websocket=%v", overWebSocket), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, echoing)
			must[*corev1.Pod](t)(workload.Create(w.cluster.Store(), pod("default", "p", "n", nil)))
			addr := forward(t, w, "p", 2379, overWebSocket)
			var all sync.WaitGroup
			for i := range 4 {
				all.Go(func() {
					conn, err := net.Dial("tcp", addr)
					if err != nil {
						t.Error(err)
						return
					}
					defer func() { _ = conn.Close() }() // it was only for this
					for r := range 3 {
						line := fmt.Sprintf("%d-%d %s", i, r, strings.Repeat("x", 1000))
						if _, err := io.WriteString(conn, line); err != nil {
							t.Error(err)
							return
						}
						got := make([]byte, len("p:")+len(line))
						if _, err := io.ReadFull(conn, got); err != nil || string(got) != "p:"+line {
							t.Errorf("%q, %v", got, err)
							return
						}
					}
				})
			}
			all.Wait()
		})
	}
}

func TestPortForward_ToARefusingPortEndsTheConnection(t *testing.T) {
	t.Parallel()
	w := newWorld(t, echoing)
	must[*corev1.Pod](t)(workload.Create(w.cluster.Store(), pod("default", "p", "n", nil)))
	conn := must[net.Conn](t)(net.Dial("tcp", forward(t, w, "p", 1, true)))
	defer func() { _ = conn.Close() }() // ended by the other side
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("a refused port sends bytes")
	}
}

func TestPortForward_ToAPodThatDoesNotRunIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, echoing)
	pending := pod("default", "p", "n", nil)
	pending.Status.Phase = corev1.PodPending
	must[*corev1.Pod](t)(workload.Create(w.cluster.Store(), pending))
	f := must[*portforward.PortForwarder](t)(newForwarder(t, w, "p", 80, true, make(chan struct{}), make(chan struct{})))
	if err := f.ForwardPorts(); err == nil {
		t.Error("it was forwarded")
	}
}
