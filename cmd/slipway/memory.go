package main

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// How eagerly the plane collects garbage. It shares a laptop with its user's other programs, so it is kept small; one that
// stays busy, with a large fleet, would spend half of its time on collecting, so it gets room until it is idle again.
const (
	idleGCPercent = 50
	busyGCPercent = 150
	// busyBytes is how much a plane allocates between two looks when it is busy.
	busyBytes = 20 << 20
	lookEvery = 2 * time.Second
	// sameLooks are the looks in a row that find a plane busy, or idle, before it is taken for that. A start is shorter.
	sameLooks = 4
)

// tendMemory chooses how eagerly to collect garbage, until ctx ends. A GOGC of the user's holds.
func tendMemory(ctx context.Context) {
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(idleGCPercent)
	g := governor{busy: func() { debug.SetGCPercent(busyGCPercent) }, idle: func() {
		debug.SetGCPercent(idleGCPercent)
		debug.FreeOSMemory()
	}}
	allocated := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			metrics.Read(allocated)
			g.look(allocated[0].Value.Uint64())
		}
	}
}

// governor decides when a plane becomes busy and when it becomes idle. It begins idle.
type governor struct {
	busy, idle func()

	allocated uint64
	isBusy    bool
	// other counts the looks in a row that contradict isBusy.
	other int
}

// look takes the number of bytes allocated so far.
func (g *governor) look(allocated uint64) {
	contradicts := (allocated-g.allocated > busyBytes) != g.isBusy
	g.allocated = allocated
	if !contradicts {
		g.other = 0
		return
	}
	if g.other++; g.other < sameLooks {
		return
	}
	g.isBusy, g.other = !g.isBusy, 0
	if g.isBusy {
		g.busy()
	} else {
		g.idle()
	}
}
