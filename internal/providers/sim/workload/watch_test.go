package workload_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"slipway.dev/slipway/internal/providers/sim/workload"
)

// next waits for an event of a watch.
func next(tb testing.TB, w watch.Interface) watch.Event {
	tb.Helper()
	select {
	case e, ok := <-w.ResultChan():
		if !ok {
			tb.Fatal("the watch ended")
		}
		return e
	case <-time.After(10 * time.Second):
		tb.Fatal("no event came")
	}
	panic("unreachable")
}

func label(w *world, name string, labels map[string]string) {
	w.tb.Helper()
	_, err := workload.Modify(w.cluster.Store(), types.NamespacedName{Namespace: "default", Name: name}, func(p *corev1.Pod) error {
		p.Labels = labels
		return nil
	})
	if err != nil {
		w.tb.Fatal(err)
	}
}

func TestWatch_SeesObjectsComeIntoAndLeaveItsSelection(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	must[*corev1.Pod](t)(workload.Create(w.cluster.Store(), pod("default", "p", "n", nil)))
	pods := w.clientset().CoreV1().Pods("default")
	list := must[*corev1.PodList](t)(pods.List(t.Context(), metav1.ListOptions{}))
	selected := must[watch.Interface](t)(pods.Watch(t.Context(), metav1.ListOptions{LabelSelector: "a=b", ResourceVersion: list.ResourceVersion}))
	defer selected.Stop()
	here := must[watch.Interface](t)(pods.Watch(t.Context(), metav1.ListOptions{FieldSelector: "spec.nodeName=n", ResourceVersion: list.ResourceVersion}))
	defer here.Stop()
	label(w, "p", map[string]string{"a": "b"})
	label(w, "p", map[string]string{"a": "b", "c": "d"})
	label(w, "p", nil)
	for _, want := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted} {
		if e := next(t, selected); e.Type != want {
			t.Errorf("by label: %s, want %s", e.Type, want)
		}
	}
	for range 3 {
		if e := next(t, here); e.Type != watch.Modified {
			t.Errorf("by field: %s, want MODIFIED", e.Type)
		}
	}
}

func TestWatch_FromNowhereSendsThePresentFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	must[*corev1.Node](t)(workload.Create(w.cluster.Store(), node("n")))
	yes := true
	stream := must[watch.Interface](t)(w.clientset().CoreV1().Nodes().Watch(t.Context(), metav1.ListOptions{
		SendInitialEvents: &yes, AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	}))
	defer stream.Stop()
	if e := next(t, stream); e.Type != watch.Added || e.Object.(*corev1.Node).Name != "n" {
		t.Errorf("first: %+v", e)
	}
	e := next(t, stream)
	if e.Type != watch.Bookmark || e.Object.(*corev1.Node).Annotations[metav1.InitialEventsAnnotationKey] != "true" {
		t.Errorf("second: %+v", e)
	}
}

func TestWatch_OfACompactedVersionIsGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	must[*corev1.Pod](t)(workload.Create(w.cluster.Store(), pod("default", "p", "n", nil)))
	c := w.clientset()
	old := must[*corev1.PodList](t)(c.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})).ResourceVersion
	for i := range 2000 {
		label(w, "p", map[string]string{"i": fmt.Sprint(i)})
	}
	_, err := c.CoreV1().Pods("").Watch(t.Context(), metav1.ListOptions{ResourceVersion: old})
	if !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
		t.Errorf("a watch from a compacted version: %v, want 410", err)
	}
	// The churn of pods must not end the watches of nodes.
	nodes, err := c.CoreV1().Nodes().Watch(t.Context(), metav1.ListOptions{ResourceVersion: old})
	if err != nil {
		t.Fatalf("a watch of nodes from the same version: %v", err)
	}
	nodes.Stop()
	w.reopen()
	_, err = w.clientset().CoreV1().Nodes().Watch(t.Context(), metav1.ListOptions{ResourceVersion: old})
	if !apierrors.IsResourceExpired(err) {
		t.Errorf("a watch from before a restart: %v, want 410", err)
	}
}

func TestWatch_EndsAtItsTimeout(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	second := int64(1)
	stream := must[watch.Interface](t)(w.clientset().CoreV1().Nodes().Watch(t.Context(), metav1.ListOptions{TimeoutSeconds: &second}))
	select {
	case e, ok := <-stream.ResultChan():
		if ok {
			t.Errorf("an event: %+v", e)
		}
	case <-time.After(10 * time.Second):
		t.Error("the watch did not end")
	}
}

