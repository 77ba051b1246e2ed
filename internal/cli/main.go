// Package cli is the command line: one file a command, printing separate from doing.
package cli

import (
	"context"
	"io"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/pflag"
)

// Version is this Slipway's version; release builds set it with -ldflags -X.
var Version = "v0.1.0-dev"

// Environment is everything that a command gets from outside.
type Environment struct {
	// Args are the program's name and arguments.
	Args []string
	// Stdin, Stdout and Stderr are the streams. Data goes to Stdout, talk to Stderr.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Getenv looks up an environment variable.
	Getenv func(string) string
	// Now tells the time; nil means the clock.
	Now func() time.Time
	// RunPlane runs the management plane in this process. It is injected, so that this package does not carry the API server.
	RunPlane func(context.Context, PlaneOptions) error
}

// PlaneOptions are the settings of the plane's process.
type PlaneOptions struct {
	// StateDir is the directory of the plane's state.
	StateDir string
	// Listen and Port are where the API server listens; see plane.Options.
	Listen string
	Port   int
	// Version is this Slipway's version.
	Version string
	// From is a backup to restore into an empty StateDir first.
	From string
	// Verbosity is how much the plane logs: 0 what an operator must see, higher is more.
	Verbosity int
	// Controllers tells whether to run the controllers beside the API server.
	Controllers bool
	// WriteTrace is a unix socket on which the controllers' writes are told, for tests; see manager.Options.
	WriteTrace string
	// Renewed is called when the plane's own kubeconfig has new credentials. Its error is a warning.
	Renewed func() error
}

// Main runs the program and returns its exit code.
func Main(env Environment) int {
	// The API server's libraries put flags of theirs into the process-wide set, which cobra would offer on every command.
	pflag.CommandLine = pflag.NewFlagSet(env.Args[0], pflag.ContinueOnError)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	// The first signal ends a command in order; giving the signals back lets a second one end the process at once.
	context.AfterFunc(ctx, stop)
	return Run(ctx, env)
}

// Run runs the program until it ends or ctx does, and returns its exit code.
func Run(ctx context.Context, env Environment) int {
	if env.Now == nil {
		env.Now = time.Now
	}
	a := newApp(env)
	root := rootCommand(a)
	root.SetArgs(commandLine(env.Args))
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	cmd, err := root.ExecuteContextC(ctx)
	return a.finish(cmd, err)
}
