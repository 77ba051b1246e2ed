package workload

import (
	"fmt"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kube-openapi/pkg/validation/spec"
	smdschema "sigs.k8s.io/structured-merge-diff/v6/schema"
)

// schemaBuilder makes OpenAPI schemas from what k8s.io/api carries at run time: the Go types say what there is and what
// strategic merge does, their SwaggerDoc says what it means, and the schema of apply configurations says how
// lists are merged. (The generated OpenAPI definitions are in k8s.io/kubernetes alone, which is too heavy to import.)
type schemaBuilder struct {
	merge *smdschema.Schema
	done  map[string]*spec.Schema
}

// named are the methods that types of k8s.io/api may have.
type (
	modelNamed  interface{ OpenAPIModelName() string }
	documented  interface{ SwaggerDoc() map[string]string }
	schemaTyped interface {
		OpenAPISchemaType() []string
		OpenAPISchemaFormat() string
	}
	oneOfTyped interface{ OpenAPIV3OneOfTypes() []string }
)

// schemaRef is a schema that refers to another.
func schemaRef(name string) *spec.Schema {
	return spec.RefSchema("#/components/schemas/" + name)
}

// add builds the schema of a named struct type, and all it refers to, and returns its name.
func (b *schemaBuilder) add(t reflect.Type) string {
	name := modelName(t)
	if b.done[name] != nil {
		return name
	}
	s := &spec.Schema{}
	b.done[name] = s // before the fields: types may refer to themselves
	if doc, ok := reflect.TypeAssert[documented](reflect.Zero(t)); ok {
		s.Description = doc.SwaggerDoc()[""]
	}
	if b.scalarLike(t, s) {
		return name
	}
	s.Type = spec.StringOrArray{"object"}
	if t.Kind() == reflect.Struct && t != reflect.TypeFor[metav1.FieldsV1]() {
		s.Properties = map[string]spec.Schema{}
		b.fields(t, s, name)
	}
	return name
}

// modelName is the name of a type in OpenAPI.
func modelName(t reflect.Type) string {
	if n, ok := reflect.TypeAssert[modelNamed](reflect.Zero(t)); ok {
		return n.OpenAPIModelName()
	}
	path := strings.Split(t.PkgPath(), "/")
	host := strings.Split(path[0], ".")
	for i, j := 0, len(host)-1; i < j; i, j = i+1, j-1 {
		host[i], host[j] = host[j], host[i]
	}
	path[0] = strings.Join(host, ".")
	return strings.Join(path, ".") + "." + t.Name()
}

// scalarLike fills in types that are not shown as what they are in Go, such as times and quantities.
func (b *schemaBuilder) scalarLike(t reflect.Type, s *spec.Schema) bool {
	zero := reflect.Zero(t).Interface()
	st, ok := zero.(schemaTyped)
	if !ok {
		return false
	}
	s.Format = st.OpenAPISchemaFormat()
	if oneOf, ok := zero.(oneOfTyped); ok {
		for _, typ := range oneOf.OpenAPIV3OneOfTypes() {
			s.OneOf = append(s.OneOf, spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{typ}}})
		}
		return true
	}
	s.Type = st.OpenAPISchemaType()
	return true
}

// fields adds a struct's fields; those of inlined structs become its own.
func (b *schemaBuilder) fields(t reflect.Type, s *spec.Schema, name string) {
	docs := map[string]string{}
	if doc, ok := reflect.TypeAssert[documented](reflect.Zero(t)); ok {
		docs = doc.SwaggerDoc()
	}
	for f := range t.Fields() {
		tag := strings.Split(f.Tag.Get("json"), ",")
		if !f.IsExported() || tag[0] == "-" {
			continue
		}
		if tag[0] == "" {
			if f.Anonymous {
				b.fields(f.Type, s, modelName(f.Type))
			}
			continue
		}
		p := b.property(f)
		p.Description = docs[tag[0]]
		b.mergeRules(p, f, b.mergeField(name, tag[0]))
		s.Properties[tag[0]] = *p
		if optional := strings.Join(tag[1:], ","); !strings.Contains(optional, "omit") {
			s.Required = append(s.Required, tag[0])
		}
	}
}

