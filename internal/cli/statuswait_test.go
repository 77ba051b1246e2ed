package cli

import (
	"strings"
	"testing"
	"time"

	"slipway.dev/slipway/internal/progress"
	"slipway.dev/slipway/internal/view"
)

func TestStatusWait_EndsWhenItCannotSucceedAnyMore(t *testing.T) {
	t.Parallel()
	rows := map[string]struct {
		name       string
		state      view.State
		warningsOK bool
		looks      int
		code       exitCode
	}{
		"ready at once":                 {partPlane, view.Ready, false, 1, exitDone},
		"failed clusters":               {"clusters", view.Failed, false, hopelessLooks, exitNo},
		"stuck clusters":                {"clusters", view.Stuck, false, hopelessLooks, exitNo},
		"stuck clusters, which are ok":  {"clusters", view.Stuck, true, 4, exitDone},
		"failed clusters, though ok":    {"clusters", view.Failed, true, hopelessLooks, exitNo},
		"full disk":                     {partPlane, view.Stuck, false, hopelessLooks, exitNo},
		"a plane that is not there yet": {partPlane, view.Failed, false, 4, exitNo},
		"at work":                       {"clusters", view.Working, false, 4, exitNo},
	}
	for name, r := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, out := testApp(t, look{})
			clock := noon
			a.env.Now = func() time.Time { return clock }
			w := &statusWaiter{app: a, opts: statusOptions{warningsOK: r.warningsOK}, report: progress.New(a.talk, a.env.Now), begun: clock}
			w.opts.timeout = 3 * statusEvery
			d := statusDocument{State: r.state, Parts: []statusPart{{Name: r.name, State: r.state, Message: "as it is"}}}
			for looks := 1; ; looks++ {
				over, err := w.look(d)
				if !over {
					clock = clock.Add(statusEvery)
					continue
				}
				code := exitDone
				if err != nil {
					code = err.(*exitError).code //nolint:errorlint,forcetypeassert // it is made so
				}
				if looks != r.looks || code != r.code {
					t.Errorf("it ended after %d looks with %d, want %d with %d:\n%s", looks, code, r.looks, r.code, out)
				}
				break
			}
		})
	}
}

func TestStatusWait_SaysWhatIsOpenOnceAndThenThatItLives(t *testing.T) {
	t.Parallel()
	a, out := testApp(t, look{})
	clock := noon
	a.env.Now = func() time.Time { return clock }
	w := &statusWaiter{app: a, report: progress.New(a.talk, a.env.Now), begun: clock}
	w.opts.timeout = time.Hour
	d := statusDocument{State: view.Working, Parts: []statusPart{{Name: "clusters", State: view.Working, Message: "1 Working"}}}
	for range 35 {
		if over, _ := w.look(d); over {
			t.Fatal("it ended")
		}
		clock = clock.Add(statusEvery)
	}
	if got := strings.Count(out.String(), "waiting for clusters"); got != 2 {
		t.Errorf("in 70 seconds it said %d times what it waits for, want once and one sign of life:\n%s", got, out)
	}
}

func TestStatusWait_PrintsALineOfJSONForEachChange(t *testing.T) {
	t.Parallel()
	a, out := testApp(t, look{output: outputJSONL})
	w := &statusWaiter{app: a, report: progress.New(a.talk, a.env.Now), begun: noon}
	w.opts.timeout = time.Hour
	working := statusDocument{State: view.Working, Parts: []statusPart{{Name: "clusters", State: view.Working}}}
	ready := statusDocument{State: view.Ready, Parts: []statusPart{{Name: "clusters", State: view.Ready}}}
	for _, d := range []statusDocument{working, working, ready} {
		if _, err := w.look(d); err != nil {
			t.Fatal(err)
		}
	}
	if lines := strings.Split(strings.TrimSpace(out.String()), "\n"); len(lines) != 2 || !strings.HasPrefix(lines[1], "{") {
		t.Errorf("it printed:\n%s", out)
	}
}
