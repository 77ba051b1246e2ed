package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

const (
	forwardProtocol = portforward.PortForwardProtocolV1Name
	tunnelPrefix    = "SPDY/3.1+"
	spdyVersion     = "SPDY/3.1"
	// forwardPing keeps intermediaries from closing a forwarded connection that is quiet for a while.
	forwardPing = 5 * time.Second
	// maxStreamError bounds what is read of a port-forward's error stream.
	maxStreamError = 4 << 10
)

// errNoUpgrade says that the API server, or what stands before it, does not speak a way of forwarding.
var errNoUpgrade = errors.New("the connection is not upgraded")

// forwarder opens connections to Pods' ports through the API server of one cluster. Every connection has its own TCP
// connection to the API server, which ends with it.
type forwarder struct {
	config  *rest.Config
	base    *url.URL
	timeout time.Duration
	// noTunnel remembers that the API server does not tunnel over web sockets (before 1.31), so that it is asked once.
	noTunnel atomic.Bool
}

func newForwarder(config *rest.Config, options Options) (*forwarder, error) {
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errMalformed, err)
	}
	return &forwarder{config: config, base: base, timeout: options.EtcdDialTimeout}, nil
}

// dial connects to a port of a Pod in kube-system. ctx bounds the dialling, not the connection.
func (f *forwarder) dial(ctx context.Context, pod string, port int) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	conn, err := f.connect(ctx, f.base.JoinPath("api/v1/namespaces", metav1.NamespaceSystem, "pods", pod, "portforward"))
	if err != nil {
		return nil, fmt.Errorf("forward a port to Pod %s/%s: %w", metav1.NamespaceSystem, pod, err)
	}
	stream, err := openStream(ctx, conn, port)
	if err != nil {
		_ = conn.Close() // the error says what matters
		return nil, fmt.Errorf("forward port %d of Pod %s/%s: %w", port, metav1.NamespaceSystem, pod, err)
	}
	return stream, nil
}

// connect opens a connection for streams: over a web socket where the server speaks that, by SPDY elsewhere.
func (f *forwarder) connect(ctx context.Context, target *url.URL) (httpstream.Connection, error) {
	if !f.noTunnel.Load() {
		conn, err := f.tunnel(ctx, target)
		if !errors.Is(err, errNoUpgrade) {
			return conn, err
		}
		f.noTunnel.Store(true)
	}
	return f.upgrade(ctx, target)
}

// tunnel speaks SPDY inside a web socket.
func (f *forwarder) tunnel(ctx context.Context, target *url.URL) (httpstream.Connection, error) {
	transport, err := newTransport(f.config, newDials(), http1Only())
	if err != nil {
		return nil, err
	}
	header, err := f.credentials(ctx, target)
	if err != nil {
		return nil, err
	}
	dialer := &websocket.Dialer{
		NetDialContext:   transport.DialContext,
		Proxy:            transport.Proxy,
		TLSClientConfig:  transport.TLSClientConfig,
		HandshakeTimeout: f.timeout,
		Subprotocols:     []string{tunnelPrefix + forwardProtocol},
		ReadBufferSize:   16 << 10,
		WriteBufferSize:  16 << 10,
	}
	socket := *target
	socket.Scheme = "ws" + strings.TrimPrefix(target.Scheme, "http")
	conn, resp, err := dialer.DialContext(ctx, socket.String(), header)
	if err != nil && resp != nil {
		defer func() { _ = resp.Body.Close() }()
		return nil, refusedUpgrade(resp)
	}
	if err != nil {
		return nil, fmt.Errorf("open a web socket: %w", err)
	}
	if conn.Subprotocol() != tunnelPrefix+forwardProtocol {
		_ = conn.Close()
		return nil, fmt.Errorf("open a web socket: %w", errNoUpgrade)
	}
	streams, err := spdy.NewClientConnectionWithPings(quietConn{portforward.NewTunnelingConnection("etcd", conn)}, forwardPing)
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("speak SPDY in a web socket: %w", err)
	}
	return link{streams, conn.NetConn()}, nil
}

