package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/fault"
	"slipway.dev/slipway/internal/terminal"
	"slipway.dev/slipway/internal/view"
)

// getOptions are the flags of `slipway get`.
type getOptions struct {
	selector   string
	sortBy     string
	watch      bool
	showLabels bool
}

func getCommand(a *app) *cobra.Command {
	opts := getOptions{}
	cmd := &cobra.Command{
		Use:   "get KIND [NAME]",
		Short: "List clusters, machines and every other kind",
		Long: `List objects of the management cluster. Clusters get a line that says how they fare; every other kind gets the columns
that its API server defines. Kinds go by their plural, singular or short name, and NAME may follow as KIND/NAME.

-w goes on when the management plane restarts. On a terminal the table is redrawn; in a pipe each change is a line, and a
deletion is NAMESPACE/NAME deleted. With -o jsonl each line is an object as it is now; a deleted one is a Change of
` + viewAPIVersion + `.`,
		Example: `  slipway get clusters -A

  # The machines of one cluster
  slipway get machines -l cluster.x-k8s.io/cluster-name=demo -o wide

  # The oldest first
  slipway get machines --sort-by .metadata.creationTimestamp

  # For tools
  slipway get clusters -o json`,
		ValidArgsFunction: a.completeKinds,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage(cmd, "the kind is missing, such as clusters or machines")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.get(cmd.Context(), args, opts) },
	}
	f := cmd.Flags()
	f.StringVarP(&opts.selector, "selector", "l", "", "label selector")
	f.BoolVarP(&opts.watch, "watch", "w", false, "keep printing changes")
	f.BoolVar(&opts.showLabels, "show-labels", false, "show the labels in the last column")
	f.StringVar(&opts.sortBy, "sort-by", "", "sort by what a JSONPath finds in each object, such as .metadata.creationTimestamp")
	return cmd
}

// getTarget is what get was asked for.
type getTarget struct {
	kind  string
	names []string
}

func parseTarget(args []string) (getTarget, error) {
	kind, name, found := strings.Cut(args[0], "/")
	if !found {
		return getTarget{kind: args[0], names: args[1:]}, nil
	}
	t := getTarget{kind: kind, names: []string{name}}
	for _, arg := range args[1:] {
		k, n, found := strings.Cut(arg, "/")
		if !found || k != kind {
			return t, fault.New(nil, "cannot read what to get", fmt.Sprintf("after %s, %s must be a %s too", args[0], arg, kind), arg, kind+" "+name+" …")
		}
		t.names = append(t.names, n)
	}
	return t, nil
}

func (a *app) get(ctx context.Context, args []string, opts getOptions) error {
	target, err := parseTarget(args)
	if err != nil {
		return err
	}
	if _, err := labels.Parse(opts.selector); err != nil {
		return fault.New(err, "cannot read the label selector", err.Error(), "-l "+opts.selector, "-l key=value,other!=value")
	}
	if opts.sortBy != "" {
		if _, err := parsePath(opts.sortBy); err != nil {
			return err
		}
	}
	human := a.flags.output == outputText || a.flags.output == outputWide
	if isClusterKind(target.kind) && human && !opts.showLabels { // With -o jsonl each change is a whole object, as of every kind.
		c, err := a.client()
		if err != nil {
			return err
		}
		if opts.watch {
			return a.watchClusters(ctx, c, target.names, opts)
		}
		return a.getClusters(ctx, c, target.names, opts)
	}
	return a.getObjects(ctx, target, opts)
}

// getClusters prints the clusters that are named, or all.
func (a *app) getClusters(ctx context.Context, r client.Reader, names []string, opts getOptions) error {
	summaries, err := a.summaries(ctx, r, names, opts)
	if err != nil {
		return err
	}
	if len(summaries) == 0 {
		a.noClusters()
		return nil
	}
	return a.clusterTable(summaries).Write(a.out)
}

