package oracle

import (
	"fmt"
	"math/rand"
	"regexp"
	"slices"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// generator makes random objects that fit a schema, as far as bounds, patterns, enumerations and keys of lists say. Rules
// that span fields are left to luck.
type generator struct {
	t   *testing.T
	rng *rand.Rand
	// patterns holds the strings of the vocabulary that match each pattern seen.
	patterns map[string][]string
}

// vocabulary holds strings that look like those of real objects. Every pattern of the schemas must match some.
var vocabulary = []string{
	"a", "default", "worker-1", "md-0", "Template", "SimMachineTemplate", "KubeadmConfigTemplate", "v1.36.2", "v1.37.0-rc.1",
	"infrastructure.cluster.x-k8s.io", "infrastructure.cluster.x-k8s.io/v1beta2", "bootstrap.cluster.x-k8s.io/v1alpha1",
	"example.com/Ready", "NodeHealthy", "gpu", "example.com/gpu", "[1-3]", "[0-40]", "10.0.0.0/16", "fd00::/48", "/etc/x",
	"abcdef.0123456789abcdef", "registry.example.com/kube", "0644", "root:root", "true", "Foo,Bar", "2026-01-02", "overlay",
}

// bootstrapToken is what a bootstrap token looks like; upstream's type reads nothing else.
const bootstrapToken = "abcdef.0123456789abcdef"

// object makes a whole object; its name is valid, since it is not the CRD that judges it.
func (g *generator) object(root *apiextensionsv1.JSONSchemaProps) map[string]any {
	object := map[string]any{"metadata": map[string]any{"name": "a", "namespace": "default"}}
	for name, field := range root.Properties {
		if name == "spec" || (name == "status" && g.rng.Intn(2) == 0) {
			object[name] = g.value(&field, name)
		}
	}
	return object
}

func (g *generator) value(s *apiextensionsv1.JSONSchemaProps, name string) any {
	switch {
	case s.XIntOrString && name == "divisor":
		// A quantity, whose type reads no percentage.
		return "1"
	case s.XIntOrString:
		return []any{int64(g.rng.Intn(5)), "25%"}[g.rng.Intn(2)]
	case s.Type == "" && s.XPreserveUnknownFields != nil:
		return g.anything(name)
	case len(s.Enum) > 0:
		return g.choice(s.Enum)
	}
	switch s.Type {
	case "object":
		return g.fields(s)
	case "array":
		return g.list(s)
	case "string":
		return g.text(s, name)
	case "integer", "number":
		return g.number(s)
	case "boolean":
		return g.rng.Intn(2) == 0
	default:
		g.t.Fatalf("schema of %s has type %q", name, s.Type)
		return nil
	}
}

// anything makes a value where the schema says nothing. The schemas of variables are such places, because they contain
// themselves, but their Go types still say what may stand there.
func (g *generator) anything(name string) any {
	leaf := map[string]any{"type": "string"}
	switch name {
	case "properties":
		return map[string]any{"a": leaf, "b": leaf}
	case "additionalProperties", "items", "not":
		return leaf
	case "allOf", "anyOf", "oneOf":
		return []any{leaf}
	default:
		return []any{"a", int64(3), true, []any{"a"}, map[string]any{"a": "b"}}[g.rng.Intn(5)]
	}
}

func (g *generator) choice(enum []apiextensionsv1.JSON) any {
	return decodeAny(g.t, enum[g.rng.Intn(len(enum))].Raw)
}

func (g *generator) fields(s *apiextensionsv1.JSONSchemaProps) map[string]any {
	object := map[string]any{}
	if s.AdditionalProperties != nil {
		for i := range g.rng.Intn(3) {
			object[fmt.Sprintf("example.com/k%d", i)] = g.value(s.AdditionalProperties.Schema, "")
		}
	}
	names := sortedKeys(s.Properties)
	for _, name := range names {
		if slices.Contains(s.Required, name) || g.rng.Intn(3) == 0 {
			field := s.Properties[name]
			object[name] = g.value(&field, name)
		}
	}
	if s.MinProperties != nil && int64(len(object)) < *s.MinProperties && len(names) > 0 {
		name := names[g.rng.Intn(len(names))]
		field := s.Properties[name]
		object[name] = g.value(&field, name)
	}
	return object
}

func (g *generator) list(s *apiextensionsv1.JSONSchemaProps) []any {
	low := 0
	if s.MinItems != nil {
		low = int(*s.MinItems)
	}
	list := make([]any, 0, low+2)
	for range low + g.rng.Intn(3) {
		list = append(list, g.value(s.Items.Schema, ""))
	}
	if s.XListType != nil && *s.XListType == "map" {
		list = slices.CompactFunc(list, func(a, b any) bool { return listKey(s, a) == listKey(s, b) })
	}
	return list
}

func listKey(s *apiextensionsv1.JSONSchemaProps, element any) string {
	key := ""
	for _, name := range s.XListMapKeys {
		key += fmt.Sprint(element.(map[string]any)[name], "\x00")
	}
	return key
}

func (g *generator) text(s *apiextensionsv1.JSONSchemaProps, name string) string {
	switch {
	case s.Format == "date-time":
		return time.Unix(g.rng.Int63n(4_000_000_000), 0).UTC().Format(time.RFC3339)
	case s.Format == "byte":
		return "YWJj"
	case name == "token":
		return bootstrapToken
	}
	candidates := g.matching(s)
	return candidates[g.rng.Intn(len(candidates))]
}

// matching returns the strings of the vocabulary that a schema allows.
func (g *generator) matching(s *apiextensionsv1.JSONSchemaProps) []string {
	low, high := int64(0), int64(1<<20)
	if s.MinLength != nil {
		low = *s.MinLength
	}
	if s.MaxLength != nil {
		high = *s.MaxLength
	}
	key := fmt.Sprint(s.Pattern, low, high)
	if found, ok := g.patterns[key]; ok {
		return found
	}
	pattern := regexp.MustCompile(s.Pattern)
	var found []string
	for _, word := range vocabulary {
		if n := int64(len(word)); low <= n && n <= high && pattern.MatchString(word) {
			found = append(found, word)
		}
	}
	if len(found) == 0 {
		g.t.Fatalf("the vocabulary has no word of length %d to %d that matches %s", low, high, s.Pattern)
	}
	g.patterns[key] = found
	return found
}

func (g *generator) number(s *apiextensionsv1.JSONSchemaProps) int64 {
	low := int64(0)
	if s.Minimum != nil {
		low = int64(*s.Minimum)
	}
	high := low + 10
	if s.Maximum != nil {
		high = min(high, int64(*s.Maximum))
	}
	return low + g.rng.Int63n(high-low+1)
}
