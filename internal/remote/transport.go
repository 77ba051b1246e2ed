package remote

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
)

const (
	// maxAnswer bounds the body of an answer that is not a stream: the largest page of Nodes or Pods that is asked for
	// stays well below, and a cluster gone mad must not take the process with it.
	maxAnswer = 64 << 20

	dialTimeout = 5 * time.Second
	idleTimeout = 90 * time.Second
)

var errAnswerTooLarge = errors.New("the answer is larger than is ever read")

// dials are the network connections of one transport. A transport itself closes only those that are idle, and a
// connection to a server that has vanished never is.
type dials struct {
	dialer net.Dialer

	mu     sync.Mutex // guards what follows
	open   map[net.Conn]struct{}
	closed bool
}

func newDials() *dials {
	return &dials{dialer: net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}, open: map[net.Conn]struct{}{}}
}

func (d *dials) dial(ctx context.Context, network, address string) (net.Conn, error) {
	raw, err := d.dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		_ = raw.Close()
		return nil, ErrNotConnected
	}
	conn := &dialled{Conn: raw, all: d}
	d.open[conn] = struct{}{}
	return conn, nil
}

// reset cuts all connections; the next request makes a new one.
func (d *dials) reset() {
	d.mu.Lock()
	open := d.open
	d.open = map[net.Conn]struct{}{}
	d.mu.Unlock()
	for conn := range open {
		_ = conn.Close()
	}
}

// close cuts all connections for good.
func (d *dials) close() {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	d.reset()
}

// dialled is a connection that strikes itself off the list when it is closed.
type dialled struct {
	net.Conn
	all *dials
}

// Close implements net.Conn.
func (c *dialled) Close() error {
	c.all.mu.Lock()
	delete(c.all.open, c)
	c.all.mu.Unlock()
	return c.Conn.Close()
}

// newTransport makes a transport for one cluster. client-go's own are kept for ever in a cache of the process, which
// would hold on to every cluster that ever was.
func newTransport(config *rest.Config, d *dials, protocols *http.Protocols) (*http.Transport, error) {
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errMalformed, err)
	}
	if tlsConfig == nil {
		tlsConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	proxy := http.ProxyFromEnvironment
	if config.Proxy != nil {
		proxy = config.Proxy
	}
	return &http.Transport{
		Proxy:                  proxy,
		DialContext:            d.dial,
		TLSClientConfig:        tlsConfig,
		TLSHandshakeTimeout:    dialTimeout,
		IdleConnTimeout:        idleTimeout,
		MaxIdleConnsPerHost:    1,
		MaxResponseHeaderBytes: 64 << 10,
		Protocols:              protocols,
		// Without pings a connection whose other end vanished would be trusted until TCP gives up, after minutes.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
	}, nil
}

func http2First() *http.Protocols {
	p := &http.Protocols{}
	p.SetHTTP1(true)
	p.SetHTTP2(true)
	return p
}

func http1Only() *http.Protocols {
	p := &http.Protocols{}
	p.SetHTTP1(true)
	return p
}

// door is what every request to a cluster passes. It ends requests that take too long or answer too much, refuses
// them once the connection is closed, and remembers when the cluster last answered.
type door struct {
	next    http.RoundTripper
	timeout time.Duration
	now     func() time.Time

	closed atomic.Bool
	heard  atomic.Int64 // the time of the last answer, in nanoseconds since 1970; zero when there was none
}

// RoundTrip implements http.RoundTripper.
func (d *door) RoundTrip(req *http.Request) (*http.Response, error) {
	if d.closed.Load() {
		return nil, ErrNotConnected
	}
	if streams(req) {
		resp, err := d.next.RoundTrip(req)
		d.note(resp)
		return resp, err
	}
	ctx, cancel := context.WithTimeout(req.Context(), d.timeout)
	resp, err := d.next.RoundTrip(req.WithContext(ctx))
	d.note(resp)
	if err != nil {
		cancel()
		return nil, err
	}
	resp.Body = &boundedBody{ReadCloser: resp.Body, left: maxAnswer, done: cancel}
	return resp, nil
}

// note takes an answer for a sign of life if a probe would have: the server works, and it knows us.
func (d *door) note(resp *http.Response) {
	if resp != nil && alive(resp.StatusCode) {
		d.heard.Store(d.now().UnixNano())
	}
}

func (d *door) lastHeard() time.Time {
	if heard := d.heard.Load(); heard != 0 {
		return time.Unix(0, heard)
	}
	return time.Time{}
}

// alive tells whether an answer with this status shows a working API server. A server that forbids or does not know
// /readyz works; one that does not know who we are is of no use until the kubeconfig changes.
func alive(status int) bool {
	return status < http.StatusInternalServerError && status != http.StatusUnauthorized && status != http.StatusTooManyRequests
}

// streams tells whether a request's answer has no end of its own.
func streams(req *http.Request) bool {
	query := req.URL.RawQuery
	return strings.Contains(query, "watch=true") || strings.Contains(query, "watch=1") ||
		strings.Contains(query, "follow=true") || req.Header.Get("Upgrade") != ""
}

// boundedBody is an answer's body with a limit; closing it ends the request's deadline.
type boundedBody struct {
	io.ReadCloser
	left int64
	done context.CancelFunc
	once sync.Once
}

// Read implements io.Reader.
func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errAnswerTooLarge
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	return n, err
}

// Close implements io.Closer.
func (b *boundedBody) Close() error {
	err := b.ReadCloser.Close()
	b.once.Do(b.done)
	return err
}
