package workload_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"slipway.dev/slipway/internal/providers/sim/workload"
)

func TestPatch_OfEveryKind(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	must[*corev1.Node](t)(workload.Create(w.cluster.Store(), node("n")))
	nodes, ctx := w.clientset().CoreV1().Nodes(), t.Context()
	for _, tc := range []struct {
		name  string
		typ   types.PatchType
		patch string
		check func(*corev1.Node) bool
	}{
		{"JSON", types.JSONPatchType, `[{"op":"add","path":"/metadata/labels/json","value":"1"}]`, func(n *corev1.Node) bool { return n.Labels["json"] == "1" }},
		{"merge", types.MergePatchType, `{"metadata":{"labels":{"merge":"1","json":null}}}`, func(n *corev1.Node) bool {
			_, kept := n.Labels["json"]
			return n.Labels["merge"] == "1" && !kept
		}},
		{"strategic: a list is merged by its key", types.StrategicMergePatchType, `{"spec":{"taints":[{"key":"a","effect":"NoSchedule"}]}}`,
			func(n *corev1.Node) bool { return len(n.Spec.Taints) == 1 }},
		{"status in a patch of the object is dropped", types.MergePatchType, `{"status":{"nodeInfo":{"kubeletVersion":"v9"}},"metadata":{"annotations":{"x":"y"}}}`,
			func(n *corev1.Node) bool {
				return n.Status.NodeInfo.KubeletVersion == "v1.37.2" && n.Annotations["x"] == "y"
			}},
	} {
		n := must[*corev1.Node](t)(nodes.Patch(ctx, "n", tc.typ, []byte(tc.patch), metav1.PatchOptions{}))
		if !tc.check(n) {
			t.Errorf("%s: %+v", tc.name, n)
		}
	}
	n := must[*corev1.Node](t)(nodes.Patch(ctx, "n", types.StrategicMergePatchType,
		[]byte(`{"spec":{"unschedulable":true},"status":{"conditions":[{"type":"DiskPressure","status":"True"}]}}`), metav1.PatchOptions{}, "status"))
	if n.Spec.Unschedulable || len(n.Status.Conditions) != 2 {
		t.Errorf("a patch of the status: spec %+v, conditions %+v", n.Spec, n.Status.Conditions)
	}
	if _, err := nodes.Patch(ctx, "n", types.MergePatchType, []byte(`{"metadata":{"resourceVersion":"1"}}`), metav1.PatchOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("a patch of an old version: %v, want a conflict", err)
	}
	if _, err := nodes.Patch(ctx, "n", types.MergePatchType, []byte(`{"spec":{"taints":"x"}}`), metav1.PatchOptions{}); err == nil {
		t.Error("a patch that breaks the type was taken")
	}
	if _, err := nodes.Patch(ctx, "missing", types.MergePatchType, []byte(`{}`), metav1.PatchOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("a patch of nothing: %v", err)
	}
}

func TestServerSideApply_CreatesOwnsAndConflicts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cms, ctx := w.clientset().CoreV1().ConfigMaps("default"), t.Context()
	mine := corev1ac.ConfigMap("c", "default").WithData(map[string]string{"a": "1", "b": "1"})
	cm := must[*corev1.ConfigMap](t)(cms.Apply(ctx, mine, metav1.ApplyOptions{FieldManager: "one"}))
	if cm.Data["a"] != "1" || len(cm.ManagedFields) != 1 || cm.ManagedFields[0].Operation != metav1.ManagedFieldsOperationApply {
		t.Fatalf("applied: %+v", cm)
	}
	again := must[*corev1.ConfigMap](t)(cms.Apply(ctx, mine, metav1.ApplyOptions{FieldManager: "one"}))
	if again.ResourceVersion != cm.ResourceVersion {
		t.Error("the same apply again wrote")
	}
	other := corev1ac.ConfigMap("c", "default").WithData(map[string]string{"a": "2"})
	_, err := cms.Apply(ctx, other, metav1.ApplyOptions{FieldManager: "two"})
	if !apierrors.IsConflict(err) || !strings.Contains(err.Error(), `conflict with "one"`) {
		t.Errorf("an apply over another's field: %v", err)
	}
	cm = must[*corev1.ConfigMap](t)(cms.Apply(ctx, other, metav1.ApplyOptions{FieldManager: "two", Force: true}))
	if cm.Data["a"] != "2" {
		t.Errorf("forced: %v", cm.Data)
	}
	less := corev1ac.ConfigMap("c", "default").WithData(map[string]string{})
	cm = must[*corev1.ConfigMap](t)(cms.Apply(ctx, less, metav1.ApplyOptions{FieldManager: "one"}))
	if _, kept := cm.Data["b"]; kept || cm.Data["a"] != "2" {
		t.Errorf("what its only owner dropped stayed, or another's went: %v", cm.Data)
	}
}

