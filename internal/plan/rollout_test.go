package plan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
)

// epoch is the moment at which tests happen.
var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(seconds int) time.Time { return epoch.Add(time.Duration(seconds) * time.Second) }

func number(n int) *intstr.IntOrString     { v := intstr.FromInt32(int32(n)); return &v }
func percent(s string) *intstr.IntOrString { v := intstr.FromString(s); return &v }

// oldSet and newSet return sets with all Machines there and available.
func oldSet(name string, replicas int32) RolloutSet {
	return RolloutSet{Name: name, Created: at(-1000), Replicas: replicas, Machines: replicas, Available: replicas, Revision: 1}
}

func newSet(name string, replicas int32) RolloutSet {
	return RolloutSet{Name: name, Created: at(-10), Replicas: replicas, Machines: replicas, Available: replicas, Revision: 2, Current: true}
}

func with(s RolloutSet, change func(*RolloutSet)) RolloutSet {
	change(&s)
	return s
}

// sizes returns the planned sizes by name; a set to be created appears as "+".
func sizes(p RolloutPlan) map[string]int32 {
	m := map[string]int32{}
	for _, s := range p.Sets {
		m[s.Name] = s.Replicas
	}
	if p.Create != nil {
		m["+"] = p.Create.Replicas
	}
	return m
}

func TestRollout_SizesOfSets(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		f    RolloutFacts
		want map[string]int32
	}{
		{"a new deployment gets its set at once", RolloutFacts{Replicas: 3}, map[string]int32{"+": 3}},
		{"a changed template starts with the surge", RolloutFacts{Replicas: 3, Sets: []RolloutSet{oldSet("old", 3)}}, map[string]int32{"old": 3, "+": 1}},
		{"without surge room is made first", RolloutFacts{Replicas: 3, MaxSurge: number(0), MaxUnavailable: number(1), Sets: []RolloutSet{oldSet("old", 3)}},
			map[string]int32{"old": 2, "+": 0}},
		{"an available new Machine frees an old one", RolloutFacts{Replicas: 3, Sets: []RolloutSet{oldSet("old", 3), newSet("new", 1)}},
			map[string]int32{"old": 2, "new": 1}},
		{"a Machine being deleted still takes room", RolloutFacts{Replicas: 3, Sets: []RolloutSet{
			with(oldSet("old", 2), func(s *RolloutSet) { s.Machines, s.Deleting = 3, 1 }), newSet("new", 1)}}, map[string]int32{"old": 2, "new": 1}},
		{"a new Machine that is not available frees none", RolloutFacts{Replicas: 3, Sets: []RolloutSet{oldSet("old", 3),
			with(newSet("new", 1), func(s *RolloutSet) { s.Available = 0 })}}, map[string]int32{"old": 3, "new": 1}},
		{"broken old Machines go before available ones of older sets", RolloutFacts{Replicas: 4, Sets: []RolloutSet{
			with(oldSet("older", 2), func(s *RolloutSet) { s.Created = at(-2000) }),
			with(oldSet("old", 2), func(s *RolloutSet) { s.Available, s.UnavailableFirst = 1, 1 }),
			newSet("new", 1)}}, map[string]int32{"older": 2, "old": 1, "new": 1}},
		{"scaling down in mid-rollout takes the old ones", RolloutFacts{Replicas: 2, Sets: []RolloutSet{oldSet("old", 3), newSet("new", 2)}},
			map[string]int32{"old": 0, "new": 2}},
		{"too large a new set comes down", RolloutFacts{Replicas: 2, Sets: []RolloutSet{newSet("new", 5)}}, map[string]int32{"new": 2}},
		{"of two sets with the current template the larger is kept", RolloutFacts{Replicas: 3, Sets: []RolloutSet{newSet("a", 0), newSet("b", 3)}},
			map[string]int32{"a": 0, "b": 3}},
		{"scaling to nothing", RolloutFacts{Replicas: 0, Sets: []RolloutSet{newSet("new", 3)}}, map[string]int32{"new": 0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, err := Rollout(tt.f, epoch)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, sizes(p)); diff != "" {
				t.Errorf("sizes (-want +got):\n%s\nreason: %s", diff, p.Reason)
			}
		})
	}
}

