package cli

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"slipway.dev/slipway/internal/fault"
	"slipway.dev/slipway/internal/statedir"
)

// How long `slipway up` waits for a plane that holds the state and is not ready.
const (
	// otherStart is for one that somebody else started, when it is waited for with --detach.
	otherStart = 2 * time.Minute
	// otherEnd is for one that ends: the kernel frees hundreds of MB of a plane that was killed before it gives up its lock.
	otherEnd = 5 * time.Second
)

// besideOther is `slipway up` on a state that a plane holds already. Which is no failure with --detach: what was asked for is
// there, or will be in a moment. It returns true when that plane ended meanwhile, so that nothing is done yet.
func (r *upRun) besideOther(ctx context.Context) (gone bool, err error) {
	wanted := r.opts.detach && r.opts.from == ""
	patience := otherEnd
	if wanted {
		patience = otherStart
	}
	fate, err := r.awaitOther(ctx, patience)
	switch {
	case ctx.Err() != nil:
		r.say("Stopped waiting; no plane was started.")
		return false, interrupted()
	case fate == otherGone:
		return true, nil
	case r.opts.from != "":
		return false, fault.New(nil, "cannot restore the backup", "a plane runs on this state directory already", r.dir,
			"name an empty directory with --state-dir, or stop the plane: "+r.withStateDir("down", r.dir))
	case !wanted:
		return false, statedir.InUse(r.dir)
	case fate == otherUnready:
		return false, fault.New(err, "cannot start the management plane", fmt.Sprintf("another slipway up started it, and it is not ready after %s", otherStart), r.dir, r.withStateDir("logs plane", r.dir))
	}
	return false, r.useOther()
}

// useOther makes the plane that runs already do: the context is written again, in case it was lost.
func (r *upRun) useOther() error {
	pid, _ := statedir.Running(r.dir)
	if err := r.listensAsAsked(pid); err != nil {
		return err
	}
	m, err := r.mergePlane()
	if err != nil {
		return err
	}
	r.say("The plane runs already, as %s. %s.", processText(pid), r.contextSentence(m))
	return r.printPlane(pid, m)
}

// fate is what becomes of another plane.
type fate int

const (
	otherUnready fate = iota
	otherReady
	otherGone
)

// awaitOther waits until the plane that holds the state is ready, or gone. Its error says why one is not ready.
func (r *upRun) awaitOther(ctx context.Context, patience time.Duration) (fate, error) {
	var asking sync.WaitGroup
	defer asking.Wait()
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	// One that dies takes connections and answers none: its lock is looked at meanwhile.
	answers := make(chan error, 1)
	ask := func() { asking.Go(func() { answers <- planeReady(ctx, r.dir) }) }
	ask()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	told, answered := false, false
	var last error
	for {
		select {
		case last = <-answers:
			if last == nil {
				return otherReady, nil
			}
			answered = true
		case <-tick.C:
			pid, running := statedir.Running(r.dir)
			if !running {
				return otherGone, nil
			}
			if !told {
				r.say("Waiting for up to %s: %s holds the state and is not ready.", patience, processText(pid))
				told = true
			}
			if answered {
				answered = false
				ask()
			}
		case <-ctx.Done():
			return otherUnready, last
		}
	}
}

// planeReady asks the plane of a state directory itself, whatever the user's kubeconfig says.
func planeReady(ctx context.Context, dir string) error {
	config, err := clientcmd.BuildConfigFromFlags("", statedir.AdminKubeconfig(dir))
	if err != nil {
		return err
	}
	return askReadyz(ctx, config)
}

// processText names a process, whose id may not be known.
func processText(pid int) string {
	if pid == 0 {
		return "a process"
	}
	return fmt.Sprintf("process %d", pid)
}

// listensAsAsked refuses to take a plane that listens elsewhere for the one that was asked for.
func (r *upRun) listensAsAsked(pid int) error {
	record, err := statedir.ReadRecord(r.dir)
	if err != nil {
		return fault.New(err, "cannot read the plane's record", err.Error(), r.dir, r.withStateDir("logs plane", r.dir))
	}
	asked, elsewhere := []string{}, false
	if r.opts.listen != "" {
		asked = append(asked, "--listen "+shellWord(r.opts.listen))
		elsewhere = !sameHost(r.opts.listen, record.APIHost)
	}
	if r.opts.port != 0 {
		asked = append(asked, "--port "+strconv.Itoa(r.opts.port))
		elsewhere = elsewhere || r.opts.port != record.APIPort
	}
	if !elsewhere {
		return nil
	}
	flags := strings.Join(asked, " ")
	at := net.JoinHostPort(record.APIHost, strconv.Itoa(record.APIPort))
	return fault.New(nil, "cannot change where the management plane listens", fmt.Sprintf("it runs already, as %s, and listens on %s", processText(pid), at),
		flags, r.withStateDir("down", r.dir)+", then: "+r.withStateDir("up --detach "+flags, r.dir))
}

// sameHost compares addresses, and names as they are written.
func sameHost(a, b string) bool {
	if x, y := net.ParseIP(a), net.ParseIP(b); x != nil && y != nil {
		return x.Equal(y)
	}
	return strings.EqualFold(a, b)
}
