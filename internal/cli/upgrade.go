package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/fault"
	"slipway.dev/slipway/internal/plan"
	"slipway.dev/slipway/internal/terminal"
	"slipway.dev/slipway/internal/view"
)

// upgradeOptions are the flags of `slipway upgrade`.
type upgradeOptions struct {
	waitOptions
	version string
	dryRun  bool
}

func upgradeCommand(a *app) *cobra.Command {
	opts := upgradeOptions{}
	cmd := &cobra.Command{
		Use:   "upgrade CLUSTER --version VERSION",
		Short: "Bring a cluster to another Kubernetes version",
		Long: `Bring a cluster to another Kubernetes version by replacing its machines: the control plane first, one machine at a time,
then the workers, which wait until the control plane is done. The versions of all parts are set at once, so the command may
end at any time without leaving the cluster half asked for. Minors go up one at a time.`,
		Example: `  slipway upgrade demo --version v1.37.2 --wait`,
		Args:    oneArg("the name of a cluster"), ValidArgsFunction: a.completeClusters,
		RunE: func(cmd *cobra.Command, args []string) error {
			if opts.version == "" {
				return usage(cmd, "the version is missing: --version "+newestVersion)
			}
			c, err := a.client()
			if err != nil {
				return err
			}
			return a.upgrade(cmd.Context(), c, args[0], opts)
		},
	}
	f := cmd.Flags()
	f.StringVar(&opts.version, "version", "", "Kubernetes version to bring the cluster to")
	f.BoolVar(&opts.dryRun, "dry-run", false, "write nothing: print the plan, and let the API server check what would be sent")
	opts.waitOptions.flags(f, upgradeTimeout)
	a.completeUpgrade(cmd)
	return cmd
}

// replacement is one part of a cluster that gets another version.
type replacement struct {
	resource
	from     string
	machines int32
	how      string
	fields   map[string]any
}

func (a *app) upgrade(ctx context.Context, c client.WithWatch, arg string, opts upgradeOptions) error {
	key, err := a.clusterKey(arg)
	if err != nil {
		return err
	}
	version := plan.NormalizeVersion(opts.version)
	s, err := a.load(ctx, c, key, false)
	if err != nil {
		return err
	}
	steps, err := a.planUpgrade(s, version)
	if err != nil {
		return err
	}
	if len(steps) == 0 {
		if err := a.mutated(kindCluster, key.Name, "unchanged, every part asks for "+version, false); err != nil {
			return err
		}
	} else if err := a.consentToUpgrade(ctx, s, steps, version, opts); err != nil {
		return err
	}
	for i, step := range steps {
		if err := patchObject(ctx, c, step.object, step.fields, opts.dryRun); err != nil {
			return cannotChange(err, fmt.Sprintf("cannot upgrade %s to %s", step.name(), version), "namespace "+key.Namespace+", "+a.where(), a.try("upgrade %s --version %s", key.Name, version)+" again: what is done stays done", i > 0)
		}
		if err := a.mutated(step.kind, step.object.GetName(), "upgraded from "+step.from+" to "+version, opts.dryRun); err != nil {
			return err
		}
	}
	return a.afterChange(ctx, c, key, opts.waitOptions, opts.dryRun || len(steps) == 0 && !opts.wait, goal{
		key: key, verb: "upgrade cluster " + key.Name, done: fmt.Sprintf("Cluster %s is Ready at %s", key.Name, version), reached: clusterReady, hopeless: neverReady,
	})
}

