package manager

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
)

// clusterIndex is the name of the index that clusterCache keeps.
const clusterIndex = "slipway.dev/cluster-name-label"

// clusterCache is a cache that finds the objects of one cluster without looking at those of all others: a List that selects
// a value of the cluster name label is answered from an index. Without it, what one machine costs grows with the fleet.
type clusterCache struct {
	cache.Cache
	scheme *runtime.Scheme

	mu sync.Mutex
	// indexed holds the kinds that have the index. The same kind is several informers, by the form of its objects.
	indexed map[informerKey]bool
}

// informerKey tells the informers of one kind apart.
type informerKey struct {
	kind schema.GroupVersionKind
	form string
}

// newClusterCache makes a clusterCache; it is a cache.NewCacheFunc.
func newClusterCache(cfg *rest.Config, opts cache.Options) (cache.Cache, error) {
	c, err := cache.New(cfg, opts)
	if err != nil {
		return nil, err
	}
	return &clusterCache{Cache: c, scheme: opts.Scheme, indexed: map[informerKey]bool{}}, nil
}

// List answers as the wrapped cache does.
func (c *clusterCache) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	asked := client.ListOptions{}
	asked.ApplyOptions(opts)
	cluster, one := clusterOf(asked.LabelSelector)
	if !one || asked.FieldSelector != nil {
		return c.Cache.List(ctx, list, opts...)
	}
	if err := c.index(ctx, list); err != nil {
		return err
	}
	asked.FieldSelector = fields.OneTermEqualSelector(clusterIndex, cluster)
	return c.Cache.List(ctx, list, &asked)
}

// RemoveInformer forgets the index together with the informer.
func (c *clusterCache) RemoveInformer(ctx context.Context, obj client.Object) error {
	key, err := c.keyOf(obj)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.indexed, key)
	return c.Cache.RemoveInformer(ctx, obj)
}

// index adds the index to the kind of the list's objects, once.
func (c *clusterCache) index(ctx context.Context, list client.ObjectList) error {
	key, err := c.keyOf(list)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.indexed[key] {
		return nil
	}
	obj, err := c.objectOf(key.kind, list)
	if err != nil {
		return err
	}
	err = c.IndexField(ctx, obj, clusterIndex, func(o client.Object) []string {
		if name, ok := o.GetLabels()[clusterv1.ClusterNameLabel]; ok {
			return []string{name}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("index %s by cluster: %w", key.kind.Kind, err)
	}
	c.indexed[key] = true
	return nil
}

// keyOf names the informer that serves an object or a list of such objects.
func (c *clusterCache) keyOf(obj runtime.Object) (informerKey, error) {
	gvk, err := apiutil.GVKForObject(obj, c.scheme)
	if err != nil {
		return informerKey{}, err
	}
	key := informerKey{kind: gvk, form: "typed"}
	key.kind.Kind = strings.TrimSuffix(gvk.Kind, "List")
	switch obj.(type) {
	case runtime.Unstructured:
		key.form = "unstructured"
	case *metav1.PartialObjectMetadata, *metav1.PartialObjectMetadataList:
		key.form = "metadata"
	}
	return key, nil
}

// objectOf makes an empty object of the form that the list's objects have.
func (c *clusterCache) objectOf(gvk schema.GroupVersionKind, list client.ObjectList) (client.Object, error) {
	switch list.(type) {
	case runtime.Unstructured:
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(gvk)
		return u, nil
	case *metav1.PartialObjectMetadataList:
		m := &metav1.PartialObjectMetadata{}
		m.SetGroupVersionKind(gvk)
		return m, nil
	}
	obj, err := c.scheme.New(gvk)
	if err != nil {
		return nil, err
	}
	object, ok := obj.(client.Object)
	if !ok {
		return nil, fmt.Errorf("kind %s is not an object's", gvk.Kind)
	}
	return object, nil
}

// clusterOf returns the cluster that a selector selects by its label, and false when it selects another way.
func clusterOf(s labels.Selector) (string, bool) {
	if s == nil {
		return "", false
	}
	requirements, selectable := s.Requirements()
	if !selectable {
		return "", false
	}
	for _, r := range requirements {
		one := r.Operator() == selection.Equals || r.Operator() == selection.DoubleEquals || r.Operator() == selection.In
		if r.Key() == clusterv1.ClusterNameLabel && one && r.Values().Len() == 1 {
			return r.ValuesUnsorted()[0], true
		}
	}
	return "", false
}
