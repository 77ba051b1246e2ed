package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"slipway.dev/slipway/internal/terminal"
	"slipway.dev/slipway/internal/view"
)

// statusPart is one line of the plane's health.
type statusPart struct {
	Name    string     `json:"name"`
	State   view.State `json:"state"`
	Message string     `json:"message,omitempty"`
	// Try is the command that helps, when something is wrong.
	Try string `json:"try,omitempty"`
}

// statusDocument is the health as JSON.
type statusDocument struct {
	typeMeta
	State view.State   `json:"state"`
	Parts []statusPart `json:"parts"`
}

// statusOptions are the flags of `slipway status`.
type statusOptions struct {
	waitOptions
	stateDir string
}

func statusCommand(a *app) *cobra.Command {
	opts := statusOptions{}
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Tell how the management plane and all clusters fare",
		Long: `Tell how the management plane and all clusters fare, on one screen.
The exit code is 3 when a part is Stuck, Failed or Unknown. --wait waits until none is, and nothing is Working.`,
		Example: `  slipway status
  slipway status --wait --timeout 2m`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.allowOutput(cmd, outputJSON, outputYAML); err != nil {
				return err
			}
			dir, err := a.stateDir(opts.stateDir)
			if err != nil {
				return err
			}
			if opts.wait {
				return a.awaitStatus(cmd.Context(), dir, opts.timeout)
			}
			d := a.status(cmd.Context(), dir)
			if err := a.printStatus(d); err != nil {
				return err
			}
			return statusAnswer(d)
		},
	}
	a.stateDirFlag(cmd.Flags(), &opts.stateDir)
	opts.waitOptions.flags(cmd.Flags(), otherTimeout)
	return cmd
}

// statusAnswer is the exit code of a status.
func statusAnswer(d statusDocument) error {
	if d.State.NeedsHuman() {
		return answerNo(nil)
	}
	return nil
}

// status looks at everything once.
func (a *app) status(ctx context.Context, dir string) statusDocument {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	parts := []statusPart{a.planeStatus(ctx, dir)}
	if parts[0].State == view.Ready {
		parts = append(parts, a.controllerStatus(ctx), a.providerStatus(), a.clusterStatus(ctx), a.credentialStatus(ctx))
	}
	parts = slices.DeleteFunc(parts, func(p statusPart) bool { return p.Name == "" })
	d := statusDocument{typeMeta: typeMeta{viewAPIVersion, "Status"}, State: view.Ready, Parts: parts}
	for _, p := range parts {
		d.State = view.Worse(d.State, p.State)
	}
	return d
}

// settled tells whether nothing is to be waited for: what is paused stays so.
func (d statusDocument) settled() bool { return d.State == view.Ready || d.State == view.Paused }

// statusWidth is the width of the names' column.
const statusWidth = 14

func (a *app) printStatus(d statusDocument) error {
	if a.structured() {
		return a.printStructured(d)
	}
	var warnings []statusPart
	for _, p := range d.Parts {
		line := terminal.Line{}.Add(terminal.Plain, terminal.Pad(p.Name, statusWidth)+" ").
			Add(styleOf(p.State), symbolOf(p.State)+" "+terminal.Pad(string(p.State), stateWidth)).
			Add(terminal.Plain, "   "+p.Message)
		if _, err := fmt.Fprintln(a.out, a.out.Render(line, a.out.Columns())); err != nil {
			return err
		}
		if p.Try != "" {
			warnings = append(warnings, p)
		}
	}
	if len(warnings) == 0 {
		return nil
	}
	noun := "warnings"
	if len(warnings) == 1 {
		noun = "warning"
	}
	fmt.Fprintf(a.out, "\n%d %s\n", len(warnings), noun)
	for _, p := range warnings {
		fmt.Fprintf(a.out, "  %s   %s\n", terminal.Pad(p.Name, statusWidth-2), a.out.Text(p.Try))
	}
	return nil
}

// statusEvery is how often status --wait looks.
const statusEvery = 2 * time.Second

// awaitStatus looks until all is Ready, or time is up.
func (a *app) awaitStatus(ctx context.Context, dir string, timeout time.Duration) error {
	begun := a.now()
	tick := time.NewTicker(statusEvery)
	defer tick.Stop()
	said := ""
	for {
		d := a.status(ctx, dir)
		if ctx.Err() != nil {
			return interrupted()
		}
		if d.settled() || a.now().Sub(begun) >= timeout {
			if err := a.printStatus(d); err != nil {
				return err
			}
			if !d.settled() {
				return answerNo(nil)
			}
			return nil
		}
		if text := openParts(d); text != said {
			a.say("%s waiting for %s", a.now().UTC().Format(time.TimeOnly), text)
			said = text
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return interrupted()
		}
	}
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
