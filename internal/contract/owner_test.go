package contract_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/contract"
)

// patches keeps the bodies of the patches that it is sent.
type patches struct {
	client.Client
	bodies []string
}

func (p *patches) Scheme() *runtime.Scheme { return runtime.NewScheme() }

func (p *patches) Patch(_ context.Context, obj client.Object, patch client.Patch, _ ...client.PatchOption) error {
	body, err := patch.Data(obj)
	p.bodies = append(p.bodies, string(body))
	return err
}

func TestOwn_TakesOverFromTheFormerOwnerInOnePatch(t *testing.T) {
	t.Parallel()
	set := metav1.OwnerReference{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "MachineSet", Name: "ms", UID: "1"}
	machine := metav1.OwnerReference{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "Machine", Name: "m", UID: "2", Controller: new(true)}
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Foo"}}
	u.SetName("m")
	u.SetUID("u")
	u.SetResourceVersion("7")
	u.SetOwnerReferences([]metav1.OwnerReference{set})
	own := contract.Ownership{Owner: machine, Former: []metav1.OwnerReference{set}, ClusterName: "c"}
	c := &patches{}
	if _, err := contract.Own(t.Context(), c, "slipway-test", contract.NewObject(u, contract.V1Beta2), own); err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if len(c.bodies) != 1 {
		t.Fatalf("sent %d patches", len(c.bodies))
	}
	if err := json.Unmarshal([]byte(c.bodies[0]), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"metadata": map[string]any{"uid": "u", "resourceVersion": "7",
		"labels":          map[string]any{"cluster.x-k8s.io/cluster-name": "c"},
		"ownerReferences": []any{map[string]any{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "name": "m", "uid": "2", "controller": true}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}

	u.SetOwnerReferences([]metav1.OwnerReference{machine})
	u.SetLabels(map[string]string{"cluster.x-k8s.io/cluster-name": "c"})
	answer, err := contract.Own(t.Context(), c, "slipway-test", contract.NewObject(u, contract.V1Beta2), own)
	if err != nil || answer != nil || len(c.bodies) != 1 {
		t.Errorf("owning twice returned %v, %v and sent %d patches in all", answer, err, len(c.bodies))
	}
}
