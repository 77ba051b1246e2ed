package cli

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	infrav1 "slipway.dev/slipway/api/infrastructure/v1alpha1"
	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
	"slipway.dev/slipway/internal/plan"
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
	var names []string
	for _, u := range a.offered(cmd.Context(), clusterv1.GroupVersion.WithResource("clusters"), "") {
		names = append(names, u.GetName())
	}
	slices.Sort(names)
	return names, cobra.ShellCompDirectiveNoFileComp
}

// offered lists objects for completion by one request, without asking first which kinds there are; nothing on failure.
func (a *app) offered(ctx context.Context, resource schema.GroupVersionResource, selector string) []unstructured.Unstructured {
	ctx, cancel := context.WithTimeout(ctx, completeWithin)
	defer cancel()
	config, err := a.restConfig()
	if err != nil {
		return nil
	}
	c, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil
	}
	list, err := c.Resource(resource).Namespace(a.namespace()).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil
	}
	return list.Items
}

// completeUpgrade offers the versions that a cluster can go to.
func (a *app) completeUpgrade(cmd *cobra.Command) {
	_ = cmd.RegisterFlagCompletionFunc("version", func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		return a.reachableVersions(cmd.Context(), args), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	})
}

// reachableVersions are the versions that the named cluster can go to; without a name all that are known to work.
func (a *app) reachableVersions(ctx context.Context, args []string) []string {
	if len(args) == 0 {
		return knownVersions()
	}
	ofCluster := clusterv1.ClusterNameLabel + "=" + args[0]
	var reachable []string
	for _, cp := range a.offered(ctx, controlplanev1.GroupVersion.WithResource("kubeadmcontrolplanes"), ofCluster) {
		// A control plane without a version has none to go on from.
		from, _, _ := unstructured.NestedString(cp.Object, "spec", "version")
		for _, offer := range knownVersions() {
			version, _, _ := strings.Cut(offer, "\t")
			if version != from && plan.CheckUpgrade(from, version) == nil {
				reachable = append(reachable, offer)
			}
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
		resource, found := offeredKind(args[0])
		if !found {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return a.names(cmd.Context(), resource, ""), cobra.ShellCompDirectiveNoFileComp
	}
	var plurals []string
	for _, kind := range offeredKinds() {
		plurals = append(plurals, kind.Resource)
	}
	return plurals, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// offeredKinds are the kinds that completion offers, most wanted first, and of which it offers names without asking first which
// kinds there are.
func offeredKinds() []schema.GroupVersionResource {
	core, infra := clusterv1.GroupVersion, infrav1.GroupVersion
	return []schema.GroupVersionResource{
		core.WithResource("clusters"), core.WithResource("machines"), core.WithResource("machinedeployments"), core.WithResource("machinesets"),
		controlplanev1.GroupVersion.WithResource("kubeadmcontrolplanes"), bootstrapv1.GroupVersion.WithResource("kubeadmconfigs"),
		infra.WithResource("simclusters"), infra.WithResource("simmachines"), infra.WithResource("simmachinetemplates"),
		core.WithResource("machinehealthchecks"), core.WithResource("machinedrainrules"),
	}
}

// offeredKind finds one of them by its plural, singular or short name.
func offeredKind(name string) (schema.GroupVersionResource, bool) {
	short := map[string]string{"ma": "machines", "md": "machinedeployments", "ms": "machinesets", "kcp": "kubeadmcontrolplanes", "mhc": "machinehealthchecks"}
	if plural, ok := short[name]; ok {
		name = plural
	}
	for _, kind := range offeredKinds() {
		if name == kind.Resource || name+"s" == kind.Resource {
			return kind, true
		}
	}
	return schema.GroupVersionResource{}, false
}

// names are those of the objects of a kind, each after a prefix.
func (a *app) names(ctx context.Context, resource schema.GroupVersionResource, prefix string) []string {
	var names []string
	for _, u := range a.offered(ctx, resource, "") {
		names = append(names, prefix+u.GetName())
	}
	slices.Sort(names)
	return names
}

// completeRollable offers what can be rolled out, as KIND/NAME, and clusters where they are taken too.
func (a *app) completeRollable(clusters bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		kinds := []struct {
			resource schema.GroupVersionResource
			prefix   string
		}{
			{clusterv1.GroupVersion.WithResource("clusters"), ""},
			{controlplanev1.GroupVersion.WithResource("kubeadmcontrolplanes"), kindControlPlane + "/"},
			{clusterv1.GroupVersion.WithResource("machinedeployments"), kindMachineDeployment + "/"},
		}
		if !clusters {
			kinds = kinds[1:]
		}
		// All at once: together they may take as long as one.
		names := make([][]string, len(kinds))
		var all sync.WaitGroup
		for i, kind := range kinds {
			all.Go(func() { names[i] = a.names(cmd.Context(), kind.resource, kind.prefix) })
		}
		all.Wait()
		return slices.Concat(names...), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeNamespaces offers the namespaces.
func (a *app) completeNamespaces(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	a.flags.allNamespaces = true // They are in none themselves.
	return a.names(cmd.Context(), corev1.SchemeGroupVersion.WithResource("namespaces"), ""), cobra.ShellCompDirectiveNoFileComp
}

// completeContexts offers the contexts of the kubeconfig.
func (a *app) completeContexts(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	raw, err := a.loadingRules().Load()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return sortedKeys(raw.Contexts), cobra.ShellCompDirectiveNoFileComp
}
