package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"slipway.dev/slipway/internal/fault"
	"slipway.dev/slipway/internal/terminal"
)

// exitCode is what the program tells its caller.
type exitCode int

// The exit codes, as help exit-codes explains them.
const (
	exitDone        exitCode = 0
	exitFailed      exitCode = 1
	exitNo          exitCode = 3
	exitRefused     exitCode = 4
	exitInterrupted exitCode = 130
)

// exitError carries an exit code beside what is printed; a nil error prints nothing, since the command has said it all.
type exitError struct {
	code exitCode
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// answerNo ends a command whose question was answered by no: the last state was printed.
func answerNo(err error) error { return &exitError{code: exitNo, err: err} }

// refused ends a command that changed nothing, for lack of consent or by a rule.
func refused(what, cause, where, try string) error {
	return &exitError{code: exitRefused, err: fault.New(nil, what, cause, where, try)}
}

// interrupted ends a command that stopped looking; it has said what goes on.
func interrupted() error { return &exitError{code: exitInterrupted} }

// usage is the error for a command that was called wrongly.
func usage(cmd *cobra.Command, cause string) error {
	return fault.New(nil, "cannot run "+cmd.CommandPath(), cause, "usage: "+cmd.UseLine(), cmd.CommandPath()+" --help")
}

// finish prints an error and returns the exit code.
func (a *app) finish(cmd *cobra.Command, err error) int {
	if printed := a.printChanges(); printed != nil {
		err = errors.Join(err, printed)
	}
	if err == nil {
		return int(exitDone)
	}
	code := exitFailed
	if exit, ok := errors.AsType[*exitError](err); ok {
		code = exit.code
		if exit.err == nil {
			return int(code)
		}
		err = exit.err
	}
	if errors.Is(err, context.Canceled) && cmd.Context() != nil && cmd.Context().Err() != nil {
		return int(exitInterrupted)
	}
	a.printError(cmd, a.explain(cmd, err))
	return int(code)
}

// printError prints the four parts, as JSON when that was asked for.
func (a *app) printError(cmd *cobra.Command, e *fault.Error) {
	if (a.flags.output == outputJSON || a.flags.output == outputJSONL) && cmd.Name() != "plane" {
		printed := struct {
			typeMeta
			*fault.Error
		}{typeMeta{APIVersion: viewAPIVersion, Kind: "Error"}, e}
		if b, err := json.Marshal(printed); err == nil {
			fmt.Fprintln(a.talk, string(b))
			return
		}
	}
	fmt.Fprintln(a.talk, a.talk.Paint(terminal.Red, "error:"), a.talk.Text(e.What))
	for _, part := range []struct{ label, text string }{{"cause", e.Cause}, {"where", e.Where}, {"try", e.Try}} {
		if part.text == "" {
			continue
		}
		text := strings.ReplaceAll(a.talk.Text(part.text), "\n", "\n         ")
		fmt.Fprintf(a.talk, "  %-6s %s\n", part.label+":", text)
	}
}
