package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"slipway.dev/slipway/internal/fault"
	"slipway.dev/slipway/internal/statedir"
)

// followEvery is how often a followed log is looked at.
const followEvery = 250 * time.Millisecond

func logsCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "logs", Short: "Print logs",
		Example: `  slipway logs plane -f`,
		RunE:    oneBelow("say whose: plane"),
	}
	var dir string
	var follow bool
	plane := &cobra.Command{
		Use: "plane", Short: "Print the management plane's log",
		Long: `Print the management plane's log, which lies in its state directory, and what it wrote when it crashed, if it did.`,
		Example: `  slipway logs plane
  slipway logs plane -f`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			path, err := a.stateDir(dir)
			if err != nil {
				return err
			}
			return a.planeLog(cmd.Context(), path, follow)
		},
	}
	a.stateDirFlag(plane.Flags(), &dir)
	plane.Flags().BoolVarP(&follow, "follow", "f", false, "keep printing")
	cmd.AddCommand(plane)
	return cmd
}

func (a *app) planeLog(ctx context.Context, dir string, follow bool) error {
	f, err := os.Open(statedir.LogFile(dir))
	if errors.Is(err, fs.ErrNotExist) && !follow {
		if a.printCrash(dir) {
			return nil
		}
		return fault.New(err, "cannot print the plane's log", "no plane has run on this state directory", dir, "name another with --state-dir, or start one: "+a.try("up"))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.New(err, "cannot print the plane's log", err.Error(), dir, "run as the user who owns the plane")
	}
	l := &followedLog{path: statedir.LogFile(dir), file: f}
	defer l.close()
	if err := l.copy(a.out); err != nil {
		return err
	}
	if !follow {
		a.printCrash(dir)
		return nil
	}
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if err := l.copy(a.out); err != nil {
				return err
			}
		case <-ctx.Done():
			return interrupted()
		}
	}
}

// printCrash prints what the plane wrote outside its log and tells whether there was anything.
func (a *app) printCrash(dir string) bool {
	crash, err := os.ReadFile(statedir.CrashFile(dir))
	if err != nil || len(crash) == 0 {
		return false
	}
	a.say("What the plane wrote outside its log (%s):", a.tilde(statedir.CrashFile(dir)))
	fmt.Fprint(a.out, string(crash))
	return true
}

// followedLog is a log that may be rotated, and that need not exist yet.
type followedLog struct {
	path string
	file *os.File
}

// copy prints what is new. When the file was rotated, its rest is printed and then the new one.
func (l *followedLog) copy(w io.Writer) error {
	if l.file == nil {
		f, err := os.Open(l.path)
		if err != nil {
			return nil //nolint:nilerr // it is not there yet; the next look tells
		}
		l.file = f
	}
	if _, err := io.Copy(w, l.file); err != nil {
		return err
	}
	current, errPath := os.Stat(l.path)
	open, errOpen := l.file.Stat()
	if errPath == nil && errOpen == nil && !os.SameFile(current, open) {
		l.close()
		return l.copy(w)
	}
	return nil
}

func (l *followedLog) close() {
	if l.file != nil {
		_ = l.file.Close()
		l.file = nil
	}
}
