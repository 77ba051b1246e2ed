package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"

	"slipway.dev/slipway/internal/fault"
	"slipway.dev/slipway/internal/statedir"
	"slipway.dev/slipway/internal/supervisor"
)

// upOptions are the flags of `slipway up`.
type upOptions struct {
	stateDir, listen, from string
	port                   int
	detach, choose         bool
}

func upCommand(a *app) *cobra.Command {
	opts := upOptions{}
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start the management plane",
		Long: `Start the management plane: API server, store and controllers, in a process of their own.
It stays in the foreground unless --detach is given. Ctrl-C stops it in order, a second Ctrl-C kills it; its state survives both.
A context named "slipway" is written into your kubeconfig; it becomes the current one when there is none, or with --switch.`,
		Example: `  # In the background
  slipway up --detach

  # A second plane beside the first, with a state of its own
  slipway up --state-dir ~/planes/lab --detach

  # From a backup
  slipway up --from slipway.backup --detach`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.up(cmd.Context(), opts) },
	}
	f := cmd.Flags()
	a.stateDirFlag(f, &opts.stateDir)
	f.BoolVar(&opts.detach, "detach", false, "return once the plane is ready and leave it running")
	f.IntVar(&opts.port, "port", 0, "port of the API server (default the one of the last start; the first time 6443, or another when that is busy)")
	f.StringVar(&opts.listen, "listen", "", "address that the API server listens on (default 127.0.0.1)")
	f.StringVar(&opts.from, "from", "", "backup to restore into an empty state directory first")
	f.BoolVar(&opts.choose, "switch", false, "make the plane's context the current one")
	return cmd
}

// upRun is one run of `slipway up`.
type upRun struct {
	*app
	opts  upOptions
	dir   string
	child *supervisor.Child
	// begun says that the plane has told of a step, ready that it is ready.
	begun, ready bool
	// stopping says that it was asked to stop, killed that it was not given the time to.
	stopping, killed bool
	open             openStep
}

func (a *app) up(ctx context.Context, opts upOptions) error {
	dir, err := a.stateDir(opts.stateDir)
	if err != nil {
		return err
	}
	r := &upRun{app: a, opts: opts, dir: dir}
	if _, running := statedir.Running(dir); running {
		if gone, err := r.besideOther(ctx); err != nil || !gone {
			return err
		}
	}
	return r.start(ctx)
}

// start starts a plane and follows it.
func (r *upRun) start(ctx context.Context) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program's file: %w", err)
	}
	args, err := r.planeArgs()
	if err != nil {
		return err
	}
	// The commands' context ends with the first signal; here signals are counted.
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	defer signal.Stop(signals)
	r.child, err = supervisor.Start(supervisor.Command{Path: program, Args: args, StateDir: r.dir, Detach: r.opts.detach})
	if err != nil {
		return fault.As(err, "cannot start the management plane", r.withStateDir("logs plane", r.dir))
	}
	return r.follow(ctx, signals)
}

func (r *upRun) planeArgs() ([]string, error) {
	user, err := filepath.Abs(r.fileOf(r.planeOwner(r.dir), nil))
	if err != nil {
		return nil, err
	}
	args := []string{"plane", "--state-dir", r.dir, "--kubeconfig", user, "-v", strconv.Itoa(r.flags.verbosity)}
	if r.opts.port != 0 {
		args = append(args, "--port", strconv.Itoa(r.opts.port))
	}
	if r.opts.listen != "" {
		args = append(args, "--listen", r.opts.listen)
	}
	if r.opts.from != "" {
		from, err := filepath.Abs(r.opts.from)
		if err != nil {
			return nil, err
		}
		args = append(args, "--from", from)
	}
	return args, nil
}

// follow prints the plane's steps until it is ready (detached) or has ended.
func (r *upRun) follow(ctx context.Context, signals <-chan os.Signal) error {
	r.open.begin(r.app)
	defer r.open.over()
	for {
		select {
		case <-r.open.tick.C:
			r.open.show(r.app)
		case step, open := <-r.child.Steps():
			r.open.report.Close()
			if !open {
				return r.ended(ctx)
			}
			r.begun = true
			if r.stopping && step.Name == stepReady {
				continue // It had no time yet to see that it is to stop.
			}
			done, err := r.step(step)
			if err != nil || done {
				return err
			}
		case <-signals:
			r.open.over()
			if err := r.stop(); err != nil && !errors.Is(err, os.ErrProcessDone) {
				return err
			}
		}
	}
}

