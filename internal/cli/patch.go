package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// patchObject changes a few fields of an object. With dryRun the API server checks it and writes nothing.
func patchObject(ctx context.Context, c client.Client, o client.Object, fields map[string]any, dryRun bool) error {
	content, err := json.Marshal(fields)
	if err != nil {
		return fmt.Errorf("encode the patch of %s: %w", o.GetName(), err)
	}
	opts := []client.PatchOption{client.FieldOwner(fieldManager)}
	if dryRun {
		opts = append(opts, client.DryRunAll)
	}
	if err := c.Patch(ctx, o, client.RawPatch(types.MergePatchType, content), opts...); err != nil {
		return fmt.Errorf("patch %s: %w", o.GetName(), err)
	}
	return nil
}

// nested builds the fields of a patch: nested(3, "spec", "replicas") is {"spec":{"replicas":3}}.
func nested(value any, path ...string) map[string]any {
	out := map[string]any{path[len(path)-1]: value}
	for i := len(path) - 2; i >= 0; i-- {
		out = map[string]any{path[i]: out}
	}
	return out
}

// changeDocument is what happened to an object, as JSON.
type changeDocument struct {
	typeMeta
	// Object is kind/name, Change a past participle, with what it says more.
	Object string `json:"object"`
	Change string `json:"change"`
	DryRun bool   `json:"dryRun,omitempty"`
}

// mutated prints what happened to an object, as kind/name and a past participle.
func (a *app) mutated(kind, name, participle string, dryRun bool) error {
	object := kind + "/" + name
	switch a.flags.output {
	case outputJSON, outputYAML:
		return a.printStructured(changeDocument{typeMeta{viewAPIVersion, "Change"}, object, participle, dryRun})
	case outputJSONL:
		return a.printLine(changeDocument{typeMeta{viewAPIVersion, "Change"}, object, participle, dryRun})
	case outputName:
		_, err := fmt.Fprintln(a.out, object)
		return err
	}
	if dryRun {
		participle += " (dry run)"
	}
	_, err := fmt.Fprintf(a.out, "%s %s\n", object, participle)
	return err
}
