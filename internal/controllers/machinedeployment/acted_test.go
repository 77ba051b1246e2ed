package machinedeployment

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/plan"
)

func TestActing_WaitsForEachSpecOnceAndNotForEver(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	set := func(generation, observed int64) *clusterv1.MachineSet {
		return &clusterv1.MachineSet{ObjectMeta: metav1.ObjectMeta{UID: "a", Generation: generation}, Status: clusterv1.MachineSetStatus{ObservedGeneration: observed}}
	}
	a := newActing()
	for _, step := range []struct {
		name  string
		set   *clusterv1.MachineSet
		after time.Duration
		want  time.Duration
	}{
		{"it has acted", set(1, 1), 0, 0},
		{"a new spec", set(2, 1), 0, actedIn},
		{"a while later", set(2, 1), 4 * time.Second, actedIn - 4*time.Second},
		{"long enough", set(2, 1), actedIn, 0},
		{"and for good", set(2, 1), actedIn + time.Hour, 0},
		{"the next spec", set(3, 1), 2 * time.Hour, actedIn},
		{"it has acted on that", set(3, 3), 2 * time.Hour, 0},
	} {
		if got := a.pending("d", []*clusterv1.MachineSet{step.set}, now.Add(step.after))["a"]; got != step.want {
			t.Errorf("%s: %s, want %s", step.name, got, step.want)
		}
	}
	if len(a.since) != 0 {
		t.Errorf("it still remembers %v", a.since)
	}
}

func TestActing_ForgetsSetsThatAreGone(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	set := func(uid types.UID) *clusterv1.MachineSet {
		return &clusterv1.MachineSet{ObjectMeta: metav1.ObjectMeta{UID: uid, Generation: 2}}
	}
	a := newActing()
	a.pending("d", []*clusterv1.MachineSet{set("stays"), set("goes")}, now)
	a.pending("other", []*clusterv1.MachineSet{set("of-other")}, now)
	left := a.pending("d", []*clusterv1.MachineSet{set("stays")}, now.Add(time.Second))
	if left["stays"] != actedIn-time.Second || len(left) != 1 || len(a.since["d"]) != 1 || len(a.since["other"]) != 1 {
		t.Errorf("left %v, remembered %v", left, a.since)
	}
	a.pending("d", nil, now)
	a.forget("other")
	if len(a.since) != 0 {
		t.Errorf("it still remembers %v", a.since)
	}
}

func TestRenumbers_OnlyASetThatIsCurrentAgain(t *testing.T) {
	t.Parallel()
	set := &clusterv1.MachineSet{ObjectMeta: metav1.ObjectMeta{Name: "old", Annotations: map[string]string{clusterv1.RevisionAnnotation: "1"}}}
	s := &scene{sets: []*clusterv1.MachineSet{set}}
	for _, row := range []struct {
		name string
		plan plan.RolloutPlan
		want bool
	}{
		{"a set that is yet to be made", plan.RolloutPlan{Revision: 2}, false},
		{"the set that is current", plan.RolloutPlan{New: "old", Revision: 1}, false},
		{"a set that is current again", plan.RolloutPlan{New: "old", Revision: 3}, true},
	} {
		s.plan = row.plan
		if got := s.renumbers(); got != row.want {
			t.Errorf("%s: %t", row.name, got)
		}
	}
}
