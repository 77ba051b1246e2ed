package workload

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// aggregatedType is how the answer of aggregated discovery is labelled.
const aggregatedType = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

// discoveryDocs are the encoded documents of discovery, the same for all clusters, by path.
type discoveryDocs struct {
	plain      map[string][]byte
	aggregated map[string][]byte
}

// newDiscoveryDocs encodes all documents.
func newDiscoveryDocs(c *catalog) (*discoveryDocs, error) {
	d := &discoveryDocs{plain: map[string][]byte{}, aggregated: map[string][]byte{}}
	groups := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	core := apidiscovery.APIGroupDiscoveryList{TypeMeta: discoveryList()}
	named := apidiscovery.APIGroupDiscoveryList{TypeMeta: discoveryList()}
	docs := map[string]any{
		"/api": metav1.APIVersions{
			TypeMeta: metav1.TypeMeta{Kind: "APIVersions", APIVersion: "v1"}, Versions: []string{"v1"},
			ServerAddressByClientCIDRs: []metav1.ServerAddressByClientCIDR{},
		},
	}
	for _, gv := range c.groupVersions() {
		entry := apidiscovery.APIGroupDiscovery{
			ObjectMeta: metav1.ObjectMeta{Name: gv.Group},
			Versions:   []apidiscovery.APIVersionDiscovery{{Version: gv.Version, Freshness: apidiscovery.DiscoveryFreshnessCurrent, Resources: c.discoverResources(gv)}},
		}
		resources := metav1.APIResourceList{
			TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: gv.String(), APIResources: c.apiResources(gv),
		}
		if gv.Group == "" {
			core.Items = append(core.Items, entry)
			docs["/api/v1"] = resources
			continue
		}
		named.Items = append(named.Items, entry)
		version := metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: gv.Version}
		group := metav1.APIGroup{Name: gv.Group, Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version}
		groups.Groups = append(groups.Groups, group)
		group.TypeMeta = metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}
		docs["/apis/"+gv.Group] = group
		docs["/apis/"+gv.String()] = resources
	}
	docs["/apis"] = groups
	for path, doc := range docs {
		data, err := json.Marshal(doc)
		if err != nil {
			return nil, fmt.Errorf("encode discovery of %s: %w", path, err)
		}
		d.plain[path] = data
	}
	for path, doc := range map[string]apidiscovery.APIGroupDiscoveryList{"/api": core, "/apis": named} {
		data, err := json.Marshal(doc)
		if err != nil {
			return nil, fmt.Errorf("encode aggregated discovery of %s: %w", path, err)
		}
		d.aggregated[path] = data
	}
	return d, nil
}

func discoveryList() metav1.TypeMeta {
	return metav1.TypeMeta{Kind: "APIGroupDiscoveryList", APIVersion: apidiscovery.SchemeGroupVersion.String()}
}

// serveDiscovery answers /api… and /apis….
func (q *request) serveDiscovery(parts []string) error {
	docs := q.cluster.server.shared.docs
	path := "/" + strings.Join(parts, "/")
	if data := docs.aggregated[path]; data != nil && acceptsAggregated(q.r.Header.Get("Accept")) {
		return q.write(http.StatusOK, aggregatedType, data)
	}
	data := docs.plain[path]
	if data == nil {
		return q.notFoundPath()
	}
	return q.write(http.StatusOK, "application/json", data)
}

func acceptsAggregated(accept string) bool {
	for part := range strings.SplitSeq(accept, ",") {
		part = strings.ReplaceAll(part, " ", "")
		if strings.Contains(part, "as=APIGroupDiscoveryList") && strings.Contains(part, "v=v2") && !strings.Contains(part, "v=v2beta1") {
			return true
		}
	}
	return false
}

// apiResources lists a group version's resources and subresources in the older form.
func (c *catalog) apiResources(gv schema.GroupVersion) []metav1.APIResource {
	var out []metav1.APIResource
	for _, k := range c.kinds {
		if k.gvk.GroupVersion() != gv {
			continue
		}
		out = append(out, metav1.APIResource{
			Name: k.plural, SingularName: k.singular, Namespaced: k.namespaced, Kind: k.gvk.Kind, Verbs: allVerbs,
			ShortNames: k.short, Categories: k.categories,
		})
		for _, s := range k.subresources() {
			r := metav1.APIResource{Name: k.plural + "/" + s.name, Namespaced: k.namespaced, Kind: s.gvk.Kind, Verbs: s.verbs}
			if s.gvk.GroupVersion() != gv {
				r.Group, r.Version = s.gvk.Group, s.gvk.Version
			}
			out = append(out, r)
		}
	}
	for _, v := range reviewKinds() {
		if v.gvk.GroupVersion() == gv {
			out = append(out, metav1.APIResource{Name: v.plural, SingularName: strings.ToLower(v.gvk.Kind), Kind: v.gvk.Kind, Verbs: []string{"create"}})
		}
	}
	return out
}

// subresources lists what is below the kind's objects, with the kinds of their bodies filled in.
func (k *kind) subresources() []subresource {
	all := slices.Clone(k.extra)
	if k.status != nil {
		all = append(all, subresource{name: "status", verbs: statusVerbs})
	}
	for i := range all {
		if all[i].gvk.Empty() {
			all[i].gvk = k.gvk
		}
	}
	slices.SortFunc(all, func(a, b subresource) int { return strings.Compare(a.name, b.name) })
	return all
}

// discoverResources lists a group version's resources in the aggregated form.
func (c *catalog) discoverResources(gv schema.GroupVersion) []apidiscovery.APIResourceDiscovery {
	var out []apidiscovery.APIResourceDiscovery
	for _, k := range c.kinds {
		if k.gvk.GroupVersion() != gv {
			continue
		}
		d := apidiscovery.APIResourceDiscovery{
			Resource: k.plural, ResponseKind: responseKind(k.gvk), Scope: apidiscovery.ScopeCluster, SingularResource: k.singular,
			Verbs: allVerbs, ShortNames: k.short, Categories: k.categories,
		}
		if k.namespaced {
			d.Scope = apidiscovery.ScopeNamespace
		}
		for _, s := range k.subresources() {
			d.Subresources = append(d.Subresources, apidiscovery.APISubresourceDiscovery{Subresource: s.name, ResponseKind: responseKind(s.gvk), Verbs: s.verbs})
		}
		out = append(out, d)
	}
	for _, v := range reviewKinds() {
		if v.gvk.GroupVersion() == gv {
			out = append(out, apidiscovery.APIResourceDiscovery{
				Resource: v.plural, ResponseKind: responseKind(v.gvk), Scope: apidiscovery.ScopeCluster,
				SingularResource: strings.ToLower(v.gvk.Kind), Verbs: []string{"create"},
			})
		}
	}
	return out
}

func responseKind(gvk schema.GroupVersionKind) *metav1.GroupVersionKind {
	return &metav1.GroupVersionKind{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind}
}
