package outcome_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"slipway.dev/slipway/internal/outcome"
)

func TestResult_TellsRetryFromTimerFromSilence(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	lost := fmt.Errorf("apply: %w", apierrors.NewConflict(schema.GroupResource{Resource: "machines"}, "a", nil))
	minute := outcome.Waiting(time.Minute, "WaitingForNode", "Waiting for the Node")
	stall := &outcome.Stall{Reason: "R", Recheck: 30 * time.Second}
	for _, row := range []struct {
		name  string
		in    []error
		after time.Duration
		fails bool
	}{
		{name: "nothing happened", in: []error{nil, nil}},
		{name: "a wait sets its timer", in: []error{minute}, after: time.Minute},
		{name: "the shortest timer counts", in: []error{minute, outcome.Waiting(time.Second, "R", "m")}, after: time.Second},
		{name: "a wait for an event sets none", in: []error{outcome.Waiting(0, "R", "m")}},
		{name: "no timer is not the shortest", in: []error{outcome.Waiting(0, "R", "m"), minute}, after: time.Minute},
		{name: "a stall is not retried", in: []error{outcome.Stalled("R", "m")}},
		{name: "a stall may be rechecked", in: []error{fmt.Errorf("resolve: %w", stall)}, after: 30 * time.Second},
		{name: "a plain error wins", in: []error{minute, broken}, fails: true},
		{name: "a plain error wins within a join", in: []error{fmt.Errorf("act: %w", minute), errors.Join(minute, broken)}, fails: true},
		{name: "a lost race is a short timer", in: []error{lost}, after: 200 * time.Millisecond},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			result, err := outcome.Result(row.in...)
			if (err != nil) != row.fails {
				t.Fatalf("Result(%v) returned error %v", row.in, err)
			}
			if diff := cmp.Diff(reconcile.Result{RequeueAfter: row.after}, result); diff != "" {
				t.Errorf("Result(%v): -want +got\n%s", row.in, diff)
			}
		})
	}
}

func TestIsQuiet_OnlyWhenNothingElseHappened(t *testing.T) {
	t.Parallel()
	lost := apierrors.NewConflict(schema.GroupResource{Resource: "machines"}, "a", nil)
	quiet := outcome.Quietly(time.Second, "CacheLag", "lag")
	for _, row := range []struct {
		name string
		in   error
		want bool
	}{
		{"nil", nil, false},
		{"cache lag", fmt.Errorf("scale up: %w", quiet), true},
		{"a lost race", lost, true},
		{"both", errors.Join(quiet, lost), true},
		{"a wait that users should see", outcome.Waiting(0, "R", "m"), false},
		{"an error beside cache lag", errors.Join(quiet, errors.New("broken")), false},
	} {
		if got := outcome.IsQuiet(row.in); got != row.want {
			t.Errorf("%s: IsQuiet is %t", row.name, got)
		}
	}
}

func TestStall_KeepsItsCause(t *testing.T) {
	t.Parallel()
	cause := errors.New("cause")
	err := fmt.Errorf("resolve: %w", &outcome.Stall{Reason: "R", Message: "Do this", Err: cause})
	if !errors.Is(err, cause) {
		t.Error("the cause is lost")
	}
	if s, ok := outcome.AsStall(err); !ok || s.Message != "Do this" {
		t.Errorf("AsStall returned %v, %t", s, ok)
	}
	if _, ok := outcome.AsWait(err); ok {
		t.Error("a stall is taken for a wait")
	}
}
