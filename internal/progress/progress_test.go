package progress_test

import (
	"bytes"
	"testing"
	"time"

	"slipway.dev/slipway/internal/progress"
	"slipway.dev/slipway/internal/terminal"
)

// stage is a stream with a clock that a test moves.
type stage struct {
	out bytes.Buffer
	at  time.Time
}

func newStage(tty bool) (*stage, *progress.Reporter) {
	s := &stage{at: time.Date(2026, 12, 2, 12, 0, 0, 0, time.UTC)}
	stream := terminal.Decide(&s.out, terminal.Facts{TTY: tty, Color: terminal.ColorNever, Getenv: func(string) string { return "" }})
	return s, progress.New(stream, func() time.Time { return s.at })
}

func line(text string) terminal.Line { return terminal.Line{}.Add(terminal.Plain, text) }

func TestReporter_RedrawsOnATerminal(t *testing.T) {
	t.Parallel()
	s, r := newStage(true)
	r.Show([]terminal.Line{line("one"), line("two")})
	s.at = s.at.Add(time.Second)
	r.Show([]terminal.Line{line("three")})
	r.Done(line("done"))
	r.Close()
	if got, want := s.out.String(), "one\ntwo\n\x1b[2A\x1b[Jthree\n\x1b[1A\x1b[Jdone\nthree\n\x1b[1A\x1b[J"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestReporter_RedrawsAtMostTenTimesASecond(t *testing.T) {
	t.Parallel()
	s, r := newStage(true)
	for range 100 {
		r.Show([]terminal.Line{line("x")})
		s.at = s.at.Add(10 * time.Millisecond)
	}
	if n := bytes.Count(s.out.Bytes(), []byte("x\n")); n > 10 {
		t.Errorf("%d frames in a second", n)
	}
}

func TestReporter_PrintsChangesElsewhere(t *testing.T) {
	t.Parallel()
	s, r := newStage(false)
	r.Show([]terminal.Line{line("never drawn")})
	r.Change("a", "a: Working")
	s.at = s.at.Add(3 * time.Second)
	r.Change("a", "a: Working")
	r.Change("a", "a: Ready")
	r.StillOpen("b")
	s.at = s.at.Add(time.Minute)
	r.StillOpen("b")
	r.Close()
	if got, want := s.out.String(), "12:00:00 a: Working\n12:00:03 a: Ready\n12:01:03 still waiting: b\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestReporter_KeepsTheRegionForThoseWhoStopLooking(t *testing.T) {
	t.Parallel()
	s, r := newStage(true)
	r.Show([]terminal.Line{line("last")})
	r.Keep()
	r.Close()
	if got := s.out.String(); got != "last\n" {
		t.Errorf("got %q", got)
	}
}

func TestDuration_ReadsAsPeopleDo(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		400 * time.Millisecond: "0.4s", 38 * time.Second: "38s", 221 * time.Second: "3m41s", 125 * time.Minute: "2h05m",
	} {
		if got := progress.Duration(d); got != want {
			t.Errorf("%s is written %s, want %s", d, got, want)
		}
	}
}