// upgrade speaks SPDY right on the connection.
func (f *forwarder) upgrade(ctx context.Context, target *url.URL) (httpstream.Connection, error) {
	transport, err := newTransport(f.config, newDials(), http1Only())
	if err != nil {
		return nil, err
	}
	authenticated, err := rest.HTTPWrappersForConfig(f.config, transport)
	if err != nil {
		return nil, fmt.Errorf("authenticate: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	req.Header.Set(httpstream.HeaderConnection, httpstream.HeaderUpgrade)
	req.Header.Set(httpstream.HeaderUpgrade, spdyVersion)
	req.Header.Set(httpstream.HeaderProtocolVersion, forwardProtocol)
	resp, err := authenticated.RoundTrip(req)
	if err != nil {
		return nil, fmt.Errorf("upgrade to SPDY: %w", err)
	}
	raw, ok := resp.Body.(io.ReadWriteCloser)
	if resp.StatusCode != http.StatusSwitchingProtocols || !ok {
		defer func() { _ = resp.Body.Close() }()
		return nil, refusedUpgrade(resp)
	}
	streams, err := spdy.NewClientConnectionWithPings(quietConn{&rawConn{ReadWriteCloser: raw}}, forwardPing)
	if err != nil {
		_ = raw.Close()
		return nil, fmt.Errorf("speak SPDY: %w", err)
	}
	return link{streams, raw}, nil
}

// credentials are the headers that authenticate a request, as the kubeconfig says.
func (f *forwarder) credentials(ctx context.Context, target *url.URL) (http.Header, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	seen := &headerSink{}
	wrapped, err := rest.HTTPWrappersForConfig(f.config, seen)
	if err != nil {
		return nil, fmt.Errorf("authenticate: %w", err)
	}
	resp, err := wrapped.RoundTrip(req)
	if err != nil {
		return nil, fmt.Errorf("authenticate: %w", err)
	}
	return seen.header, resp.Body.Close()
}

// headerSink is a round tripper that sends nothing and keeps the headers.
type headerSink struct{ header http.Header }

// RoundTrip implements http.RoundTripper.
func (h *headerSink) RoundTrip(req *http.Request) (*http.Response, error) {
	h.header = req.Header.Clone()
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: req}, nil
}

// refusedUpgrade makes an error of an answer that is no upgrade. A Pod that does not exist is no reason to try another
// way of forwarding; neither is a refusal of the credentials.
func refusedUpgrade(resp *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxStreamError))
	if err != nil {
		text = nil
	}
	message := strings.TrimSpace(string(text))
	switch resp.StatusCode {
	case http.StatusNotFound, http.StatusUnauthorized, http.StatusServiceUnavailable, http.StatusTooManyRequests:
		return fmt.Errorf("%s: %s", resp.Status, message)
	}
	return fmt.Errorf("%w: %s: %s", errNoUpgrade, resp.Status, message)
}

// link is a connection for streams that ends at once when it is closed. The library's own would wait for streams that
// the other end never answered, and for a network that takes no more bytes.
type link struct {
	httpstream.Connection
	raw io.Closer
}

// Close implements httpstream.Connection.
func (l link) Close() error {
	_ = l.raw.Close()           // it is gone either way
	return l.Connection.Close() // ends the streams on this side
}

// openStream asks for a port on a connection and returns it as a network connection. Closing that closes all.
func openStream(ctx context.Context, conn httpstream.Connection, port int) (net.Conn, error) {
	header := http.Header{}
	header.Set(corev1.PortHeader, strconv.Itoa(port))
	header.Set(corev1.PortForwardRequestIDHeader, "0")
	header.Set(corev1.StreamType, corev1.StreamTypeError)
	failure, err := createStream(ctx, conn, header)
	if err != nil {
		return nil, fmt.Errorf("open the error stream: %w", err)
	}
	if err := failure.Close(); err != nil { // nothing is ever written to it from this side
		return nil, fmt.Errorf("close the error stream's sending half: %w", err)
	}
	header.Set(corev1.StreamType, corev1.StreamTypeData)
	data, err := createStream(ctx, conn, header)
	if err != nil {
		return nil, fmt.Errorf("open the data stream: %w", err)
	}
	return &forwarded{streams: conn, data: data, failure: failure}, nil
}

