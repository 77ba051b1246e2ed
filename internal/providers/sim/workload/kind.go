package workload

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Object is a typed Kubernetes object.
type Object interface {
	metav1.Object
	runtime.Object
}

// part is one half (spec or status) of a kind's objects.
type part struct {
	copy  func(dst, src Object)
	equal func(a, b Object) bool
}

// partOf makes a part from the function that points at it.
func partOf[O Object, P any](field func(O) *P) *part {
	return &part{
		copy:  func(dst, src Object) { *field(dst.(O)) = *field(src.(O)) },
		equal: func(a, b Object) bool { return equality.Semantic.DeepEqual(field(a.(O)), field(b.(O))) },
	}
}

// kind is one served resource. Kinds are shared by all clusters and never change.
type kind struct {
	gvk        schema.GroupVersionKind
	plural     string
	singular   string
	short      []string
	categories []string
	namespaced bool
	make       func() Object
	makeList   func() runtime.Object

	spec   *part // nil: the kind has none
	status *part // nil: no status subresource
	// generation says that metadata.generation counts changes of spec.
	generation bool
	// extra are subresources besides status.
	extra []subresource

	defaults   func(Object)                          // on create, and on update
	keepStatus bool                                  // a status given at creation stays
	validate   func(obj, old Object) field.ErrorList // old is nil on create
	fields     func(Object) fields.Set               // field selectors beyond metadata.name and metadata.namespace
	nameRule   validation.ValidateNameFunc           // nil: DNS subdomain
	columns    []column
	row        func(Object) []any

	// volatile says which objects are not written to the file.
	volatile func(namespace string) bool

	// storage is set on a second view of another kind's objects (events.k8s.io beside v1).
	storage     *kind
	fromStorage func(Object) Object
	toStorage   func(Object) Object

	slot   int    // index into Store.tables; a view has its storage's
	prefix string // how encoded objects begin
}

// subresource is an operation below an object's name.
type subresource struct {
	name  string
	gvk   schema.GroupVersionKind // of the bodies, when not the parent's
	verbs []string
}

var (
	allVerbs    = []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
	statusVerbs = []string{"get", "patch", "update"}
)

func (k *kind) resource() schema.GroupResource {
	return schema.GroupResource{Group: k.gvk.Group, Resource: k.plural}
}

func (k *kind) stored() *kind {
	if k.storage != nil {
		return k.storage
	}
	return k
}

func (k *kind) listKind() string { return k.gvk.Kind + "List" }

func (k *kind) hasSubresource(name string) bool {
	if name == "status" {
		return k.status != nil
	}
	return slices.ContainsFunc(k.extra, func(s subresource) bool { return s.name == name })
}

// rule is what names must satisfy.
func (k *kind) rule() validation.ValidateNameFunc {
	if k.nameRule != nil {
		return k.nameRule
	}
	return validation.NameIsDNSSubdomain
}

// catalog is the set of served kinds.
type catalog struct {
	kinds      []*kind
	slots      int
	byResource map[schema.GroupVersionResource]*kind
	byType     map[reflect.Type]*kind
	byName     map[string]*kind // the name used in files
	scheme     *runtime.Scheme
}

// newCatalog builds the shared description of everything served.
func newCatalog() (*catalog, error) {
	c := &catalog{
		byResource: map[schema.GroupVersionResource]*kind{},
		byType:     map[reflect.Type]*kind{},
		byName:     map[string]*kind{},
		scheme:     runtime.NewScheme(),
	}
	if err := addToScheme(c.scheme); err != nil {
		return nil, fmt.Errorf("build the scheme of the simulated API: %w", err)
	}
	c.kinds = servedKinds()
	for _, k := range c.kinds {
		k.prefix = fmt.Sprintf(`{"kind":%q,"apiVersion":%q,`, k.gvk.Kind, k.gvk.GroupVersion().String())
		c.byResource[k.gvk.GroupVersion().WithResource(k.plural)] = k
		c.byType[reflect.TypeOf(k.make())] = k
		if k.storage == nil {
			k.slot = c.slots
			c.slots++
			c.byName[k.fileName()] = k
		}
	}
	for _, k := range c.kinds {
		if k.storage != nil {
			k.slot = k.storage.slot
		}
	}
	return c, nil
}

// fileName names the kind in files. It must never change.
func (k *kind) fileName() string {
	if k.gvk.Group == "" {
		return k.plural
	}
	return k.plural + "." + k.gvk.Group
}

// of finds the kind of a Go object.
func (c *catalog) of(obj Object) (*kind, error) {
	k := c.byType[reflect.TypeOf(obj)]
	if k == nil {
		return nil, fmt.Errorf("type %T is not served by the simulated API", obj)
	}
	return k, nil
}

// groupVersions lists what is served, core first, in a stable order.
func (c *catalog) groupVersions() []schema.GroupVersion {
	var out []schema.GroupVersion
	for _, k := range c.kinds {
		if !slices.Contains(out, k.gvk.GroupVersion()) {
			out = append(out, k.gvk.GroupVersion())
		}
	}
	for _, v := range reviewKinds() {
		if !slices.Contains(out, v.gvk.GroupVersion()) {
			out = append(out, v.gvk.GroupVersion())
		}
	}
	slices.SortStableFunc(out, func(a, b schema.GroupVersion) int { return strings.Compare(a.Group, b.Group) })
	return out
}