func TestServerSideApply_ToAnObjectOfTheSimulatorConflictsWithNobodyTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	must[*corev1.Node](t)(workload.Create(w.cluster.Store(), node("n")))
	nodes, ctx := w.clientset().CoreV1().Nodes(), t.Context()
	labelled := corev1ac.Node("n").WithLabels(map[string]string{"mine": "1"})
	n := must[*corev1.Node](t)(nodes.Apply(ctx, labelled, metav1.ApplyOptions{FieldManager: "capi-machine", Force: true}))
	if n.Labels["mine"] != "1" || n.Spec.ProviderID == "" || len(n.Status.Conditions) != 1 {
		t.Errorf("applied: %+v", n)
	}
	// The simulator's own write keeps what others own.
	must[*corev1.Node](t)(workload.Modify(w.cluster.Store(), types.NamespacedName{Name: "n"}, func(n *corev1.Node) error {
		n.Status.NodeInfo.KubeletVersion = "v1.38.0"
		return nil
	}))
	n = must[*corev1.Node](t)(nodes.Apply(ctx, corev1ac.Node("n"), metav1.ApplyOptions{FieldManager: "capi-machine", Force: true}))
	if _, kept := n.Labels["mine"]; kept || n.Status.NodeInfo.KubeletVersion != "v1.38.0" {
		t.Errorf("after the label was dropped: %v", n.Labels)
	}
}

func TestFieldValidation_RefusesUnknownFieldsWhenStrict(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.clientset().CoreV1().RESTClient()
	post := func(validation string) error {
		return c.Post().AbsPath("/api/v1/namespaces/default/configmaps").Param("fieldValidation", validation).
			SetHeader("Content-Type", "application/json").
			Body([]byte(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x` + strings.ToLower(validation) + `"},"dta":{}}`)).Do(t.Context()).Error()
	}
	if err := post("Strict"); !apierrors.IsBadRequest(err) {
		t.Errorf("strict: %v", err)
	}
	for _, lenient := range []string{"Warn", "Ignore"} {
		if err := post(lenient); err != nil {
			t.Errorf("%s: %v", lenient, err)
		}
	}
	err := c.Post().AbsPath("/api/v1/namespaces/default/configmaps").SetHeader("Content-Type", "application/cbor").Body([]byte("x")).Do(t.Context()).Error()
	if !apierrors.IsUnsupportedMediaType(err) {
		t.Errorf("a body in CBOR: %v", err)
	}
	err = c.Get().AbsPath("/api/v1/nodes").SetHeader("Accept", "application/vnd.kubernetes.protobuf").Do(t.Context()).Error()
	if !apierrors.IsNotAcceptable(err) {
		t.Errorf("only protobuf accepted: %v", err)
	}
}

func TestDryRun_ChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cms, ctx := w.clientset().CoreV1().ConfigMaps("default"), t.Context()
	before := w.cluster.Store().ResourceVersion()
	all := []string{metav1.DryRunAll}
	cm := must[*corev1.ConfigMap](t)(cms.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "x"}}, metav1.CreateOptions{DryRun: all}))
	if cm.UID == "" {
		t.Error("the answer of a dry run lacks what the server sets")
	}
	_ = must[*corev1.ConfigMap](t)(cms.Apply(ctx, corev1ac.ConfigMap("y", "default"), metav1.ApplyOptions{FieldManager: "m", DryRun: all}))
	if err := w.clientset().CoreV1().ServiceAccounts("default").Delete(ctx, "default", metav1.DeleteOptions{DryRun: all}); err != nil {
		t.Fatal(err)
	}
	if after := w.cluster.Store().ResourceVersion(); after != before {
		t.Errorf("resourceVersion went from %s to %s", before, after)
	}
}

func TestScale_ChangesTheDeployment(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d, ctx := w.clientset().AppsV1().Deployments("default"), t.Context()
	labels := map[string]string{"app": "web"}
	must[*appsv1.Deployment](t)(d.Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
			},
		},
	}, metav1.CreateOptions{}))
	scale, err := d.GetScale(ctx, "web", metav1.GetOptions{})
	if err != nil || scale.Spec.Replicas != 1 {
		t.Fatalf("scale %+v, %v", scale, err)
	}
	scale.Spec.Replicas = 4
	if scale, err = d.UpdateScale(ctx, "web", scale, metav1.UpdateOptions{}); err != nil || scale.Spec.Replicas != 4 {
		t.Fatalf("scale %+v, %v", scale, err)
	}
	got := must[*appsv1.Deployment](t)(d.Get(ctx, "web", metav1.GetOptions{}))
	if *got.Spec.Replicas != 4 || got.Generation != 2 {
		t.Errorf("replicas %d, generation %d", *got.Spec.Replicas, got.Generation)
	}
}
