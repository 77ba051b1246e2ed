package apply_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/apply"
	corev1ac "slipway.dev/slipway/internal/applyconfigurations/core/v1beta2"
)

// request is what the server was sent.
type request struct {
	Method, Path, Query, Type string
	Body                      map[string]any
}

// server answers patches with the metadata it holds.
type server struct {
	mu       sync.Mutex // guards all below
	requests []request
	version  int
	bump     bool
	status   int
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	got := request{Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, Type: r.Header.Get("Content-Type")}
	raw, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(raw, &got.Body)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.requests = append(s.requests, got)
	w.Header().Set("Content-Type", "application/json")
	if s.status != 0 {
		w.WriteHeader(s.status)
		fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Conflict","code":%d}`, s.status)
		return
	}
	if s.bump {
		s.version++
	}
	fmt.Fprintf(w, `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"m","namespace":"ns","uid":"u","resourceVersion":"%d"}}`, s.version)
}

func (s *server) took() []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.requests
	s.requests = nil
	return out
}

func newServer(t *testing.T) (*server, client.Client) {
	t.Helper()
	s := &server{version: 10, bump: true}
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	scheme := runtime.NewScheme()
	if err := clusterv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(clusterv1.GroupVersion.WithKind("Machine"), meta.RESTScopeNamespace)
	mapper.Add(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Foo"}, meta.RESTScopeNamespace)
	c, err := client.New(&rest.Config{Host: web.URL}, client.Options{Scheme: scheme, Mapper: mapper, HTTPClient: web.Client()})
	if err != nil {
		t.Fatal(err)
	}
	return s, c
}

func machine(version string) *clusterv1.Machine {
	return &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m", Namespace: "ns", UID: "u", ResourceVersion: version}}
}

func labelled(value string) apply.Configuration {
	return corev1ac.Machine("m", "ns").WithLabels(map[string]string{"a": value})
}

func TestApply_SendsOneForcedPatchAsItsManager(t *testing.T) {
	t.Parallel()
	api, c := newServer(t)
	got, err := apply.New(c, "slipway-test").Apply(t.Context(), machine("10"), labelled("1"))
	if err != nil {
		t.Fatal(err)
	}
	if !got.Changed || got.Skipped || got.Object.GetResourceVersion() != "11" || got.Object.GetUID() != "u" || got.Object.Kind != "Machine" {
		t.Errorf("result is %+v", got)
	}
	want := []request{{
		Method: "PATCH", Path: "/apis/cluster.x-k8s.io/v1beta2/namespaces/ns/machines/m",
		Query: "fieldManager=slipway-test&force=true", Type: "application/apply-patch+yaml",
		Body: map[string]any{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
			"metadata": map[string]any{"name": "m", "namespace": "ns", "labels": map[string]any{"a": "1"}}},
	}}
	if diff := cmp.Diff(want, api.took()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestApplyStatus_GoesToTheSubresource(t *testing.T) {
	t.Parallel()
	api, c := newServer(t)
	intent := corev1ac.Machine("m", "ns").WithStatus(corev1ac.MachineStatus().WithConditions(metav1ac.Condition().WithType("Ready")))
	if _, err := apply.New(c, "slipway-test").ApplyStatus(t.Context(), machine("10"), intent); err != nil {
		t.Fatal(err)
	}
	if got := api.took(); len(got) != 1 || !strings.HasSuffix(got[0].Path, "/machines/m/status") {
		t.Errorf("requests are %v", got)
	}
}

func TestApplyObject_LeavesTheObjectAlone(t *testing.T) {
	t.Parallel()
	api, c := newServer(t)
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Foo",
		"metadata": map[string]any{"name": "m", "namespace": "ns"}, "spec": map[string]any{"size": int64(3)}}}
	before := u.DeepCopy()
	if _, err := apply.New(c, "slipway-test").ApplyObject(t.Context(), nil, u); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, u); diff != "" {
		t.Errorf("the object changed:\n%s", diff)
	}
	if got := api.took(); len(got) != 1 || got[0].Path != "/apis/example.com/v1/namespaces/ns/foos/m" {
		t.Errorf("requests are %v", got)
	}
}

