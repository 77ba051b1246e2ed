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

// downDocument is a plane that is down, as JSON.
type downDocument struct {
	typeMeta
	StateDir string `json:"stateDir"`
	// Stopped tells whether one ran.
	Stopped bool `json:"stopped"`
}

func (a *app) down(ctx context.Context, dir string, timeout time.Duration) error {
	if _, running := statedir.Running(dir); !running {
		a.say("No plane runs on %s.", a.tilde(dir))
		return a.printDocument(downDocument{typeMeta{viewAPIVersion, "PlaneStop"}, dir, false})
	}
	begun := a.now()
	asked := 0
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(timeout)
	for {
		// The lock tells, not the process: only when it is free can another plane start.
		pid, running := statedir.Running(dir)
		if !running {
			a.say("The plane is down, after %s. Its state stays in %s.", seconds(a.now().Sub(begun)), a.tilde(dir))
			return a.printDocument(downDocument{typeMeta{viewAPIVersion, "PlaneStop"}, dir, true})
		}
		// A plane that begins is not known by its process id yet.
		if pid != 0 && pid != asked {
			if err := askToStop(pid); err != nil {
				return err
			}
			if asked == 0 {
				a.say("Stopping the plane, process %d.", pid)
			}
			asked = pid
		}
		select {
		case <-tick.C:
		case <-deadline:
			return stillRuns(dir, asked, timeout)
		case <-ctx.Done():
			a.say("Stopped looking; the plane goes on stopping.")
			return interrupted()
		}
	}
}

func askToStop(pid int) error {
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fault.New(err, "cannot stop the management plane", err.Error(), fmt.Sprintf("process %d", pid), "stop it as the user who started it")
	}
	return nil
}

func stillRuns(dir string, pid int, timeout time.Duration) error {
	what := "cannot stop the management plane"
	if pid == 0 {
		return fault.New(nil, what, "its process is not known: it belongs to another user, or plane.pid is lost", dir, "stop it as the user who started it, with Ctrl-C or kill")
	}
	return fault.New(nil, what, fmt.Sprintf("it was asked to stop %s ago and still runs", timeout),
		fmt.Sprintf("process %d, %s", pid, dir), fmt.Sprintf("kill -9 %d (its state survives that)", pid))
}
