package cli

import (
	"fmt"
	"runtime"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/statedir"
)

// versionDocument is what `slipway version` prints.
type versionDocument struct {
	typeMeta
	// Version is this program's; Go and Platform are what it was built with and for.
	Version  string `json:"version"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	// ClusterAPI is the version of the Cluster API's kinds.
	ClusterAPI string `json:"clusterAPI"`
	// Newest is the newest Kubernetes version that is known to work.
	Newest string `json:"newestKubernetes"`
	// Plane is the Slipway that wrote the local plane's state last; empty when there is none.
	Plane string `json:"plane,omitempty"`
	// Server is the Kubernetes version of the management cluster; empty when it does not answer.
	Server string `json:"server,omitempty"`
}

func versionCommand(a *app) *cobra.Command {
	client := false
	cmd := &cobra.Command{
		Use: "version", Short: "Print the versions of this program and of the management plane",
		Example: `  slipway version -o json`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d := versionDocument{
				typeMeta: typeMeta{viewAPIVersion, "Version"}, Version: Version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
				ClusterAPI: clusterv1.GroupVersion.String(), Newest: newestVersion,
			}
			if !client {
				d.Plane, d.Server = a.planeVersion(), a.serverVersion()
			}
			return a.printVersion(d)
		},
	}
	cmd.Flags().BoolVar(&client, "client", false, "do not ask the management plane")
	return cmd
}

func (a *app) printVersion(d versionDocument) error {
	if a.structured() {
		return a.printStructured(d)
	}
	_, err := fmt.Fprintf(a.out, "slipway      %s (%s, %s)\nCluster API  %s\nKubernetes   up to %s\n", d.Version, d.Go, d.Platform, d.ClusterAPI, d.Newest)
	for _, line := range []struct{ label, text string }{{"plane", d.Plane}, {"server", d.Server}} {
		if line.text != "" && err == nil {
			_, err = fmt.Fprintf(a.out, "%-12s %s\n", line.label, line.text)
		}
	}
	return err
}

func (a *app) planeVersion() string {
	record, err := statedir.ReadRecord(a.defaultStateDir())
	if err != nil {
		return ""
	}
	return record.Version
}

const versionTimeout = 2 * time.Second

// serverVersion asks the management cluster; that it does not answer is no failure of this command.
func (a *app) serverVersion() string {
	config, err := a.restConfig()
	if err != nil {
		return ""
	}
	config = rest.CopyConfig(config)
	config.Timeout = versionTimeout
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return ""
	}
	info, err := d.ServerVersion()
	if err != nil {
		return ""
	}
	return info.GitVersion
}
