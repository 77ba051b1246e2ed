package workload

import (
	"maps"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// buildDocuments makes the OpenAPI v3 document of every group version, by path.
func buildDocuments(sh *shared) (map[string]*spec3.OpenAPI, error) {
	merge, err := sh.writer.mergeSchema(sh.catalog.kinds[0])
	if err != nil {
		return nil, err
	}
	docs := map[string]*spec3.OpenAPI{}
	for _, gv := range sh.catalog.groupVersions() {
		docs[groupPath(gv)[1:]] = buildDocument(sh.catalog, gv, &schemaBuilder{merge: merge, done: map[string]*spec.Schema{}})
	}
	return docs, nil
}

func groupPath(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "/api/" + gv.Version
	}
	return "/apis/" + gv.String()
}

func buildDocument(c *catalog, gv schema.GroupVersion, b *schemaBuilder) *spec3.OpenAPI {
	doc := &spec3.OpenAPI{
		Version: "3.0.0",
		Info:    &spec.Info{InfoProps: spec.InfoProps{Title: "Kubernetes", Version: "v1"}},
		Paths:   &spec3.Paths{Paths: map[string]*spec3.Path{}},
	}
	for _, k := range c.kinds {
		if k.gvk.GroupVersion() == gv {
			name := b.addKind(k.make(), gv.Group, gv.Version, k.gvk.Kind)
			list := b.addKind(k.makeList(), gv.Group, gv.Version, k.listKind())
			maps.Copy(doc.Paths.Paths, kindPaths(k, name, list))
		}
	}
	for _, v := range reviewKinds() {
		if v.gvk.GroupVersion() == gv {
			name := b.addKind(v.make(), gv.Group, gv.Version, v.gvk.Kind)
			doc.Paths.Paths[groupPath(gv)+"/"+v.plural] = &spec3.Path{PathProps: spec3.PathProps{Post: operation(v.gvk, "post", name)}}
		}
	}
	b.addKind(&metav1.DeleteOptions{}, gv.Group, gv.Version, "DeleteOptions")
	b.addKind(&metav1.Status{}, "", "v1", "Status")
	doc.Components = &spec3.Components{Schemas: b.done}
	return doc
}

// kindPaths are the paths of a kind's collection and objects.
func kindPaths(k *kind, name, list string) map[string]*spec3.Path {
	root := groupPath(k.gvk.GroupVersion())
	collection := root + "/" + k.plural
	out := map[string]*spec3.Path{}
	if k.namespaced {
		out[collection] = &spec3.Path{PathProps: spec3.PathProps{Get: operation(k.gvk, "list", list)}}
		collection = root + "/namespaces/{namespace}/" + k.plural
	}
	out[collection] = &spec3.Path{PathProps: spec3.PathProps{
		Get: operation(k.gvk, "list", list), Post: operation(k.gvk, "post", name), Delete: operation(k.gvk, "deletecollection", name),
	}}
	object := spec3.PathProps{
		Get: operation(k.gvk, "get", name), Put: operation(k.gvk, "put", name), Patch: operation(k.gvk, "patch", name), Delete: operation(k.gvk, "delete", name),
	}
	out[collection+"/{name}"] = &spec3.Path{PathProps: object}
	if k.status != nil {
		object.Delete = nil
		out[collection+"/{name}/status"] = &spec3.Path{PathProps: object}
	}
	return out
}

// operation is one verb at a path.
func operation(gvk schema.GroupVersionKind, action, result string) *spec3.Operation {
	op := &spec3.Operation{OperationProps: spec3.OperationProps{
		OperationId: action + gvk.Group + gvk.Version + gvk.Kind + result[len(result)-len(gvk.Kind):],
		Responses: &spec3.Responses{ResponsesProps: spec3.ResponsesProps{StatusCodeResponses: map[int]*spec3.Response{
			http.StatusOK: {ResponseProps: spec3.ResponseProps{Description: "OK", Content: content(result)}},
		}}},
	}}
	op.AddExtension("x-kubernetes-action", action)
	op.AddExtension("x-kubernetes-group-version-kind", map[string]any{"group": gvk.Group, "version": gvk.Version, "kind": gvk.Kind})
	switch action {
	case "post", "put":
		op.RequestBody = &spec3.RequestBody{RequestBodyProps: spec3.RequestBodyProps{Content: content(result), Required: true}}
		op.Parameters = parameters("dryRun", "fieldManager", "fieldValidation")
	case "patch":
		op.Parameters = parameters("dryRun", "fieldManager", "fieldValidation", "force")
	case "list":
		op.Parameters = parameters("allowWatchBookmarks", "continue", "fieldSelector", "labelSelector", "limit", "resourceVersion",
			"resourceVersionMatch", "sendInitialEvents", "timeoutSeconds", "watch")
	case "delete", "deletecollection":
		op.Parameters = parameters("dryRun", "gracePeriodSeconds", "propagationPolicy")
	}
	return op
}

func content(name string) map[string]*spec3.MediaType {
	return map[string]*spec3.MediaType{"application/json": {MediaTypeProps: spec3.MediaTypeProps{Schema: schemaRef(name)}}}
}

// parameters are query parameters. Their types are told apart as far as clients look.
func parameters(names ...string) []*spec3.Parameter {
	var out []*spec3.Parameter
	for _, n := range names {
		s := spec.StringProperty()
		switch n {
		case "allowWatchBookmarks", "force", "sendInitialEvents", "watch":
			s = spec.BooleanProperty()
		case "limit", "timeoutSeconds", "gracePeriodSeconds":
			s = spec.Int64Property()
		}
		out = append(out, &spec3.Parameter{ParameterProps: spec3.ParameterProps{Name: n, In: "query", Schema: s}})
	}
	return out
}
