package cli

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/progress"
	"slipway.dev/slipway/internal/view"
)

func TestWait_GivesUpWhenTheGoalIsOutOfReachAndNotBefore(t *testing.T) {
	t.Parallel()
	ready, gone := goal{reached: clusterReady, hopeless: neverReady}, goal{reached: clusterGone, hopeless: neverGone}
	// The machine of cluster yard that failed.
	failed := func(s *view.Snapshot) *clusterv1.Machine { return &s.Machines[len(s.Machines)-1] }
	deleting := func(since time.Duration) func(*view.Snapshot) {
		return func(s *view.Snapshot) { s.Object.DeletionTimestamp = new(ago(since)) }
	}
	rows := []struct {
		name, cluster string
		goal          goal
		change        func(*view.Snapshot)
		hopeless      bool
	}{
		{name: "a failed machine", cluster: "yard", goal: ready, hopeless: true},
		{name: "a stuck cluster", cluster: "lab", goal: ready, hopeless: true},
		{name: "at work", cluster: "edge", goal: ready},
		{name: "just made", cluster: "new", goal: ready},
		{name: "a stuck cluster whose control plane has not been seen", cluster: "lab", goal: ready, change: func(s *view.Snapshot) { s.ControlPlane.Generation++ }},
		{name: "a failed machine whose workers have not been seen", cluster: "yard", goal: ready, change: func(s *view.Snapshot) { s.Deployments[0].Generation++ }},
		{name: "a failed machine of a cluster that has not been seen", cluster: "yard", goal: ready, change: func(s *view.Snapshot) { s.Object.Generation++ }},
		{name: "a failed machine that is deleted", cluster: "yard", goal: ready, change: func(s *view.Snapshot) { failed(s).DeletionTimestamp = new(ago(time.Minute)) }},
		{name: "a failed machine of another version", cluster: "yard", goal: ready, change: func(s *view.Snapshot) { s.Deployments[0].Spec.Template.Spec.Version = "v1.37.0" }},
		{name: "a failed machine that is not up to date", cluster: "yard", goal: ready, change: func(s *view.Snapshot) {
			failed(s).Status.Conditions = append(failed(s).Status.Conditions, condition(clusterv1.MachineUpToDateCondition, "False", "NotUpToDate", "", ago(0)))
		}},
		{name: "a failed machine that is remediated", cluster: "yard", goal: ready, change: func(s *view.Snapshot) {
			failed(s).Status.Conditions = append(failed(s).Status.Conditions, condition(clusterv1.MachineOwnerRemediatedCondition, "False", "WaitingForRemediation", "", ago(0)))
		}},
		{name: "a deletion with a failed machine", cluster: "yard", goal: gone, change: deleting(time.Minute)},
		{name: "a deletion of a stuck cluster", cluster: "lab", goal: gone, change: deleting(time.Minute)},
		{name: "a deletion that hangs", cluster: "demo", goal: gone, change: deleting(time.Hour), hopeless: true},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			s, err := view.Load(t.Context(), goldenFleet(t), types.NamespacedName{Namespace: defaultNamespace, Name: r.cluster}, false)
			if err != nil {
				t.Fatal(err)
			}
			if r.change != nil {
				r.change(s)
			}
			a, out := testApp(t, look{})
			w := &waiter{app: a, goal: r.goal, report: progress.New(a.talk, a.env.Now)}
			// Changes that come one right after the other are one look.
			for range 2 * hopelessLooks {
				if w.look(observation{snapshot: s}) {
					t.Fatalf("it ended before it looked for a second:\n%s", out)
				}
			}
			over := false
			for range hopelessLooks {
				over = w.look(observation{snapshot: s, again: true})
			}
			if over != r.hopeless {
				t.Errorf("it gave up: %t, want %t\n%s", over, r.hopeless, out)
			}
		})
	}
}

func TestWait_BeginsAnewToLoseHopeAfterALookThatGaveSome(t *testing.T) {
	t.Parallel()
	fleet := goldenFleet(t)
	a, _ := testApp(t, look{})
	w := &waiter{app: a, goal: goal{reached: clusterReady, hopeless: neverReady}, report: progress.New(a.talk, a.env.Now)}
	for i, name := range []string{"yard", "edge", "yard", "edge"} {
		s, err := view.Load(t.Context(), fleet, types.NamespacedName{Namespace: defaultNamespace, Name: name}, false)
		if err != nil {
			t.Fatal(err)
		}
		if w.look(observation{snapshot: s, again: true}) {
			t.Fatalf("it ended at look %d", i)
		}
	}
}
