package freshness_test

import (
	"context"
	"strconv"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/freshness"
)

// pages serves three pages of two objects each, whatever the kind.
type pages struct {
	client.Reader
	namespaces []string
}

func (p *pages) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	options := (&client.ListOptions{}).ApplyOptions(opts)
	p.namespaces = append(p.namespaces, options.Namespace)
	page := 0
	if options.Continue != "" {
		page = atoi(options.Continue)
	}
	out := list.(*metav1.PartialObjectMetadataList)
	for i := range 2 {
		item := metav1.PartialObjectMetadata{}
		item.UID = types.UID(out.Kind + strconv.Itoa(2*page+i))
		out.Items = append(out.Items, item)
	}
	if page < 2 {
		out.Continue = strconv.Itoa(page + 1)
	}
	return nil
}

func TestLive_ReadsAllPagesOfAllKindsAndKeepsWhatIsAsked(t *testing.T) {
	t.Parallel()
	reader := &pages{}
	kinds := []schema.GroupVersionKind{{Version: "v1", Kind: "A"}, {Version: "v1", Kind: "B"}}
	keep := func(obj metav1.Object) bool { return obj.GetUID() != "AList3" }
	got, err := freshness.Live(reader, keep, kinds, client.InNamespace("ns"))(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	seen := map[types.UID]bool{}
	for _, obj := range got {
		seen[obj.GetUID()] = true
	}
	if len(seen) != 11 || seen["AList3"] || !seen["BList5"] {
		t.Errorf("got %v", seen)
	}
	for _, namespace := range reader.namespaces {
		if namespace != "ns" {
			t.Errorf("listed namespace %q", namespace)
		}
	}
}

// single serves one object, or none.
type single struct {
	client.Reader
	object *metav1.ObjectMeta
}

func (s *single) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	if s.object == nil || s.object.Name != key.Name {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	obj.SetUID(s.object.UID)
	obj.SetResourceVersion(s.object.ResourceVersion)
	return nil
}

func TestWith_WaitsForTheOwnerThatAnEarlierLeaderActedFor(t *testing.T) {
	t.Parallel()
	kind := schema.GroupVersionKind{Version: "v1", Kind: "A"}
	seen := &metav1.ObjectMeta{Name: "o", UID: owner, ResourceVersion: "5"}
	for _, row := range []struct {
		name  string
		live  *metav1.ObjectMeta
		fresh bool
	}{
		{"as it shows", &metav1.ObjectMeta{Name: "o", UID: owner, ResourceVersion: "5"}, true},
		{"newer than it shows", &metav1.ObjectMeta{Name: "o", UID: owner, ResourceVersion: "6"}, false},
		{"another of that name", &metav1.ObjectMeta{Name: "o", UID: "other", ResourceVersion: "6"}, false},
		{"gone", nil, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			list := freshness.With(&single{object: row.live}, kind, seen, (&server{}).list)
			err := freshness.New(nil).Fresh(t.Context(), owner, []metav1.Object{seen}, list)
			if row.fresh && err != nil || !row.fresh && !isLag(err) {
				t.Errorf("error is %v", err)
			}
		})
	}
}
