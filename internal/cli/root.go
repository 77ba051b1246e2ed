package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"slipway.dev/slipway/internal/fault"
	"slipway.dev/slipway/internal/terminal"
)

const rootLong = `Slipway turns machines into Kubernetes clusters and keeps them that way.
It brings its own management plane, and works as well on any management cluster of the Cluster API.`

const rootExample = `  # Start the management plane, make a cluster of simulated machines, use it, remove it.
  slipway up --detach
  slipway create cluster demo --provider sim --workers 3 --wait
  slipway kubeconfig demo > demo.kubeconfig
  slipway delete cluster demo`

// The groups in which the help lists the commands.
const (
	groupPlane   = "plane"
	groupCluster = "cluster"
	groupLook    = "look"
)

func rootCommand(a *app) *cobra.Command {
	root := &cobra.Command{
		Use: "slipway", Long: rootLong, Example: rootExample,
		SilenceErrors: true, SilenceUsage: true,
		SuggestionsMinimumDistance: 2,
		Annotations:                map[string]string{cobra.CommandDisplayNameAnnotation: a.name},
		PersistentPreRunE:          func(cmd *cobra.Command, _ []string) error { return a.prepare(cmd) },
	}
	root.CompletionOptions.DisableDefaultCmd = true
	a.globalFlags(root.PersistentFlags())
	a.fromEnvironment(root.PersistentFlags())
	_ = root.RegisterFlagCompletionFunc("output", completeOutputs)
	completeFlag(root, "color", []string{string(terminal.ColorAuto), string(terminal.ColorAlways), string(terminal.ColorNever)})
	_ = root.RegisterFlagCompletionFunc("context", a.completeContexts)
	_ = root.RegisterFlagCompletionFunc("namespace", a.completeNamespaces)
	root.AddGroup(
		&cobra.Group{ID: groupPlane, Title: "The management plane:"},
		&cobra.Group{ID: groupCluster, Title: "Clusters:"},
		&cobra.Group{ID: groupLook, Title: "Looking:"},
	)
	add := func(group string, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add(groupPlane, upCommand(a), downCommand(a), statusCommand(a), backupCommand(a), logsCommand(a))
	add(groupCluster, createCommand(a), scaleCommand(a), upgradeCommand(a), rolloutCommand(a), kubeconfigCommand(a), deleteCommand(a))
	add(groupLook, getCommand(a), treeCommand(a))
	root.AddCommand(versionCommand(a), completionCommand(a), planeCommand(a))
	root.AddCommand(topics()...)
	root.SetHelpCommand(helpCommand(a))
	a.pluginExamples(root)
	helpFlags(root)
	return root
}

// pluginExamples makes the examples say what the user types: kubectl slipway, when it was called as a plugin.
func (a *app) pluginExamples(cmd *cobra.Command) {
	if a.name != "slipway" {
		cmd.Example = strings.ReplaceAll(cmd.Example, "  slipway ", "  "+a.name+" ")
		cmd.Long = strings.ReplaceAll(cmd.Long, "`slipway ", "`"+a.name+" ")
	}
	for _, c := range cmd.Commands() {
		a.pluginExamples(c)
	}
}

func (a *app) globalFlags(f *pflag.FlagSet) {
	g := &a.flags
	f.StringVarP(&g.output, "output", "o", "", "output format: json, yaml and, where it makes sense, wide, name, jsonpath=, dot; jsonl prints progress, one object a change")
	f.StringVarP(&g.namespace, "namespace", "n", "", "namespace (default the context's, else \"default\")")
	f.BoolVarP(&g.allNamespaces, "all-namespaces", "A", false, "all namespaces")
	f.BoolVarP(&g.yes, "yes", "y", false, "consent given beforehand")
	f.BoolVarP(&g.quiet, "quiet", "q", false, "only data and errors")
	f.BoolVar(&g.noHeaders, "no-headers", false, "tables without a header")
	f.StringVar(&g.context, "context", "", "context of the management cluster (default \"slipway\" if there is one, else the current context)")
	f.StringVar(&g.kubeconfig, "kubeconfig", "", "kubeconfig of the management cluster (default $KUBECONFIG, else ~/.kube/config)")
	f.StringVar(&g.color, "color", string(terminal.ColorAuto), "colour: auto, always or never (auto honours NO_COLOR and FORCE_COLOR)")
	f.IntVarP(&g.verbosity, "verbosity", "v", 0, "how much the plane logs into its file, which slipway logs plane prints: 0 what an operator must see, 4 much more")
	f.VisitAll(func(flag *pflag.Flag) {
		if name := variableOf(flag.Name); name != "" {
			flag.Usage += " [$" + name + "]"
		}
	})
}

// variableOf is the environment variable that mirrors a global flag. Consent is given by a flag alone: a variable that was
// exported once would agree to everything after it.
func variableOf(flag string) string {
	if flag == "yes" {
		return ""
	}
	return "SLIPWAY_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// fromEnvironment gives the global flags the values of their variables; flags on the command line win. A value that cannot be
// read is kept for prepare to refuse.
func (a *app) fromEnvironment(f *pflag.FlagSet) {
	f.VisitAll(func(flag *pflag.Flag) {
		name := variableOf(flag.Name)
		if name == "" {
			return
		}
		value := a.env.Getenv(name)
		if value == "" {
			return
		}
		if err := flag.Value.Set(value); err != nil && a.badVariable == nil {
			a.badVariable = fault.New(err, "cannot read the environment", err.Error(), name+"="+value, "unset "+name+", or give it a value as --"+flag.Name+" takes")
		}
	})
}

// prepare runs before every command: it checks the global flags and opens the streams anew with what they say.
func (a *app) prepare(cmd *cobra.Command) error {
	if a.badVariable != nil {
		return a.badVariable
	}
	modes := []string{string(terminal.ColorAuto), string(terminal.ColorAlways), string(terminal.ColorNever)}
	if !slices.Contains(modes, a.flags.color) {
		return fault.New(nil, "cannot read the flags", "there is no colour mode "+a.flags.color, "--color", "--color "+strings.Join(modes, "|"))
	}
	a.openStreams()
	a.noteScope(cmd.Flags())
	return a.checkOutput(cmd)
}
