package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
	"slipway.dev/slipway/internal/fault"
	"slipway.dev/slipway/internal/view"
)

const rolloutLong = `Look at, repeat or hold back the replacement of machines. RESOURCE is machinedeployment/NAME, kubeadmcontrolplane/NAME or,
for status, pause and resume, the name of a cluster.

There is no undo: a template that was replaced is not kept. To go back, apply the earlier version of your files again, or set
the field back; ` + "`slipway upgrade CLUSTER --version EARLIER`" + ` goes back a patch release.`

func rolloutCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "rollout", Short: "Look at, repeat or hold back the replacement of machines", Long: rolloutLong,
		Example: `  slipway rollout status machinedeployment/demo-md-0
  slipway rollout restart kubeadmcontrolplane/demo-cp`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && args[0] == "undo" {
				return fault.New(nil, "cannot undo a rollout", "a template that was replaced is not kept", "slipway rollout undo",
					"apply the earlier version of your files again; see "+a.try("rollout --help"))
			}
			return oneBelow("say what to do: status, restart, pause or resume")(cmd, args)
		},
	}
	cmd.AddCommand(a.rolloutStatus(), a.rolloutRestart(), a.rolloutPause("pause", true), a.rolloutPause("resume", false))
	return cmd
}

func (a *app) rolloutStatus() *cobra.Command {
	w := waitOptions{}
	cmd := &cobra.Command{
		Use: "status RESOURCE", Short: "Tell how far a rollout is",
		Example: `  slipway rollout status machinedeployment/demo-md-0 --wait`,
		Args:    oneArg("machinedeployment/NAME, kubeadmcontrolplane/NAME or a cluster"), ValidArgsFunction: a.completeRollable(true),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			r, err := a.resource(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			return a.tellRollout(cmd.Context(), c, r, w)
		},
	}
	w.flags(cmd.Flags(), upgradeTimeout)
	return cmd
}

// statusOf is the status of a resource within its cluster, or false when the resource is gone.
func statusOf(s *view.Snapshot, r resource, now time.Time) (view.Status, bool) {
	switch r.kind {
	case kindCluster:
		return s.Status(now), true
	case kindControlPlane:
		if s.ControlPlane != nil {
			return s.OfControlPlane(now), true
		}
	case kindMachineDeployment:
		for i := range s.Deployments {
			if s.Deployments[i].Name == r.object.GetName() {
				return s.OfMachineDeployment(&s.Deployments[i], now), true
			}
		}
	case kindMachineSet:
		for i := range s.Sets {
			if s.Sets[i].Name == r.object.GetName() {
				return s.OfMachineSet(&s.Sets[i], now), true
			}
		}
	}
	return view.Status{}, false
}

// rolloutDocument is a rollout's status as JSON.
type rolloutDocument struct {
	typeMeta
	Resource string      `json:"resource"`
	Status   view.Status `json:"status"`
}

func (a *app) awaitRollout(ctx context.Context, c client.WithWatch, r resource, w waitOptions) error {
	return a.await(ctx, c, goal{
		key: types.NamespacedName{Namespace: r.object.GetNamespace(), Name: r.cluster}, verb: "roll out " + r.name(), done: r.name() + " is rolled out", hopeless: neverReady,
		reached: func(s *view.Snapshot, now time.Time) (bool, string) {
			if s == nil {
				return false, "its cluster is gone"
			}
			status, found := statusOf(s, r, now)
			if !found {
				return false, r.name() + " is gone"
			}
			return status.State == view.Ready, status.Message
		},
	}, w)
}

func (a *app) tellRollout(ctx context.Context, c client.WithWatch, r resource, w waitOptions) error {
	key := types.NamespacedName{Namespace: r.object.GetNamespace(), Name: r.cluster}
	if w.wait {
		if err := a.awaitRollout(ctx, c, r, w); err != nil || !a.structured() {
			return err
		}
	}
	s, err := a.load(ctx, c, key, false)
	if err != nil {
		return err
	}
	status, found := statusOf(s, r, a.now())
	if !found {
		return fault.New(nil, "cannot look at "+r.name(), "it does not belong to cluster "+key.Name, "namespace "+key.Namespace, a.try("tree %s --all", key.Name))
	}
	if a.structured() {
		if err := a.printStructured(rolloutDocument{typeMeta{viewAPIVersion, "Rollout"}, r.name(), status}); err != nil {
			return err
		}
	} else {
		line := r.name() + " " + a.out.Paint(styleOf(status.State), string(status.State))
		if status.Message != "" {
			line += ": " + a.out.Text(status.Message)
		}
		fmt.Fprintln(a.out, line)
	}
	if status.State.NeedsHuman() {
		return answerNo(nil)
	}
	return nil
}

