package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"slipway.dev/slipway/internal/terminal"
)

// app is what every command works with: the environment, the global flags and the streams made of both.
type app struct {
	env   Environment
	flags globalFlags
	// name is how the user calls the program: slipway, or kubectl slipway.
	name string
	// out is for data, talk for everything else.
	out, talk terminal.Stream
}

// globalFlags mean the same for every command.
type globalFlags struct {
	kubeconfig, context, namespace string
	allNamespaces                  bool
	output                         string
	noHeaders                      bool
	quiet, yes                     bool
	verbosity                      int
	color                          string
}

func newApp(env Environment) *app {
	a := &app{env: env, name: "slipway"}
	if base := filepath.Base(env.Args[0]); strings.HasPrefix(base, "kubectl-slipway") {
		a.name = "kubectl slipway"
	}
	a.openStreams()
	return a
}

// openStreams decides anew how to write, once --color is known.
func (a *app) openStreams() {
	mode := terminal.ColorMode(a.flags.color)
	a.out = terminal.New(a.env.Stdout, mode, a.env.Getenv)
	a.talk = terminal.New(a.env.Stderr, mode, a.env.Getenv)
}

func (a *app) now() time.Time { return a.env.Now() }

// say prints a line of talk, which -q drops.
func (a *app) say(format string, args ...any) {
	if !a.flags.quiet {
		fmt.Fprintln(a.talk, a.talk.Text(fmt.Sprintf(format, args...)))
	}
}

// next suggests the obvious next command, without the program's name.
func (a *app) next(command string) { a.say("\nNext:  %s %s", a.name, command) }

// try is a command of ours as an error suggests it.
func (a *app) try(format string, args ...any) string {
	return a.name + " " + fmt.Sprintf(format, args...)
}

// home is the user's home directory, or "" when nobody knows it.
func (a *app) home() string {
	if home := a.env.Getenv("HOME"); home != "" {
		return home
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return home
}

// tilde shortens a path below the home directory for people.
func (a *app) tilde(path string) string {
	if rest, found := strings.CutPrefix(path, a.home()+string(filepath.Separator)); found && a.home() != "" {
		return "~/" + rest
	}
	return path
}

// noArgs and exactArgs name what is expected instead of counting.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usage(cmd, fmt.Sprintf("it takes no arguments, and %q was given", args[0]))
}

func oneArg(noun string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return usage(cmd, noun+" is missing")
		case len(args) > 1:
			return usage(cmd, fmt.Sprintf("it takes one argument, %s, and %d were given", noun, len(args)))
		}
		return nil
	}
}
