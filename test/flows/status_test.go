package flows_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/planetest"
	"slipway.dev/slipway/test/fleet"
)

func TestStrippedStatus_ComesBack(t *testing.T) {
	t.Parallel()
	c := clientOf(t, planetest.Shared(t))
	clusters := []fleet.Spec{
		{Namespace: "stripped", Name: "one", Version: version, ControlPlane: 1, Workers: 1, ECDSA: true},
		{Namespace: "stripped-3", Name: "three", Version: version, ControlPlane: 3, Workers: 1, ECDSA: true},
	}
	before, identities := make([]map[string]string, len(clusters)), make([]map[string]string, len(clusters))
	for i, s := range clusters {
		namespace(t, c, s.Namespace)
		if err := s.Create(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		eventually(t, s.Name+" is up", func(ctx context.Context) error { return whole(ctx, c, s) })
		settled(t, c, s.Namespace)
		before[i], identities[i] = snapshot(t, c, s.Namespace, timelessStatus), snapshot(t, c, s.Namespace, uid)
	}
	nothingComes := make([]func(), len(clusters))
	for i, s := range clusters {
		nothingComes[i] = comings(t, c, s.Namespace)
	}
	for _, s := range clusters {
		strip(t, c, s.Namespace)
	}
	for i, s := range clusters {
		eventually(t, "statuses of "+s.Name+" are back", func(ctx context.Context) error {
			objs, err := objects(ctx, c, s.Namespace)
			if err != nil {
				return err
			}
			if diff := cmp.Diff(before[i], index(objs, timelessStatus)); diff != "" {
				return fmt.Errorf("status differs (-before +after):\n%s", diff)
			}
			return whole(ctx, c, s)
		})
		nothingComes[i]()
		if diff := cmp.Diff(identities[i], snapshot(t, c, s.Namespace, uid)); diff != "" {
			t.Errorf("objects were made or deleted (-before +after):\n%s", diff)
		}
	}
}

// strip takes away the status of everything in a namespace that has one.
func strip(t *testing.T, c client.Client, namespace string) {
	t.Helper()
	objs, err := objects(t.Context(), c, namespace)
	if err != nil {
		t.Fatal(err)
	}
	for i := range objs {
		if _, ok := objs[i].Object["status"]; !ok {
			continue
		}
		// Taken away, not emptied: the schemas of some kinds refuse an empty status.
		none := client.RawPatch(types.MergePatchType, []byte(`{"status":null}`))
		if err := c.Status().Patch(t.Context(), &objs[i], none); err != nil {
			t.Fatalf("strip %s %s: %v", objs[i].GetKind(), objs[i].GetName(), err)
		}
	}
}

var instant = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)

// ordered returns a copy of a value in which all lists of conditions are in order: theirs is that in which several
// controllers came to write them.
func ordered(value any) any {
	switch v := runtime.DeepCopyJSONValue(value).(type) {
	case map[string]any:
		for key := range v {
			v[key] = ordered(v[key])
		}
		if list, ok := v["conditions"].([]any); ok {
			slices.SortFunc(list, func(a, b any) int { return strings.Compare(conditionType(a), conditionType(b)) })
		}
		return v
	default:
		return v
	}
}

func conditionType(condition any) string {
	fields, ok := condition.(map[string]any)
	if !ok {
		return ""
	}
	text, _, _ := unstructured.NestedString(fields, "type")
	return text
}

// timelessStatus is a status without what is different whenever it is written.
func timelessStatus(obj unstructured.Unstructured) string {
	status, err := json.Marshal(ordered(obj.Object["status"]))
	if err != nil {
		return err.Error()
	}
	return instant.ReplaceAllString(string(status), "then")
}

func TestOrdered_IsBlindToTheOrderOfConditionsAlone(t *testing.T) {
	t.Parallel()
	list := func(types ...string) any {
		var all []any
		for _, c := range types {
			all = append(all, map[string]any{"type": c, "status": "True"})
		}
		return map[string]any{"conditions": all, "deprecated": map[string]any{"v1beta1": map[string]any{"conditions": slices.Clone(all)}}}
	}
	if diff := cmp.Diff(ordered(list("A", "B", "C")), ordered(list("C", "A", "B"))); diff != "" {
		t.Error(diff)
	}
	if cmp.Equal(ordered(list("A", "B")), ordered(list("A", "C"))) || ordered(nil) != nil {
		t.Error("it is blind to more")
	}
}
