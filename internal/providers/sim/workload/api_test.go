package workload_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"slipway.dev/slipway/internal/providers/sim/workload"
)

func TestTypedClient_CreatesReadsUpdatesAndDeletes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if !w.cluster.Store().Created() {
		t.Error("a new cluster says that it had a file")
	}
	c, ctx := w.clientset(), t.Context()
	cm := must[*corev1.ConfigMap](t)(c.CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "a-"}, Data: map[string]string{"k": "<v>"},
	}, metav1.CreateOptions{}))
	if cm.Name == "a-" || cm.UID == "" || cm.ResourceVersion == "" || len(cm.ManagedFields) != 1 {
		t.Errorf("the server set too little: %+v", cm.ObjectMeta)
	}
	cm.Data["k"] = "2"
	next := must[*corev1.ConfigMap](t)(c.CoreV1().ConfigMaps("default").Update(ctx, cm, metav1.UpdateOptions{}))
	if _, err := c.CoreV1().ConfigMaps("default").Update(ctx, cm, metav1.UpdateOptions{}); err == nil {
		cm.Data["k"] = "3"
		_, err = c.CoreV1().ConfigMaps("default").Update(ctx, cm, metav1.UpdateOptions{})
		if !apierrors.IsConflict(err) {
			t.Errorf("an update of an old version: %v, want a conflict", err)
		}
	} else if !apierrors.IsConflict(err) {
		t.Errorf("an update of an old version: %v, want a conflict", err)
	}
	same := must[*corev1.ConfigMap](t)(c.CoreV1().ConfigMaps("default").Update(ctx, next, metav1.UpdateOptions{}))
	if same.ResourceVersion != next.ResourceVersion {
		t.Error("an update that changes nothing made a new resourceVersion")
	}
	list := must[*corev1.ConfigMapList](t)(c.CoreV1().ConfigMaps("").List(ctx, metav1.ListOptions{}))
	if len(list.Items) != 1 {
		t.Errorf("listed %d ConfigMaps, want 1", len(list.Items))
	}
	if err := c.CoreV1().ConfigMaps("default").Delete(ctx, cm.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CoreV1().ConfigMaps("default").Get(ctx, cm.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("get after delete: %v, want not found", err)
	}
	_, err := c.CoreV1().ConfigMaps("nowhere").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "x"}}, metav1.CreateOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("create in a missing namespace: %v, want not found", err)
	}
}

func TestStore_SurvivesARestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	must[*corev1.Node](t)(workload.Create(w.cluster.Store(), node("cp-1")))
	before := w.cluster.Store().ResourceVersion()
	w.reopen()
	if w.cluster.Store().Created() {
		t.Error("a loaded cluster says that it had no file")
	}
	nodes := must[[]*corev1.Node](t)(workload.List[*corev1.Node](w.cluster.Store(), "", nil))
	if len(nodes) != 1 || nodes[0].Name != "cp-1" {
		t.Errorf("loaded nodes: %v", nodes)
	}
	if now := w.cluster.Store().ResourceVersion(); now <= before {
		t.Errorf("resourceVersion went from %s to %s", before, now)
	}
}
