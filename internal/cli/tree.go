package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/fault"
	"slipway.dev/slipway/internal/terminal"
	"slipway.dev/slipway/internal/view"
)

// treeOptions are the flags of `slipway tree`.
type treeOptions struct {
	view.TreeOptions
	watch bool
}

func treeCommand(a *app) *cobra.Command {
	opts := treeOptions{}
	cmd := &cobra.Command{
		Use:   "tree CLUSTER",
		Short: "Show a cluster with everything it is made of",
		Long: `Show a cluster with everything it is made of, and how each part fares.
Machines that are Ready are folded into a count; what is in trouble is shown, and the first cause is marked.`,
		Example: `  slipway tree demo

  # Follow it
  slipway tree demo -w

  # Every object, with its conditions
  slipway tree demo --all --show-conditions

  # As a picture
  slipway tree demo -o dot | dot -Tsvg > demo.svg`,
		Args:              oneArg("the name of a cluster"),
		ValidArgsFunction: a.completeClusters,
		RunE: func(cmd *cobra.Command, args []string) error {
			key, err := a.clusterKey(args[0])
			if err != nil {
				return err
			}
			if opts.watch {
				return a.watchTree(cmd.Context(), key, opts.TreeOptions)
			}
			c, err := a.client()
			if err != nil {
				return err
			}
			return a.tree(cmd.Context(), c, key, opts.TreeOptions)
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&opts.watch, "watch", "w", false, "keep showing changes")
	f.BoolVar(&opts.All, "all", false, "fold nothing, and show machine sets and each machine's own objects")
	f.BoolVar(&opts.Conditions, "show-conditions", false, "show each object's conditions")
	return cmd
}

// clusterKey reads the name of a cluster, with or without its type before it.
func (a *app) clusterKey(arg string) (types.NamespacedName, error) {
	name := arg
	if kind, rest, found := strings.Cut(arg, "/"); found {
		if !isClusterKind(kind) {
			return types.NamespacedName{}, fault.New(nil, "cannot take "+arg, "a cluster is expected here, not a "+kind, arg, a.try("get clusters"))
		}
		name = rest
	}
	return types.NamespacedName{Namespace: a.oneNamespace(), Name: name}, nil
}

func isClusterKind(kind string) bool {
	switch strings.ToLower(kind) {
	case "cluster", "clusters", "cl", "cluster.cluster.x-k8s.io", "clusters.cluster.x-k8s.io":
		return true
	}
	return false
}

// load reads a cluster's snapshot; its error says what there is instead.
func (a *app) load(ctx context.Context, r view.Reader, key types.NamespacedName, withObjects bool) (*view.Snapshot, error) {
	s, err := view.Load(ctx, r, key, withObjects)
	if apierrors.IsNotFound(err) {
		return nil, a.noCluster(ctx, r, key, err)
	}
	return s, err
}

// noCluster says that a cluster does not exist, and names those that are near.
func (a *app) noCluster(ctx context.Context, r client.Reader, key types.NamespacedName, err error) error {
	near := namesLike(ctx, r, clusterv1.GroupVersion.WithKind(clusterv1.ClusterKind), key.Namespace, key.Name)
	return fault.New(err, "cannot find cluster "+key.Name, fmt.Sprintf("there is no cluster %s in namespace %s%s", key.Name, key.Namespace, didYouMean(near)),
		a.where(), a.try("get clusters -A"))
}

// treeDocument is the tree as JSON.
type treeDocument struct {
	typeMeta
	Namespace string     `json:"namespace"`
	Cluster   *view.Node `json:"cluster"`
}

func (a *app) tree(ctx context.Context, r view.Reader, key types.NamespacedName, opts view.TreeOptions) error {
	s, err := a.load(ctx, r, key, opts.All)
	if err != nil {
		return err
	}
	return a.printTree(key, s.Tree(opts, a.now()))
}

func (a *app) printTree(key types.NamespacedName, root *view.Node) error {
	switch {
	case a.structured():
		return a.printStructured(treeDocument{typeMeta{viewAPIVersion, "ClusterTree"}, key.Namespace, root})
	case a.flags.output == outputDot:
		_, err := fmt.Fprint(a.out, treeDot(root))
		return err
	}
	return printLines(a.out, treeLines(root, a.now(), a.out.Columns()))
}

// printLines prints lines cut to the width of a terminal, and whole into a pipe.
func printLines(s terminal.Stream, lines []terminal.Line) error {
	width := s.Columns()
	for _, l := range lines {
		if _, err := fmt.Fprintln(s, s.Render(l, width)); err != nil {
			return err
		}
	}
	return nil
}
