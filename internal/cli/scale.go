package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/fault"
	"slipway.dev/slipway/internal/view"
)

// notGiven is a count that no flag gave.
const notGiven = -1

// leastQuorum is how many members etcd needs to outlive the loss of one.
const leastQuorum = 3

// scaleOptions are the flags of `slipway scale`.
type scaleOptions struct {
	waitOptions
	workers, controlPlane, replicas int32
	dryRun                          bool
	confirm                         string
	// given tells whether a flag was given.
	given func(flag string) bool
}

func scaleCommand(a *app) *cobra.Command {
	opts := scaleOptions{}
	cmd := &cobra.Command{
		Use:   "scale CLUSTER | KIND/NAME",
		Short: "Change how many machines a cluster has",
		Long: `Change the number of workers or control-plane machines of a cluster, or of one machine deployment, machine set or
control plane. Adding machines asks nothing; removing some asks first.`,
		Example: `  slipway scale demo --workers 5 --wait
  slipway scale demo --control-plane 3

  # One of several groups of workers
  slipway scale machinedeployment/demo-md-0 --replicas 4`,
		Args:              oneArg("the name of a cluster, or KIND/NAME"),
		ValidArgsFunction: a.completeClusters,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			opts.given = cmd.Flags().Changed
			return a.scale(cmd.Context(), c, args[0], opts)
		},
	}
	f := cmd.Flags()
	f.Int32Var(&opts.workers, "workers", notGiven, "workers of the cluster, when it has one group of them")
	f.Int32Var(&opts.controlPlane, "control-plane", notGiven, "control-plane machines of the cluster")
	f.Int32Var(&opts.replicas, "replicas", notGiven, "machines of KIND/NAME")
	f.StringVar(&opts.confirm, "confirm", "", "with --yes, where etcd would have no spare member: the name of the cluster")
	f.BoolVar(&opts.dryRun, "dry-run", false, "write nothing: the API server checks what would be sent")
	opts.waitOptions.flags(f, otherTimeout)
	return cmd
}

// check refuses numbers below zero; -1 stands for a number that was not given.
func (o scaleOptions) check(arg string) error {
	for flag, n := range map[string]int32{"workers": o.workers, "control-plane": o.controlPlane, "replicas": o.replicas} {
		if n < 0 && (n != notGiven || o.given(flag)) {
			return fault.New(nil, "cannot scale "+arg, "there are no fewer than 0 machines", fmt.Sprintf("--%s %d", flag, n), fmt.Sprintf("--%s 0 or more", flag))
		}
	}
	return nil
}

// scaling is one object that gets another number of machines.
type scaling struct {
	resource
	from, to int32
}

func (a *app) scale(ctx context.Context, c client.WithWatch, arg string, opts scaleOptions) error {
	if err := opts.check(arg); err != nil {
		return err
	}
	s, steps, err := a.planScale(ctx, c, arg, opts)
	if err != nil {
		return err
	}
	key := client.ObjectKeyFromObject(s.Object)
	if err := a.checkScale(ctx, c, arg, steps); err != nil {
		return err
	}
	if err := a.consentToScale(ctx, arg, steps, opts); err != nil {
		return err
	}
	changed := false
	for _, step := range steps {
		if step.from == step.to {
			if err := a.mutated(step.kind, step.object.GetName(), fmt.Sprintf("unchanged, %d replicas", step.to), false); err != nil {
				return err
			}
			continue
		}
		if err := patchObject(ctx, c, step.object, nested(step.to, "spec", "replicas"), opts.dryRun); err != nil {
			return a.cannotScale(err, arg, step, changed)
		}
		changed = true
		if err := a.mutated(step.kind, step.object.GetName(), fmt.Sprintf("scaled from %d to %d", step.from, step.to), opts.dryRun); err != nil {
			return err
		}
	}
	return a.afterChange(ctx, c, key, opts.waitOptions, opts.dryRun || !changed && !opts.wait, goal{
		key: key, verb: "scale cluster " + key.Name, done: "Cluster " + key.Name + " is Ready", reached: clusterReady, hopeless: neverReady,
	})
}

