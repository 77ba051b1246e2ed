package remote

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
)

func TestNodes_MatchProviderIDsExactlyAndNeverGuess(t *testing.T) {
	t.Parallel()
	store := newNodeStore(func(string, string) {})
	for name, id := range map[string]string{
		"a": "azure:///vmss-a/virtualMachines/0", "b": "azure:///vmss-b/virtualMachines/0",
		"c": "sim://twice", "d": "sim://twice", "e": "",
	} {
		store.put(node(name, id))
	}
	nodes := NodeLister{store: store}
	if n, err := nodes.ByProviderID("azure:///vmss-b/virtualMachines/0"); err != nil || n.Name != "b" {
		t.Errorf("exact: %v, %v", n, err)
	}
	for _, id := range []string{"0", "virtualMachines/0", "azure:///vmss-B/virtualMachines/0", ""} {
		if n, err := nodes.ByProviderID(id); !errors.Is(err, ErrNodeNotFound) {
			t.Errorf("%q: %v, %v", id, n, err)
		}
	}
	if _, err := nodes.ByProviderID("sim://twice"); !errors.Is(err, ErrAmbiguousProviderID) || !strings.Contains(err.Error(), "c, d") {
		t.Errorf("two Nodes: %v", err)
	}
	if _, err := nodes.ByName("f"); !errors.Is(err, ErrNodeNotFound) {
		t.Errorf("by name: %v", err)
	}
}

func TestNodes_IndexAlwaysAgreesWithTheNodes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		store := newNodeStore(func(string, string) {})
		plain := map[string]string{} // name to provider ID: the slow and obvious way
		name := rapid.SampledFrom([]string{"a", "b", "c", "d"})
		id := rapid.SampledFrom([]string{"", "x", "y", "z"})
		version := 0
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				n := node(name.Draw(t, "name"), id.Draw(t, "id"))
				version++
				n.ResourceVersion = fmt.Sprint(version)
				store.put(n)
				plain[n.Name] = n.Spec.ProviderID
			},
			"remove": func(t *rapid.T) {
				n := name.Draw(t, "name")
				store.remove(n)
				delete(plain, n)
			},
			"replace": func(t *rapid.T) {
				var all []*corev1.Node
				clear(plain)
				for _, n := range rapid.SliceOfDistinct(name, func(s string) string { return s }).Draw(t, "names") {
					all = append(all, node(n, id.Draw(t, "id")))
					plain[n] = all[len(all)-1].Spec.ProviderID
				}
				store.replace(all)
			},
			"": func(t *rapid.T) {
				want := map[string][]string{}
				for n, id := range plain {
					if id != "" {
						want[id] = append(want[id], n)
					}
				}
				for _, all := range want {
					slices.Sort(all)
				}
				if diff := cmp.Diff(want, store.byProviderID); diff != "" {
					t.Fatal(diff)
				}
				if len(store.byName) != len(plain) {
					t.Fatalf("%d Nodes, want %d", len(store.byName), len(plain))
				}
			},
		})
	})
}

func TestNodes_KeepNothingHeavy(t *testing.T) {
	t.Parallel()
	n := node("a", "")
	n.Status.Images = []corev1.ContainerImage{{}}
	n.Annotations = map[string]string{
		corev1.LastAppliedConfigAnnotation: "{}", "k8s.ovn.org/host-cidrs": "x", "cluster.x-k8s.io/labels-from-machine": "y",
	}
	stripNode(n)
	want := map[string]string{"cluster.x-k8s.io/labels-from-machine": "y"}
	if n.Status.Images != nil || !cmp.Equal(n.Annotations, want) {
		t.Errorf("left: %v, %v", n.Status.Images, n.Annotations)
	}
}
