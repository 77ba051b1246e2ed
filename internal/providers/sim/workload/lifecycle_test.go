package workload_test

import (
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"slipway.dev/slipway/internal/providers/sim/workload"
)

func budget(name string, minAvailable int32, labels map[string]string) *policyv1.PodDisruptionBudget {
	available := intstr.FromInt32(minAvailable)
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &available, Selector: &metav1.LabelSelector{MatchLabels: labels}},
	}
}

func TestEviction_HonoursDisruptionBudgets(t *testing.T) {
	t.Parallel()
	w, app := newWorld(t), map[string]string{"app": "a"}
	if _, err := w.cluster.Store().Put(pod("default", "a", "n", app), pod("default", "b", "n", app), budget("pdb", 1, app)); err != nil {
		t.Fatal(err)
	}
	c := w.clientset()
	evict := func(name string) error {
		return c.PolicyV1().Evictions("default").Evict(t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}})
	}
	b, err := c.PolicyV1().PodDisruptionBudgets("default").Get(t.Context(), "pdb", metav1.GetOptions{})
	if err != nil || b.Status.DisruptionsAllowed != 1 || b.Status.CurrentHealthy != 2 {
		t.Fatalf("status %+v, %v", b.Status, err)
	}
	if err := evict("a"); err != nil {
		t.Fatal(err)
	}
	err = evict("b")
	if !apierrors.IsTooManyRequests(err) || !apierrors.HasStatusCause(err, policyv1.DisruptionBudgetCause) {
		t.Errorf("an eviction against the budget: %v", err)
	}
	if err := evict("missing"); !apierrors.IsNotFound(err) {
		t.Errorf("an eviction of nothing: %v", err)
	}
	if _, err := w.cluster.Store().Put(budget("second", 0, app)); err != nil {
		t.Fatal(err)
	}
	if err := evict("b"); !apierrors.IsInternalError(err) {
		t.Errorf("an eviction under two budgets: %v", err)
	}
}

func TestDeletedPod_WaitsForItsNode(t *testing.T) {
	t.Parallel()
	var alive atomic.Bool
	w := newWorld(t, func(c *workload.Config) {
		c.Hooks.Heartbeat = func(string) (time.Time, bool) { return time.Time{}, alive.Load() }
	})
	must[*corev1.Pod](t)(workload.Create(w.cluster.Store(), pod("default", "p", "n", nil)))
	pods, ctx := w.clientset().CoreV1().Pods("default"), t.Context()
	if err := pods.Delete(ctx, "p", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	p := must[*corev1.Pod](t)(pods.Get(ctx, "p", metav1.GetOptions{}))
	if p.DeletionTimestamp == nil || *p.DeletionGracePeriodSeconds != 30 {
		t.Fatalf("on a dead node: %+v", p.ObjectMeta)
	}
	if err := w.clientset().CoreV1().Namespaces().Delete(ctx, "default", metav1.DeleteOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("the default namespace was deleted: %v", err)
	}
	alive.Store(true)
	if err := pods.Delete(ctx, "p", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := pods.Get(ctx, "p", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("after the node came back: %v", err)
	}
	alive.Store(false)
	must[*corev1.Pod](t)(workload.Create(w.cluster.Store(), pod("default", "q", "n", nil)))
	now := int64(0)
	if err := pods.Delete(ctx, "q", metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
		t.Fatal(err)
	}
	if _, err := pods.Get(ctx, "q", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("after deletion by force: %v", err)
	}
}

func TestFinalizers_HoldAnObject(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cms, ctx := w.clientset().CoreV1().ConfigMaps("default"), t.Context()
	cm := must[*corev1.ConfigMap](t)(cms.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "x", Finalizers: []string{"a.example/b"}}}, metav1.CreateOptions{}))
	wrong := types.UID("wrong")
	if err := cms.Delete(ctx, "x", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &wrong}}); !apierrors.IsConflict(err) {
		t.Errorf("a deletion of another UID: %v", err)
	}
	if err := cms.Delete(ctx, "x", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &cm.UID}}); err != nil {
		t.Fatal(err)
	}
	held := must[*corev1.ConfigMap](t)(cms.Get(ctx, "x", metav1.GetOptions{}))
	if held.DeletionTimestamp == nil {
		t.Error("the finalizer was passed over")
	}
	if _, err := cms.Patch(ctx, "x", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := cms.Get(ctx, "x", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("after the last finalizer went: %v", err)
	}
}