// checkScale lets the rules refuse before anything is said of what would be removed.
func (a *app) checkScale(ctx context.Context, c client.Client, arg string, steps []scaling) error {
	for _, step := range steps {
		if step.from == step.to {
			continue
		}
		if err := checkPatch(ctx, c, step.object, nested(step.to, "spec", "replicas")); err != nil {
			return a.cannotScale(err, arg, step, false)
		}
	}
	return nil
}

// cannotScale says why a number is not taken. For a control plane the next odd number is offered, with which etcd has a quorum.
func (a *app) cannotScale(err error, arg string, step scaling, begun bool) error {
	namespace := step.object.GetNamespace()
	try := a.try("tree %s", step.cluster)
	if odd := step.to | 1; step.kind == kindControlPlane && odd != step.to && refusedByRule(err) {
		flag := "control-plane"
		if kind, _, found := strings.Cut(arg, "/"); found && !isClusterKind(kind) {
			flag = "replicas"
		}
		try = a.try("scale %s --%s %d", arg, flag, odd)
	}
	return cannotChange(err, fmt.Sprintf("cannot scale %s/%s to %d", step.kind, step.object.GetName(), step.to), "namespace "+namespace+", "+a.where(), try, begun)
}

// afterChange waits when that was asked for, and names the command that watches otherwise.
func (a *app) afterChange(ctx context.Context, c client.WithWatch, key types.NamespacedName, w waitOptions, quiet bool, g goal) error {
	if err := a.printChanges(); err != nil {
		return err
	}
	switch {
	case quiet:
		return nil
	case w.wait:
		return a.await(ctx, c, g, w)
	default:
		a.next("tree %s -w", key.Name)
		return nil
	}
}

func (a *app) planScale(ctx context.Context, c client.WithWatch, arg string, opts scaleOptions) (*view.Snapshot, []scaling, error) {
	kind, _, hasKind := strings.Cut(arg, "/")
	if hasKind && !isClusterKind(kind) {
		return a.planScaleOne(ctx, c, arg, opts)
	}
	if opts.replicas >= 0 || opts.workers < 0 && opts.controlPlane < 0 {
		return nil, nil, fault.New(nil, "cannot scale "+arg, "say how many workers or control-plane machines the cluster shall have", "slipway scale "+arg, a.try("scale %s --workers 3", arg))
	}
	key, err := a.clusterKey(arg)
	if err != nil {
		return nil, nil, err
	}
	s, err := a.load(ctx, c, key, false)
	if err != nil {
		return nil, nil, err
	}
	var steps []scaling
	if opts.controlPlane >= 0 {
		if s.ControlPlane == nil {
			return nil, nil, fault.New(nil, "cannot scale the control plane of "+key.Name, "it has no KubeadmControlPlane", "cluster "+key.String(), a.try("tree %s", key.Name))
		}
		steps = append(steps, scaling{resource{"kubeadmcontrolplane", s.ControlPlane, key.Name}, replicasOf(s.ControlPlane.Spec.Replicas), opts.controlPlane})
	}
	if opts.workers >= 0 {
		md, err := a.onlyDeployment(s, opts.workers)
		if err != nil {
			return nil, nil, err
		}
		steps = append(steps, scaling{resource{"machinedeployment", md, key.Name}, replicasOf(md.Spec.Replicas), opts.workers})
	}
	return s, steps, nil
}