func TestInformer_FollowsRestartsAndOutages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.config.ListenAddr = w.cluster.Addr()
	factory := informers.NewSharedInformerFactory(w.clientset(), 0)
	informer := factory.Core().V1().Nodes().Informer()
	seen := make(chan string, 100)
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { seen <- "+" + o.(*corev1.Node).Name },
		DeleteFunc: func(any) { seen <- "-" },
	}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer factory.Shutdown()
	defer cancel()
	factory.Start(ctx.Done())
	expect := func(want string) {
		t.Helper()
		select {
		case got := <-seen:
			if got != want {
				t.Fatalf("saw %s, want %s", got, want)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("did not see %s", want)
		}
	}
	must[*corev1.Node](t)(workload.Create(w.cluster.Store(), node("a")))
	expect("+a")
	w.reopen()
	must[*corev1.Node](t)(workload.Create(w.cluster.Store(), node("b")))
	expect("+b")
	if err := w.cluster.SetReachable(false); err != nil {
		t.Fatal(err)
	}
	if _, err := w.clientset().CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err == nil {
		t.Error("an unreachable cluster answers")
	}
	if err := workload.Delete[*corev1.Node](w.cluster.Store(), types.NamespacedName{Name: "a"}); err != nil {
		t.Fatal(err)
	}
	if err := w.cluster.SetReachable(true); err != nil {
		t.Fatal(err)
	}
	expect("-")
}

func TestList_InPagesMissesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 25 {
		must[*corev1.Node](t)(workload.Create(w.cluster.Store(), node(fmt.Sprintf("n-%02d", i))))
	}
	nodes, opts := w.clientset().CoreV1().Nodes(), metav1.ListOptions{Limit: 10}
	var names []string
	for {
		page := must[*corev1.NodeList](t)(nodes.List(t.Context(), opts))
		for _, n := range page.Items {
			names = append(names, n.Name)
		}
		if page.Continue == "" {
			break
		}
		opts.Continue = page.Continue
	}
	if len(names) != 25 || names[0] != "n-00" || names[24] != "n-24" {
		t.Errorf("listed %v", names)
	}
	one := must[*corev1.NodeList](t)(nodes.List(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=n-07"}))
	if len(one.Items) != 1 {
		t.Errorf("by name: %d", len(one.Items))
	}
	if _, err := nodes.List(t.Context(), metav1.ListOptions{FieldSelector: "spec.nothing=1"}); !apierrors.IsBadRequest(err) {
		t.Errorf("an unknown field selector: %v", err)
	}
}

func TestHeartbeats_AreFreshWithoutWrites(t *testing.T) {
	t.Parallel()
	last := time.Date(2040, time.March, 4, 5, 6, 7, 890123000, time.UTC)
	w := newWorld(t, func(c *workload.Config) {
		c.Hooks.Heartbeat = func(name string) (time.Time, bool) { return last, name != "dead" }
	})
	must[*corev1.Node](t)(workload.Create(w.cluster.Store(), node("n")))
	holder := "n"
	lease := leaseOf("n", &holder)
	if _, err := w.cluster.Store().Put(lease); err != nil {
		t.Fatal(err)
	}
	before := w.cluster.Store().ResourceVersion()
	n := must[*corev1.Node](t)(w.clientset().CoreV1().Nodes().Get(t.Context(), "n", metav1.GetOptions{}))
	if !n.Status.Conditions[0].LastHeartbeatTime.Time.Equal(last.Truncate(time.Second)) {
		t.Errorf("lastHeartbeatTime: %v", n.Status.Conditions[0].LastHeartbeatTime)
	}
	l, err := w.clientset().CoordinationV1().Leases("kube-node-lease").Get(t.Context(), "n", metav1.GetOptions{})
	if err != nil || !l.Spec.RenewTime.Time.Equal(last) {
		t.Errorf("renewTime: %v, %v", l, err)
	}
	if after := w.cluster.Store().ResourceVersion(); after != before {
		t.Error("reading wrote")
	}
	w.reopen()
	if _, err := w.cluster.Store().Put(lease); err != nil {
		t.Fatal(err)
	}
}
