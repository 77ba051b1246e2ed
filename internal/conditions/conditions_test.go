package conditions_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"slipway.dev/slipway/internal/conditions"
)

var (
	before = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	now    = before.Add(time.Hour)
)

func types(conds []metav1.Condition) []string {
	var out []string
	for _, c := range conds {
		out = append(out, c.Type)
	}
	return out
}

func TestStamp_KeepsTheTransitionTimeUntilTheStatusChanges(t *testing.T) {
	t.Parallel()
	observed := []metav1.Condition{
		{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Ready", LastTransitionTime: metav1.NewTime(before)},
		{Type: "NodeReady", Status: metav1.ConditionTrue, Reason: "Ready", LastTransitionTime: metav1.NewTime(before)},
	}
	got := conditions.Stamp(observed, []metav1.Condition{
		conditions.False("NodeReady", "", "gone"),
		conditions.True("Ready", "Fine", "all is well"),
		conditions.Unknown("New", "", ""),
	}, 7, now.Add(time.Millisecond))
	want := []metav1.Condition{
		{Type: "Ready", Status: "True", Reason: "Fine", Message: "all is well", ObservedGeneration: 7, LastTransitionTime: metav1.NewTime(before)},
		{Type: "New", Status: "Unknown", Reason: "NewUnknown", ObservedGeneration: 7, LastTransitionTime: metav1.NewTime(now)},
		{Type: "NodeReady", Status: "False", Reason: "NotNodeReady", Message: "gone", ObservedGeneration: 7, LastTransitionTime: metav1.NewTime(now)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestStamp_TakesTheTransitionTimeOfAMirroredCondition(t *testing.T) {
	t.Parallel()
	mirrored := conditions.True("InfrastructureReady", "Ready", "")
	mirrored.LastTransitionTime = metav1.NewTime(before)
	got := conditions.Stamp(nil, []metav1.Condition{mirrored}, 1, now)
	if !got[0].LastTransitionTime.Time.Equal(before) {
		t.Errorf("lastTransitionTime is %s, want that of the source", got[0].LastTransitionTime)
	}
}

func TestSorted_PutsTheSummaryFirstAndTheEndLast(t *testing.T) {
	t.Parallel()
	var conds []metav1.Condition
	for _, name := range []string{"Paused", "UpToDate", "Deleting", "Ready", "BootstrapConfigReady", "Available"} {
		conds = append(conds, conditions.True(name, "", ""))
	}
	want := []string{"Available", "Ready", "BootstrapConfigReady", "UpToDate", "Deleting", "Paused"}
	if diff := cmp.Diff(want, types(conditions.Sorted(conds))); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestEqualOwned(t *testing.T) {
	t.Parallel()
	ready := metav1.Condition{Type: "Ready", Status: "True", Reason: "Ready", ObservedGeneration: 2, LastTransitionTime: metav1.NewTime(before)}
	foreign := metav1.Condition{Type: "example.com/Foreign", Status: "False", Reason: "X"}
	later, newer, old := ready, ready, ready
	later.LastTransitionTime = metav1.NewTime(now)
	newer.ObservedGeneration = 3
	old.Message = "old"
	retired := metav1.Condition{Type: "Retired", Status: "True", Reason: "X"}
	list := func(conds ...metav1.Condition) []metav1.Condition { return conds }
	for _, row := range []struct {
		name              string
		observed, desired []metav1.Condition
		want              bool
	}{
		{"the same", list(ready), list(ready), true},
		{"conditions of others do not count", list(foreign, ready), list(ready), true},
		{"the time does not count", list(ready), list(later), true},
		{"the generation counts", list(ready), list(newer), false},
		{"the message counts", list(old), list(ready), false},
		{"a missing one counts", list(foreign), list(ready), false},
		{"one of ours that is not wanted any more counts", list(ready, retired), list(ready), false},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if got := conditions.EqualOwned(row.observed, row.desired, "Ready", "Retired"); got != row.want {
				t.Errorf("EqualOwned is %t", got)
			}
		})
	}
}

func TestSet_LeavesOtherConditionsAlone(t *testing.T) {
	t.Parallel()
	foreign := metav1.Condition{Type: "example.com/Foreign", Status: "False", Reason: "X", LastTransitionTime: metav1.NewTime(before)}
	conds := []metav1.Condition{foreign}
	conditions.Set(&conds, conditions.True("Ready", "", ""), 1, now)
	conditions.Set(&conds, conditions.False("Ready", "", ""), 2, now.Add(time.Minute))
	want := []metav1.Condition{
		{Type: "Ready", Status: "False", Reason: "NotReady", ObservedGeneration: 2, LastTransitionTime: metav1.NewTime(now.Add(time.Minute))},
		foreign,
	}
	if diff := cmp.Diff(want, conds); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestApplyConfigurations_SaysWhatTheConditionsSay(t *testing.T) {
	t.Parallel()
	conds := conditions.Stamp(nil, []metav1.Condition{conditions.True("Ready", "", "m")}, 4, now)
	got := conditions.ApplyConfigurations(conds)
	if len(got) != 1 {
		t.Fatalf("got %d configurations", len(got))
	}
	back := metav1.Condition{
		Type: *got[0].Type, Status: *got[0].Status, Reason: *got[0].Reason, Message: *got[0].Message,
		ObservedGeneration: *got[0].ObservedGeneration, LastTransitionTime: *got[0].LastTransitionTime,
	}
	if diff := cmp.Diff(conds[0], back); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestBounded_CutsAtARune(t *testing.T) {
	t.Parallel()
	got := conditions.Bounded("x" + strings.Repeat("ü", 4000))
	if len(got) > 4096 || !utf8.ValidString(got) || !strings.HasSuffix(got, "...") {
		t.Errorf("got %d bytes, valid %t, end %q", len(got), utf8.ValidString(got), got[len(got)-5:])
	}
}

func anyStatus() *rapid.Generator[metav1.ConditionStatus] {
	return rapid.SampledFrom([]metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown})
}

func anyConditions(names ...string) *rapid.Generator[[]metav1.Condition] {
	return rapid.Custom(func(t *rapid.T) []metav1.Condition {
		var out []metav1.Condition
		for _, name := range names {
			if rapid.Bool().Draw(t, "there") {
				out = append(out, metav1.Condition{
					Type:    name,
					Status:  anyStatus().Draw(t, "status"),
					Reason:  rapid.SampledFrom([]string{"A", "B"}).Draw(t, "reason"),
					Message: rapid.SampledFrom([]string{"", "one", "two", "three", "four", "five", "* a: b\n* c: d"}).Draw(t, "message"),
				})
			}
		}
		return out
	})
}

func TestStamp_AWriteThatWasReadBackIsNotWrittenAgain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		observed := anyConditions("Ready", "Deleting", "X").Draw(t, "observed")
		desired := anyConditions("Ready", "Deleting", "X").Draw(t, "desired")
		written := conditions.Stamp(observed, desired, 3, now)
		again := conditions.Stamp(written, desired, 3, now.Add(time.Hour))
		if !conditions.EqualOwned(written, again, "Ready", "Deleting", "X") {
			t.Fatalf("%v is written again as %v", written, again)
		}
		if diff := cmp.Diff(written, again); diff != "" {
			t.Fatalf("stamping twice differs:\n%s", diff)
		}
	})
}
