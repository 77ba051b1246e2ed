package cli

import (
	"github.com/spf13/cobra"

	"slipway.dev/slipway/internal/fault"
	"slipway.dev/slipway/internal/supervisor"
)

// planeCommand is the plane's own process, which `slipway up` starts. It is hidden: people run `slipway up`.
func planeCommand(a *app) *cobra.Command {
	opts := PlaneOptions{Version: Version}
	cmd := &cobra.Command{
		Use: "plane", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts.Verbosity = a.flags.verbosity
			err := a.env.RunPlane(cmd.Context(), opts)
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
	return cmd
}