// stop asks the plane to end; the second time it is killed.
func (r *upRun) stop() error {
	if r.stopping {
		r.killed = true
		r.say("Killing the plane. Its state survives that.")
		return r.child.Kill()
	}
	r.stopping = true
	r.say("Stopping the plane; Ctrl-C again kills it.")
	return r.child.Stop()
}

func (r *upRun) ended(ctx context.Context) error {
	var known *fault.Error
	if err := r.child.Wait(); err != nil {
		known = fault.As(err, "the management plane stopped", r.withStateDir("logs plane", r.dir))
	}
	if r.opts.detach && !r.stopping && known != nil && known.Code == statedir.CodeInUse {
		// Another slipway up was a moment faster.
		if gone, err := r.besideOther(ctx); err != nil || !gone {
			return err
		}
		return fault.New(known, "cannot start the management plane", "another slipway up was starting it, and it ended", r.dir, r.withStateDir("logs plane", r.dir))
	}
	if r.stopping {
		return r.stopped(known)
	}
	if known != nil {
		return known
	}
	if !r.ready {
		return fault.New(nil, "cannot start the management plane", "it ended before it was ready", r.dir, r.withStateDir("logs plane", r.dir))
	}
	r.say("The plane was stopped. Its state stays in %s.", r.tilde(r.dir))
	return nil
}

// stopped ends a run whose plane was asked to stop: it was interrupted, if that was before it was ready.
func (r *upRun) stopped(e *fault.Error) error {
	// Libraries that are stopped while they start end the process: that was our signal.
	ours := r.killed || !r.begun || !r.ready && diedMute(e)
	var failed error
	if e != nil && !ours {
		failed = e
	}
	if r.ready && failed != nil {
		return failed
	}
	r.say("The plane is down. Its state stays in %s.", r.tilde(r.dir))
	if r.ready {
		return nil
	}
	return &exitError{code: exitInterrupted, err: failed}
}

// diedMute tells whether a plane ended without a reason that it, or its log, could tell.
func diedMute(e *fault.Error) bool {
	return e != nil && e.Code == statedir.CodeUnexplained
}

// step prints a step of the plane and tells whether the command has done what it was asked for.
func (r *upRun) step(s supervisor.Step) (bool, error) {
	switch s.Name {
	case stepReady:
		r.ready = true
		r.open.over()
		m, err := r.mergePlane()
		if err != nil {
			return false, errors.Join(err, r.child.Stop())
		}
		r.say("Ready in %s%s. %s.", seconds(s.Took), residentOf(r.child.PID()), r.contextSentence(m))
		// A reader that has gone is no reason to stop the plane.
		_ = r.printPlane(r.child.PID(), m)
		r.aim(m)
		r.next("create cluster demo --provider sim --workers 3 --wait")
		if r.opts.detach {
			return true, r.child.Release()
		}
	case stepCredentials:
		// The plane's process has merged them, as it does after --detach.
	case stepWarning:
		r.say("warning: %s", s.Detail)
	default:
		r.printStep(s)
	}
	return false, nil
}

// mergePlane writes the plane's context into the user's kubeconfig.
func (r *upRun) mergePlane() (merged, error) {
	admin, err := clientcmd.LoadFromFile(statedir.AdminKubeconfig(r.dir))
	if err != nil {
		return merged{}, fault.New(err, "cannot read the plane's kubeconfig", err.Error(), statedir.AdminKubeconfig(r.dir), r.withStateDir("logs plane", r.dir))
	}
	return r.mergeContext(admin, r.planeOwner(r.dir), choose(r.opts.choose))
}

// aim makes the commands that are suggested go to the plane, when they would not by themselves.
func (r *upRun) aim(m merged) {
	if _, name, err := r.clientConfig(); err != nil || name != m.name {
		r.aimed = scopeFlags{kubeconfig: r.given.kubeconfig, context: m.name}
	}
}

func (r *upRun) contextSentence(m merged) string {
	text := fmt.Sprintf("Context %q written to %s", m.name, r.tilde(m.path))
	if m.selected {
		text += " and selected"
	}
	return text
}
