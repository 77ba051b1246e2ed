package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/fault"
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

// refusedByRule tells whether the API server kept a rule: a field or a webhook refused. That the user lacks a right is none.
func refusedByRule(err error) bool {
	var status apierrors.APIStatus
	return apierrors.IsInvalid(err) || errors.As(err, &status) && strings.Contains(status.Status().Message, "denied the request: ")
}

// cannotChange says in the API server's words why an object was not changed. A rule that refused is a refusal of its own,
// unless a part of the change was made already.
func cannotChange(err error, what, where, try string, begun bool) error {
	told := fault.New(err, what, serverSentence(err), where, try)
	if refusedByRule(err) && !begun {
		return &exitError{code: exitRefused, err: told}
	}
	return told
}

// checkPatch asks the API server, which keeps the rules, whether it would take a patch, before anybody is asked to agree.
func checkPatch(ctx context.Context, c client.Client, o client.Object, fields map[string]any) error {
	// The answer would be read into the object, and nothing was changed.
	return patchObject(ctx, c, o.DeepCopyObject().(client.Object), fields, true) //nolint:forcetypeassert // a copy has the type of its original
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
	// Namespace is told of changes that were watched.
	Namespace string `json:"namespace,omitempty"`
	Change    string `json:"change"`
	DryRun    bool   `json:"dryRun,omitempty"`
}

// changeList is what a command did, as one document: a command may change several objects.
type changeList struct {
	typeMeta
	Items []changeDocument `json:"items"`
}

// mutated prints what happened to an object, as kind/name and a past participle. JSON and YAML are kept for printChanges.
func (a *app) mutated(kind, name, participle string, dryRun bool) error {
	object := kind + "/" + name
	switch a.flags.output {
	case outputJSON, outputYAML:
		a.changed = append(a.changed, changeDocument{typeMeta: typeMeta{viewAPIVersion, "Change"}, Object: object, Change: participle, DryRun: dryRun})
		return nil
	case outputJSONL:
		return a.printLine(changeDocument{typeMeta: typeMeta{viewAPIVersion, "Change"}, Object: object, Change: participle, DryRun: dryRun})
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

// printChanges prints what was done so far as one document, before a wait and at the end, also when a later step failed.
func (a *app) printChanges() error {
	if len(a.changed) == 0 {
		return nil
	}
	list := changeList{typeMeta{viewAPIVersion, "ChangeList"}, a.changed}
	a.changed = nil
	return a.printStructured(list)
}