func TestRolloutBounds_EveryCombination(t *testing.T) {
	t.Parallel()
	tests := []struct {
		surge, unavailable *intstr.IntOrString
		replicas           int32
		up, down           int32
		refused            string
	}{
		{nil, nil, 3, 1, 0, ""},
		{number(1), nil, 3, 1, 0, ""},
		{nil, number(2), 3, 1, 2, ""},
		{number(0), number(1), 3, 0, 1, ""},
		{number(2), number(0), 3, 2, 0, ""},
		{percent("35%"), number(0), 3, 2, 0, ""},
		{percent("25%"), percent("25%"), 10, 3, 2, ""},
		{percent("0%"), percent("1%"), 3, 0, 1, ""},
		{number(0), percent("10%"), 3, 0, 1, ""},
		{number(0), number(9), 3, 0, 3, ""},
		{percent("100%"), percent("100%"), 0, 0, 0, ""},
		{number(0), number(0), 3, 0, 0, "both 0"},
		{number(0), nil, 3, 0, 0, "both 0"},
		{percent("0%"), percent("0%"), 3, 0, 0, "both 0"},
		{percent("many"), nil, 3, 0, 0, "neither a number nor a percentage"},
		{number(-1), nil, 3, 0, 0, "negative"},
		{nil, number(-1), 3, 0, 0, "negative"},
	}
	for _, tt := range tests {
		up, down, err := RolloutBounds(clusterv1.RollingUpdateMachineDeploymentStrategyType, tt.surge, tt.unavailable, tt.replicas)
		switch {
		case tt.refused != "":
			if err == nil || !strings.Contains(err.Error(), tt.refused) {
				t.Errorf("surge %v, unavailable %v: error %v, want one with %q", tt.surge, tt.unavailable, err, tt.refused)
			}
		case err != nil || up != tt.up || down != tt.down:
			t.Errorf("surge %v, unavailable %v of %d: %d, %d, %v; want %d, %d", tt.surge, tt.unavailable, tt.replicas, up, down, err, tt.up, tt.down)
		}
	}
	if _, _, err := RolloutBounds(clusterv1.OnDeleteMachineDeploymentStrategyType, number(0), number(0), 3); err != nil {
		t.Errorf("OnDelete has no bounds to refuse: %v", err)
	}
}

func TestRollout_DeletionsInFlightAreNotSpentTwice(t *testing.T) {
	t.Parallel()
	// One deletion of the old set has been asked for and not been seen: five are available, and that is the minimum.
	in := []RolloutSet{with(oldSet("old", 5), func(s *RolloutSet) { s.Machines, s.Available = 6, 6 }), newSet("new", 3)}
	f := RolloutFacts{Replicas: 6, MaxSurge: number(3), MaxUnavailable: number(1), Sets: in}
	for round := range 3 {
		p, err := Rollout(f, epoch)
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range p.Sets {
			f.Sets[i].Replicas = s.Replicas
		}
		if f.Sets[0].Replicas < 2 {
			t.Fatalf("round %d lowers the old set to %d: only %d would stay available of at least 5", round, f.Sets[0].Replicas, f.Sets[0].Replicas+3)
		}
	}
}

func TestRollout_MoreAvailableThanAskedForIsNotBroken(t *testing.T) {
	t.Parallel()
	// spec 2, three still there and available: the deletion is in flight, and the rollout goes on.
	f := RolloutFacts{Replicas: 3, MaxSurge: percent("35%"), MaxUnavailable: number(0), Sets: []RolloutSet{
		with(oldSet("old", 2), func(s *RolloutSet) { s.Machines, s.Available = 3, 3 }), newSet("new", 2)}}
	p, err := Rollout(f, epoch)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int32{"old": 1, "new": 2}, sizes(p)); diff != "" {
		t.Errorf("sizes (-want +got):\n%s", diff)
	}
}

