package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
	"slipway.dev/slipway/internal/progress"
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
	report, there := progress.New(a.out, a.env.Now), listed{}
	return a.keepLooking(ctx, w, report, func() error {
		summaries, err := a.summaries(ctx, c, names, opts)
		if err != nil {
			return err
		}
		report.Show(a.clusterTable(summaries).Lines(a.out))
		a.sayChanged(report, there, summaries)
		return nil
	})
}

// keepLooking looks whenever something may have changed, until the user stops. Once it has looked, it waits for a management
// cluster that does not answer.
func (a *app) keepLooking(ctx context.Context, w *changes, report *progress.Reporter, look func() error) error {
	defer w.stop()
	say := func(text string) {
		if report.Live() {
			report.Note(text)
		} else {
			a.say("%s", text)
		}
	}
	looked, blind := false, false
	for {
		err := look()
		switch {
		case ctx.Err() != nil:
			return interrupted()
		case err != nil && (!looked || !a.isOutage(err)):
			return err
		case err != nil && !blind:
			say("cannot look: " + a.shortError(err))
		case err == nil && blind:
			say("the management cluster answers again")
		}
		looked, blind = true, err != nil
		if err := w.next(ctx); err != nil {
			return err
		}
	}
}

// isOutage tells whether an error may pass by itself: the management cluster is not reached, or not ready.
func (a *app) isOutage(err error) bool {
	return a.explainNetwork("", err) != nil || apierrors.IsServiceUnavailable(err) || apierrors.IsTooManyRequests(err) ||
		apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) || apierrors.IsInternalError(err)
}

// listed are the objects of the look before, as NAMESPACE/NAME.
type listed map[string]bool

// gone takes the objects that are there now, and returns those that are not any more.
func (l listed) gone(now []string) []string {
	var gone []string
	for _, key := range sortedKeys(l) {
		if !slices.Contains(now, key) {
			gone = append(gone, key)
			delete(l, key)
		}
	}
	for _, key := range now {
		l[key] = true
	}
	return gone
}

func (a *app) sayChanged(report *progress.Reporter, there listed, summaries []view.Summary) {
	var now []string
	for _, s := range summaries {
		now = append(now, s.Namespace+"/"+s.Name)
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
	for _, key := range there.gone(now) {
		report.Change(key, key+" deleted")
	}
}
