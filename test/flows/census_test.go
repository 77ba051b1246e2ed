package flows_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// comings watches what is made and deleted in a namespace from now on, so that what is made and deleted again is seen too. The
// function that it returns ends that and fails the test unless nothing was.
func comings(t *testing.T, c client.WithWatch, namespace string) (none func()) {
	t.Helper()
	var (
		watches  []watch.Interface
		watching sync.WaitGroup
		mu       sync.Mutex // guards what follows
		seen     []string
		over     bool
	)
	for _, kind := range kinds() {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := c.List(t.Context(), list, client.InNamespace(namespace)); err != nil {
			t.Fatal(err)
		}
		from := &client.ListOptions{Namespace: namespace, Raw: &metav1.ListOptions{ResourceVersion: list.GetResourceVersion()}}
		w, err := c.Watch(t.Context(), list, from)
		if err != nil {
			t.Fatal(err)
		}
		watches = append(watches, w)
		watching.Go(func() {
			for e := range w.ResultChan() {
				obj, ok := e.Object.(client.Object)
				mu.Lock()
				switch {
				case e.Type == watch.Modified || e.Type == watch.Bookmark:
				case e.Type == watch.Error && over: // A watch that is stopped ends so.
				case ok:
					seen = append(seen, string(e.Type)+" "+kind.Kind+" "+obj.GetName())
				default:
					seen = append(seen, fmt.Sprintf("%s %s: %v", e.Type, kind.Kind, e.Object))
				}
				mu.Unlock()
			}
		})
	}
	return func() {
		t.Helper()
		mu.Lock()
		over = true
		mu.Unlock()
		for _, w := range watches {
			w.Stop()
		}
		watching.Wait()
		if len(seen) > 0 {
			t.Errorf("objects were made or deleted:\n%s", strings.Join(seen, "\n"))
		}
	}
}
