package cli

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"slipway.dev/slipway/internal/progress"
	"slipway.dev/slipway/internal/supervisor"
	"slipway.dev/slipway/internal/terminal"
)

// The steps that the plane reports and that mean more than a line.
const (
	stepStorage     = "storage"
	stepAPI         = "api"
	stepReady       = "ready"
	stepCredentials = "credentials"
	stepWarning     = "warning"
)

// Widths of the columns of a step's line.
const (
	stepNameWidth   = 14
	stepDetailWidth = 42
)

// planeDocument is a plane that is ready, as JSON.
type planeDocument struct {
	typeMeta
	StateDir string `json:"stateDir"`
	PID      int    `json:"pid"`
	Context  string `json:"context"`
	// Kubeconfig is the file that the context was written to; Selected tells whether it is the current one there.
	Kubeconfig string `json:"kubeconfig"`
	Selected   bool   `json:"selected"`
}

func (r *upRun) printPlane(pid int, m merged) error {
	return r.printDocument(planeDocument{typeMeta{viewAPIVersion, "Plane"}, r.dir, pid, m.name, m.path, m.selected})
}

// stepDocument is a step of the start, for tools.
type stepDocument struct {
	typeMeta
	Time   time.Time `json:"time"`
	Step   string    `json:"step"`
	Detail string    `json:"detail,omitempty"`
	// Seconds is how long it took.
	Seconds float64 `json:"seconds"`
}

func (r *upRun) printStep(s supervisor.Step) {
	if r.flags.output == outputJSONL {
		// A reader that has gone is no reason to stop the plane.
		_ = r.printLine(stepDocument{typeMeta{viewAPIVersion, "Step"}, r.now().UTC(), s.Name, s.Detail, s.Took.Seconds()})
		return
	}
	if r.flags.quiet {
		return
	}
	name, detail := stepTitle(s.Name), s.Detail
	if s.Name == stepStorage {
		detail = r.tilde(detail)
	}
	line := terminal.Line{}.
		Add(terminal.Green, "✔").
		Add(terminal.Plain, " "+terminal.Pad(name, stepNameWidth)+" "+terminal.Pad(detail, stepDetailWidth)).
		Add(terminal.Dim, fmt.Sprintf("%7s", seconds(s.Took)))
	fmt.Fprintln(r.talk, r.talk.Render(line, 0))
	r.open.passed(s.Name, r.now())
}

// openStep is the step of the start that is at work: the plane tells of a step when it is done.
type openStep struct {
	report *progress.Reporter
	tick   *time.Ticker
	name   string
	since  time.Time
}

const (
	// openEvery is how often the open step is drawn anew.
	openEvery = 100 * time.Millisecond
	// openAfter is how long a step takes before its time is shown.
	openAfter = 2 * time.Second
)

// The steps of the start, in their order.
func startSteps() []string { return []string{stepStorage, "etcd", stepAPI, "kinds", "controllers"} }

func (o *openStep) begin(a *app) {
	o.report, o.tick = progress.New(a.talk, a.env.Now), time.NewTicker(openEvery)
	o.name, o.since = startSteps()[0], a.now()
}

// passed says that a step is done: the next one is open now.
func (o *openStep) passed(name string, at time.Time) {
	o.name, o.since = "", at
	if steps := startSteps(); slices.Contains(steps[:len(steps)-1], name) {
		o.name = steps[slices.Index(steps, name)+1]
	}
}

// over says that no step is open any more.
func (o *openStep) over() {
	o.tick.Stop()
	o.report.Close()
	o.name = ""
}

// show draws the open step on a terminal; elsewhere it is a sign of life.
func (o *openStep) show(a *app) {
	if o.name == "" || a.flags.quiet || a.flags.output == outputJSONL {
		return
	}
	name, took := stepTitle(o.name), a.now().Sub(o.since)
	line := terminal.Line{}.Add(terminal.Yellow, a.spinner(took)).Add(terminal.Plain, " "+terminal.Pad(name, stepNameWidth))
	if took >= openAfter {
		line = line.Add(terminal.Dim, " "+terminal.Pad("", stepDetailWidth)+fmt.Sprintf("%7s", seconds(took)))
	}
	o.report.Show([]terminal.Line{line})
	o.report.StillOpen(name + ", " + progress.Duration(took) + " so far")
}

// spinner is one of the signs that make a half circle turn, where they can be shown.
func (a *app) spinner(at time.Duration) string {
	signs := []string{"◐", "◓", "◑", "◒"}
	if a.talk.Text(signs[0]) != signs[0] {
		return signs[0]
	}
	return signs[int(at/openEvery)%len(signs)]
}

func stepTitle(name string) string {
	if name == stepAPI {
		return "API server"
	}
	return name
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1fs", d.Seconds()) }

// residentOf is the memory of a process as a phrase, or nothing where /proc does not tell.
func residentOf(pid int) string {
	if mib, ok := residentMiB(pid); ok {
		return fmt.Sprintf(", %d MiB", mib)
	}
	return ""
}

// residentMiB reads a process's resident memory from /proc.
func residentMiB(pid int) (int, bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(b)) {
		if rest, found := strings.CutPrefix(line, "VmRSS:"); found {
			kib, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")))
			return kib / 1024, err == nil
		}
	}
	return 0, false
}
