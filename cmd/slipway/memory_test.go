package main

import "testing"

func TestGovernor_ChangesItsMindOnlyWhenAPlaneStaysBusyOrIdle(t *testing.T) {
	t.Parallel()
	busy, idle := 0, 0
	g := governor{busy: func() { busy++ }, idle: func() { idle++ }}
	allocated := uint64(0)
	for step, c := range []struct {
		looks      int
		each       uint64
		busy, idle int
	}{
		{looks: 100, each: busyBytes, busy: 0, idle: 0},
		{looks: sameLooks - 1, each: busyBytes + 1, busy: 0, idle: 0},
		{looks: 1, each: 0, busy: 0, idle: 0}, // A start, not a fleet.
		{looks: sameLooks - 1, each: busyBytes + 1, busy: 0, idle: 0},
		{looks: 1, each: 10 * busyBytes, busy: 1, idle: 0},
		{looks: 100, each: busyBytes + 1, busy: 1, idle: 0},
		{looks: sameLooks - 1, each: busyBytes, busy: 1, idle: 0},
		{looks: 1, each: 2 * busyBytes, busy: 1, idle: 0},
		{looks: sameLooks, each: 1, busy: 1, idle: 1},
		{looks: 100, each: busyBytes, busy: 1, idle: 1},
		{looks: sameLooks, each: busyBytes + 1, busy: 2, idle: 1},
	} {
		for range c.looks {
			allocated += c.each
			g.look(allocated)
		}
		if busy != c.busy || idle != c.idle {
			t.Fatalf("step %d: became busy %d and idle %d times, want %d and %d", step, busy, idle, c.busy, c.idle)
		}
	}
}
