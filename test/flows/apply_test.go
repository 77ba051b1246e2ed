package flows_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"slipway.dev/slipway/internal/planetest"
	"slipway.dev/slipway/test/fleet"
)

func TestApplyTwice_ChangesNothing(t *testing.T) {
	t.Parallel()
	for name, apply := range map[string]func(context.Context, client.Client, *unstructured.Unstructured) error{
		"server-side": serverSide, "client-side": clientSide,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := clientOf(t, planetest.Shared(t))
			s := fleet.Spec{Namespace: "apply-" + name, Name: "one", Version: version, ControlPlane: 1, Workers: 1, ECDSA: true}
			namespace(t, c, s.Namespace)
			docs := manifests(t, c, s)
			order := dice(t, len(name))
			applyAll(t, c, order, docs, apply)
			eventually(t, "up", func(ctx context.Context) error { return whole(ctx, c, s) })
			settled(t, c, s.Namespace)
			before := snapshot(t, c, s.Namespace, resourceVersion)
			applyAll(t, c, order, docs, apply)
			unchanged(t, c, s.Namespace, before)
		})
	}
}

// unchanged looks for a change for ten seconds: nothing tells when a write will not come.
func unchanged(t *testing.T, c client.Client, namespace string, before map[string]string) {
	t.Helper()
	for end := time.Now().Add(quiet); time.Now().Before(end); pause(t.Context(), glance) {
		if diff := cmp.Diff(before, snapshot(t, c, namespace, resourceVersion)); diff != "" {
			t.Fatalf("the second time changed resourceVersions (-before +after):\n%s", diff)
		}
	}
}

func applyAll(t *testing.T, c client.Client, order *rand.Rand, docs []*unstructured.Unstructured, apply func(context.Context, client.Client, *unstructured.Unstructured) error) {
	t.Helper()
	order.Shuffle(len(docs), func(i, j int) { docs[i], docs[j] = docs[j], docs[i] })
	for _, doc := range docs {
		if err := apply(t.Context(), c, doc.DeepCopy()); err != nil {
			t.Fatalf("apply %s %s: %v", doc.GetKind(), doc.GetName(), err)
		}
	}
}

func serverSide(ctx context.Context, c client.Client, doc *unstructured.Unstructured) error {
	return c.Apply(ctx, client.ApplyConfigurationFromUnstructured(doc), client.FieldOwner("kubectl"))
}

// clientSide does what `kubectl apply` does without --server-side: create, or merge what the manifest says.
func clientSide(ctx context.Context, c client.Client, doc *unstructured.Unstructured) error {
	text, err := json.Marshal(doc)
	if err != nil {
		return fmt.Errorf("print the manifest: %w", err)
	}
	doc.SetAnnotations(map[string]string{corev1.LastAppliedConfigAnnotation: string(text)})
	if text, err = json.Marshal(doc); err != nil {
		return fmt.Errorf("print the manifest: %w", err)
	}
	owner := client.FieldOwner("kubectl-client-side-apply")
	if err := c.Create(ctx, doc.DeepCopy(), owner); !apierrors.IsAlreadyExists(err) {
		return err
	}
	return c.Patch(ctx, doc, client.RawPatch(types.MergePatchType, text), owner)
}

// manifests are a cluster's objects as a user writes them.
func manifests(t *testing.T, c client.Client, s fleet.Spec) []*unstructured.Unstructured {
	t.Helper()
	var docs []*unstructured.Unstructured
	for _, obj := range s.Objects() {
		kind, err := apiutil.GVKForObject(obj, c.Scheme())
		if err != nil {
			t.Fatal(err)
		}
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
		if err != nil {
			t.Fatal(err)
		}
		doc := &unstructured.Unstructured{Object: content}
		doc.SetGroupVersionKind(kind)
		unstructured.RemoveNestedField(doc.Object, "status")
		unstructured.RemoveNestedField(doc.Object, "metadata", "creationTimestamp")
		docs = append(docs, doc)
	}
	return docs
}