func TestApply_SkipsWhatIsKnownToBeInPlace(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name     string
		observed *clusterv1.Machine
		intent   apply.Configuration
		sent     bool
	}{
		{"the cache shows our write", machine("11"), labelled("1"), false},
		{"the cache lags behind our write", machine("10"), labelled("1"), false},
		{"someone wrote since", machine("12"), labelled("1"), true},
		{"another intent", machine("11"), labelled("2"), true},
		{"another object of the same name", &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{UID: "new", ResourceVersion: "11"}}, labelled("1"), true},
		{"an object that is not known to exist", nil, labelled("1"), true},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			api, c := newServer(t)
			a := apply.New(c, "slipway-test")
			if _, err := a.Apply(t.Context(), machine("10"), labelled("1")); err != nil {
				t.Fatal(err)
			}
			api.took()
			var observed client.Object
			if row.observed != nil {
				observed = row.observed
			}
			got, err := a.Apply(t.Context(), observed, row.intent)
			if err != nil {
				t.Fatal(err)
			}
			if sent := len(api.took()) > 0; sent != row.sent || got.Skipped == row.sent {
				t.Errorf("sent is %t, result %+v", sent, got)
			}
		})
	}
}

func TestApply_TellsANoOpFromAChange(t *testing.T) {
	t.Parallel()
	api, c := newServer(t)
	api.bump = false
	got, err := apply.New(c, "slipway-test").Apply(t.Context(), machine("10"), labelled("1"))
	if err != nil || got.Changed || got.Skipped {
		t.Errorf("result is %+v, error %v", got, err)
	}
}

func TestApply_AConflictIsALostRace(t *testing.T) {
	t.Parallel()
	api, c := newServer(t)
	api.status = http.StatusConflict
	a := apply.New(c, "slipway-test")
	_, err := a.Apply(t.Context(), machine("10"), labelled("1"))
	if !apply.IsLostRace(err) {
		t.Errorf("error is %v", err)
	}
	if want := "apply Machine ns/m as slipway-test"; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %v does not start with %q", err, want)
	}
}

func TestApply_RefusesANamelessIntent(t *testing.T) {
	t.Parallel()
	_, c := newServer(t)
	if _, err := apply.New(c, "slipway-test").Apply(t.Context(), nil, corev1ac.Machine("", "ns")); err == nil {
		t.Error("no error")
	}
}

func TestMetadata_SendsOnlyWhatDiffers(t *testing.T) {
	t.Parallel()
	owner := metav1.OwnerReference{APIVersion: "v1", Kind: "K", Name: "o", UID: "o"}
	for _, row := range []struct {
		name   string
		change func(metav1.Object)
		want   map[string]any
	}{
		{name: "nothing", change: func(metav1.Object) {}},
		{name: "what is there already", change: func(m metav1.Object) { apply.SetLabel(m, "old", "1") }},
		{name: "a label needs no lock", change: func(m metav1.Object) { apply.SetLabel(m, "new", "") },
			want: map[string]any{"uid": "u", "labels": map[string]any{"new": ""}}},
		{name: "a label goes", change: func(m metav1.Object) { m.SetLabels(nil) },
			want: map[string]any{"uid": "u", "labels": map[string]any{"old": nil}}},
		{name: "an annotation", change: func(m metav1.Object) { apply.SetAnnotation(m, "a", "b") },
			want: map[string]any{"uid": "u", "annotations": map[string]any{"a": "b"}}},
		{name: "a list needs the lock", change: func(m metav1.Object) { apply.SetOwner(m, owner) },
			want: map[string]any{"uid": "u", "resourceVersion": "10",
				"ownerReferences": []any{map[string]any{"apiVersion": "v1", "kind": "K", "name": "o", "uid": "o"}}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			api, c := newServer(t)
			m := machine("10")
			m.Labels = map[string]string{"old": "1"}
			changed, err := apply.Metadata(t.Context(), c, "slipway-test", m, row.change)
			if err != nil {
				t.Fatal(err)
			}
			got := api.took()
			if row.want == nil {
				if changed || len(got) > 0 {
					t.Errorf("changed is %t, requests are %v", changed, got)
				}
				return
			}
			want := []request{{Method: "PATCH", Path: "/apis/cluster.x-k8s.io/v1beta2/namespaces/ns/machines/m",
				Query: "fieldManager=slipway-test", Type: "application/merge-patch+json", Body: map[string]any{"metadata": row.want}}}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if !changed || m.ResourceVersion != "11" {
				t.Errorf("changed is %t, the object is at %s", changed, m.ResourceVersion)
			}
		})
	}
}

