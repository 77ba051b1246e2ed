package oracle

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"testing"
)

// difference is one that we want.
type difference struct {
	// kind names the kind that differs; empty stands for any.
	kind string
	// path matches the whole path that differs, and so all that lies below it.
	path   *regexp.Regexp
	reason string
}

// wanted lists every difference between upstream's CRDs and ours. A difference that is not listed fails the test, and
// so does one that is listed and not there.
func wanted() []difference {
	at := func(kind, path, reason string) difference {
		return difference{kind, regexp.MustCompile(`^` + path + `([.\[].*)?$`), reason}
	}
	return []difference{
		at("", `metadata\.annotations\.controller-gen\.kubebuilder\.io/version`, "another version of the generator"),
		at("", `spec\.versions\.v1beta1`, "the older version is not served yet, so there is nothing to convert"),
		at("", `metadata\.labels\.cluster\.x-k8s\.io/v1beta1`, "the label promises a version that is not served yet"),
		at("", `spec\.versions\.v1beta2\..*`+prose("description"), "we describe in our own words"),
		at("", `spec\.versions\.v1beta2\..*\.x-kubernetes-validations\[\d+\]`+prose("message"), "we describe in our own words"),
		at("Machine", `.*\.status\.properties\.slipway`, "where Slipway reports what upstream does not"),
		at("Machine", `.*\.status\.properties\.nodeInfo\.properties\.runningInUserNamespace`, "Kubernetes 1.37 knows it, 1.36 did not"),
	}
}

func TestCRD_DiffersFromUpstreamOnlyWhereWanted(t *testing.T) {
	t.Parallel()
	allowed := wanted()
	used := make([]bool, len(allowed))
	for _, k := range kinds() {
		theirs, ours := flattenCRD(t, theirCRD(t, k.crd)), flattenCRD(t, ourCRD(t, k.crd))
		for _, path := range slices.Sorted(maps.Keys(union(theirs, ours))) {
			if theirs[path] == ours[path] {
				continue
			}
			i := slices.IndexFunc(allowed, func(d difference) bool {
				return (d.kind == "" || d.kind == k.name) && d.path.MatchString(path)
			})
			if i < 0 {
				t.Errorf("%s %s: upstream has %s, we have %s", k.name, path, orNothing(theirs[path]), orNothing(ours[path]))
				continue
			}
			used[i] = true
		}
	}
	for i, d := range allowed {
		if !used[i] {
			t.Errorf("%s %s: there is no such difference any more (%s)", d.kind, d.path, d.reason)
		}
	}
}

func TestCRD_ServesAndStoresOneVersion(t *testing.T) {
	t.Parallel()
	for _, k := range kinds() {
		versions := ourCRD(t, k.crd)["spec"].(map[string]any)["versions"].([]any)
		if len(versions) != 1 {
			t.Errorf("%s: %d versions, want only %s", k.name, len(versions), version)
		}
		if v := versions[0].(map[string]any); v["name"] != version || v["served"] != true || v["storage"] != true {
			t.Errorf("%s: version %v, served %v, storage %v; want %s, served and stored", k.name, v["name"], v["served"], v["storage"], version)
		}
	}
}

// flattenCRD returns every leaf of a CRD by its path. Versions go by name, since it is not their order that counts.
func flattenCRD(t *testing.T, crd map[string]any) map[string]string {
	t.Helper()
	versions := map[string]any{}
	spec := maps.Clone(crd["spec"].(map[string]any))
	for _, entry := range spec["versions"].([]any) {
		versions[entry.(map[string]any)["name"].(string)] = entry
	}
	spec["versions"] = versions
	leaves := map[string]string{}
	flatten(t, "spec", spec, leaves)
	flatten(t, "metadata", crd["metadata"], leaves)
	return leaves
}

func flatten(t *testing.T, path string, value any, leaves map[string]string) {
	t.Helper()
	switch v := value.(type) {
	case map[string]any:
		// Also a leaf: an empty object is not nothing.
		leaves[path] = "an object"
		for key, field := range v {
			if _, text := field.(string); text && (key == "description" || key == "message") {
				flatten(t, path+prose(key), field, leaves)
				continue
			}
			flatten(t, path+"."+key, field, leaves)
		}
	case []any:
		leaves[path] = fmt.Sprintf("a list of %d", len(v))
		for i, element := range v {
			flatten(t, fmt.Sprintf("%s[%d]", path, i), element, leaves)
		}
	default:
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatalf("encode %s: %v", path, err)
		}
		leaves[path] = string(raw)
	}
}

// prose marks text for people, so that a field which is named description is not taken for one.
func prose(key string) string { return " says in its " + key }

func union(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

func orNothing(leaf string) string {
	if leaf == "" {
		return "nothing"
	}
	return leaf
}
