package cli

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
	"slipway.dev/slipway/internal/progress"
	"slipway.dev/slipway/internal/terminal"
	"slipway.dev/slipway/internal/view"
)

// watchClusters prints the clusters and goes on: on a terminal the table is redrawn, elsewhere changed rows are printed.
func (a *app) watchClusters(ctx context.Context, c client.WithWatch, names []string, opts getOptions) error {
	namespace := client.InNamespace(a.namespace())
	w := watchChanges(ctx, c, []watched{
		{&clusterv1.ClusterList{}, []client.ListOption{namespace}},
		{&controlplanev1.KubeadmControlPlaneList{}, []client.ListOption{namespace}},
		{&clusterv1.MachineDeploymentList{}, []client.ListOption{namespace}},
	})
	defer w.stop()
	report := progress.New(a.out, a.env.Now)
	for {
		summaries, err := a.summaries(ctx, c, names, opts)
		switch {
		case ctx.Err() != nil:
			return interrupted()
		case err != nil:
			return err
		case report.Live():
			report.Show(a.clusterLines(summaries))
		default:
			a.sayChanged(report, summaries)
		}
		select {
		case <-w.signal:
			pause(ctx, gather)
		case <-ctx.Done():
			return interrupted()
		}
	}
}

func (a *app) clusterLines(summaries []view.Summary) []terminal.Line {
	return a.clusterTable(summaries).Lines(a.out)
}

func (a *app) sayChanged(report *progress.Reporter, summaries []view.Summary) {
	for _, s := range summaries {
		controlPlane := none
		if s.ControlPlane != nil {
			controlPlane = s.ControlPlane.String()
		}
		text := fmt.Sprintf("%s/%s %s %s %s %s", s.Namespace, s.Name, s.State, controlPlane, s.Workers, firstOf(s.Version, none))
		if a.flags.output == outputWide {
			text += " " + s.Created.UTC().Format(time.RFC3339)
		}
		if s.Message != "" {
			text += " " + s.Message
		}
		report.Change(s.Namespace+"/"+s.Name, text)
	}
}
