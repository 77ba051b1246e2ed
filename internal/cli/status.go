package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"slipway.dev/slipway/internal/statedir"
	"slipway.dev/slipway/internal/terminal"
	"slipway.dev/slipway/internal/view"
)

// partPlane is the name of the plane's own part.
const partPlane = "plane"

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
	stateDir   string
	warningsOK bool
}

func statusCommand(a *app) *cobra.Command {
	opts := statusOptions{}
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Tell how the management plane and all clusters fare",
		Long: `Tell how the management plane and all clusters fare, on one screen.
The exit code is 3 when a part is Stuck, Failed or Unknown; with --warnings-ok, Stuck is none. --wait waits until none is, and nothing is Working;
it ends at once with 3 when a part is Stuck or Failed, which does not mend by itself. A plane that is down is waited for.`,
		Example: `  slipway status
  slipway status --wait --timeout 2m`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := a.stateDir(opts.stateDir)
			if err != nil {
				return err
			}
			if opts.stateDir != "" && a.flags.kubeconfig == "" && a.flags.context == "" {
				// That plane is meant, whatever the current context is.
				a.flags.kubeconfig, a.flags.context = statedir.AdminKubeconfig(dir), planeContext
				a.aimed = scopeFlags{kubeconfig: a.flags.kubeconfig, context: a.flags.context}
			}
			if opts.wait {
				return a.awaitStatus(cmd.Context(), dir, opts)
			}
			d := a.status(cmd.Context(), dir)
			if err := a.printStatus(d); err != nil {
				return err
			}
			return statusAnswer(d, opts.warningsOK)
		},
	}
	a.stateDirFlag(cmd.Flags(), &opts.stateDir)
	cmd.Flags().BoolVar(&opts.warningsOK, "warnings-ok", false, "end with 0 though a part is Stuck")
	opts.waitOptions.flags(cmd.Flags(), otherTimeout)
	return cmd
}

// statusAnswer is the exit code of a status.
func statusAnswer(d statusDocument, warningsOK bool) error {
	if warningsOK {
		d.State = view.Ready
		for _, p := range d.Parts {
			if p.State != view.Stuck {
				d.State = view.Worse(d.State, p.State)
			}
		}
	}
	if d.State.NeedsHuman() {
		return answerNo(nil)
	}
	return nil
}

// statusAnswerInTime is the exit code when time is up: what is at work still is no warning.
func statusAnswerInTime(d statusDocument, opts statusOptions) error {
	if opts.warningsOK && d.State == view.Stuck {
		return nil
	}
	return answerNo(nil)
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

// statusLines are the parts, one a line.
func statusLines(d statusDocument) []terminal.Line {
	var lines []terminal.Line
	for _, p := range d.Parts {
		lines = append(lines, terminal.Line{}.Add(terminal.Plain, terminal.Pad(p.Name, statusWidth)+" ").
			Add(styleOf(p.State), symbolOf(p.State)+" "+terminal.Pad(string(p.State), stateWidth)).
			Add(terminal.Plain, "   "+p.Message))
	}
	return lines
}

func (a *app) printStatus(d statusDocument) error {
	if a.flags.output != outputText {
		return a.printDocument(d)
	}
	var warnings []statusPart
	for i, line := range statusLines(d) {
		if _, err := fmt.Fprintln(a.out, a.out.Render(line, a.out.Columns())); err != nil {
			return err
		}
		if p := d.Parts[i]; p.Try != "" {
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
