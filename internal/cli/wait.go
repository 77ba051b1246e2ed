package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/fault"
	"slipway.dev/slipway/internal/progress"
	"slipway.dev/slipway/internal/terminal"
	"slipway.dev/slipway/internal/view"
)

// The default time-outs of --wait.
const (
	createTimeout  = 10 * time.Minute
	upgradeTimeout = 30 * time.Minute
	otherTimeout   = 5 * time.Minute
)

// waitOptions are --wait and --timeout.
type waitOptions struct {
	wait    bool
	timeout time.Duration
	// stable is how long the goal must hold without a break.
	stable time.Duration
}

func (w *waitOptions) flags(f *pflag.FlagSet, timeout time.Duration) {
	f.BoolVar(&w.wait, "wait", false, "wait until it is done; ends with exit code 3 when it cannot get there or time is up")
	f.DurationVar(&w.timeout, "timeout", timeout, "how long --wait waits; 0 looks once")
	f.DurationVar(&w.stable, "for-stable", 0, "with --wait: how long it must hold without a break, such as 30s, so that a flap does not pass")
}

// waiter is one wait.
type waiter struct {
	*app
	goal   goal
	report *progress.Reporter
	last   *view.Snapshot
	result error
	// told are the states that -o jsonl has printed.
	told map[string]view.Status
	// stable is how long the goal must hold, met since when it does.
	stable time.Duration
	met    calm
	// blind says that the last look failed.
	blind bool
	// hopeless counts the looks in a row, a second apart, that found the goal out of reach.
	hopeless int
}

// await waits for a goal and shows the cluster's tree meanwhile, or one line a change.
func (a *app) await(ctx context.Context, c client.WithWatch, g goal, opts waitOptions) error {
	timeout := opts.timeout
	w := &waiter{app: a, goal: g, report: progress.New(a.talk, a.env.Now), stable: opts.stable}
	looking, stop := context.WithTimeout(ctx, max(timeout, time.Millisecond))
	if timeout == 0 {
		looking, stop = context.WithCancel(ctx)
	}
	defer stop()
	finished := false
	a.observe(looking, c, g.key, false, func(o observation) bool {
		finished = w.look(o) || timeout == 0
		return finished
	}, w.tellOpen)
	if ctx.Err() != nil && !finished {
		w.report.Keep()
		return w.stopped()
	}
	w.report.Close()
	switch {
	case finished && w.result == nil && timeout == 0:
		return w.lookedOnce()
	case finished:
		return w.result
	default:
		return w.timedOut(timeout)
	}
}

// look takes one observation and tells whether the wait is over.
func (w *waiter) look(o observation) bool {
	if o.err != nil && !apierrors.IsNotFound(o.err) {
		// The plane may be restarting: the next look tells.
		w.cannotLook(o.err)
		return false
	}
	if o.err != nil {
		o.snapshot = nil
	}
	w.seesAgain()
	w.show(o.snapshot)
	if o.snapshot != nil {
		w.last = o.snapshot
	}
	if met, _ := w.goal.reached(o.snapshot, w.now()); met {
		return w.holds()
	}
	w.met = calm{}
	if o.snapshot == nil {
		w.result = answerNo(fault.New(nil, "cannot "+w.goal.verb, "the cluster was deleted meanwhile", w.goal.key.String(), w.try("get clusters -A")))
		return true
	}
	if w.givesUp(o) {
		w.result = w.unfinished(w.tree(), "it will not get there by itself")
		return true
	}
	return false
}

// givesUp tells whether the goal has been out of reach for long enough: one look may have come a moment too early. Looks that
// follow a change do not count, since several may come at once.
func (w *waiter) givesUp(o observation) bool {
	switch {
	case !w.goal.hopeless(o.snapshot, w.now()):
		w.hopeless = 0
	case o.again:
		w.hopeless++
	}
	return w.hopeless >= hopelessLooks
}

// holds notes that the goal is met and tells whether it has held for long enough.
func (w *waiter) holds() bool {
	if !w.met.held(true, w.now(), w.stable) {
		w.report.Change("stable", fmt.Sprintf("reached; it must hold for %s", progress.Duration(w.stable)))
		return false
	}
	w.report.Close()
	w.say("%s in %s", w.goal.done, progress.Duration(w.report.Elapsed()))
	return true
}

// calm knows since when all has been settled without a break.
type calm struct{ since time.Time }

// held reports whether that is so for as long as asked.
func (c *calm) held(settled bool, now time.Time, atLeast time.Duration) bool {
	switch {
	case !settled:
		c.since = time.Time{}
	case c.since.IsZero():
		c.since = now
	}
	return settled && now.Sub(c.since) >= atLeast
}

// cannotLook says that the management cluster does not answer, above the tree as it was seen last.
func (w *waiter) cannotLook(err error) {
	w.blind = true
	// What nobody saw has not held without a break.
	w.met, w.hopeless = calm{}, 0
	text := "cannot look: " + w.explainShort(err)
	if !w.report.Live() {
		w.report.Change("plane", text)
		return
	}
	var lines []terminal.Line
	if w.last != nil {
		lines = treeLines(w.tree(), w.now(), w.talk.Columns())
	}
	w.report.Show(append(lines, terminal.Line{}.Add(terminal.Magenta, "? "+text), w.foot()))
}

// seesAgain takes back what cannotLook said.
func (w *waiter) seesAgain() {
	if w.blind {
		w.blind = false
		w.report.Change("plane", "the management cluster answers again")
	}
}