// onlyDeployment is the one group of workers that --workers can mean.
func (a *app) onlyDeployment(s *view.Snapshot, workers int32) (*clusterv1.MachineDeployment, error) {
	name := s.Object.Name
	switch len(s.Deployments) {
	case 1:
	case 0:
		return nil, fault.New(nil, "cannot scale the workers of "+name, "it has no machine deployment", "cluster "+name, a.try("tree %s", name))
	default:
		var names []string
		for i := range s.Deployments {
			names = append(names, s.Deployments[i].Name)
		}
		return nil, fault.New(nil, "cannot scale the workers of "+name, "it has several groups of workers: "+strings.Join(names, ", "), "--workers",
			a.try("scale machinedeployment/%s --replicas %d", names[0], workers))
	}
	md := &s.Deployments[0]
	if isAutoscaled(md) {
		return nil, a.autoscaled(md, workers)
	}
	return md, nil
}

func isAutoscaled(o client.Object) bool {
	annotations := o.GetAnnotations()
	return annotations[clusterv1.AutoscalerMinSizeAnnotation] != "" && annotations[clusterv1.AutoscalerMaxSizeAnnotation] != ""
}

// autoscaled refuses a number that the cluster autoscaler would take back.
func (a *app) autoscaled(md client.Object, workers int32) error {
	n := md.GetAnnotations()
	return refused("refused to scale machinedeployment/"+md.GetName(),
		fmt.Sprintf("the cluster autoscaler keeps it between %s and %s machines and would take the change back", n[clusterv1.AutoscalerMinSizeAnnotation], n[clusterv1.AutoscalerMaxSizeAnnotation]),
		"its annotations", "raise the minimum: "+a.kubectl("annotate --overwrite md -n %s %s %s=%d", md.GetNamespace(), md.GetName(), clusterv1.AutoscalerMinSizeAnnotation, workers))
}

func (a *app) planScaleOne(ctx context.Context, c client.WithWatch, arg string, opts scaleOptions) (*view.Snapshot, []scaling, error) {
	if opts.replicas < 0 {
		return nil, nil, fault.New(nil, "cannot scale "+arg, "the number of machines is missing", "slipway scale "+arg, a.try("scale %s --replicas 3", arg))
	}
	r, err := a.resource(ctx, c, arg)
	if err != nil {
		return nil, nil, err
	}
	s, err := a.load(ctx, c, types.NamespacedName{Namespace: r.object.GetNamespace(), Name: r.cluster}, false)
	if err != nil {
		return nil, nil, err
	}
	if isAutoscaled(r.object) {
		return nil, nil, a.autoscaled(r.object, opts.replicas)
	}
	return s, []scaling{{r, r.replicas(), opts.replicas}}, nil
}

// consentToScale asks when machines are removed.
func (a *app) consentToScale(ctx context.Context, arg string, steps []scaling, opts scaleOptions) error {
	removes, command := false, "scale "+arg
	for _, s := range steps {
		if s.to < s.from {
			removes = true
			a.say("This removes %s of %s/%s with what is stored on them: %d → %d.", machines(int(s.from-s.to)), s.kind, s.object.GetName(), s.from, s.to)
		}
	}
	if !removes || opts.dryRun {
		return nil
	}
	for _, f := range []struct {
		name  string
		value int32
	}{{"workers", opts.workers}, {"control-plane", opts.controlPlane}, {"replicas", opts.replicas}} {
		if f.value >= 0 {
			command += fmt.Sprintf(" --%s %d", f.name, f.value)
		}
	}
	for _, s := range steps {
		if s.kind == kindControlPlane && s.from >= leastQuorum && s.to < leastQuorum {
			a.say("etcd keeps a quorum without one member as long as it has %d: with %d, the loss of one machine is the loss of the cluster.", leastQuorum, s.to)
			return a.consentByName(ctx, irreversible{
				"scale " + arg, s.cluster, "one machine alone outlives no loss, so --yes alone is not enough: the cluster's name is needed too", command,
			}, opts.confirm)
		}
	}
	return a.consent(ctx, "scale "+arg, command)
}

func replicasOf(p *int32) int32 {
	if p == nil {
		return 1
	}
	return *p
}
