package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"slipway.dev/slipway/internal/fault"
)

// viewAPIVersion is the version of everything that the command line prints as JSON and that is no API object.
const viewAPIVersion = "cli.slipway.dev/v1alpha1"

// The values of -o.
const (
	outputText     = ""
	outputWide     = "wide"
	outputJSON     = "json"
	outputYAML     = "yaml"
	outputName     = "name"
	outputDot      = "dot"
	outputJSONL    = "jsonl"
	outputJSONPath = "jsonpath="
)

// typeMeta heads what is printed as JSON.
type typeMeta struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
}

// printStructured prints a value as JSON or YAML.
func (a *app) printStructured(v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the output: %w", err)
	}
	if a.flags.output == outputYAML {
		if b, err = yaml.JSONToYAML(b); err != nil {
			return fmt.Errorf("encode the output: %w", err)
		}
	}
	_, err = fmt.Fprintln(a.out, strings.TrimRight(string(b), "\n"))
	return err
}

// printLine prints a value as one line of JSON.
func (a *app) printLine(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode the output: %w", err)
	}
	_, err = fmt.Fprintln(a.out, string(b))
	return err
}

// checkOutput refuses a value of -o that no command knows.
func (a *app) checkOutput() error {
	known := []string{outputText, outputWide, outputJSON, outputYAML, outputName, outputDot, outputJSONL}
	if slices.Contains(known, a.flags.output) || strings.HasPrefix(a.flags.output, outputJSONPath) {
		return nil
	}
	return fault.New(nil, "cannot read the flags", fmt.Sprintf("there is no output %q", a.flags.output), "-o "+a.flags.output, "-o "+strings.Join(known[1:], "|")+"|"+outputJSONPath)
}

// structured tells whether -o asks for JSON or YAML.
func (a *app) structured() bool { return a.flags.output == outputJSON || a.flags.output == outputYAML }

// allowOutput refuses a value of -o that the command does not know.
func (a *app) allowOutput(cmd *cobra.Command, known ...string) error {
	if a.flags.output == outputText || slices.Contains(known, a.flags.output) {
		return nil
	}
	if slices.Contains(known, outputJSONPath) && strings.HasPrefix(a.flags.output, outputJSONPath) {
		return nil
	}
	return fault.New(nil, "cannot run "+cmd.CommandPath(), fmt.Sprintf("it has no output %q", a.flags.output), "-o "+a.flags.output, "-o "+strings.Join(known, "|"))
}
