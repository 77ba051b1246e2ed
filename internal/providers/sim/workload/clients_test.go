package workload_test

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/openapi3"
	"k8s.io/kubectl/pkg/drain"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/providers/sim/workload"
)

// TestControllerRuntimeClient_WorksThoughItSpeaksProtobuf: it sends bodies of built-in kinds in protobuf.
func TestControllerRuntimeClient_WorksThoughItSpeaksProtobuf(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := must[client.Client](t)(client.New(w.admin(), client.Options{}))
	ctx := t.Context()
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "s"}, StringData: map[string]string{"a": "b"}}
	if err := c.Create(ctx, s); err != nil {
		t.Fatal(err)
	}
	if string(s.Data["a"]) != "b" || s.UID == "" {
		t.Errorf("created %+v", s)
	}
	before := s.DeepCopy()
	s.Labels = map[string]string{"x": "y"}
	if err := c.Patch(ctx, s, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		t.Fatal(err)
	}
	s.Data["a"] = []byte("c")
	if err := c.Update(ctx, s); err != nil {
		t.Fatal(err)
	}
	var list corev1.SecretList
	if err := c.List(ctx, &list, client.InNamespace("kube-system"), client.MatchingLabels{"x": "y"}); err != nil || len(list.Items) != 1 {
		t.Fatalf("listed %d, %v", len(list.Items), err)
	}
	var meta metav1.PartialObjectMetadata
	meta.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	if err := c.Get(ctx, client.ObjectKeyFromObject(s), &meta); err != nil || meta.Labels["x"] != "y" {
		t.Errorf("metadata: %+v, %v", meta, err)
	}
	if err := c.DeleteAllOf(ctx, &corev1.Secret{}, client.InNamespace("kube-system")); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(ctx, s); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("delete of what is gone: %v", err)
	}
	if err := c.Create(ctx, node("n")); err != nil {
		t.Fatal(err)
	}
	n := node("n")
	n.Status.NodeInfo.KubeletVersion = "v1.38.0"
	if err := c.Status().Patch(ctx, n, client.MergeFrom(node("n"))); err != nil {
		t.Fatal(err)
	}
	if n.Status.NodeInfo.KubeletVersion != "v1.38.0" {
		t.Errorf("status: %+v", n.Status.NodeInfo)
	}
}

func TestDynamicAndMetadataClients_Work(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	must[*corev1.Node](t)(workload.Create(w.cluster.Store(), node("n")))
	nodes := schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	d := must[*dynamic.DynamicClient](t)(dynamic.NewForConfig(w.admin()))
	list := must[*unstructured.UnstructuredList](t)(d.Resource(nodes).List(t.Context(), metav1.ListOptions{}))
	if len(list.Items) != 1 || list.Items[0].GetKind() != "Node" || list.GetKind() != "NodeList" {
		t.Errorf("listed %+v", list)
	}
	m := must[metadata.Interface](t)(metadata.NewForConfig(w.admin()))
	partial := must[*metav1.PartialObjectMetadataList](t)(m.Resource(nodes).List(t.Context(), metav1.ListOptions{}))
	if len(partial.Items) != 1 || partial.Items[0].Name != "n" {
		t.Errorf("metadata: %+v", partial)
	}
}

func TestDiscovery_ListsWhatIsServedInBothForms(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := w.clientset().Discovery()
	legacy := must[*discovery.DiscoveryClient](t)(discovery.NewDiscoveryClientForConfig(w.admin()))
	legacy.UseLegacyDiscovery = true
	var found [2][]string
	for i, c := range []discovery.DiscoveryInterface{d, legacy} {
		_, lists, err := c.ServerGroupsAndResources()
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range lists {
			for _, r := range l.APIResources {
				found[i] = append(found[i], l.GroupVersion+" "+r.Name)
			}
		}
		slices.Sort(found[i])
	}
	if !slices.Equal(found[0], found[1]) {
		t.Errorf("aggregated %v\nlegacy %v", found[0], found[1])
	}
	for _, want := range []string{"v1 pods/eviction", "apps/v1 deployments/scale", "policy/v1 poddisruptionbudgets/status", "authorization.k8s.io/v1 selfsubjectaccessreviews"} {
		if !slices.Contains(found[0], want) {
			t.Errorf("%s is missing", want)
		}
	}
}

