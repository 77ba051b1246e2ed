package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"slipway.dev/slipway/internal/fault"
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
	// changed are the changes that -o json and -o yaml have yet to print.
	changed []changeDocument
	// planeDir is the state directory that the command is about; empty when it is about none.
	planeDir string
	// given is the scope that the user gave, aimed the one that follows from --state-dir for commands that do not have it.
	given, aimed scopeFlags
	// badVariable is what is wrong with the environment.
	badVariable error
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

// The names under which kubectl finds this program as a plugin, and asks it to complete.
const (
	pluginFile           = "kubectl-slipway"
	pluginCompletionFile = "kubectl_complete-slipway"
)

// commandLine is what the user typed; called for kubectl's completion it is what is completed.
func commandLine(args []string) []string {
	if strings.HasPrefix(filepath.Base(args[0]), pluginCompletionFile) {
		return append([]string{cobra.ShellCompRequestCmd}, args[1:]...)
	}
	return args[1:]
}

func newApp(env Environment) *app {
	a := &app{env: env, name: "slipway"}
	if base := filepath.Base(env.Args[0]); strings.HasPrefix(base, pluginFile) || strings.HasPrefix(base, pluginCompletionFile) {
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
func (a *app) next(format string, args ...any) { a.say("\nNext:  %s", a.try(format, args...)) }

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

// oneBelow runs a command that is nothing without one of those below it.
func oneBelow(missing string) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usage(cmd, missing)
		}
		return noCommand(cmd, args[0])
	}
}

// noCommand says that there is no such command below another, and names the nearest.
func noCommand(cmd *cobra.Command, typed string) *fault.Error {
	var names []string
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	near := nearest(typed, names)
	try := cmd.CommandPath() + " --help"
	if len(near) > 0 {
		try = cmd.CommandPath() + " " + near[0]
	}
	return fault.New(nil, "cannot run "+cmd.CommandPath(), fmt.Sprintf("it has no command %q%s", typed, didYouMean(near)), "usage: "+cmd.CommandPath()+" COMMAND", try)
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
