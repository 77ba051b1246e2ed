package plan

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
)

func pod(name string, changes ...func(*DrainPodFacts)) DrainPodFacts {
	p := DrainPodFacts{Namespace: "ns", Name: name}
	for _, change := range changes {
		change(&p)
	}
	return p
}

func podLabel(key, value string) func(*DrainPodFacts) {
	return func(p *DrainPodFacts) { p.Labels = map[string]string{key: value} }
}

func goingSince(seconds int) func(*DrainPodFacts) {
	return func(p *DrainPodFacts) { p.DeletedAt = at(-seconds) }
}

func selector(t *testing.T, text string) labels.Selector {
	t.Helper()
	s, err := labels.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func listed(decisions []PodDecision) string {
	var list []string
	for _, d := range decisions {
		list = append(list, d.Pod.Name)
	}
	return strings.Join(list, " ")
}

func TestDrainNode_DecidesAboutEachPod(t *testing.T) {
	t.Parallel()
	daemon := func(exists Tri) func(*DrainPodFacts) {
		return func(p *DrainPodFacts) { p.DaemonSet, p.DaemonSetExists = true, exists }
	}
	finished := func(p *DrainPodFacts) { p.Finished = true }
	mirror := func(p *DrainPodFacts) { p.Mirror = true }
	rules := []DrainRule{
		{Name: "z-skip-all-else", Behavior: "Skip", Pods: []DrainPodSelector{{Pod: selector(t, "app=z")}}},
		{Name: "a-first", Behavior: "Drain", Order: -5, Pods: []DrainPodSelector{{Pod: selector(t, "app=a")}}},
		{Name: "b-other-machines", Behavior: "Skip", Machines: []DrainMachineSelector{{Machine: selector(t, "pool=other")}}},
		{Name: "c-wait", Behavior: "WaitCompleted", Pods: []DrainPodSelector{{Pod: selector(t, "app=c"), Namespace: selector(t, "team=x")}}},
		{Name: "d-cluster", Behavior: "Skip", Machines: []DrainMachineSelector{{Cluster: selector(t, "env=prod")}}, Pods: []DrainPodSelector{{Pod: selector(t, "app=d")}}},
		{Name: "e-nobody", Behavior: "Skip", Pods: []DrainPodSelector{}},
	}
	tests := []struct {
		name        string
		pod         DrainPodFacts
		unreachable bool
		want        clusterv1.MachineDrainRuleDrainBehavior
		order       int32
	}{
		{"plain", pod("p"), false, "Drain", 0},
		{"of a DaemonSet", pod("p", daemon(True)), false, "Skip", 0},
		{"of a DaemonSet nobody could read", pod("p", daemon(Unknown)), false, "Skip", 0},
		{"of a DaemonSet that is gone", pod("p", daemon(False)), false, "Drain", 0},
		{"finished, of a DaemonSet", pod("p", daemon(True), finished), false, "Drain", 0},
		{"static", pod("p", mirror), false, "Skip", 0},
		{"labelled", pod("p", podLabel(clusterv1.PodDrainLabel, "skip")), false, "Skip", 0},
		{"labelled to be waited for", pod("p", podLabel(clusterv1.PodDrainLabel, "wait-completed")), false, "WaitCompleted", 0},
		{"labelled otherwise written", pod("p", podLabel(clusterv1.PodDrainLabel, "WaitCompleted")), false, "WaitCompleted", 0},
		{"labelled with nonsense", pod("p", podLabel(clusterv1.PodDrainLabel, "perhaps")), false, "Drain", 0},
		{"the label outranks the rule", pod("p", func(p *DrainPodFacts) { p.Labels = map[string]string{clusterv1.PodDrainLabel: "skip", "app": "a"} }), false, "Skip", 0},
		{"by rule, early", pod("p", podLabel("app", "a")), false, "Drain", -5},
		{"by rule, both selectors", pod("p", podLabel("app", "c"), func(p *DrainPodFacts) { p.NamespaceLabels = map[string]string{"team": "x"} }), false, "WaitCompleted", 0},
		{"one selector is not enough", pod("p", podLabel("app", "c")), false, "Drain", 0},
		{"by the Cluster's label", pod("p", podLabel("app", "d")), false, "Skip", 0},
		{"going on a Node that is gone", pod("p", goingSince(10)), true, "Skip", 0},
		{"only just going on a Node that is gone", pod("p", goingSince(0)), true, "Drain", 0},
		{"going on a Node that answers", pod("p", goingSince(1000)), false, "Drain", 0},
	}
	for _, tt := range tests {
		f := DrainFacts{Rules: rules, NodeUnreachable: tt.unreachable, Pods: []DrainPodFacts{tt.pod},
			MachineLabels: map[string]string{"pool": "mine"}, ClusterLabels: map[string]string{"env": "prod"}}
		d := DrainNode(f, epoch).Decisions[0]
		if d.Behavior != tt.want || d.Order != tt.order || d.Behavior != "Drain" && d.Reason == "" {
			t.Errorf("%s: %+v; want %s at %d", tt.name, d, tt.want, tt.order)
		}
	}
}

func TestDrainNode_LowestOrderFirst(t *testing.T) {
	t.Parallel()
	order := func(app string, n int32) DrainRule {
		return DrainRule{Name: app, Behavior: "Drain", Order: n, Pods: []DrainPodSelector{{Pod: selector(t, "app="+app)}}}
	}
	f := DrainFacts{Rules: []DrainRule{order("early", -10), order("late", 10)}, Pods: []DrainPodFacts{
		pod("late", podLabel("app", "late")), pod("plain"), pod("done", podLabel(clusterv1.PodDrainLabel, "wait-completed")),
		pod("early-2", podLabel("app", "early"), goingSince(5)), pod("early-1", podLabel("app", "early")),
		pod("stays", podLabel(clusterv1.PodDrainLabel, "skip"), func(p *DrainPodFacts) { p.Claims = []string{"data"} }),
	}}
	p := DrainNode(f, epoch)
	if listed(p.Evict) != "early-1" || listed(p.Terminating) != "early-2" || listed(p.Later) != "done late plain" || p.Done {
		t.Errorf("evict %q, terminating %q, later %q", listed(p.Evict), listed(p.Terminating), listed(p.Later))
	}
	if !slices.Equal(p.SkippedClaims, []string{"ns/data"}) {
		t.Errorf("skipped claims %v", p.SkippedClaims)
	}
	f.Pods = f.Pods[:3]
	if p = DrainNode(f, epoch); listed(p.Evict) != "plain" || listed(p.Completing) != "done" || listed(p.Later) != "late" {
		t.Errorf("second turn: evict %q, completing %q, later %q", listed(p.Evict), listed(p.Completing), listed(p.Later))
	}
	f.Pods = []DrainPodFacts{pod("stays", podLabel(clusterv1.PodDrainLabel, "skip"))}
	if p = DrainNode(f, epoch); !p.Done || p.Message(nil) != "" {
		t.Errorf("only a Pod that stays is left: done %v, message %q", p.Done, p.Message(nil))
	}
}

func TestDrainNode_WaitsForNoPodThatHasCompleted(t *testing.T) {
	t.Parallel()
	waitFor, finished := podLabel(clusterv1.PodDrainLabel, "wait-completed"), func(p *DrainPodFacts) { p.Finished = true }
	claim := func(p *DrainPodFacts) { p.Claims = []string{"data"} }
	late := DrainRule{Name: "late", Behavior: "Drain", Order: 10, Pods: []DrainPodSelector{{Pod: selector(t, "app=late")}}}
	f := DrainFacts{Rules: []DrainRule{late}, Pods: []DrainPodFacts{pod("job", waitFor, finished, claim)}}
	if p := DrainNode(f, epoch); !p.Done || p.Message(nil) != "" || len(p.SkippedClaims) > 0 {
		t.Errorf("one that has completed: done %v, message %q, claims not waited for %v", p.Done, p.Message(nil), p.SkippedClaims)
	}
	f.Pods = append(f.Pods, pod("late", podLabel("app", "late")))
	if p := DrainNode(f, epoch); listed(p.Evict) != "late" || len(p.Completing) > 0 {
		t.Errorf("a later one beside it: evict %q, completing %q", listed(p.Evict), listed(p.Completing))
	}
	f.Pods = append(f.Pods, pod("runs", waitFor))
	if p := DrainNode(f, epoch); listed(p.Evict) != "" || listed(p.Completing) != "runs" || listed(p.Later) != "late" || p.Done {
		t.Errorf("one that runs: evict %q, completing %q, later %q", listed(p.Evict), listed(p.Completing), listed(p.Later))
	}
}

func TestDrainNode_FollowsLabelAndRulesForPodsThatTheirDaemonSetLeft(t *testing.T) {
	t.Parallel()
	orphaned := func(p *DrainPodFacts) { p.DaemonSet, p.DaemonSetExists = true, False }
	finished := func(p *DrainPodFacts) { p.DaemonSet, p.DaemonSetExists, p.Finished = true, True, true }
	for _, left := range []func(*DrainPodFacts){orphaned, finished} {
		f := DrainFacts{Pods: []DrainPodFacts{pod("p", podLabel(clusterv1.PodDrainLabel, "skip"), left)}}
		if d := DrainNode(f, epoch).Decisions[0]; d.Behavior != "Skip" {
			t.Errorf("%+v: %s", d.Pod, d.Behavior)
		}
	}
}

func TestDrainMessage_NamesWhatHolds(t *testing.T) {
	t.Parallel()
	p := DrainNode(DrainFacts{Pods: []DrainPodFacts{pod("a"), pod("b"), pod("c"), pod("d", goingSince(5)), pod("e", podLabel(clusterv1.PodDrainLabel, "wait-completed"))}}, epoch)
	budget := "cannot evict pod as it would violate the pod's disruption budget. The disruption budget db needs 2 healthy pods"
	got := p.Message([]EvictionFailure{{"ns/b", budget}, {"ns/a", budget}})
	want := `Drain not completed yet:
* Pods ns/a, ns/b: ` + budget + `
* Pods ns/c, ns/d: waiting for termination
* Pod ns/e: waiting for completion`
	if got != want {
		t.Errorf("message:\n%s\nwant:\n%s", got, want)
	}
}

func TestVolumesDetached_WaitsForWhatLeaves(t *testing.T) {
	t.Parallel()
	volume := AttachedVolume{PersistentVolume: "pv-1", Claim: "ns/data"}
	for _, tt := range []struct {
		name string
		f    VolumeFacts
		want Tri
		says string
	}{
		{"none", VolumeFacts{AttachedRead: True}, True, ""},
		{"unread", VolumeFacts{}, Unknown, "could not be read"},
		{"one, named by its claim", VolumeFacts{AttachedRead: True, Attached: []AttachedVolume{volume, volume}}, False, "PersistentVolumeClaims ns/data"},
		{"unbound", VolumeFacts{AttachedRead: True, Attached: []AttachedVolume{{PersistentVolume: "pv-2"}}}, False, "PersistentVolumes pv-2"},
		{"of a Pod that stays", VolumeFacts{AttachedRead: True, Attached: []AttachedVolume{volume}, SkippedClaims: []string{"ns/data"}}, True, ""},
		{"without a PersistentVolume", VolumeFacts{AttachedRead: True, Attached: []AttachedVolume{{}}}, True, ""},
		{"on a Node that is gone", VolumeFacts{NodeUnreachable: true, AttachedRead: True, Attached: []AttachedVolume{volume}}, True, "unreachable"},
	} {
		if got, message := VolumesDetached(tt.f); got != tt.want || !strings.Contains(message, tt.says) {
			t.Errorf("%s: %s %q; want %s %q", tt.name, got, message, tt.want, tt.says)
		}
	}
	if unreachableGrace > time.Minute {
		t.Error("a Pod on a dead Node is waited for too long")
	}
}
