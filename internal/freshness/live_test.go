package freshness_test

import (
	"context"
	"strconv"
	"testing"

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
