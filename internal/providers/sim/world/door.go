package world

import (
	"context"
	"errors"
	"net"
	"sync"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"slipway.dev/slipway/internal/providers/sim/handed"
)

// lookupTimeout bounds how long the address of an endpoint's host is looked for, if the host is a name.
const lookupTimeout = 2 * time.Second

// ListenError says that a cluster's endpoint cannot be listened on, so that nothing is served there until it can.
type ListenError struct {
	// Address is the endpoint.
	Address string
	// Holder is the simulated cluster that has the address; zero when it is none of them.
	Holder types.NamespacedName
	// Err is the cause, an error of net or syscall.EADDRINUSE.
	Err error
}

// Error names the endpoint and the cause.
func (e *ListenError) Error() string {
	if e.Holder.Name != "" {
		return "listen on " + e.Address + ", which cluster " + e.Holder.String() + " has: " + e.Err.Error()
	}
	return "listen on " + e.Address + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *ListenError) Unwrap() error { return e.Err }

func isListenError(err error) bool {
	_, ok := errors.AsType[*ListenError](err)
	return ok
}

// tenant is a cluster as one that has a door: no other of the same name, before or after it.
type tenant struct {
	key types.NamespacedName
	id  types.UID
}

func (p Place) tenant() tenant { return tenant{p.Key, p.ID} }

// doors are the ports of the clusters' endpoints. One is held from the moment at which it is chosen until its cluster is removed,
// whether or not an API server stands behind it: the port is in Nodes and kubeconfigs, and no other program must get it meanwhile.
type doors struct {
	running sync.WaitGroup
	mu      sync.Mutex // guards open
	open    map[string]*door
}

// at returns the door that a cluster has at an address, opening it unless it is open. Its error is a *ListenError: an address
// that is taken, by another program or another cluster, is syscall.EADDRINUSE.
func (d *doors) at(addr string, holder tenant) (*door, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if there, ok := d.open[addr]; ok {
		if there.holder != holder {
			return nil, &ListenError{Address: addr, Holder: there.holder.key, Err: syscall.EADDRINUSE}
		}
		return there, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookupTimeout) //nolint:forbidigo // It bounds a look-up; who waits for it has no context.
	defer cancel()
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, &ListenError{Address: addr, Err: err}
	}
	if d.open == nil {
		d.open = map[string]*door{}
	}
	made := &door{outside: ln, holder: holder}
	d.open[addr] = made
	d.running.Go(made.answer)
	return made, nil
}

// shut gives a cluster's address up. One that it does not hold is no error.
func (d *doors) shut(addr string, holder tenant) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if there, ok := d.open[addr]; ok && there.holder == holder {
		d.give(addr)
	}
}

// vacate gives up all addresses that a cluster holds.
func (d *doors) vacate(holder tenant) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for addr, there := range d.open {
		if there.holder == holder {
			d.give(addr)
		}
	}
}

// give gives an address up. The caller holds mu.
func (d *doors) give(addr string) {
	_ = d.open[addr].outside.Close() // nothing to do about it: it is going away
	delete(d.open, addr)
}

// close gives all addresses up.
func (d *doors) close() {
	d.mu.Lock()
	for addr := range d.open {
		d.give(addr)
	}
	d.mu.Unlock()
	d.running.Wait()
}

// door is a port that is held. It turns connections away while nobody listens behind it.
type door struct {
	outside net.Listener
	holder  tenant
	mu      sync.Mutex       // guards behind
	behind  *handed.Listener // the last one, which may be closed
}

// listen returns a listener that gets the door's connections until it is closed. There is one at a time.
func (d *door) listen() (net.Listener, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.behind != nil && !d.behind.Closed() {
		return nil, errors.New("somebody listens behind the door of " + d.outside.Addr().String())
	}
	d.behind = handed.NewListener(d.outside.Addr())
	return d.behind, nil
}

// answer hands connections in, or turns them away, until the door is shut.
func (d *door) answer() {
	for {
		conn, err := d.outside.Accept()
		d.mu.Lock()
		behind := d.behind
		d.mu.Unlock()
		if err != nil {
			if behind != nil {
				_ = behind.Close() // never fails
			}
			return
		}
		if behind == nil || !behind.Hand(conn, nil) {
			refuse(conn)
		}
	}
}

// refuse resets a connection, so that its client learns at once that nobody is there.
func refuse(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // without it the client hears of an orderly end, which does as well
	}
	_ = conn.Close() // the other end may have been faster
}
