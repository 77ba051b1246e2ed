package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"
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

// printDocument prints a value in the form that -o asks for; nothing when it asks for text, which says it all in its own way.
func (a *app) printDocument(v any) error {
	switch {
	case a.structured():
		return a.printStructured(v)
	case a.flags.output == outputJSONL:
		return a.printLine(v)
	}
	return nil
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

// structured tells whether -o asks for JSON or YAML.
func (a *app) structured() bool { return a.flags.output == outputJSON || a.flags.output == outputYAML }