// planUpgrade lists the parts that change, the control plane first.
func (a *app) planUpgrade(s *view.Snapshot, version string) ([]replacement, error) {
	what := fmt.Sprintf("cannot upgrade cluster %s to %s", s.Object.Name, version)
	if _, err := plan.ParseVersion(version); err != nil {
		return nil, fault.New(err, what, err.Error(), "--version "+version, "--version "+newestVersion)
	}
	if s.Object.DeletionTimestamp != nil {
		return nil, fault.New(nil, what, "it is being deleted", "cluster "+s.Object.Namespace+"/"+s.Object.Name, a.try("tree %s", s.Object.Name))
	}
	var steps []replacement
	if cp := s.ControlPlane; cp != nil && cp.Spec.Version != version {
		if err := plan.CheckUpgrade(cp.Spec.Version, version); err != nil {
			return nil, refused(what, err.Error(), "--version "+version, a.instead(s.Object.Name, cp.Spec.Version, version))
		}
		steps = append(steps, replacement{
			resource{kindControlPlane, cp, s.Object.Name}, cp.Spec.Version, replicasOf(cp.Spec.Replicas), "one at a time", nested(version, "spec", "version"),
		})
	}
	for i := range s.Deployments {
		md := &s.Deployments[i]
		if from := md.Spec.Template.Spec.Version; from != version {
			steps = append(steps, replacement{
				resource{kindMachineDeployment, md, s.Object.Name}, firstOf(from, none), replicasOf(md.Spec.Replicas), howDeploymentRolls(md),
				nested(version, "spec", "template", "spec", "version"),
			})
		}
	}
	return steps, nil
}

func howDeploymentRolls(md *clusterv1.MachineDeployment) string {
	strategy := md.Spec.Rollout.Strategy
	if strategy.Type == clusterv1.OnDeleteMachineDeploymentStrategyType {
		return "each when you delete it (OnDelete)"
	}
	text := func(p *intstr.IntOrString, fallback string) string {
		if p == nil {
			return fallback
		}
		return p.String()
	}
	return fmt.Sprintf("after the control plane, max surge %s, max unavailable %s", text(strategy.RollingUpdate.MaxSurge, "1"), text(strategy.RollingUpdate.MaxUnavailable, "0"))
}

// consentToUpgrade shows what is replaced and asks.
func (a *app) consentToUpgrade(ctx context.Context, s *view.Snapshot, steps []replacement, version string, opts upgradeOptions) error {
	name := s.Object.Name
	var total int32
	a.say("Cluster %s/%s: upgrade to %s\n", s.Object.Namespace, name, version)
	for _, step := range steps {
		total += step.machines
		line := terminal.Line{}.Add(terminal.Plain, "  ").Add(terminal.BrightYellow, "±").
			Add(terminal.Plain, fmt.Sprintf(" %s   %s replaced, %s → %s, %s", step.name(), machines(int(step.machines)), step.from, version, step.how))
		if !a.flags.quiet {
			fmt.Fprintln(a.talk, a.talk.Render(line, 0))
		}
	}
	a.say("\nPlan: %s to replace.", machines(int(total)))
	if opts.dryRun {
		return nil
	}
	return a.consent(ctx, "upgrade cluster "+name, fmt.Sprintf("upgrade %s --version %s", name, version))
}

// instead is what to do when a cluster cannot go from one version to the other.
func (a *app) instead(cluster, from, to string) string {
	if next := nextVersion(from, to); next != "" {
		return a.try("upgrade %s --version %s", cluster, next)
	}
	return "leave it at " + from + ", the newest version that is known to work"
}

// nextVersion is the version to go to instead of one that cannot be reached: on the way up of the next minor, the newest that
// is known to work or else its first patch; instead of going down the farthest that is known to work, or "" when that is from.
func nextVersion(from, to string) string {
	v, err := plan.ParseVersion(from)
	if err != nil {
		return newestVersion
	}
	up := less(from, to)
	for _, offer := range knownVersions() {
		version, _, _ := strings.Cut(offer, "\t")
		known, err := plan.ParseVersion(version)
		if err == nil && less(from, version) && plan.CheckUpgrade(from, version) == nil && (!up || known.Minor == v.Minor+1) {
			return version
		}
	}
	if !up {
		return ""
	}
	return fmt.Sprintf("v%d.%d.0", v.Major, v.Minor+1)
}

func less(a, b string) bool {
	x, errX := plan.ParseVersion(a)
	y, errY := plan.ParseVersion(b)
	return errX == nil && errY == nil && x.LT(y)
}