// foot is the last line of the region: how long it takes already, and what Ctrl-C does.
func (w *waiter) foot() terminal.Line {
	text := progress.Duration(w.report.Elapsed())
	if !w.met.since.IsZero() {
		text += fmt.Sprintf("   holds for %s of %s", progress.Duration(w.now().Sub(w.met.since)), progress.Duration(w.stable))
	}
	return terminal.Line{}.Add(terminal.Dim, text+"   Ctrl-C stops watching, not the work")
}

// tellOpen prints what is still waited for, when a signal asks for it.
func (w *waiter) tellOpen() {
	if w.last == nil {
		w.report.Note("nothing seen yet")
		return
	}
	if w.noteOpen(w.tree()) > 0 {
		return
	}
	text := "nothing is open"
	if !w.met.since.IsZero() {
		text += fmt.Sprintf("; that holds for %s of %s", progress.Duration(w.now().Sub(w.met.since)), progress.Duration(w.stable))
	}
	w.report.Note(text)
}

// noteOpen prints what is not Ready, and counts it.
func (w *waiter) noteOpen(n *view.Node) int {
	open := 0
	if n.Status != nil && n.Status.State != view.Ready {
		text := fmt.Sprintf("open: %s %s", title(n), n.Status.State)
		if n.Status.Message != "" {
			text += ": " + n.Status.Message
		}
		if age := w.now().Sub(n.Status.Since); !n.Status.Since.IsZero() && age >= 0 {
			text += fmt.Sprintf(" (for %s)", progress.Duration(age))
		}
		w.report.Note(text)
		open++
	}
	for _, c := range n.Children {
		open += w.noteOpen(c)
	}
	return open
}

func (w *waiter) tree() *view.Node { return w.last.Tree(view.TreeOptions{}, w.now()) }

// explainShort is an error in one line.
func (w *waiter) explainShort(err error) string {
	if e := w.explainNetwork("look", err); e != nil {
		return e.Cause
	}
	return err.Error()
}

// show draws the tree, or prints the lines that changed.
func (w *waiter) show(s *view.Snapshot) {
	if s == nil || w.flags.quiet && w.flags.output != outputJSONL {
		return
	}
	tree := s.Tree(view.TreeOptions{}, w.now())
	if w.flags.output == outputJSONL {
		w.tell(tree)
		return
	}
	if w.report.Live() {
		w.report.Show(append(treeLines(tree, w.now(), w.talk.Columns()), w.foot()))
		return
	}
	w.changesOf(tree)
	w.report.StillOpen(fmt.Sprintf("%s, %s so far", firstOf(tree.Status.Message, w.goal.verb), progress.Duration(w.report.Elapsed())))
}

// changesOf prints a line for every object whose state or message changed.
func (w *waiter) changesOf(n *view.Node) {
	if n.Status != nil {
		text := title(n) + " " + string(n.Status.State)
		if n.Status.Message != "" {
			text += ": " + n.Status.Message
		}
		w.report.Change(title(n), text)
	}
	for _, c := range n.Children {
		w.changesOf(c)
	}
}

// progressDocument is one change, for tools.
type progressDocument struct {
	typeMeta
	Time   time.Time   `json:"time"`
	Object string      `json:"object"`
	Status view.Status `json:"status"`
}

// tell prints an object for every object whose state or message changed.
func (w *waiter) tell(n *view.Node) {
	if w.told == nil {
		w.told = map[string]view.Status{}
	}
	if n.Status != nil {
		if last, found := w.told[title(n)]; !found || last.State != n.Status.State || last.Message != n.Status.Message {
			w.told[title(n)] = *n.Status
			// A reader that has gone is no reason to stop the wait's verdict.
			_ = w.printLine(progressDocument{typeMeta{viewAPIVersion, "Progress"}, w.now().UTC(), title(n), *n.Status})
		}
	}
	for _, c := range n.Children {
		w.tell(c)
	}
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// lookedOnce is the end of --timeout 0 when the goal is not met.
func (w *waiter) lookedOnce() error {
	if w.last == nil {
		return answerNo(fault.New(nil, "cannot "+w.goal.verb, "the cluster could not be read", w.goal.key.String(), w.try("status")))
	}
	if met, _ := w.goal.reached(w.last, w.now()); met {
		return nil
	}
	return w.unfinished(w.tree(), "it is not done yet")
}

func (w *waiter) timedOut(timeout time.Duration) error {
	if w.last == nil {
		return answerNo(fault.New(nil, "cannot "+w.goal.verb, fmt.Sprintf("the cluster could not be read for %s", timeout), w.where(), w.try("status")))
	}
	return w.unfinished(w.tree(), fmt.Sprintf("it is not done after %s, and goes on", timeout))
}

// unfinished prints the last state and the first cause, and answers no.
func (w *waiter) unfinished(tree *view.Node, why string) error {
	if err := printLines(w.talk, treeLines(tree, w.now(), w.talk.Columns())); err != nil {
		return err
	}
	where := "cluster " + w.goal.key.String()
	_, waitsFor := w.goal.reached(w.last, w.now())
	// A part that has failed does not explain why a deletion takes long.
	if cause := tree.Cause(); cause != nil && w.last.Object.DeletionTimestamp.IsZero() {
		where = title(cause)
		waitsFor = firstOf(cause.Status.Message, string(cause.Status.State))
	}
	if waitsFor != "" {
		why += ": " + waitsFor
	}
	return answerNo(fault.New(nil, "cannot "+w.goal.verb, why, where, w.try("tree %s -w", w.goal.key.Name)))
}

// stopped says what goes on when the user stops looking.
func (w *waiter) stopped() error {
	w.say("Stopped watching; the work goes on.\n  look again: %s", w.try("tree %s -w", w.goal.key.Name))
	if w.goal.undo != "" {
		w.say("  undo:       %s", w.try("%s", w.goal.undo))
	}
	return interrupted()
}