func TestOpenAPI_DescribesKindsAndHowTheirListsMerge(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	root := openapi3.NewRoot(w.clientset().Discovery().OpenAPIV3())
	doc, err := root.GVSpec(corev1.SchemeGroupVersion)
	if err != nil {
		t.Fatal(err)
	}
	spec := doc.Components.Schemas["io.k8s.api.core.v1.PodSpec"]
	if spec == nil || !slices.Contains(spec.Required, "containers") {
		t.Fatalf("PodSpec: %+v", spec)
	}
	containers := spec.Properties["containers"]
	if containers.Extensions["x-kubernetes-list-type"] != "map" || containers.Extensions["x-kubernetes-patch-merge-key"] != "name" || containers.Description == "" {
		t.Errorf("containers: %+v", containers.Extensions)
	}
	if q := doc.Components.Schemas["io.k8s.apimachinery.pkg.api.resource.Quantity"]; q == nil || len(q.Type)+len(q.OneOf) == 0 {
		t.Errorf("Quantity: %+v", q)
	}
	for name, s := range doc.Components.Schemas {
		for field, p := range s.Properties {
			refs := []string{p.Ref.String()}
			for _, a := range p.AllOf {
				refs = append(refs, a.Ref.String())
			}
			for _, ref := range refs {
				if target, ok := strings.CutPrefix(ref, "#/components/schemas/"); ok && doc.Components.Schemas[target] == nil {
					t.Errorf("%s.%s refers to %s, which is not there", name, field, target)
				}
			}
		}
	}
}

// TestKubectlDrain_EmptiesANode uses kubectl's own drain.
func TestKubectlDrain_EmptiesANode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if _, err := w.cluster.Store().Put(node("n"), node("m"), pod("default", "a", "n", nil), pod("default", "b", "m", nil)); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	helper := &drain.Helper{
		Ctx: t.Context(), Client: w.clientset(), Force: true, GracePeriodSeconds: -1, IgnoreAllDaemonSets: true, Timeout: 10 * time.Second, Out: &out, ErrOut: &out,
	}
	n := must[*corev1.Node](t)(w.clientset().CoreV1().Nodes().Get(t.Context(), "n", metav1.GetOptions{}))
	if err := drain.RunCordonOrUncordon(helper, n, true); err != nil {
		t.Fatal(err)
	}
	if err := drain.RunNodeDrain(helper, "n"); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	pods := must[[]*corev1.Pod](t)(workload.List[*corev1.Pod](w.cluster.Store(), "", nil))
	if len(pods) != 1 || pods[0].Name != "b" {
		t.Errorf("left: %v", pods)
	}
}

func TestPodLog_ComesFromTheHook(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *workload.Config) {
		c.Hooks.PodLog = func(_ context.Context, p *corev1.Pod, o *corev1.PodLogOptions) (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader(p.Name + "/" + o.Container + "\nend without a newline")), nil
		}
	})
	must[*corev1.Pod](t)(workload.Create(w.cluster.Store(), pod("default", "p", "n", nil)))
	body := must[[]byte](t)(w.clientset().CoreV1().Pods("default").GetLogs("p", &corev1.PodLogOptions{}).DoRaw(t.Context()))
	if string(body) != "p/main\nend without a newline" {
		t.Errorf("log: %q", body)
	}
	if _, err := w.clientset().CoreV1().Pods("default").GetLogs("p", &corev1.PodLogOptions{Container: "x"}).DoRaw(t.Context()); err == nil {
		t.Error("the log of a container that is not there")
	}
}

func TestEvents_AreTheSameInBothGroups(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.clientset()
	_, err := c.CoreV1().Events("default").Create(t.Context(), &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Name: "e"}, InvolvedObject: corev1.ObjectReference{Kind: "Node", Name: "n", Namespace: "default"},
		Reason: "Because", Message: "it is so", Type: "Normal",
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := c.EventsV1().Events("default").Get(t.Context(), "e", metav1.GetOptions{})
	if err != nil || e.Note != "it is so" || e.Regarding.Name != "n" {
		t.Errorf("%+v, %v", e, err)
	}
	e.Note = "it was so"
	if _, err := c.EventsV1().Events("default").Update(t.Context(), e, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	list, err := c.CoreV1().Events("default").List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=n,involvedObject.kind=Node"})
	if err != nil || len(list.Items) != 1 || list.Items[0].Message != "it was so" {
		t.Errorf("%+v, %v", list, err)
	}
	if _, err := c.CoreV1().Events("default").Patch(t.Context(), "e", types.StrategicMergePatchType, []byte(`{"count":2}`), metav1.PatchOptions{}); err != nil {
		t.Error(err)
	}
}
