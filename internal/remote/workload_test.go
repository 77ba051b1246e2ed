package remote

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const token = "let-me-in"

// workload is a small API server with what the door reads: Nodes and Pods, listed and watched.
type workload struct {
	server  *httptest.Server
	extra   http.Handler // what else it serves; may be nil
	readyz  atomic.Int32 // status of /readyz
	probes  atomic.Int32
	pods403 atomic.Bool

	mu       sync.Mutex // guards what follows
	version  int
	objects  map[string]map[string]client.Object // by resource, by name
	watchers map[chan watchEvent]string
	gone     bool // watches end in 410
}

type watchEvent struct {
	Type   string        `json:"type"`
	Object client.Object `json:"object"`
}

func newWorkload(tb testing.TB) *workload {
	tb.Helper()
	w := &workload{
		objects: map[string]map[string]client.Object{"nodes": {}, "pods": {}}, watchers: map[chan watchEvent]string{}, version: 1,
	}
	w.readyz.Store(http.StatusOK)
	w.server = httptest.NewUnstartedServer(w)
	w.server.EnableHTTP2 = true
	w.server.StartTLS()
	tb.Cleanup(func() {
		w.dropWatches()
		w.server.CloseClientConnections()
		w.server.Close()
	})
	return w
}

// kubeconfig is a way in with a token.
func (w *workload) kubeconfig(token string) []byte {
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: w.server.Certificate().Raw})
	config := map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "c",
		"clusters": []any{map[string]any{"name": "c", "cluster": map[string]any{
			"server": w.server.URL, "certificate-authority-data": ca,
		}}},
		"users":    []any{map[string]any{"name": "u", "user": map[string]any{"token": token}}},
		"contexts": []any{map[string]any{"name": "c", "context": map[string]any{"cluster": "c", "user": "u"}}},
	}
	data, err := json.Marshal(config)
	if err != nil {
		panic(err)
	}
	return data
}

func (w *workload) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer "+token {
		http.Error(rw, "who are you", http.StatusUnauthorized)
		return
	}
	switch {
	case r.URL.Path == "/readyz":
		w.probes.Add(1)
		rw.WriteHeader(int(w.readyz.Load()))
		_, _ = fmt.Fprint(rw, "[+]ping ok\n[-]etcd failed: reason withheld\n")
	case r.URL.Path == "/api/v1/nodes":
		w.serve(rw, r, "nodes")
	case r.URL.Path == "/api/v1/namespaces/kube-system/pods" && w.pods403.Load():
		status(rw, apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", nil))
	case r.URL.Path == "/api/v1/namespaces/kube-system/pods":
		w.serve(rw, r, "pods")
	case w.extra != nil:
		w.extra.ServeHTTP(rw, r)
	default:
		status(rw, apierrors.NewNotFound(schema.GroupResource{Resource: "things"}, r.URL.Path))
	}
}

func status(rw http.ResponseWriter, err *apierrors.StatusError) {
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(int(err.ErrStatus.Code))
	_ = json.NewEncoder(rw).Encode(err.ErrStatus)
}

func (w *workload) serve(rw http.ResponseWriter, r *http.Request, resource string) {
	rw.Header().Set("Content-Type", "application/json")
	if r.URL.Query().Get("watch") != "true" {
		w.list(rw, resource)
		return
	}
	events := make(chan watchEvent, 100)
	w.mu.Lock()
	gone := w.gone || r.URL.Query().Get("resourceVersion") != strconv.Itoa(w.version)
	w.watchers[events] = resource
	w.mu.Unlock()
	if gone {
		status(rw, apierrors.NewResourceExpired("too old"))
		return
	}
	rw.WriteHeader(http.StatusOK)
	rw.(http.Flusher).Flush()
	for {
		select {
		case <-r.Context().Done():
			return
		case e, ok := <-events:
			if !ok {
				return
			}
			_ = json.NewEncoder(rw).Encode(e)
			rw.(http.Flusher).Flush()
		}
	}
}

func (w *workload) list(rw http.ResponseWriter, resource string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	items := []client.Object{}
	for _, o := range w.objects[resource] {
		items = append(items, o)
	}
	kind := map[string]string{"nodes": "NodeList", "pods": "PodList"}[resource]
	_ = json.NewEncoder(rw).Encode(map[string]any{
		"apiVersion": "v1", "kind": kind, "items": items,
		"metadata": map[string]any{"resourceVersion": strconv.Itoa(w.version)},
	})
}

// put creates or changes an object, telling those who watch.
func (w *workload) put(o client.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	resource := resourceOf(o)
	w.version++
	o.SetResourceVersion(strconv.Itoa(w.version))
	kind := "ADDED"
	if w.objects[resource][o.GetName()] != nil {
		kind = "MODIFIED"
	}
	w.objects[resource][o.GetName()] = o
	w.tell(resource, watchEvent{kind, o})
}

func (w *workload) remove(o client.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.version++
	o.SetResourceVersion(strconv.Itoa(w.version))
	delete(w.objects[resourceOf(o)], o.GetName())
	w.tell(resourceOf(o), watchEvent{"DELETED", o})
}

func (w *workload) tell(resource string, e watchEvent) {
	for events, watched := range w.watchers {
		if watched == resource {
			events <- e
		}
	}
}

// dropWatches ends all watches, as a server does that restarts.
func (w *workload) dropWatches() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for events := range w.watchers {
		close(events)
	}
	clear(w.watchers)
}

