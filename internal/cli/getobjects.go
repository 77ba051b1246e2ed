package cli

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/util/jsonpath"

	"slipway.dev/slipway/internal/fault"
)

// objects reads any kind of the management cluster.
type objects struct {
	config  *rest.Config
	mapping *meta.RESTMapping
}

// objectsOf finds a kind by its plural, singular or short name, with or without its group.
func (a *app) objectsOf(kind string) (*objects, error) {
	config, err := a.restConfig()
	if err != nil {
		return nil, err
	}
	plain, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	cached := memory.NewMemCacheClient(plain)
	mapper := restmapper.NewShortcutExpander(restmapper.NewDeferredDiscoveryRESTMapper(cached), cached, nil)
	resource, err := mapper.ResourceFor(schema.ParseGroupResource(strings.ToLower(kind)).WithVersion(""))
	if meta.IsNoMatchError(err) {
		return nil, a.noKind(kind, cached, err)
	}
	if err != nil {
		return nil, err
	}
	gvk, err := mapper.KindFor(resource)
	if err != nil {
		return nil, err
	}
	mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	return &objects{config: config, mapping: mapping}, err
}

// noKind names the kinds that begin alike.
func (a *app) noKind(kind string, d discovery.DiscoveryInterface, err error) error {
	var kinds []string
	// Groups that cannot be read are none to suggest from.
	lists, _ := discovery.ServerPreferredResources(d)
	for _, list := range lists {
		for _, r := range list.APIResources {
			if !strings.Contains(r.Name, "/") {
				kinds = append(kinds, r.Name)
			}
		}
	}
	near := nearest(kind, kinds)
	try := a.try("get clusters")
	if len(near) > 0 {
		try = a.try("get %s", near[0])
	}
	return fault.New(err, "cannot get "+kind, fmt.Sprintf("the management cluster has no kind %q%s", kind, didYouMean(near)), a.where(), try)
}

// noObject says that an object does not exist, and names those that are near. Any other error is returned as it is.
func (a *app) noObject(ctx context.Context, o *objects, name string, err error) error {
	if !apierrors.IsNotFound(err) {
		return err
	}
	kind := strings.ToLower(o.mapping.GroupVersionKind.Kind)
	in, try := "", a.try("get %s", o.mapping.Resource.Resource)
	var near []string
	if r, errResource := o.resource(a.oneNamespace()); errResource == nil {
		// Near names are a help beside the error: without them it is still said what is missing.
		if list, errList := r.List(ctx, metav1.ListOptions{}); errList == nil {
			var names []string
			for i := range list.Items {
				names = append(names, list.Items[i].GetName())
			}
			near = nearest(name, names)
		}
	}
	if o.namespaced() {
		in, try = " in namespace "+a.oneNamespace(), try+" -A"
	}
	return fault.New(err, "cannot find "+kind+" "+name, fmt.Sprintf("there is none of that name%s%s", in, didYouMean(near)), a.where(),
		try)
}

func (o *objects) namespaced() bool { return o.mapping.Scope.Name() == meta.RESTScopeNameNamespace }

func (o *objects) resource(namespace string) (dynamic.ResourceInterface, error) {
	c, err := dynamic.NewForConfig(o.config)
	if err != nil {
		return nil, err
	}
	if o.namespaced() {
		return c.Resource(o.mapping.Resource).Namespace(namespace), nil
	}
	return c.Resource(o.mapping.Resource), nil
}

// typeName is how an object is named in output: machine.cluster.x-k8s.io/demo-cp-1.
func (o *objects) typeName(name string) string {
	singular := strings.ToLower(o.mapping.GroupVersionKind.Kind)
	if group := o.mapping.GroupVersionKind.Group; group != "" {
		singular += "." + group
	}
	return singular + "/" + name
}

func (a *app) getObjects(ctx context.Context, target getTarget, opts getOptions) error {
	o, err := a.objectsOf(target.kind)
	if err != nil {
		return err
	}
	if opts.watch {
		return a.watchTable(ctx, o, target, opts)
	}
	switch {
	case a.flags.output == outputText, a.flags.output == outputWide:
		return a.getTable(ctx, o, target, opts)
	default:
		return a.getDocuments(ctx, o, target, opts)
	}
}

// getDocuments prints whole objects, or what a path selects of them.
func (a *app) getDocuments(ctx context.Context, o *objects, target getTarget, opts getOptions) error {
	list, err := a.fetch(ctx, o, target, opts)
	if err != nil {
		return err
	}
	if opts.sortBy != "" {
		if err := sortByPath(list.Items, opts.sortBy, func(u unstructured.Unstructured) (any, error) { return u.Object, nil }); err != nil {
			return err
		}
	}
	switch {
	case a.flags.output == outputName:
		for i := range list.Items {
			fmt.Fprintln(a.out, o.typeName(list.Items[i].GetName()))
		}
		return nil
	case strings.HasPrefix(a.flags.output, outputJSONPath):
		return a.printPath(list, len(target.names) == 1)
	case len(target.names) == 1:
		return a.printStructured(list.Items[0].Object)
	default:
		return a.printStructured(list.UnstructuredContent())
	}
}

// fetch reads the objects that are named, or all.
func (a *app) fetch(ctx context.Context, o *objects, target getTarget, opts getOptions) (*unstructured.UnstructuredList, error) {
	namespace := a.namespace()
	if len(target.names) > 0 {
		namespace = a.oneNamespace()
	}
	r, err := o.resource(namespace)
	if err != nil {
		return nil, err
	}
	if len(target.names) == 0 {
		list, err := r.List(ctx, metav1.ListOptions{LabelSelector: opts.selector})
		if err != nil {
			return nil, err
		}
		// kubectl prints a plain List, and scripts know it.
		list.SetAPIVersion("v1")
		list.SetKind("List")
		dropManagedFields(list)
		return list, nil
	}
	list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "v1", "kind": "List", "metadata": map[string]any{"resourceVersion": ""}}}
	for _, name := range target.names {
		u, err := r.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, a.noObject(ctx, o, name, err)
		}
		list.Items = append(list.Items, *u)
	}
	dropManagedFields(list)
	return list, nil
}

func dropManagedFields(list *unstructured.UnstructuredList) {
	for i := range list.Items {
		list.Items[i].SetManagedFields(nil)
	}
}

func (a *app) printPath(list *unstructured.UnstructuredList, single bool) error {
	text := strings.TrimPrefix(a.flags.output, outputJSONPath)
	path := jsonpath.New("output")
	path.AllowMissingKeys(true)
	if !strings.HasPrefix(text, "{") {
		text = "{" + text + "}"
	}
	if err := path.Parse(text); err != nil {
		return fault.New(err, "cannot read the path", err.Error(), "-o "+a.flags.output, "-o jsonpath='{.items[*].metadata.name}'")
	}
	var data any = list.UnstructuredContent()
	if single {
		data = list.Items[0].Object
	}
	if err := path.Execute(a.out, data); err != nil {
		return fault.New(err, "cannot follow the path", err.Error(), "-o "+a.flags.output, "look at the whole object: -o yaml")
	}
	_, err := fmt.Fprintln(a.out)
	return err
}
