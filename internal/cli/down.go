package cli

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"slipway.dev/slipway/internal/fault"
	"slipway.dev/slipway/internal/statedir"
)

const downTimeout = 60 * time.Second

func downCommand(a *app) *cobra.Command {
	var dir string
	timeout := downTimeout
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Stop the management plane",
		Long: `Stop the management plane in order. Its state stays, and the clusters it manages are not touched:
` + "`slipway up`" + ` goes on where it stopped. Simulated clusters live in the plane's process and rest while it is down.`,
		Example: `  slipway down`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			path, err := a.stateDir(dir)
			if err != nil {
				return err
			}
			return a.down(cmd.Context(), path, timeout)
		},
	}
	a.stateDirFlag(cmd.Flags(), &dir)
	cmd.Flags().DurationVar(&timeout, "timeout", downTimeout, "how long the plane may take to stop")
	return cmd
}

func (a *app) down(ctx context.Context, dir string, timeout time.Duration) error {
	pid, running := statedir.Running(dir)
	if !running {
		a.say("No plane runs on %s.", a.tilde(dir))
		return nil
	}
	begun := a.now()
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fault.New(err, "cannot stop the management plane", err.Error(), fmt.Sprintf("process %d", pid), "stop it as the user who started it")
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(timeout)
	for {
		// The lock tells, not the process: only when it is free can another plane start.
		if _, running := statedir.Running(dir); !running {
			a.say("The plane is down, after %s. Its state stays in %s.", seconds(a.now().Sub(begun)), a.tilde(dir))
			return nil
		}
		select {
		case <-tick.C:
		case <-deadline:
			return fault.New(nil, "cannot stop the management plane", fmt.Sprintf("it was asked to stop %s ago and still runs", timeout),
				fmt.Sprintf("process %d, %s", pid, dir), fmt.Sprintf("kill -9 %d (its state survives that)", pid))
		case <-ctx.Done():
			a.say("Stopped looking; the plane goes on stopping.")
			return interrupted()
		}
	}
}
