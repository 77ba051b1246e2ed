// Package cli is the command line: one file a command, printing separate from doing.
package cli

import (
	"context"
	"fmt"
	"io"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"slipway.dev/slipway/internal/fault"
	"slipway.dev/slipway/internal/supervisor"
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
}

// Main runs the program and returns its exit code.
func Main(env Environment) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	root := &cobra.Command{Use: "slipway", SilenceErrors: true, SilenceUsage: true}
	root.AddCommand(planeCommand(env))
	root.SetArgs(env.Args[1:])
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(env.Stderr, "error:", err)
		return 1
	}
	return 0
}

// planeCommand is the plane's own process, which `slipway up` starts. It is hidden: people run `slipway up`.
func planeCommand(env Environment) *cobra.Command {
	opts := PlaneOptions{Version: Version}
	cmd := &cobra.Command{
		Use: "plane", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := env.RunPlane(cmd.Context(), opts)
			if err != nil {
				supervisor.NewReporter().Fail(fault.As(err, "the management plane stopped", "slipway logs plane"))
			}
			return err
		},
	}
	cmd.Flags().StringVar(&opts.StateDir, "state-dir", "", "directory of the plane's state")
	cmd.Flags().StringVar(&opts.Listen, "listen", "", "address of the API server")
	cmd.Flags().IntVar(&opts.Port, "port", 0, "port of the API server")
	cmd.Flags().StringVar(&opts.From, "from", "", "backup to restore first")
	cmd.Flags().IntVarP(&opts.Verbosity, "verbosity", "v", 0, "log level")
	cmd.Flags().BoolVar(&opts.Controllers, "controllers", true, "run the controllers")
	return cmd
}
