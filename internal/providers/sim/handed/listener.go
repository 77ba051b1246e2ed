// Package handed is a net.Listener of connections that somebody in this process hands to it.
package handed

import (
	"net"
	"sync"
)

// Listener accepts the connections that it is handed, until it is closed.
type Listener struct {
	addr  net.Addr
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

// NewListener returns a Listener that says that it has the address.
func NewListener(addr net.Addr) *Listener {
	return &Listener{addr: addr, conns: make(chan net.Conn), done: make(chan struct{})}
}

// Hand waits until the connection is accepted, and returns true; or false, once the Listener is closed or stop is.
func (l *Listener) Hand(conn net.Conn, stop <-chan struct{}) bool {
	select {
	case l.conns <- conn:
		return true
	case <-l.done:
		return false
	case <-stop:
		return false
	}
}

// Accept waits for a connection. When the Listener is closed the error is net.ErrClosed.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close ends Accept and Hand. It never fails.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

// Closed reports whether the Listener was closed.
func (l *Listener) Closed() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

// Addr is the address that it was made with.
func (l *Listener) Addr() net.Addr { return l.addr }