func TestFinalizer_IsNotAddedToAnObjectThatIsBeingDeleted(t *testing.T) {
	t.Parallel()
	api, c := newServer(t)
	m := machine("10")
	m.DeletionTimestamp = &metav1.Time{}
	added, err := apply.AddFinalizer(t.Context(), c, "slipway-test", m, "f")
	if err != nil || added || len(api.took()) > 0 {
		t.Errorf("added is %t, error %v", added, err)
	}
}

func TestFinalizer_TakesOnlyItsOwnAway(t *testing.T) {
	t.Parallel()
	api, c := newServer(t)
	m := machine("10")
	m.Finalizers = []string{"theirs", "ours"}
	removed, err := apply.RemoveFinalizer(t.Context(), c, "slipway-test", m, "ours")
	if err != nil || !removed {
		t.Fatalf("removed is %t, error %v", removed, err)
	}
	want := map[string]any{"metadata": map[string]any{"uid": "u", "resourceVersion": "10", "finalizers": []any{"theirs"}}}
	if diff := cmp.Diff(want, api.took()[0].Body); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestSetOwner(t *testing.T) {
	t.Parallel()
	ref := func(version, name string, uid types.UID, controller *bool) metav1.OwnerReference {
		return metav1.OwnerReference{APIVersion: "cluster.x-k8s.io/" + version, Kind: "Cluster", Name: name, UID: uid, Controller: controller}
	}
	list := func(refs ...metav1.OwnerReference) []metav1.OwnerReference { return refs }
	for _, row := range []struct {
		name   string
		before []metav1.OwnerReference
		add    metav1.OwnerReference
		want   []metav1.OwnerReference
	}{
		{"a first one", nil, ref("v1beta2", "a", "1", nil), list(ref("v1beta2", "a", "1", nil))},
		{"the same one", list(ref("v1beta2", "a", "1", nil), ref("v1beta2", "b", "2", nil)), ref("v1beta2", "a", "1", nil),
			list(ref("v1beta2", "a", "1", nil), ref("v1beta2", "b", "2", nil))},
		{"a newer version and a new UID after a restore", list(ref("v1beta1", "a", "old", nil)), ref("v1beta2", "a", "1", nil), list(ref("v1beta2", "a", "1", nil))},
		{"a plain owner becomes the controller", list(ref("v1beta2", "a", "1", nil)), ref("v1beta2", "a", "1", new(true)), list(ref("v1beta2", "a", "1", new(true)))},
		{"another controller stays", list(ref("v1beta2", "a", "1", new(true))), ref("v1beta2", "b", "2", new(true)),
			list(ref("v1beta2", "a", "1", new(true)), ref("v1beta2", "b", "2", new(false)))},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			m := &metav1.ObjectMeta{OwnerReferences: row.before}
			apply.SetOwner(m, row.add)
			if diff := cmp.Diff(row.want, m.OwnerReferences); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			again := m.DeepCopy()
			apply.SetOwner(again, row.add)
			if diff := cmp.Diff(m, again); diff != "" {
				t.Errorf("setting twice differs:\n%s", diff)
			}
		})
	}
}
