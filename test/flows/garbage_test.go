package flows_test

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/test/fleet"
)

// soon is half of the time after which the garbage collector would look for new kinds of its own accord.
const soon = 15 * time.Second

// What an object owns goes with it, also when its kind was installed a moment ago: a provider's, or Slipway's own on a plane that
// starts for the first time.
func TestGarbage_OfAKindJustInstalledIsCollected(t *testing.T) {
	t.Parallel()
	c := clientOf(t, start(t, t.TempDir()))
	namespace(t, c, "garbage")
	unlabelled(t, c, "LatecomerMachine")
	owner := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": infrastructureGroup + "/v1", "kind": "LatecomerMachine", "metadata": map[string]any{"name": "owner", "namespace": "garbage"},
	}}
	eventually(t, "the kind is served", func(ctx context.Context) error { return c.Create(ctx, owner) })
	owned := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Name: "owned", Namespace: "garbage",
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, owner.GroupVersionKind())},
	}}
	if err := c.Create(t.Context(), owned); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	err := fleet.Wait(ctx, glance, func(ctx context.Context) error {
		err := c.Get(ctx, client.ObjectKeyFromObject(owned), owned)
		if err == nil {
			return errors.New("the Secret is still there")
		}
		return client.IgnoreNotFound(err)
	})
	if err != nil {
		t.Fatal(err)
	}
}
