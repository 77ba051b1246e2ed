// Package endstate says what a fleet has become in words that are the same for every run of the same script: without UIDs,
// times, resourceVersions and random names.
package endstate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// OwnerGone stands in the line of an object behind each owner that is not among the objects.
const OwnerGone = "(not there)"

// Normalise returns a line for each object, sorted: its kind, name, owner chain, spec, conditions and counts of replicas, and of
// a Secret or ConfigMap the keys without the data. Objects whose names end in a random suffix are numbered by creation among those of
// their kind and owner, and every mention of them is renamed alike.
func Normalise(objs []unstructured.Unstructured) []string {
	w := newWorld(objs)
	names := w.renaming()
	lines := make([]string, 0, len(objs))
	for i := range objs {
		text, err := json.Marshal(w.describe(&objs[i]))
		if err != nil {
			// Objects that were decoded from JSON can be encoded again.
			panic(fmt.Sprintf("describe %s: %v", title(&objs[i]), err))
		}
		lines = append(lines, mask(names.Replace(string(text))))
	}
	slices.Sort(lines)
	return lines
}

// description is what must be the same at the end of each run.
type description struct {
	Kind       string         `json:"kind"`
	Name       string         `json:"name"`
	Owners     []string       `json:"owners,omitempty"`
	Deleting   bool           `json:"deleting,omitempty"`
	Type       any            `json:"type,omitempty"`
	Keys       []string       `json:"keys,omitempty"`
	Spec       map[string]any `json:"spec,omitempty"`
	Conditions []string       `json:"conditions,omitempty"`
	Counts     []string       `json:"counts,omitempty"`
}

type world struct {
	objs  []unstructured.Unstructured
	byUID map[types.UID]*unstructured.Unstructured
}

func newWorld(objs []unstructured.Unstructured) world {
	w := world{objs: objs, byUID: make(map[types.UID]*unstructured.Unstructured, len(objs))}
	for i := range objs {
		w.byUID[objs[i].GetUID()] = &objs[i]
	}
	return w
}

func (w world) describe(obj *unstructured.Unstructured) description {
	d := description{
		Kind: obj.GetKind(), Name: obj.GetName(), Owners: w.owners(obj, nil), Deleting: obj.GetDeletionTimestamp() != nil,
		Type: obj.Object["type"], Keys: keys(obj), Conditions: conditions(obj), Counts: counts(obj.Object["status"], "status"),
	}
	if spec, ok := obj.Object["spec"].(map[string]any); ok {
		d.Spec = portless(spec)
	}
	return d
}

// owners are the chains of owners, each from the nearest up. What is seen before ends a chain.
func (w world) owners(obj *unstructured.Unstructured, seen []types.UID) []string {
	var chains []string
	for _, ref := range obj.GetOwnerReferences() {
		link := ref.Kind + "/" + ref.Name
		if ref.Controller != nil && *ref.Controller {
			link += "*"
		}
		owner := w.byUID[ref.UID]
		if owner == nil || slices.Contains(seen, ref.UID) {
			chains = append(chains, link+" "+OwnerGone)
			continue
		}
		above := w.owners(owner, append(slices.Clone(seen), ref.UID))
		if len(above) == 0 {
			chains = append(chains, link)
		}
		for _, chain := range above {
			chains = append(chains, link+" of "+chain)
		}
	}
	slices.Sort(chains)
	return chains
}

// keys are the names of what a Secret or ConfigMap holds; what they hold is made anew in each run.
func keys(obj *unstructured.Unstructured) []string {
	var out []string
	for _, field := range []string{"data", "binaryData"} {
		data, _, _ := unstructured.NestedMap(obj.Object, field)
		for key := range data {
			out = append(out, key)
		}
	}
	slices.Sort(out)
	return out
}

func conditions(obj *unstructured.Unstructured) []string {
	list, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	out := make([]string, 0, len(list))
	for _, item := range list {
		if c, ok := item.(map[string]any); ok {
			out = append(out, fmt.Sprintf("%v=%v/%v", c["type"], c["status"], c["reason"]))
		}
	}
	slices.Sort(out)
	return out
}

// counts are the numbers of replicas of any sort in a status, wherever they stand.
func counts(value any, path string) []string {
	var out []string
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			out = append(out, counts(inner, path+"."+key)...)
		}
	case []any:
		for _, inner := range v {
			out = append(out, counts(inner, path)...)
		}
	case int64:
		if strings.HasSuffix(strings.ToLower(path), "replicas") {
			out = append(out, fmt.Sprintf("%s=%d", path, v))
		}
	}
	slices.Sort(out)
	return out
}