// createStream is CreateStream for callers that do not wait the half minute that the library gives the other end.
func createStream(ctx context.Context, conn httpstream.Connection, header http.Header) (httpstream.Stream, error) {
	type outcome struct {
		stream httpstream.Stream
		err    error
	}
	made := make(chan outcome, 1)
	go func() { // ends with the library's patience at the latest
		stream, err := conn.CreateStream(header.Clone())
		made <- outcome{stream, err}
	}()
	select {
	case o := <-made:
		return o.stream, o.err
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the other end: %w", ctx.Err())
	}
}

// forwarded is a port of a Pod as a network connection.
type forwarded struct {
	rawConn
	streams httpstream.Connection
	data    httpstream.Stream
	failure httpstream.Stream
	once    sync.Once

	mu       sync.Mutex // guards deadline
	deadline *time.Timer
}

// Read implements net.Conn. At the end of the stream the other end's reason for it, if any, is the error.
func (f *forwarded) Read(p []byte) (int, error) {
	n, err := f.data.Read(p)
	if n > 0 || !errors.Is(err, io.EOF) {
		return n, err
	}
	why, readErr := io.ReadAll(io.LimitReader(f.failure, maxStreamError))
	if readErr == nil && len(why) > 0 {
		return 0, fmt.Errorf("port-forward: %s", why)
	}
	return 0, io.EOF
}

// Write implements net.Conn.
func (f *forwarded) Write(p []byte) (int, error) { return f.data.Write(p) }

// Close implements net.Conn.
func (f *forwarded) Close() error {
	var err error
	f.once.Do(func() {
		_ = f.SetDeadline(time.Time{}) // it never fails
		err = f.streams.Close()
	})
	return err
}

// SetDeadline implements net.Conn, harshly: the connection ends when time is up. Deadlines are set here by who closes a
// connection, and must not wait for the other end to take its farewell.
func (f *forwarded) SetDeadline(t time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.deadline != nil {
		f.deadline.Stop()
		f.deadline = nil
	}
	if !t.IsZero() {
		f.deadline = time.AfterFunc(time.Until(t), func() { _ = f.Close() }) // nobody is there to hear of it
	}
	return nil
}

// SetReadDeadline implements net.Conn as SetDeadline does.
func (f *forwarded) SetReadDeadline(t time.Time) error { return f.SetDeadline(t) }

// SetWriteDeadline implements net.Conn as SetDeadline does.
func (f *forwarded) SetWriteDeadline(t time.Time) error { return f.SetDeadline(t) }

// rawConn gives a stream the rest of what a network connection has. Deadlines are not kept: what is above it does that.
type rawConn struct{ io.ReadWriteCloser }

// LocalAddr implements net.Conn.
func (*rawConn) LocalAddr() net.Addr { return streamAddr{} }

// RemoteAddr implements net.Conn.
func (*rawConn) RemoteAddr() net.Addr { return streamAddr{} }

// SetDeadline implements net.Conn.
func (*rawConn) SetDeadline(time.Time) error { return nil }

// SetReadDeadline implements net.Conn.
func (*rawConn) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline implements net.Conn.
func (*rawConn) SetWriteDeadline(time.Time) error { return nil }

// quietConn is a connection that never complains of being closed: the SPDY library would keep a goroutine a second long
// for somebody to hear the complaint.
type quietConn struct{ net.Conn }

// Close implements net.Conn.
func (c quietConn) Close() error {
	_ = c.Conn.Close()
	return nil
}

type streamAddr struct{}

// Network implements net.Addr.
func (streamAddr) Network() string { return "port-forward" }

// String implements net.Addr.
func (streamAddr) String() string { return "port-forward" }