func resourceOf(o client.Object) string {
	if _, ok := o.(*corev1.Node); ok {
		return "nodes"
	}
	return "pods"
}

func node(name, providerID string) *corev1.Node {
	return &corev1.Node{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)},
		Spec:       corev1.NodeSpec{ProviderID: providerID},
	}
}

func staticPod(component Component, nodeName, version string) *corev1.Pod {
	return &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: metav1.NamespaceSystem, Name: string(component) + "-" + nodeName,
			Labels: map[string]string{"tier": "control-plane", "component": string(component)},
		},
		Spec: corev1.PodSpec{
			NodeName:   nodeName,
			Containers: []corev1.Container{{Name: string(component), Image: "registry.k8s.io/" + string(component) + ":" + version}},
		},
		Status: corev1.PodStatus{
			Phase:      corev1.PodRunning,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		},
	}
}

// shelf holds the Secrets of the management cluster.
type shelf struct {
	mu      sync.Mutex // guards both
	version int
	secrets map[types.NamespacedName]*corev1.Secret
}

func (s *shelf) put(namespace, name string, data map[string][]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.secrets == nil {
		s.secrets = map[types.NamespacedName]*corev1.Secret{}
	}
	s.version++
	s.secrets[types.NamespacedName{Namespace: namespace, Name: name}] = &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, ResourceVersion: strconv.Itoa(s.version)}, Data: data,
	}
}

func (s *shelf) remove(namespace, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.secrets, types.NamespacedName{Namespace: namespace, Name: name})
}

// Get implements client.Reader.
func (s *shelf) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	secret, ok := s.secrets[key]
	if !ok {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, key.Name)
	}
	secret.DeepCopyInto(into.(*corev1.Secret))
	return nil
}

// List implements client.Reader.
func (s *shelf) List(context.Context, client.ObjectList, ...client.ListOption) error {
	panic("the door lists nothing in the management cluster")
}

// world is a running door, its management cluster's Secrets, and what it told of.
type world struct {
	*Clusters
	secrets *shelf
	events  chan ConnectionEvent
	nodes   chan NodeEvent
}

// patient are settings under which nothing happens by itself within a test.
func patient() Options {
	return Options{RetryFirst: time.Hour, RetryMost: time.Hour, ProbeInterval: time.Hour, Timeout: 5 * time.Second}
}

// hasty are settings under which everything happens at once.
func hasty() Options {
	return Options{
		RetryFirst: 20 * time.Millisecond, RetryMost: 50 * time.Millisecond, ProbeInterval: 20 * time.Millisecond,
		ProbeTimeout: 5 * time.Second, Timeout: 10 * time.Second,
	}
}

func newWorld(tb testing.TB, options Options, failingAfter ...time.Duration) *world {
	tb.Helper()
	w := &world{secrets: &shelf{}, events: make(chan ConnectionEvent, 10_000), nodes: make(chan NodeEvent, 10_000)}
	options.Reader = w.secrets
	clusters, err := New(options)
	if err != nil {
		tb.Fatal(err)
	}
	w.Clusters = clusters
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	collect := clusters.Source(func(_ context.Context, e ConnectionEvent) []reconcile.Request {
		w.events <- e
		return nil
	}, failingAfter...)
	collectNodes := clusters.NodeSource(func(_ context.Context, e NodeEvent) []reconcile.Request {
		w.nodes <- e
		return nil
	})
	for _, err := range []error{collect.Start(ctx, queue), collectNodes.Start(ctx, queue)} {
		if err != nil {
			tb.Fatal(err)
		}
	}
	done := make(chan error, 1)
	go func() { done <- clusters.Start(ctx) }()
	tb.Cleanup(func() {
		cancel()
		queue.ShutDown()
		if err := <-done; err != nil {
			tb.Errorf("Start: %v", err)
		}
	})
	return w
}

func key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "default", Name: name}
}

// admit gives a cluster its kubeconfig Secret and says so.
func (w *world) admit(name string, kubeconfig []byte) types.NamespacedName {
	w.secrets.put("default", name+"-kubeconfig", map[string][]byte{"value": kubeconfig})
	w.Changed(key(name))
	return key(name)
}

// expect waits for the next event and compares it.
func (w *world) expect(tb testing.TB, want ConnectionEvent) {
	tb.Helper()
	select {
	case got := <-w.events:
		if got != want {
			tb.Fatalf("event %v, want %v; status %+v", got, want, w.Status(want.Cluster))
		}
	case <-time.After(10 * time.Second):
		tb.Fatalf("no event, want %v; status %+v", want, w.Status(want.Cluster))
	}
}

func (w *world) expectNode(tb testing.TB, want NodeEvent) {
	tb.Helper()
	select {
	case got := <-w.nodes:
		if got != want {
			tb.Fatalf("event %v, want %v", got, want)
		}
	case <-time.After(10 * time.Second):
		tb.Fatalf("no event, want %v", want)
	}
}

// eventually waits until something holds.
func eventually(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	deadline := time.After(10 * time.Second)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline:
			tb.Fatal("never: " + what)
		case <-tick.C:
		}
	}
}

func names(nodes []*corev1.Node) string {
	var all []string
	for _, n := range nodes {
		all = append(all, n.Name)
	}
	return strings.Join(all, " ")
}