func TestRollout_DoesNotRemoveWhatPreflightWouldNotReplace(t *testing.T) {
	t.Parallel()
	f := RolloutFacts{Replicas: 3, MaxSurge: number(0), MaxUnavailable: number(1), Held: []string{"KubeadmControlPlane cp is upgrading"},
		Sets: []RolloutSet{oldSet("old", 3)}}
	p, err := Rollout(f, epoch)
	if err != nil {
		t.Fatal(err)
	}
	if sizes(p)["old"] != 3 || !p.Held || !strings.Contains(p.Reason, "cp is upgrading") {
		t.Errorf("old set planned at %d, held %v, reason %q; want 3, held, and the reason", sizes(p)["old"], p.Held, p.Reason)
	}
	f.Replicas = 2
	if p, _ = Rollout(f, epoch); sizes(p)["old"] != 2 {
		t.Errorf("a held rollout still follows a smaller size: old set planned at %d, want 2", sizes(p)["old"])
	}
	f.Replicas, f.Sets = 3, []RolloutSet{oldSet("old", 2), newSet("new", 1)}
	if p, _ = Rollout(f, epoch); sizes(p)["old"] != 2 {
		t.Errorf("held in mid-rollout: old set planned at %d, want 2", sizes(p)["old"])
	}
}

func TestRollout_AfterIsSatisfiedByTheSameSecond(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name         string
		created      time.Time
		after        time.Time
		wantRollout  bool
		wantCheckNow bool
	}{
		{"created in the very second", at(-10), at(-10), false, false},
		{"created in the very second, after has fractions", at(-10), at(-10).Add(300 * time.Millisecond), false, false},
		{"created before", at(-11), at(-10), true, false},
		{"created after", at(-9), at(-10), false, false},
		{"not due yet", at(-10), at(60), false, true},
	} {
		f := RolloutFacts{Replicas: 1, RolloutAfter: tt.after, Sets: []RolloutSet{with(newSet("new", 1), func(s *RolloutSet) { s.Created = tt.created })}}
		p, err := Rollout(f, epoch)
		if err != nil {
			t.Fatal(err)
		}
		if (p.Create != nil) != tt.wantRollout || !p.CheckAt.IsZero() != tt.wantCheckNow {
			t.Errorf("%s: create %v, check at %v; want rollout %v", tt.name, p.Create, p.CheckAt, tt.wantRollout)
		}
		if p.Create != nil && !strings.Contains(p.Create.Reason, "rollout.after") {
			t.Errorf("%s: reason %q does not name rollout.after", tt.name, p.Create.Reason)
		}
	}
}

func TestRollout_PausedWithoutMatchingSetDoesNothing(t *testing.T) {
	t.Parallel()
	p, err := Rollout(RolloutFacts{Replicas: 3, Paused: true, Sets: []RolloutSet{oldSet("old", 3)}}, epoch)
	if err != nil {
		t.Fatal(err)
	}
	if p.Create != nil || p.New != "" || sizes(p)["old"] != 3 || p.Reason == "" || p.Sets[0].DisableCreate {
		t.Errorf("plan %+v: want nothing changed and a reason", p)
	}
	if p, err = Rollout(RolloutFacts{Replicas: 3, Paused: true}, epoch); err != nil || p.Create != nil {
		t.Errorf("no set at all: create %v, error %v; want neither", p.Create, err)
	}
}

