package world

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"

	"k8s.io/apimachinery/pkg/types"

	"slipway.dev/slipway/internal/providers/sim/handed"
)

// doors are the ports of the clusters' endpoints. One is held from the moment at which it is chosen until its cluster is removed,
// whether or not an API server stands behind it: the port is in Nodes and kubeconfigs, and no other program must get it meanwhile.
type doors struct {
	running sync.WaitGroup
	mu      sync.Mutex // guards open
	open    map[string]*door
}

// at returns the door that a cluster has at an address, opening it unless it is open. An address that is taken, by another program
// or another cluster, is syscall.EADDRINUSE.
func (d *doors) at(addr string, holder types.NamespacedName) (*door, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if there, ok := d.open[addr]; ok {
		if there.holder != holder {
			return nil, fmt.Errorf("cluster %s listens at %s: %w", there.holder, addr, syscall.EADDRINUSE)
		}
		return there, nil
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
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
func (d *doors) shut(addr string, holder types.NamespacedName) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if there, ok := d.open[addr]; ok && there.holder == holder {
		_ = there.outside.Close() // nothing to do about it: it is going away
		delete(d.open, addr)
	}
}

// close gives all addresses up.
func (d *doors) close() {
	d.mu.Lock()
	for addr, there := range d.open {
		_ = there.outside.Close() // as in shut
		delete(d.open, addr)
	}
	d.mu.Unlock()
	d.running.Wait()
}

// door is a port that is held. It turns connections away while nobody listens behind it.
type door struct {
	outside net.Listener
	holder  types.NamespacedName
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
