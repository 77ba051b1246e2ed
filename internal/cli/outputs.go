package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"slipway.dev/slipway/internal/fault"
)

// outputs are the values of -o that a command has, beside text.
type outputs struct {
	// once are those of a plain run, waiting those that --wait adds, watching those of -w, which takes the place of once.
	once, waiting, watching []string
}

// commandOutputs says for every command which outputs it has: what is not here is refused before the command begins, so that
// none can accept a value and ignore it.
func commandOutputs() map[string]outputs {
	document := []string{outputJSON, outputYAML}
	changes := outputs{once: []string{outputJSON, outputYAML, outputName, outputJSONL}}
	asked := outputs{once: document, waiting: []string{outputJSONL}}
	return map[string]outputs{
		"up":              {once: []string{outputJSON, outputYAML, outputJSONL}},
		"down":            {once: document},
		"backup":          {once: document},
		"status":          asked,
		"logs plane":      {},
		"create cluster":  changes,
		"scale":           changes,
		"upgrade":         changes,
		"delete cluster":  changes,
		"rollout status":  asked,
		"rollout restart": changes,
		"rollout pause":   changes,
		"rollout resume":  changes,
		"kubeconfig":      {once: document},
		"get":             {once: []string{outputWide, outputJSON, outputYAML, outputName, outputJSONPath}, watching: []string{outputWide, outputJSONL}},
		"tree":            {once: []string{outputJSON, outputYAML, outputDot}, watching: []string{outputJSONL}},
		"version":         {once: document},
		"completion":      {},
	}
}

// pathBelowRoot is the name of a command without the program's.
func pathBelowRoot(cmd *cobra.Command) string {
	var names []string
	for c := cmd; c.HasParent(); c = c.Parent() {
		names = append([]string{c.Name()}, names...)
	}
	return strings.Join(names, " ")
}

// outputsOf are the outputs that a command has as it was called.
func outputsOf(cmd *cobra.Command) (known []string, declared bool) {
	o, declared := commandOutputs()[pathBelowRoot(cmd)]
	given := func(name string) bool {
		flag := cmd.Flags().Lookup(name)
		return flag != nil && flag.Value.String() == "true"
	}
	switch {
	case o.watching != nil && given("watch"):
		return o.watching, declared
	case given("wait"):
		return append(slices.Clone(o.once), o.waiting...), declared
	}
	return o.once, declared
}

// checkOutput refuses a value of -o that the command does not have. A variable is a default for the commands that have
// outputs, and means nothing to the others.
func (a *app) checkOutput(cmd *cobra.Command) error {
	known, declared := outputsOf(cmd)
	value := a.flags.output
	byFlag := cmd.Flags().Changed("output")
	switch {
	case value == outputText, !declared, slices.Contains(known, value):
		return nil
	case len(known) == 0 && !byFlag:
		a.flags.output = outputText
		return nil
	case slices.Contains(known, outputJSONPath) && strings.HasPrefix(value, outputJSONPath):
		return nil
	}
	where, try := "-o "+value, "-o "+strings.Join(known, "|")
	if !byFlag {
		where = variableOf("output") + "=" + value
	}
	if len(known) == 0 {
		try = "leave -o out: it prints text"
	}
	return fault.New(nil, "cannot run "+cmd.CommandPath(), fmt.Sprintf("it has no output %q", value)+a.outputElsewhere(cmd, value), where, try)
}

// outputElsewhere says with which flag the command has the output, if it has it with one.
func (a *app) outputElsewhere(cmd *cobra.Command, value string) string {
	o := commandOutputs()[pathBelowRoot(cmd)]
	known, _ := outputsOf(cmd)
	switch {
	case slices.Contains(o.waiting, value):
		return " without --wait"
	case slices.Contains(o.watching, value) && !slices.Contains(known, value):
		return " without -w"
	case slices.Contains(o.once, value), slices.Contains(o.once, outputJSONPath) && strings.HasPrefix(value, outputJSONPath):
		return " with -w"
	}
	return ""
}

// completeOutputs offers the outputs that the command has.
func completeOutputs(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	known, _ := outputsOf(cmd)
	return known, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}
