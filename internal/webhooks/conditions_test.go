package webhooks_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/cel/environment"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/webhooks"
)

// compile compiles a webhook's condition as the API server does.
func compile(t testing.TB, condition string) cel.Program {
	t.Helper()
	set, err := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0),
		EnvOptions:        []cel.EnvOption{cel.Variable("object", cel.DynType), cel.Variable("oldObject", cel.DynType)},
	})
	if err != nil {
		t.Fatal(err)
	}
	env := set.NewExpressionsEnv()
	ast, issues := env.Compile(condition)
	if issues.Err() != nil {
		t.Fatal(issues.Err())
	}
	program, err := env.Program(ast)
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// asked reports whether a request would go to the webhook. A condition that cannot be evaluated counts as asked: the API
// server refuses such a request.
func asked(program cel.Program, obj, old map[string]any) bool {
	var stored any
	if old != nil {
		stored = old
	}
	result, _, err := program.Eval(map[string]any{"object": obj, "oldObject": stored})
	return err != nil || result.Value() == true
}

func tree(t testing.TB, obj client.Object) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(encode(t, obj), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// leaves returns the paths of all values in a tree, sorted.
func leaves(m map[string]any, prefix []string) [][]string {
	var paths [][]string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		path := append(slices.Clone(prefix), key)
		paths = append(paths, path)
		if inner, ok := m[key].(map[string]any); ok {
			paths = append(paths, leaves(inner, path)...)
		}
	}
	return paths
}

// change removes one value of a tree or puts another of its type there.
func change(t *rapid.T, m map[string]any) {
	paths := leaves(m, nil)
	if len(paths) == 0 {
		return
	}
	path := rapid.SampledFrom(paths).Draw(t, "path")
	for _, key := range path[:len(path)-1] {
		m = m[key].(map[string]any)
	}
	last := path[len(path)-1]
	text, isText := m[last].(string)
	switch {
	case isText && rapid.Bool().Draw(t, "other"):
		m[last] = rapid.SampledFrom([]string{"1.37.2", "v1.37.2", "v1", "c", "d", "OnDelete", "RollingUpdate", text + "x"}).Draw(t, "text")
	default:
		delete(m, last)
	}
}

func changedTree(t *rapid.T, base map[string]any) map[string]any {
	raw, err := json.Marshal(base)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	for range rapid.IntRange(0, 3).Draw(t, "changes") {
		change(t, m)
	}
	if _, ok := m["metadata"].(map[string]any); !ok {
		m["metadata"] = map[string]any{}
	}
	// A name never changes.
	m["metadata"].(map[string]any)["name"] = base["metadata"].(map[string]any)["name"]
	return m
}

// bases are complete objects of each kind.
func bases() []client.Object {
	return append(complete(), cluster(), drainRule(), kubeadmConfig(), configTemplate(), controlPlaneTemplate(),
		machine(func(m *clusterv1.Machine) { m.Spec.Taints = taint("a") }))
}

func TestConditions_ADefaultingWebhookThatIsNotAskedWouldChangeNothing(t *testing.T) {
	t.Parallel()
	for _, base := range complete() {
		gvk := kindOf(t, base)
		t.Run(gvk.Kind, func(t *testing.T) {
			t.Parallel()
			w := webhookOf(t, gvk, "mutate")
			program := compile(t, w.Condition)
			if asked(program, tree(t, base), nil) {
				t.Error("a complete object is sent to the webhook")
			}
			rapid.Check(t, func(rt *rapid.T) {
				m := changedTree(rt, tree(t, base))
				r := w.Handler.Handle(t.Context(), request(gvk, encode(t, m), nil))
				if !asked(program, m, nil) && (r.Patch != nil || !r.Allowed) {
					rt.Fatalf("not asked about %s, to which it would say %s %q", encode(t, m), r.Patch, refusals(r))
				}
			})
		})
	}
}

func TestConditions_AValidatingWebhookThatIsNotAskedWouldAllow(t *testing.T) {
	t.Parallel()
	for _, base := range bases() {
		gvk := kindOf(t, base)
		t.Run(gvk.Kind, func(t *testing.T) {
			t.Parallel()
			w := webhookOf(t, gvk, "validate")
			program := compile(t, w.Condition)
			if !asked(program, tree(t, base), nil) {
				t.Error("a new object is not sent to the webhook")
			}
			rapid.Check(t, func(rt *rapid.T) {
				old, m := changedTree(rt, tree(t, base)), tree(t, base)
				if rapid.Bool().Draw(rt, "both") {
					m = changedTree(rt, old)
				}
				setGeneration(old, 1)
				setGeneration(m, 1)
				if !reflect.DeepEqual(old["spec"], m["spec"]) {
					setGeneration(m, 2)
				}
				r := w.Handler.Handle(t.Context(), request(gvk, encode(t, m), encode(t, old)))
				if !asked(program, m, old) && !r.Allowed {
					rt.Fatalf("not asked about\n%s\nto\n%s\nto which it would say %q", encode(t, old), encode(t, m), refusals(r))
				}
			})
		})
	}
}

func setGeneration(m map[string]any, n int64) { m["metadata"].(map[string]any)["generation"] = n }

func TestConditions_WhatAControllerFindsOutAboutAMachineIsNotSentToWebhooks(t *testing.T) {
	t.Parallel()
	old := machine()
	obj := machine(func(m *clusterv1.Machine) {
		m.Spec.Bootstrap.DataSecretName, m.Spec.ProviderID, m.Spec.FailureDomain = new("secret"), "sim:///a", "zone-a"
		m.Finalizers, m.Generation = []string{clusterv1.MachineFinalizer}, 2
	})
	for _, w := range webhooks.All(nil) {
		if strings.HasSuffix(w.Path, "-machine") && asked(compile(t, w.Condition), tree(t, obj), tree(t, old)) {
			t.Errorf("%s is asked", w.Name)
		}
	}
}
