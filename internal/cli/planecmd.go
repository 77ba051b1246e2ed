package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"

	"slipway.dev/slipway/internal/fault"
	"slipway.dev/slipway/internal/statedir"
	"slipway.dev/slipway/internal/supervisor"
)

// planeCommand is the plane's own process, which `slipway up` starts. It is hidden: people run `slipway up`.
func planeCommand(a *app) *cobra.Command {
	opts := PlaneOptions{Version: Version}
	cmd := &cobra.Command{
		Use: "plane", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts.Verbosity = a.flags.verbosity
			opts.Renewed = func() error {
				err := a.renewPlane(opts.StateDir)
				if err != nil {
					supervisor.NewReporter().Step(supervisor.Step{Name: stepWarning, Detail: fmt.Sprintf("the plane's credentials were renewed, but not in your kubeconfig: %v", err)})
				}
				return err
			}
			err := a.env.RunPlane(cmd.Context(), opts)
			if cmd.Context().Err() != nil && isTornDown(err) {
				return nil // It was asked to stop before it was ready, which is no fault.
			}
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
	cmd.Flags().BoolVar(&opts.Controllers, "controllers", true, "run the controllers")
	cmd.Flags().StringVar(&opts.WriteTrace, "trace-writes", "", "unix socket that is told of each write of a controller and must answer (for tests)")
	return cmd
}

// isTornDown tells whether an error, and each of several, comes of a start that was ended: of its context, or of a part that
// had gone when another asked for it.
func isTornDown(err error) bool {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		return !slices.ContainsFunc(several.Unwrap(), func(one error) bool { return !isTornDown(one) })
	}
	if next := errors.Unwrap(err); next != nil {
		return isTornDown(next)
	}
	return errors.Is(err, context.Canceled) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, http.ErrServerClosed)
}

// renewPlane writes a plane's new credentials into the kubeconfig that --kubeconfig names, which `slipway up` gives with its
// user's: after --detach, it is not there any more to do it. A context that the user has removed stays away.
func (a *app) renewPlane(dir string) error {
	if a.flags.kubeconfig == "" {
		return nil
	}
	admin, err := clientcmd.LoadFromFile(statedir.AdminKubeconfig(dir))
	if err != nil {
		return fmt.Errorf("read the plane's kubeconfig: %w", err)
	}
	user, err := clientcmd.LoadFromFile(a.flags.kubeconfig)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the user's kubeconfig: %w", err)
	}
	owner := a.planeOwner(dir)
	if owner.find(user, nil) == "" {
		return nil
	}
	_, err = a.mergeContext(admin, owner, neverChosen)
	return err
}
