package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"slipway.dev/slipway/internal/progress"
	"slipway.dev/slipway/internal/terminal"
	"slipway.dev/slipway/internal/view"
)

// statusEvery is how often status --wait looks.
const statusEvery = 2 * time.Second

// statusWaiter is one status --wait.
type statusWaiter struct {
	*app
	opts   statusOptions
	report *progress.Reporter
	quiet  calm
	begun  time.Time
	// hopeless counts the looks in a row that found a part which does not mend by itself: one may have come a moment too early.
	hopeless int
	told     string
}

// hopelessLooks is how many looks in a row end a wait.
const hopelessLooks = 2

// awaitStatus looks until all is Ready, and has been for as long as it must, or cannot be any more, or time is up.
func (a *app) awaitStatus(ctx context.Context, dir string, opts statusOptions) error {
	w := &statusWaiter{app: a, opts: opts, report: progress.New(a.talk, a.env.Now), begun: a.now()}
	tick := time.NewTicker(statusEvery)
	defer tick.Stop()
	for {
		d := a.status(ctx, dir)
		if ctx.Err() != nil {
			w.report.Keep()
			return interrupted()
		}
		if over, err := w.look(d); over {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			w.report.Keep()
			return interrupted()
		}
	}
}

// look takes one status, shows it, and tells whether the wait is over, and how.
func (w *statusWaiter) look(d statusDocument) (bool, error) {
	now := w.now()
	if w.quiet.held(d.settled(), now, w.opts.stable) {
		return true, w.end(d, nil)
	}
	w.hopeless++
	if !d.hopeless(w.opts.warningsOK) {
		w.hopeless = 0
	}
	if w.hopeless >= hopelessLooks {
		w.say("It will not get there by itself: %s", openParts(d))
		return true, w.end(d, answerNo(nil))
	}
	if now.Sub(w.begun) >= w.opts.timeout {
		return true, w.end(d, statusAnswerInTime(d, w.opts))
	}
	w.show(d)
	return false, nil
}

// end prints the last status in the place of what was shown meanwhile.
func (w *statusWaiter) end(d statusDocument, answer error) error {
	w.report.Close()
	if err := w.printStatus(d); err != nil {
		return err
	}
	return answer
}

func (w *statusWaiter) show(d statusDocument) {
	open := firstOf(openParts(d), "all to hold for "+progress.Duration(w.opts.stable))
	switch {
	case w.flags.output == outputJSONL:
		if text := string(d.State) + open; text != w.told {
			w.told = text
			// A reader that has gone is no reason to stop the wait's verdict.
			_ = w.printLine(d)
		}
	case w.flags.quiet:
	case w.report.Live():
		foot := terminal.Line{}.Add(terminal.Dim, progress.Duration(w.report.Elapsed())+"   Ctrl-C stops watching")
		w.report.Show(append(statusLines(d), foot))
	default:
		w.report.Change("status", "waiting for "+open)
		w.report.StillOpen("waiting for " + open + ", " + progress.Duration(w.report.Elapsed()) + " so far")
	}
}

// hopeless tells whether a part does not mend by itself. A plane that is down may be on its way up, and Stuck is no reason to
// end when it is none to fail.
func (d statusDocument) hopeless(warningsOK bool) bool {
	return slices.ContainsFunc(d.Parts, func(p statusPart) bool {
		return p.State == view.Failed && p.Name != partPlane || p.State == view.Stuck && !warningsOK
	})
}

func openParts(d statusDocument) string {
	var open []string
	for _, p := range d.Parts {
		if p.State != view.Ready {
			open = append(open, fmt.Sprintf("%s (%s: %s)", p.Name, p.State, p.Message))
		}
	}
	return strings.Join(open, ", ")
}