func TestRollout_PausedKeepsShares(t *testing.T) {
	t.Parallel()
	desired := func(n int32) func(*RolloutSet) { return func(s *RolloutSet) { s.Desired = &n } }
	half := func(o, n RolloutSet) []RolloutSet { return []RolloutSet{with(o, desired(10)), with(n, desired(10))} }
	tests := []struct {
		name string
		f    RolloutFacts
		want map[string]int32
	}{
		{"the size did not change", RolloutFacts{Replicas: 10, MaxSurge: number(3), Sets: half(oldSet("old", 8), newSet("new", 5))}, map[string]int32{"old": 8, "new": 5}},
		{"up, each by its share, within the surge", RolloutFacts{Replicas: 15, MaxSurge: number(3), Sets: half(oldSet("old", 8), newSet("new", 5))}, map[string]int32{"old": 11, "new": 7}},
		{"down", RolloutFacts{Replicas: 5, MaxSurge: number(3), Sets: half(oldSet("old", 8), newSet("new", 5))}, map[string]int32{"old": 4, "new": 3}},
		{"to nothing", RolloutFacts{Replicas: 0, MaxSurge: number(3), Sets: half(oldSet("old", 8), newSet("new", 5))}, map[string]int32{"old": 0, "new": 0}},
		{"half applied: only the other is left", RolloutFacts{Replicas: 15, MaxSurge: number(3), Sets: []RolloutSet{
			with(oldSet("old", 11), desired(15)), with(newSet("new", 5), desired(10))}}, map[string]int32{"old": 11, "new": 7}},
		{"one active set takes it all", RolloutFacts{Replicas: 5, Sets: []RolloutSet{oldSet("old", 3)}}, map[string]int32{"old": 5}},
		{"growth waits while Machines on their way out take the room", RolloutFacts{Replicas: 5, MaxSurge: number(0), MaxUnavailable: number(1), Sets: []RolloutSet{
			with(oldSet("old", 0), func(s *RolloutSet) { s.Machines, s.Deleting = 2, 2 }), with(newSet("new", 3), desired(3))}}, map[string]int32{"old": 0, "new": 3}},
		{"none active: the current one grows", RolloutFacts{Replicas: 2, Sets: []RolloutSet{oldSet("old", 0), newSet("new", 0)}}, map[string]int32{"old": 0, "new": 2}},
	}
	for _, tt := range tests {
		tt.f.Paused = true
		p, err := Rollout(tt.f, epoch)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, sizes(p)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestRollout_OnDeleteOnlyFollows(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		f    RolloutFacts
		want map[string]int32
	}{
		{"nothing was deleted", RolloutFacts{Replicas: 3, Sets: []RolloutSet{oldSet("old", 3)}}, map[string]int32{"old": 3, "+": 0}},
		{"one is going: its set gives it up, the new one waits", RolloutFacts{Replicas: 3, Sets: []RolloutSet{
			with(oldSet("old", 3), func(s *RolloutSet) { s.Deleting, s.Available = 1, 2 }), newSet("new", 0)}}, map[string]int32{"old": 2, "new": 0}},
		{"one is gone", RolloutFacts{Replicas: 3, Sets: []RolloutSet{oldSet("old", 2), newSet("new", 0)}}, map[string]int32{"old": 2, "new": 1}},
		{"one is gone, its set does not know yet", RolloutFacts{Replicas: 3, Sets: []RolloutSet{
			with(oldSet("old", 2), func(s *RolloutSet) { s.Pending = true }), newSet("new", 0)}}, map[string]int32{"old": 2, "new": 0}},
		{"scaled down: the old ones go first", RolloutFacts{Replicas: 2, Sets: []RolloutSet{oldSet("old", 2), newSet("new", 2)}}, map[string]int32{"old": 0, "new": 2}},
		{"scaled down in flight: asked again it takes no more", RolloutFacts{Replicas: 5, Sets: []RolloutSet{
			with(oldSet("old", 2), func(s *RolloutSet) { s.Machines, s.Available = 3, 3 }), newSet("new", 3)}}, map[string]int32{"old": 2, "new": 3}},
		{"scaled down below the new ones", RolloutFacts{Replicas: 1, Sets: []RolloutSet{oldSet("old", 1), newSet("new", 2)}}, map[string]int32{"old": 0, "new": 1}},
	}
	for _, tt := range tests {
		tt.f.Strategy = clusterv1.OnDeleteMachineDeploymentStrategyType
		p, err := Rollout(tt.f, epoch)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, sizes(p)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		for _, s := range p.Sets {
			if s.DisableCreate != (s.Name == "old") {
				t.Errorf("%s: set %s has disable-machine-create %v", tt.name, s.Name, s.DisableCreate)
			}
		}
	}
}

func TestRollout_BreaksADeadlockByOneMachine(t *testing.T) {
	t.Parallel()
	// By age an available Machine would go before the one that never becomes available.
	f := RolloutFacts{Replicas: 3, MaxSurge: number(0), MaxUnavailable: number(1),
		Sets: []RolloutSet{with(oldSet("old", 3), func(s *RolloutSet) { s.Available = 2 }), newSet("new", 0)}}
	p, err := Rollout(f, epoch)
	if err != nil || sizes(p)["old"] != 2 {
		t.Errorf("old set planned at %d, error %v; want 2", sizes(p)["old"], err)
	}
	moving := RolloutFacts{Replicas: 3, Sets: []RolloutSet{with(oldSet("old", 3), func(s *RolloutSet) { s.Available = 2 }),
		with(newSet("new", 1), func(s *RolloutSet) { s.Available = 0 })}}
	if p, _ = Rollout(moving, epoch); sizes(p)["old"] != 3 {
		t.Errorf("a new Machine may still become available: old set planned at %d, want 3", sizes(p)["old"])
	}
}

func TestRollout_RevisionsAndCleanUp(t *testing.T) {
	t.Parallel()
	done := RolloutFacts{Replicas: 3, Sets: []RolloutSet{oldSet("old", 0), newSet("new", 3)}}
	p, err := Rollout(done, epoch)
	if err != nil || !p.Complete || p.RollingOut || !cmp.Equal(p.Delete, []string{"old"}) || p.Revision != 2 {
		t.Errorf("finished rollout: %+v, %v; want complete, old deleted, revision 2", p, err)
	}
	back := RolloutFacts{Replicas: 3, Sets: []RolloutSet{
		with(oldSet("first", 0), func(s *RolloutSet) { s.Current = true }), with(newSet("second", 3), func(s *RolloutSet) { s.Current = false })}}
	if p, _ = Rollout(back, epoch); p.New != "first" || p.Revision != 3 || p.Sets[0].Revision != 3 || p.Sets[1].Revision != 2 || len(p.Delete) != 0 {
		t.Errorf("going back: new %q, revision %d, sets %+v; want first renumbered to 3", p.New, p.Revision, p.Sets)
	}
	if p, _ = Rollout(RolloutFacts{Replicas: 3, Sets: []RolloutSet{oldSet("old", 3)}}, epoch); p.Create.Revision != 2 {
		t.Errorf("revision of the set to create is %d, want 2", p.Create.Revision)
	}
}

func TestRollout_AlwaysSaysWhy(t *testing.T) {
	t.Parallel()
	states := [][]RolloutSet{nil, {oldSet("old", 3)}, {oldSet("old", 2), newSet("new", 1)}, {newSet("new", 3)},
		{with(oldSet("old", 2), func(s *RolloutSet) { s.Machines, s.Deleting = 3, 1 }), newSet("new", 1)}}
	for _, sets := range states {
		for _, paused := range []bool{false, true} {
			for _, strategy := range []clusterv1.MachineDeploymentRolloutStrategyType{"RollingUpdate", "OnDelete"} {
				p, err := Rollout(RolloutFacts{Replicas: 3, Paused: paused, Strategy: strategy, Sets: sets}, epoch)
				if err != nil || p.Reason == "" || strings.HasSuffix(p.Reason, ".") || p.Reason[:1] != strings.ToUpper(p.Reason[:1]) {
					t.Errorf("paused %v, %s, %d sets: reason %q, error %v", paused, strategy, len(sets), p.Reason, err)
				}
				for _, s := range p.Sets {
					if observed := sets[indexOf(sets, s.Name)].Replicas; (s.Reason != "") != (s.Replicas != observed) {
						t.Errorf("set %s goes from %d to %d with reason %q", s.Name, observed, s.Replicas, s.Reason)
					}
				}
			}
		}
	}
}

func indexOf(sets []RolloutSet, name string) int {
	for i, s := range sets {
		if s.Name == name {
			return i
		}
	}
	panic(fmt.Sprintf("no set %s", name))
}
