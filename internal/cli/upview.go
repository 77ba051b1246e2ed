package cli

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

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

func (r *upRun) printStep(s supervisor.Step) {
	if r.flags.quiet {
		return
	}
	name, detail := s.Name, s.Detail
	switch name {
	case stepStorage:
		detail = r.tilde(detail)
	case stepAPI:
		name = "API server"
	}
	line := terminal.Line{}.
		Add(terminal.Green, "✔").
		Add(terminal.Plain, " "+terminal.Pad(name, stepNameWidth)+" "+terminal.Pad(detail, stepDetailWidth)).
		Add(terminal.Dim, fmt.Sprintf("%7s", seconds(s.Took)))
	fmt.Fprintln(r.talk, r.talk.Render(line, 0))
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
