package flows_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"slipway.dev/slipway/internal/manager"
	"slipway.dev/slipway/test/crashplan"
)

// writes hears of each write of a plane's controllers before they learn of its outcome, and can keep the outcome of a chosen
// one from them: whoever kills the plane then does so exactly after that write.
type writes struct {
	socket string
	// hit delivers the write whose outcome is withheld, and the point that chose it.
	hit chan hit

	mu sync.Mutex // guards what follows
	// step is the step that last changed a namespace.
	step map[string]int
	ops  []crashplan.Operation
	// made are the sites of each step's writes, in their order.
	made   [][]crashplan.Site
	last   time.Time
	points []crashplan.Point
}

type hit struct {
	manager.Write
	point crashplan.Point
}

func listen(t *testing.T, steps []crashplan.Step) *writes {
	t.Helper()
	dir, err := os.MkdirTemp("", "slipway-w-") //nolint:usetesting // Its paths may be too long for a socket.
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	w := &writes{
		socket: filepath.Join(dir, "w"), hit: make(chan hit, 1), step: map[string]int{},
		made: make([][]crashplan.Site, len(steps)), ops: make([]crashplan.Operation, len(steps)),
	}
	for i, s := range steps {
		w.ops[i] = s.Operation
	}
	ln, err := net.Listen("unix", w.socket)
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := ln.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err == nil {
				serving.Go(func() { w.serve(conn) })
			}
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		serving.Wait()
	})
	return w
}

// serve hears one life of the plane. The connection ends with it.
func (w *writes) serve(conn net.Conn) {
	defer conn.Close()
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		var made manager.Write
		if json.Unmarshal(lines.Bytes(), &made) != nil || w.note(made) {
			continue // No answer: the plane waits for its end.
		}
		if _, err := conn.Write([]byte("\n")); err != nil {
			return
		}
	}
}

// note remembers a write and reports whether its outcome is withheld.
func (w *writes) note(made manager.Write) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = time.Now()
	step, ours := w.step[made.Namespace]
	if !ours {
		return false
	}
	site := crashplan.SiteOf(w.ops[step], made)
	w.made[step] = append(w.made[step], site)
	for i := range w.points {
		p := &w.points[i]
		if p.Step != step || p.Site != site {
			continue
		}
		if p.Skip > 0 {
			p.Skip--
			return false
		}
		chosen := *p
		w.points = nil
		w.hit <- hit{made, chosen}
		return true
	}
	return false
}

// begin says that writes in a namespace belong to a step from now on.
func (w *writes) begin(namespace string, step int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.step[namespace] = step
}

// await chooses the next write whose outcome is withheld: the first one that comes at any of the points. None are chosen
// without points.
func (w *writes) await(points []crashplan.Point) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.points = slices.Clone(points)
}

// count is how many writes a step has had.
func (w *writes) count(step int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.made[step])
}

// quietFor is how long nothing was written.
func (w *writes) quietFor() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Since(w.last)
}
