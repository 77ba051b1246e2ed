package apply_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/apply"
	corev1ac "slipway.dev/slipway/internal/applyconfigurations/core/v1beta2"
)

func TestEnsure_SendsOnlyWhereTheIntentMayNotBeInPlace(t *testing.T) {
	t.Parallel()
	with := func(version, value string) *clusterv1.Machine {
		m := machine(version)
		m.Labels = map[string]string{"a": value, "foreign": "x"}
		return m
	}
	for _, row := range []struct {
		name     string
		first    *clusterv1.Machine // applied with a=1 before, if set
		observed *clusterv1.Machine
		intent   string
		inPlace  bool
		sent     bool
	}{
		{name: "nothing is known", observed: with("10", "1"), intent: "1", sent: true},
		{name: "the owner knows that it is in place", observed: with("10", "1"), intent: "1", inPlace: true},
		{name: "the owner is wrong", observed: with("10", "2"), intent: "1", inPlace: true, sent: true},
		{name: "someone else wrote other fields since", first: with("10", ""), observed: with("20", "1"), intent: "1"},
		{name: "someone else wrote our field since", first: with("10", ""), observed: with("20", "2"), intent: "1", sent: true},
		{name: "the cache lags behind our write", first: with("10", ""), observed: with("10", ""), intent: "1"},
		{name: "another intent", first: with("10", ""), observed: with("20", "1"), intent: "2", inPlace: true, sent: true},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			api, c := newServer(t)
			a := apply.New(c, "slipway-test")
			if row.first != nil {
				if _, err := a.Ensure(t.Context(), row.first, labelled("1"), false); err != nil {
					t.Fatal(err)
				}
				api.took()
			}
			got, err := a.Ensure(t.Context(), row.observed, labelled(row.intent), row.inPlace)
			if err != nil {
				t.Fatal(err)
			}
			requests := api.took()
			if sent := len(requests) > 0; sent != row.sent || got.Skipped == row.sent {
				t.Fatalf("sent is %t, result %+v", sent, got)
			}
			if !row.sent {
				return
			}
			want := map[string]any{"name": "m", "namespace": "ns", "uid": "u", "labels": map[string]any{"a": row.intent}}
			if diff := cmp.Diff(want, requests[0].Body["metadata"]); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestEnsure_KnowsWhatApplyCreated(t *testing.T) {
	t.Parallel()
	api, c := newServer(t)
	a := apply.New(c, "slipway-test")
	if _, err := a.Apply(t.Context(), nil, labelled("1")); err != nil {
		t.Fatal(err)
	}
	api.took()
	observed := machine("20")
	observed.Labels = map[string]string{"a": "1"}
	if got, err := a.Ensure(t.Context(), observed, labelled("1"), false); err != nil || !got.Skipped || len(api.took()) > 0 {
		t.Errorf("result %+v, error %v", got, err)
	}
}

func TestConvert_ClaimsOnlyWhatIsSet(t *testing.T) {
	t.Parallel()
	spec := clusterv1.MachineSpec{Version: "v1.37.2", Bootstrap: clusterv1.Bootstrap{DataSecretName: new("")}}
	got, err := apply.Convert[corev1ac.MachineSpecApplyConfiguration](spec)
	if err != nil {
		t.Fatal(err)
	}
	want := corev1ac.MachineSpec().WithVersion("v1.37.2").WithBootstrap(corev1ac.Bootstrap().WithDataSecretName(""))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestPace_LetsAnObjectBeWrittenOnceInAnInterval(t *testing.T) {
	t.Parallel()
	p, now := apply.NewPace(time.Second), time.Unix(100, 0)
	if left := p.Wait("a", now); left != 0 {
		t.Errorf("an object that was never written waits %s", left)
	}
	p.Wrote("a", now)
	if left := p.Wait("a", now.Add(300*time.Millisecond)); left != 700*time.Millisecond {
		t.Errorf("waits %s", left)
	}
	if left := p.Wait("a", now.Add(2*time.Second)); left != 0 {
		t.Errorf("waits %s after the interval", left)
	}
	p.Forget("a")
	if left := p.Wait("a", now) + p.Wait("b", now); left != 0 {
		t.Errorf("forgotten and other objects wait %s", left)
	}
}

func TestMoveFields_TakesLabelsAndAnnotationsAlone(t *testing.T) {
	t.Parallel()
	entry := func(manager, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: "v1",
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields)}
	}
	keep := func(key string) bool { return key == "kept" }
	for _, row := range []struct {
		name        string
		given, want []metav1.ManagedFieldsEntry
		moved       bool
	}{
		{name: "of nobody"},
		{name: "of another", given: []metav1.ManagedFieldsEntry{entry("x", `{"f:metadata":{"f:labels":{"f:a":{}}}}`)},
			want: []metav1.ManagedFieldsEntry{entry("x", `{"f:metadata":{"f:labels":{"f:a":{}}}}`)}},
		{name: "none but kept ones", given: []metav1.ManagedFieldsEntry{entry("from", `{"f:metadata":{"f:labels":{".":{},"f:kept":{}}}}`)},
			want: []metav1.ManagedFieldsEntry{entry("from", `{"f:metadata":{"f:labels":{".":{},"f:kept":{}}}}`)}},
		{name: "some", moved: true,
			given: []metav1.ManagedFieldsEntry{entry("from", `{"f:metadata":{"f:labels":{"f:a":{},"f:kept":{}},"f:annotations":{"f:b":{}}},"f:spec":{}}`)},
			want: []metav1.ManagedFieldsEntry{
				entry("from", `{"f:metadata":{"f:annotations":{},"f:labels":{"f:kept":{}}},"f:spec":{}}`),
				entry("to", `{"f:metadata":{"f:annotations":{"f:b":{}},"f:labels":{"f:a":{}}}}`),
			}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got, moved, err := apply.MoveFields(row.given, "from", "to", keep)
			if err != nil || moved != row.moved {
				t.Fatalf("moved is %t, error %v", moved, err)
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}
