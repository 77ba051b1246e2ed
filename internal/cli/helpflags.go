package cli

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagUsers are the commands for which a global flag means something; a flag that is not here means something for all.
func flagUsers() map[string][]string {
	lists := []string{"get"}
	asks := []string{"scale", "upgrade", "delete cluster", "rollout restart"}
	namespaced := []string{"create cluster", "scale", "upgrade", "delete cluster", "rollout status", "rollout restart", "rollout pause", "rollout resume", "kubeconfig", "get", "tree"}
	asking := append([]string{"status", "version"}, namespaced...)
	return map[string][]string{
		"all-namespaces": lists, "no-headers": lists, "yes": asks, "namespace": namespaced,
		"context": asking, "kubeconfig": append([]string{"up"}, asking...), "verbosity": {"up"},
	}
}

// leaveOut hides from a command's help the global flags that mean nothing for it. They are accepted all the same, since a
// script may put them everywhere. The root's help has them all.
func leaveOut(cmd *cobra.Command) {
	path := pathBelowRoot(cmd)
	if path == "" || cmd.HasAvailableSubCommands() {
		return
	}
	users := flagUsers()
	known, _ := outputsOf(cmd)
	inherited := cmd.InheritedFlags()
	inherited.SortFlags = false
	inherited.VisitAll(func(flag *pflag.Flag) {
		names, limited := users[flag.Name]
		if limited && !slices.Contains(names, path) || flag.Name == "output" && len(known) == 0 {
			flag.Hidden = true
		}
	})
}

// helpFlags makes the help of every command show the flags that it has a use for, in the order in which they are defined: the
// common ones first.
func helpFlags(root *cobra.Command) {
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		leaveOut(cmd)
		help(cmd, args)
	})
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		cmd.Flags().SortFlags, cmd.PersistentFlags().SortFlags = false, false
		for _, c := range cmd.Commands() {
			walk(c)
		}
	}
	walk(root)
}