func (a *app) rolloutRestart() *cobra.Command {
	dryRun := false
	w := waitOptions{}
	cmd := &cobra.Command{
		Use: "restart RESOURCE", Short: "Replace every machine, though nothing changed",
		Example: `  slipway rollout restart machinedeployment/demo-md-0`,
		Args:    oneArg("machinedeployment/NAME or kubeadmcontrolplane/NAME"), ValidArgsFunction: a.completeRollable(false),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			return a.restart(cmd.Context(), c, args[0], w, dryRun)
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "write nothing: the API server checks what would be sent")
	w.flags(cmd.Flags(), upgradeTimeout)
	return cmd
}

func (a *app) restart(ctx context.Context, c client.WithWatch, arg string, w waitOptions, dryRun bool) error {
	r, err := a.resource(ctx, c, arg)
	if err != nil {
		return err
	}
	if r.kind != kindMachineDeployment && r.kind != kindControlPlane {
		return fault.New(nil, "cannot restart "+r.name(), "only a machine deployment or a control plane is rolled out", arg, a.try("rollout restart machinedeployment/NAME"))
	}
	if after := rolloutAfter(r.object); after.After(a.now()) {
		return fault.New(nil, "cannot restart "+r.name(), "a rollout is planned already", "spec.rollout.after "+after.UTC().Format(time.RFC3339), "wait for it, or change the field")
	}
	a.say("This replaces %s of %s, one after another.", machines(int(r.replicas())), r.name())
	if !dryRun {
		if err := a.consent(ctx, "restart "+r.name(), "rollout restart "+r.name()); err != nil {
			return err
		}
	}
	if err := patchObject(ctx, c, r.object, nested(a.now().UTC().Format(time.RFC3339), "spec", "rollout", "after"), dryRun); err != nil {
		return a.cannotRoll(err, "restart", r)
	}
	if err := a.mutated(r.kind, r.object.GetName(), "restarted", dryRun); err != nil {
		return err
	}
	if err := a.printChanges(); err != nil {
		return err
	}
	if dryRun {
		return nil
	}
	if w.wait {
		return a.awaitRollout(ctx, c, r, w)
	}
	a.next("rollout status %s --wait", r.name())
	return nil
}

func (a *app) cannotRoll(err error, verb string, r resource) error {
	namespace := r.object.GetNamespace()
	return cannotChange(err, "cannot "+verb+" "+r.name(), "namespace "+namespace+", "+a.where(), a.try("tree %s", r.cluster), false)
}

func rolloutAfter(o client.Object) time.Time {
	switch o := o.(type) {
	case *clusterv1.MachineDeployment:
		return o.Spec.Rollout.After.Time
	case *controlplanev1.KubeadmControlPlane:
		return o.Spec.Rollout.After.Time
	}
	return time.Time{}
}

func (a *app) rolloutPause(verb string, pause bool) *cobra.Command {
	dryRun := false
	short := "Change no machine until it is resumed"
	if !pause {
		short = "Go on with what was paused"
	}
	cmd := &cobra.Command{
		Use: verb + " RESOURCE", Short: short,
		Example: "  slipway rollout " + verb + " machinedeployment/demo-md-0",
		Args:    oneArg("machinedeployment/NAME, kubeadmcontrolplane/NAME or a cluster"), ValidArgsFunction: a.completeRollable(true),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			r, err := a.resource(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			if err := patchObject(cmd.Context(), c, r.object, pauseFields(r, pause), dryRun); err != nil {
				return a.cannotRoll(err, verb, r)
			}
			return a.mutated(r.kind, r.object.GetName(), verb+"d", dryRun)
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "write nothing: the API server checks what would be sent")
	return cmd
}

// pauseFields pauses by the field where the kind has one, else by the annotation.
func pauseFields(r resource, pause bool) map[string]any {
	switch r.kind {
	case kindCluster, kindMachineDeployment:
		if pause {
			return nested(true, "spec", "paused")
		}
		return nested(nil, "spec", "paused")
	default:
		if pause {
			return nested("", "metadata", "annotations", clusterv1.PausedAnnotation)
		}
		return nested(nil, "metadata", "annotations", clusterv1.PausedAnnotation)
	}
}