// portless leaves out the endpoint's port, which is whichever is free.
func portless(spec map[string]any) map[string]any {
	if _, ok, _ := unstructured.NestedFieldNoCopy(spec, "controlPlaneEndpoint", "port"); !ok {
		return spec
	}
	spec = (&unstructured.Unstructured{Object: spec}).DeepCopy().Object
	unstructured.RemoveNestedField(spec, "controlPlaneEndpoint", "port")
	return spec
}

// volatile is what differs in each run wherever it stands.
var volatile = []struct {
	what  *regexp.Regexp
	plain string
}{
	{regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`), "UID"},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "TIME"},
	{regexp.MustCompile(`\bsha256:[0-9a-f]{64}\b`), "HASH"},
	{regexp.MustCompile(`\b[a-z0-9]{6}\.[a-z0-9]{16}\b`), "TOKEN"},
	{regexp.MustCompile(`\b127\.0\.0\.1:\d+\b`), "ENDPOINT"},
}

func mask(text string) string {
	for _, v := range volatile {
		text = v.what.ReplaceAllString(text, v.plain)
	}
	return text
}

// random is a suffix as Kubernetes makes them: no vowels, so that they spell nothing.
var random = regexp.MustCompile(`^-[bcdfghjklmnpqrstvwxz2456789]{5}$`)

// suffix returns the random end of an object's name, when its name is its owner's and that.
func (w world) suffix(obj *unstructured.Unstructured) (string, *unstructured.Unstructured) {
	ref := metav1.GetControllerOf(obj)
	if ref == nil {
		return "", nil
	}
	end, ok := strings.CutPrefix(obj.GetName(), ref.Name)
	if owner := w.byUID[ref.UID]; ok && owner != nil && random.MatchString(end) {
		return end, owner
	}
	return "", nil
}

// renaming maps every random name to a number. The longest come first, for a Machine's name begins with its MachineSet's.
func (w world) renaming() *strings.Replacer {
	type group struct{ kind, owner string }
	children := map[group][]*unstructured.Unstructured{}
	suffixes := map[types.UID]string{}
	for i := range w.objs {
		obj := &w.objs[i]
		if end, owner := w.suffix(obj); owner != nil {
			g := group{obj.GetKind(), string(owner.GetUID())}
			children[g] = append(children[g], obj)
			suffixes[obj.GetUID()] = end
		}
	}
	numbers := map[types.UID]int{}
	for _, siblings := range children {
		slices.SortFunc(siblings, byCreation)
		for i, obj := range siblings {
			numbers[obj.GetUID()] = i + 1
		}
	}
	pairs := map[string]string{}
	for uid, end := range suffixes {
		obj := w.byUID[uid]
		pairs[obj.GetName()] = w.numbered(obj, numbers)
		// A label may hold the suffix behind something else than the name.
		pairs[end] = fmt.Sprintf("~%d", numbers[uid])
	}
	return replacer(pairs)
}

// numbered is an object's new name: that of its owner, renamed, and its number.
func (w world) numbered(obj *unstructured.Unstructured, numbers map[types.UID]int) string {
	n, ok := numbers[obj.GetUID()]
	if !ok {
		return obj.GetName()
	}
	return fmt.Sprintf("%s~%d", w.numbered(w.byUID[metav1.GetControllerOf(obj).UID], numbers), n)
}

func replacer(pairs map[string]string) *strings.Replacer {
	olds := make([]string, 0, len(pairs))
	for name := range pairs {
		olds = append(olds, name)
	}
	slices.SortFunc(olds, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	args := make([]string, 0, 2*len(olds))
	for _, name := range olds {
		args = append(args, name, pairs[name])
	}
	return strings.NewReplacer(args...)
}

// byCreation orders siblings. Creation times are whole seconds; those of one second are told apart by what they are, and
// when even that is the same, either order gives the same lines.
func byCreation(a, b *unstructured.Unstructured) int {
	at, bt := a.GetCreationTimestamp(), b.GetCreationTimestamp()
	return cmp.Or(at.Compare(bt.Time), cmp.Compare(content(a), content(b)), cmp.Compare(a.GetName(), b.GetName()))
}

func content(obj *unstructured.Unstructured) string {
	text, err := json.Marshal([]any{obj.Object["spec"], conditions(obj)})
	if err != nil {
		return ""
	}
	return mask(strings.ReplaceAll(string(text), obj.GetName(), "~"))
}

func title(obj *unstructured.Unstructured) string { return obj.GetKind() + " " + obj.GetName() }
