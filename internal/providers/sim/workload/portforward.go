package workload

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/gorilla/websocket"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

const (
	forwardProtocol = "portforward.k8s.io"
	tunnelProtocol  = "SPDY/3.1+" + forwardProtocol
)

func (q *request) podKey() types.NamespacedName {
	return types.NamespacedName{Namespace: q.namespace, Name: q.name}
}

// portForward joins streams of the client with ports of a pod: over SPDY, or over SPDY in a WebSocket.
func (q *request) portForward() error {
	pod, err := Read[*corev1.Pod](q.store, q.podKey())
	if err != nil {
		return err
	}
	if q.cluster.hooks.PodDial == nil || pod.Status.Phase != corev1.PodRunning {
		return apierrors.NewBadRequest(fmt.Sprintf("pod %s is not running: its phase is %s", pod.Name, pod.Status.Phase))
	}
	f := &forwarding{request: q, pod: pod, streams: make(chan httpstream.Stream, 16), pairs: map[string]*streamPair{}}
	var conn httpstream.Connection
	if websocket.IsWebSocketUpgrade(q.r) {
		conn, err = f.tunnel()
	} else {
		conn, err = f.upgrade()
	}
	if err != nil {
		return err
	}
	f.serve(conn)
	return nil
}

// forwarding is one port-forward connection, which may hold many port connections.
type forwarding struct {
	*request
	pod     *corev1.Pod
	streams chan httpstream.Stream

	mu      sync.Mutex // guards what follows
	pairs   map[string]*streamPair
	running sync.WaitGroup
}

// streamPair is what a connection to one port is made of.
type streamPair struct{ data, fault httpstream.Stream }

// upgrade turns the HTTP connection into a SPDY one.
func (f *forwarding) upgrade() (httpstream.Connection, error) {
	if !httpstream.IsUpgradeRequest(f.r) {
		return nil, apierrors.NewBadRequest("Upgrade request required")
	}
	if _, err := httpstream.Handshake(f.r, f.w, []string{forwardProtocol}); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	conn := spdy.NewResponseUpgrader().UpgradeResponse(f.w, f.r, f.accept)
	if conn == nil {
		return nil, nil //nolint:nilnil // answered already
	}
	return conn, nil
}

// tunnel turns it into a WebSocket with SPDY inside.
func (f *forwarding) tunnel() (httpstream.Connection, error) {
	if !slices.Contains(websocket.Subprotocols(f.r), tunnelProtocol) {
		return nil, apierrors.NewBadRequest("the only WebSocket protocol of port-forward is " + tunnelProtocol)
	}
	up := websocket.Upgrader{
		Subprotocols: []string{tunnelProtocol},
		CheckOrigin:  func(*http.Request) bool { return true }, // there are no cookies to abuse
	}
	ws, err := up.Upgrade(f.w, f.r, nil)
	if err != nil {
		return nil, nil //nolint:nilerr // answered already
	}
	conn, err := spdy.NewServerConnection(portforward.NewTunnelingConnection("server", ws), f.accept)
	if err != nil {
		_ = ws.Close()  // the connection is useless
		return nil, nil //nolint:nilerr // hijacked: there is nobody to answer
	}
	return conn, nil
}

// accept is called for each new stream of the client.
func (f *forwarding) accept(s httpstream.Stream, replied <-chan struct{}) error {
	port := s.Headers().Get(corev1.PortHeader)
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return fmt.Errorf("%q header: %q is not a port", corev1.PortHeader, port)
	}
	switch s.Headers().Get(corev1.StreamType) {
	case corev1.StreamTypeError, corev1.StreamTypeData:
	default:
		return fmt.Errorf("%q header: unknown stream type", corev1.StreamType)
	}
	f.running.Go(func() {
		<-replied
		f.streams <- s
	})
	return nil
}

// serve pairs streams until the connection ends.
func (f *forwarding) serve(conn httpstream.Connection) {
	if conn == nil {
		return
	}
	for {
		select {
		case s := <-f.streams:
			f.pair(conn, s)
		case <-conn.CloseChan():
			_ = conn.Close() // it is closed
			f.drain()
			return
		}
	}
}

// drain lets the goroutines that still hand over a stream finish, and waits for the copies, whose streams are reset.
func (f *forwarding) drain() {
	done := make(chan struct{})
	go func() {
		f.running.Wait()
		close(done)
	}()
	for {
		select {
		case <-f.streams:
		case <-done:
			return
		}
	}
}

// pair waits for both streams of a request and then connects them to the port.
func (f *forwarding) pair(conn httpstream.Connection, s httpstream.Stream) {
	id := s.Headers().Get(corev1.PortForwardRequestIDHeader)
	if id == "" {
		id = strconv.FormatUint(uint64(s.Identifier()&^3), 10)
	}
	f.mu.Lock()
	p := f.pairs[id]
	if p == nil {
		p = &streamPair{}
		f.pairs[id] = p
	}
	if s.Headers().Get(corev1.StreamType) == corev1.StreamTypeError {
		p.fault = s
	} else {
		p.data = s
	}
	complete := p.fault != nil && p.data != nil
	if complete {
		delete(f.pairs, id)
	}
	f.mu.Unlock()
	if complete {
		f.running.Go(func() {
			f.connect(p)
			conn.RemoveStreams(p.data, p.fault)
		})
	}
}

// connect joins a pair of streams with the pod's port.
func (f *forwarding) connect(p *streamPair) {
	defer func() {
		_ = p.data.Reset()  // nobody waits for it any more
		_ = p.fault.Close() // the client reads its end as: no error
	}()
	port, err := strconv.ParseUint(p.data.Headers().Get(corev1.PortHeader), 10, 16)
	if err == nil {
		err = f.join(p.data, int32(port))
	}
	if err != nil {
		_, _ = fmt.Fprintf(p.fault, "an error occurred forwarding %d: %v", port, err) // the client may be gone
	}
}

// join copies both ways until both ends are done.
func (f *forwarding) join(data httpstream.Stream, port int32) error {
	conn, err := f.cluster.hooks.PodDial(f.r.Context(), f.pod, port)
	if err != nil {
		return fmt.Errorf("connect to port %d of pod %s: %w", port, f.pod.Name, err)
	}
	defer func() { _ = conn.Close() }() // whatever is left is not wanted
	var toPod sync.WaitGroup
	toPod.Go(func() {
		_, _ = io.Copy(conn, data) // the end of either side ends the other
		closeWrite(conn)
	})
	_, err = io.Copy(data, conn)
	_ = data.Reset() // ends the other copy
	toPod.Wait()
	if err != nil && !errors.Is(err, io.EOF) && !strings.Contains(err.Error(), "closed") && !strings.Contains(err.Error(), "reset") {
		return fmt.Errorf("copy from port %d of pod %s: %w", port, f.pod.Name, err)
	}
	return nil
}

// closeWrite ends the client's half of a connection; one that has no halves ends altogether.
func closeWrite(conn net.Conn) {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite() // the pod may have been faster
		return
	}
	_ = conn.Close() // as above
}