// property is the schema of a field. A reference stands in allOf, so that a description can stand beside it.
func (b *schemaBuilder) property(f reflect.StructField) *spec.Schema {
	s := b.of(f.Type)
	if s.Ref.String() == "" {
		return s
	}
	return &spec.Schema{SchemaProps: spec.SchemaProps{AllOf: []spec.Schema{*s}}}
}

// of is the schema of any type.
func (b *schemaBuilder) of(t reflect.Type) *spec.Schema {
	if t.Kind() == reflect.Pointer {
		return b.of(t.Elem())
	}
	if t.Name() != "" && t.PkgPath() != "" {
		if _, ok := reflect.TypeAssert[schemaTyped](reflect.Zero(t)); ok || t.Kind() == reflect.Struct {
			return schemaRef(b.add(t))
		}
	}
	switch t.Kind() {
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return &spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"string"}, Format: "byte"}}
		}
		return spec.ArrayProperty(b.of(t.Elem()))
	case reflect.Map:
		return spec.MapProperty(b.of(t.Elem()))
	default:
		return scalarSchema(t.Kind())
	}
}

// scalarSchema is the schema of a plain Go kind; anything for others.
func scalarSchema(kind reflect.Kind) *spec.Schema {
	switch kind {
	case reflect.Bool:
		return spec.BooleanProperty()
	case reflect.Int32, reflect.Uint32, reflect.Int16, reflect.Uint16, reflect.Int8:
		return spec.Int32Property()
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return spec.Int64Property()
	case reflect.Float32, reflect.Float64:
		return spec.Float64Property()
	case reflect.String:
		return spec.StringProperty()
	default:
		return &spec.Schema{}
	}
}

// mergeRules adds the extensions by which clients merge.
func (b *schemaBuilder) mergeRules(s *spec.Schema, f reflect.StructField, list *smdschema.List) {
	if strategy := f.Tag.Get("patchStrategy"); strategy != "" {
		s.AddExtension("x-kubernetes-patch-strategy", strategy)
	}
	if key := f.Tag.Get("patchMergeKey"); key != "" {
		s.AddExtension("x-kubernetes-patch-merge-key", key)
	}
	switch {
	case list == nil:
	case list.ElementRelationship == smdschema.Atomic:
		s.AddExtension("x-kubernetes-list-type", "atomic")
	case len(list.Keys) == 0:
		s.AddExtension("x-kubernetes-list-type", "set")
	default:
		s.AddExtension("x-kubernetes-list-type", "map")
		s.AddExtension("x-kubernetes-list-map-keys", list.Keys)
	}
}

// mergeField finds how a field that is a list is merged.
func (b *schemaBuilder) mergeField(typeName, field string) *smdschema.List {
	def, ok := b.merge.FindNamedType(typeName)
	if !ok || def.Map == nil {
		return nil
	}
	for _, f := range def.Map.Fields {
		if f.Name == field {
			return f.Type.Inlined.List
		}
	}
	return nil
}

// addKind adds a kind's schema and marks it as such.
func (b *schemaBuilder) addKind(obj any, group, version, kind string) string {
	name := b.add(reflect.TypeOf(obj).Elem())
	b.done[name].AddExtension("x-kubernetes-group-version-kind", []any{
		map[string]any{"group": group, "version": version, "kind": kind},
	})
	return name
}

// mergeSchema reaches the schema of apply configurations through an object, the only way in.
func (w *writer) mergeSchema(k *kind) (*smdschema.Schema, error) {
	obj := k.make()
	obj.GetObjectKind().SetGroupVersionKind(k.gvk)
	tv, err := w.schema().ObjectToTyped(obj)
	if err != nil {
		return nil, fmt.Errorf("read the schema of apply configurations: %w", err)
	}
	return tv.Schema(), nil
}