func (a *app) noClusters() {
	if a.flags.allNamespaces {
		a.say("No clusters. Create one: %s", a.try("create cluster demo --provider sim --workers 3 --wait"))
		return
	}
	a.say("No clusters in namespace %s. Create one: %s", a.namespace(), a.try("create cluster demo --provider sim --workers 3 --wait"))
}

func (a *app) summaries(ctx context.Context, r client.Reader, names []string, opts getOptions) ([]view.Summary, error) {
	namespace := a.namespace()
	listOptions := []client.ListOption{client.InNamespace(namespace)}
	if opts.selector != "" {
		selector, err := labels.Parse(opts.selector)
		if err != nil {
			return nil, err
		}
		listOptions = append(listOptions, client.MatchingLabelsSelector{Selector: selector})
	}
	if len(names) == 1 {
		listOptions = append(listOptions, client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("metadata.name", names[0])})
	}
	clusters, err := view.List(ctx, r, listOptions...)
	if err != nil {
		return nil, err
	}
	if opts.sortBy != "" {
		err := sortByPath(clusters, opts.sortBy, func(c view.Cluster) (any, error) {
			return runtime.DefaultUnstructuredConverter.ToUnstructured(c.Object)
		})
		if err != nil {
			return nil, err
		}
	}
	wanted, named := map[string]bool{}, map[string]bool{}
	for _, name := range names {
		wanted[name], named[name] = true, true
	}
	var summaries []view.Summary
	for _, c := range clusters {
		if len(names) == 0 || named[c.Object.Name] {
			summaries = append(summaries, c.Summarize(a.now()))
			delete(wanted, c.Object.Name)
		}
	}
	if missing := sortedKeys(wanted); len(missing) > 0 {
		near := namesLike(ctx, r, clusterv1.GroupVersion.WithKind(clusterv1.ClusterKind), namespace, missing[0])
		return nil, fault.New(nil, "cannot find cluster "+strings.Join(missing, ", "),
			fmt.Sprintf("there is none of that name in %s%s", scope(namespace), didYouMean(near)), a.where(), a.try("get clusters -A"))
	}
	return summaries, nil
}

// scope is a namespace, or all of them, as sentences name it.
func scope(namespace string) string {
	if namespace == "" {
		return "any namespace"
	}
	return "namespace " + namespace
}

// none stands for an empty field.
const none = "<none>"

// clusterTable is the table of clusters.
func (a *app) clusterTable(summaries []view.Summary) terminal.Table {
	t := terminal.Table{
		Header:   []string{"NAME", "STATE", "CONTROLPLANE", "WORKERS", "VERSION", "AGE", "MESSAGE"},
		NoHeader: a.flags.noHeaders, Message: true,
	}
	wide := a.flags.output == outputWide
	if wide {
		t.Header = []string{"NAME", "STATE", "CONTROLPLANE", "WORKERS", "VERSION", "AGE", "CREATED", "MESSAGE"}
	}
	if a.flags.allNamespaces {
		t.Header = append([]string{"NAMESPACE"}, t.Header...)
	}
	for _, s := range summaries {
		t.Rows = append(t.Rows, a.clusterRow(s, wide))
	}
	return t
}

func (a *app) clusterRow(s view.Summary, wide bool) []terminal.Cell {
	controlPlane, version := none, firstOf(s.Version, none)
	if s.ControlPlane != nil {
		controlPlane = s.ControlPlane.String()
	}
	if s.Target != "" {
		version += "→" + s.Target
	}
	row := []terminal.Cell{
		{Text: s.Name}, {Text: string(s.State), Style: styleOf(s.State)}, {Text: controlPlane}, {Text: s.Workers.String()}, {Text: version},
		{Text: duration.HumanDuration(a.now().Sub(s.Created))},
	}
	if wide {
		row = append(row, terminal.Cell{Text: s.Created.UTC().Format(time.RFC3339)})
	}
	if a.flags.allNamespaces {
		row = append([]terminal.Cell{{Text: s.Namespace}}, row...)
	}
	return append(row, terminal.Cell{Text: s.Message})
}
