package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/plan"
	"slipway.dev/slipway/internal/view"
)

// completeWithin is how long completion may ask the API server; it is silent when that fails.
const completeWithin = 500 * time.Millisecond

// completeFlag offers fixed values for a flag.
func completeFlag(cmd *cobra.Command, flag string, values []string) {
	// The error would be about a flag that does not exist, which every test of the command would show.
	_ = cmd.RegisterFlagCompletionFunc(flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return values, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	})
}

// completeClusters offers the names of clusters as the first argument.
func (a *app) completeClusters(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completeWithin)
	defer cancel()
	c, err := a.client()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var clusters clusterv1.ClusterList
	if err := c.List(ctx, &clusters, client.InNamespace(a.namespace())); err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for i := range clusters.Items {
		names = append(names, clusters.Items[i].Name)
	}
	slices.Sort(names)
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeUpgrade offers the versions that a cluster can go to.
func (a *app) completeUpgrade(cmd *cobra.Command) {
	_ = cmd.RegisterFlagCompletionFunc("version", func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		return a.reachableVersions(cmd.Context(), args), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	})
}

func (a *app) reachableVersions(ctx context.Context, args []string) []string {
	if len(args) == 0 {
		return knownVersions()
	}
	ctx, cancel := context.WithTimeout(ctx, completeWithin)
	defer cancel()
	c, err := a.client()
	if err != nil {
		return knownVersions()
	}
	s, err := view.Load(ctx, c, types.NamespacedName{Namespace: a.oneNamespace(), Name: args[0]}, false)
	if err != nil || s.ControlPlane == nil {
		return knownVersions()
	}
	var reachable []string
	for _, offer := range knownVersions() {
		version, _, _ := strings.Cut(offer, "\t")
		if version != s.ControlPlane.Spec.Version && plan.CheckUpgrade(s.ControlPlane.Spec.Version, version) == nil {
			reachable = append(reachable, version)
		}
	}
	return reachable
}

// completeKinds offers the kinds that people look at most, then the names of clusters.
func (a *app) completeKinds(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 1 && isClusterKind(args[0]) {
		return a.completeClusters(cmd, nil, typed)
	}
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return []string{
		"clusters", "machines", "machinedeployments", "machinesets", "kubeadmcontrolplanes", "kubeadmconfigs",
		"simclusters", "simmachines", "simmachinetemplates", "machinehealthchecks", "machinedrainrules",
	}, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// completeContexts offers the contexts of the kubeconfig.
func (a *app) completeContexts(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	raw, err := a.loadingRules().Load()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return sortedKeys(raw.Contexts), cobra.ShellCompDirectiveNoFileComp
}
