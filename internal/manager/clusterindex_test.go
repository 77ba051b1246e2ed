package manager

import (
	"context"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
)

func TestClusterOf_SeesOnlyOneClusterNamedByItsLabel(t *testing.T) {
	t.Parallel()
	for selector, want := range map[string]string{
		clusterv1.ClusterNameLabel + "=a":              "a",
		clusterv1.ClusterNameLabel + "==a,role=worker": "a",
		clusterv1.ClusterNameLabel + " in (a)":         "a",
		clusterv1.ClusterNameLabel + " in (a,b)":       "",
		clusterv1.ClusterNameLabel + " notin (a)":      "",
		clusterv1.ClusterNameLabel + "!=a":             "",
		clusterv1.ClusterNameLabel:                     "",
		"!" + clusterv1.ClusterNameLabel:               "",
		"role=a":                                       "",
		"":                                             "",
	} {
		parsed, err := labels.Parse(selector)
		if err != nil {
			t.Fatal(err)
		}
		if got, one := clusterOf(parsed); got != want || one != (want != "") {
			t.Errorf("clusterOf(%q) = %q, %t; want %q", selector, got, one, want)
		}
	}
	if _, one := clusterOf(nil); one {
		t.Error("no selector selects a cluster")
	}
}

// recordingCache remembers what it was asked.
type recordingCache struct {
	cache.Cache
	mu      sync.Mutex
	indexes map[string]int
	asked   []client.ListOptions
}

func (c *recordingCache) IndexField(_ context.Context, obj client.Object, field string, values client.IndexerFunc) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	obj.SetLabels(map[string]string{clusterv1.ClusterNameLabel: "one"})
	if !cmp.Equal(values(obj), []string{"one"}) {
		return context.Canceled
	}
	form := "typed"
	switch obj.(type) {
	case *unstructured.Unstructured:
		form = "unstructured"
	case *metav1.PartialObjectMetadata:
		form = "metadata"
	}
	c.indexes[field+" of "+form]++
	return nil
}

func (c *recordingCache) List(_ context.Context, _ client.ObjectList, opts ...client.ListOption) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	asked := client.ListOptions{}
	asked.ApplyOptions(opts)
	c.asked = append(c.asked, asked)
	return nil
}

func (c *recordingCache) RemoveInformer(context.Context, client.Object) error { return nil }

func TestClusterCache_ListsOneClusterByAnIndexThatEachInformerGetsOnce(t *testing.T) {
	t.Parallel()
	inner := &recordingCache{indexes: map[string]int{}}
	c := &clusterCache{Cache: inner, scheme: Scheme(), indexed: map[informerKey]bool{}}
	gvk := clusterv1.GroupVersion.WithKind("MachineList")
	loose, partial := &unstructured.UnstructuredList{}, &metav1.PartialObjectMetadataList{}
	loose.SetGroupVersionKind(gvk)
	partial.SetGroupVersionKind(gvk)

	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			for _, list := range []client.ObjectList{&clusterv1.MachineList{}, loose.DeepCopy(), partial.DeepCopy()} {
				err := c.List(t.Context(), list, client.InNamespace("ns"), client.MatchingLabels{clusterv1.ClusterNameLabel: "one", "role": "worker"})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	want := map[string]int{clusterIndex + " of typed": 1, clusterIndex + " of unstructured": 1, clusterIndex + " of metadata": 1}
	if diff := cmp.Diff(want, inner.indexes); diff != "" {
		t.Errorf("indexes (-want +got):\n%s", diff)
	}
	for _, asked := range inner.asked {
		if asked.FieldSelector.String() != clusterIndex+"=one" || asked.Namespace != "ns" || !asked.LabelSelector.Matches(labels.Set{clusterv1.ClusterNameLabel: "one", "role": "worker"}) {
			t.Fatalf("asked for %q, %q in %q", asked.FieldSelector, asked.LabelSelector, asked.Namespace)
		}
	}

	if err := c.RemoveInformer(t.Context(), &clusterv1.Machine{}); err != nil {
		t.Fatal(err)
	}
	if err := c.List(t.Context(), &clusterv1.MachineList{}, client.MatchingLabels{clusterv1.ClusterNameLabel: "one"}); err != nil {
		t.Fatal(err)
	}
	if n := inner.indexes[clusterIndex+" of typed"]; n != 2 {
		t.Errorf("after the informer was removed, its kind was indexed %d times, want 2", n)
	}
}

func TestClusterCache_LeavesOtherListsAlone(t *testing.T) {
	t.Parallel()
	inner := &recordingCache{indexes: map[string]int{}}
	c := &clusterCache{Cache: inner, scheme: Scheme(), indexed: map[informerKey]bool{}}
	byField := client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("x", "y")}
	for _, opts := range [][]client.ListOption{
		{client.InNamespace("ns")},
		{client.HasLabels{clusterv1.ClusterNameLabel}},
		{client.MatchingLabels{clusterv1.ClusterNameLabel: "one"}, byField},
	} {
		if err := c.List(t.Context(), &clusterv1.MachineList{}, opts...); err != nil {
			t.Fatal(err)
		}
	}
	if len(inner.indexes) != 0 {
		t.Errorf("indexed %v", inner.indexes)
	}
}
