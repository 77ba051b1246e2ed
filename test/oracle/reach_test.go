package oracle

import (
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// TestFill_ReachesEveryField holds the random objects themselves to account: a field that none of them has is a field
// that the other tests say nothing about.
func TestFill_ReachesEveryField(t *testing.T) {
	t.Parallel()
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			root := newJudge(t, theirCRD(t, k.crd)).openAPI
			missing := map[string]bool{}
			walk(root, nil, "", func(path string, _ bool) { missing[path] = true })
			for _, top := range []string{".apiVersion", ".kind"} {
				delete(missing, top)
			}
			for seed := range int64(rounds) {
				object := k.theirs()
				fill(seed, object)
				walk(root, asSent(t, object), "", func(path string, there bool) {
					if there {
						delete(missing, path)
					}
				})
			}
			if len(missing) > 0 {
				t.Errorf("no object has %s", strings.Join(sortedKeys(missing), ", "))
			}
		})
	}
}

// walk visits every field of a schema with whether the value has it.
func walk(s *apiextensionsv1.JSONSchemaProps, value any, path string, visit func(path string, there bool)) {
	fields, _ := value.(map[string]any)
	for _, name := range sortedKeys(s.Properties) {
		field := s.Properties[name]
		_, there := fields[name]
		visit(path+"."+name, there)
		walk(&field, fields[name], path+"."+name, visit)
	}
	if s.Items == nil {
		return
	}
	elements, _ := value.([]any)
	// Without a value, the schema alone is walked.
	if len(elements) == 0 {
		elements = []any{nil}
	}
	for _, element := range elements {
		walk(s.Items.Schema, element, path+"[]", visit)
	}
}