func TestNamespace_TakesItsContentAlong(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c, ctx := w.clientset(), t.Context()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}}
	must[*corev1.Namespace](t)(c.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}))
	create := func(name string, finalizers ...string) error {
		_, err := c.CoreV1().ConfigMaps("team").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: finalizers}}, metav1.CreateOptions{})
		return err
	}
	if err := create("free"); err != nil {
		t.Fatal(err)
	}
	if err := create("held", "a.example/b"); err != nil {
		t.Fatal(err)
	}
	if err := c.CoreV1().Namespaces().Delete(ctx, "team", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	got := must[*corev1.Namespace](t)(c.CoreV1().Namespaces().Get(ctx, "team", metav1.GetOptions{}))
	if got.Status.Phase != corev1.NamespaceTerminating {
		t.Errorf("phase %s", got.Status.Phase)
	}
	if err := create("late"); !apierrors.IsForbidden(err) || !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		t.Errorf("create in a namespace being deleted: %v", err)
	}
	if _, err := c.CoreV1().ConfigMaps("team").Patch(ctx, "held", types.JSONPatchType, []byte(`[{"op":"remove","path":"/metadata/finalizers"}]`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CoreV1().Namespaces().Get(ctx, "team", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the emptied namespace: %v", err)
	}
}

func TestOwner_TakesItsDependentsAlong(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.cluster.Store()
	owner := must[*corev1.ConfigMap](t)(workload.Create(s, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "owner"}}))
	other := must[*corev1.ConfigMap](t)(workload.Create(s, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "other"}}))
	ref := func(o *corev1.ConfigMap) metav1.OwnerReference {
		return metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: o.Name, UID: o.UID}
	}
	only := pod("default", "only", "n", nil)
	only.OwnerReferences = []metav1.OwnerReference{ref(owner)}
	shared := pod("default", "shared", "n", nil)
	shared.OwnerReferences = []metav1.OwnerReference{ref(owner), ref(other)}
	if n, err := s.Put(only, shared); err != nil || n != 2 {
		t.Fatal(n, err)
	}
	w.reopen()
	s = w.cluster.Store()
	if err := w.clientset().CoreV1().ConfigMaps("default").Delete(t.Context(), "owner", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if workload.Has[*corev1.Pod](s, types.NamespacedName{Namespace: "default", Name: "only"}) {
		t.Error("a dependent without other owners stayed")
	}
	if !workload.Has[*corev1.Pod](s, types.NamespacedName{Namespace: "default", Name: "shared"}) {
		t.Error("a dependent with another owner went")
	}
}

func TestPut_WritesOnlyWhatDiffers(t *testing.T) {
	t.Parallel()
	var changes atomic.Int64
	w := newWorld(t, func(c *workload.Config) { c.Hooks.Changed = func(workload.Change) { changes.Add(1) } })
	s := w.cluster.Store()
	changes.Store(0)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}}
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "c"}, Data: map[string]string{"a": "1"}}
	for _, want := range []int{3, 0} {
		if n, err := s.Put(ns, cm, node("n")); err != nil || n != want {
			t.Fatalf("wrote %d, want %d: %v", n, want, err)
		}
	}
	if changes.Load() != 3 {
		t.Errorf("the hook heard %d changes", changes.Load())
	}
	if _, err := s.Put(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "nowhere", Name: "c"}}); !apierrors.IsNotFound(err) {
		t.Errorf("put into a missing namespace: %v", err)
	}
	if _, err := s.Put(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "A b"}}); !apierrors.IsInvalid(err) {
		t.Errorf("put of a bad name: %v", err)
	}
}
