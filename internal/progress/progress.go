// Package progress shows work that takes a while: on a terminal one region at the bottom that is redrawn, elsewhere one
// line a change.
package progress

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"slipway.dev/slipway/internal/terminal"
)

const (
	// frame is the shortest time between two redraws.
	frame = 100 * time.Millisecond
	// signOfLife is how often a silent wait says that it still waits, when nobody sees a redrawn region.
	signOfLife = time.Minute
)

// Reporter shows progress on one stream. It is safe for concurrent use.
type Reporter struct {
	out   terminal.Stream
	now   func() time.Time
	begun time.Time

	mu      sync.Mutex // guards what follows
	drawn   int        // lines of the region on the screen
	pending []terminal.Line
	drawnAt time.Time
	said    map[string]string
	saidAt  time.Time
}

// New returns a reporter that writes to a stream and reads the time from now.
func New(out terminal.Stream, now func() time.Time) *Reporter {
	return &Reporter{out: out, now: now, begun: now(), said: map[string]string{}, saidAt: now()}
}

// Live tells whether the reporter redraws a region. Callers then Show; otherwise they tell each Change.
func (r *Reporter) Live() bool { return r.out.TTY }

// Elapsed is the time since the reporter was made.
func (r *Reporter) Elapsed() time.Duration { return r.now().Sub(r.begun) }

// Done prints a permanent line above the region.
func (r *Reporter) Done(l terminal.Line) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.erase()
	fmt.Fprintln(r.out, r.out.Render(l, 0))
	r.draw()
}

// Show replaces the region, at most ten times a second; a newer region takes the place of one that was held back. It does
// nothing where a region cannot be redrawn.
func (r *Reporter) Show(lines []terminal.Line) {
	if !r.out.TTY {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending = lines
	if now := r.now(); now.Sub(r.drawnAt) >= frame {
		r.erase()
		r.draw()
	}
}

// Note prints a permanent line: above the region where one is redrawn, elsewhere with the time first.
func (r *Reporter) Note(text string) {
	if r.out.TTY {
		r.Done(terminal.Line{}.Add(terminal.Plain, text))
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.say(text)
}

// Change prints a line with the time first when the text for the key differs from the last one. It does nothing where a
// region is redrawn.
func (r *Reporter) Change(key, text string) {
	if r.out.TTY {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.said[key] == text {
		return
	}
	r.said[key] = text
	r.say(text)
}

// StillOpen prints what is still waited for when nothing was said for a minute.
func (r *Reporter) StillOpen(text string) {
	if r.out.TTY {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.now().Sub(r.saidAt) >= signOfLife {
		r.say("still waiting: " + text)
	}
}

// Close leaves the screen with the last region erased, so that what follows is printed in its place.
func (r *Reporter) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.erase()
	r.pending = nil
}

// Keep leaves the last region on the screen, for those who stop looking.
func (r *Reporter) Keep() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drawn, r.pending = 0, nil
}

func (r *Reporter) say(text string) {
	r.saidAt = r.now()
	fmt.Fprintf(r.out, "%s %s\n", r.saidAt.UTC().Format(time.TimeOnly), r.out.Text(text))
}

// erase moves to the region's first line and clears all below it.
func (r *Reporter) erase() {
	if r.drawn == 0 {
		return
	}
	_, _ = io.WriteString(r.out, fmt.Sprintf("\x1b[%dA\x1b[J", r.drawn))
	r.drawn = 0
}

// draw writes the region. A line is cut to the width of this moment, since one that wraps would break the next erase.
func (r *Reporter) draw() {
	if len(r.pending) == 0 {
		return
	}
	var b strings.Builder
	width := r.out.Columns()
	lines := cut(r.pending, r.out.Rows())
	for _, l := range lines {
		b.WriteString(r.out.Render(l, width))
		b.WriteByte('\n')
	}
	_, _ = io.WriteString(r.out, b.String())
	r.drawn, r.drawnAt = len(lines), r.now()
}

// cut leaves out lines before the last one, so that the region fits on the screen: what has scrolled away cannot be erased.
func cut(lines []terminal.Line, rows int) []terminal.Line {
	if rows < 3 || len(lines) < rows {
		return lines
	}
	last := len(lines) - 1
	keep := rows - 3
	short := append([]terminal.Line{}, lines[:keep]...)
	short = append(short, terminal.Line{}.Add(terminal.Dim, fmt.Sprintf("… %d more lines", last-keep)))
	return append(short, lines[last])
}
