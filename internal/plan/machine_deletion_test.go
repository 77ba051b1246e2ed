package plan

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
)

func object(kind string) External {
	return External{Referenced: true, Kind: kind, Name: "m1", Exists: True}
}

// dying returns a worker Machine in a living cluster, just deleted.
func dying() MachineDeletionFacts {
	return MachineDeletionFacts{DeletedAt: epoch, ControlPlaneLeft: True, Node: "node-1", NodeExists: True, NodeTimeout: 10 * time.Second,
		Infrastructure: object("SimMachine"), Bootstrap: object("KubeadmConfig")}
}

// silentSince has the cluster answer nothing since then.
func silentSince(second int) func(*MachineDeletionFacts) {
	return func(f *MachineDeletionFacts) { f.NodeExists, f.SilentSince = Unknown, at(second) }
}

func TestMachineDeletion_NextStep(t *testing.T) {
	t.Parallel()
	finishedNode := func(f *MachineDeletionFacts) { f.Drained, f.VolumesDetached = True, True }
	gone := func(f *MachineDeletionFacts) { f.Infrastructure.Exists, f.Bootstrap.Exists = False, False }
	tests := []struct {
		name    string
		changes []func(*MachineDeletionFacts)
		now     int
		want    MachineDeletionStep
		left    string // why the Node is left alone
	}{
		{"drain", nil, 0, Drain, ""},
		{"pre-drain hook first", []func(*MachineDeletionFacts){func(f *MachineDeletionFacts) { f.PreDrainHooks = []string{"h"} }}, 0, WaitPreDrainHook, ""},
		{"volumes after the drain", []func(*MachineDeletionFacts){func(f *MachineDeletionFacts) { f.Drained = True }}, 0, WaitVolumes, ""},
		{"pre-terminate hook", []func(*MachineDeletionFacts){finishedNode, func(f *MachineDeletionFacts) { f.PreTerminateHooks = []string{"h"} }}, 0, WaitPreTerminateHook, ""},
		{"infrastructure", []func(*MachineDeletionFacts){finishedNode}, 0, DeleteInfrastructure, ""},
		{"bootstrap", []func(*MachineDeletionFacts){finishedNode, func(f *MachineDeletionFacts) { f.Infrastructure.Exists = False }}, 0, DeleteBootstrap, ""},
		{"Node", []func(*MachineDeletionFacts){finishedNode, gone}, 0, DeleteNode, ""},
		{"done", []func(*MachineDeletionFacts){finishedNode, gone, func(f *MachineDeletionFacts) { f.NodeExists = False }}, 0, FinishMachine, ""},
		{"excluded from drain", []func(*MachineDeletionFacts){func(f *MachineDeletionFacts) { f.ExcludeDrain = true }}, 0, WaitVolumes, ""},
		{"excluded from both", []func(*MachineDeletionFacts){func(f *MachineDeletionFacts) { f.ExcludeDrain, f.ExcludeVolumeDetach = true, true }}, 0, DeleteInfrastructure, ""},
		{"the drain is given up", []func(*MachineDeletionFacts){func(f *MachineDeletionFacts) { f.DrainTimeout, f.DrainStarted = time.Minute, epoch }}, 60, WaitVolumes, ""},
		{"not a moment earlier", []func(*MachineDeletionFacts){func(f *MachineDeletionFacts) { f.DrainTimeout, f.DrainStarted = time.Minute, epoch }}, 59, Drain, ""},
		{"without timeout never", []func(*MachineDeletionFacts){func(f *MachineDeletionFacts) { f.DrainStarted = epoch }}, 1e8, Drain, ""},
		{"volumes are given up, also while the cluster answers with errors", []func(*MachineDeletionFacts){func(f *MachineDeletionFacts) {
			f.Drained, f.VolumesDetached, f.VolumeTimeout, f.VolumeWaitStarted = True, Unknown, time.Minute, epoch
		}}, 60, DeleteInfrastructure, ""},
		{"behind a begun pre-terminate hook nothing is taken up again", []func(*MachineDeletionFacts){func(f *MachineDeletionFacts) {
			f.PreTerminateStarted, f.PreTerminateHooks = epoch, []string{"h"}
		}}, 0, WaitPreTerminateHook, ""},
		{"nor once that hook is gone", []func(*MachineDeletionFacts){func(f *MachineDeletionFacts) { f.PreTerminateStarted = epoch }}, 0, DeleteInfrastructure, ""},
		{"infrastructure that goes already cannot be drained", []func(*MachineDeletionFacts){func(f *MachineDeletionFacts) { f.Infrastructure.Deleting = true }}, 0, DeleteInfrastructure, ""},
		{"the Cluster goes", []func(*MachineDeletionFacts){func(f *MachineDeletionFacts) { f.ClusterDeleting = true }}, 0, DeleteInfrastructure, "Cluster"},
		{"the Cluster goes, a hook still holds", []func(*MachineDeletionFacts){func(f *MachineDeletionFacts) { f.ClusterDeleting, f.PreTerminateHooks = true, []string{"h"} }}, 0, WaitPreTerminateHook, "Cluster"},
		{"the control plane goes", []func(*MachineDeletionFacts){func(f *MachineDeletionFacts) { f.ControlPlaneDeleting = true }}, 0, DeleteInfrastructure, "control plane"},
		{"no control plane is left", []func(*MachineDeletionFacts){func(f *MachineDeletionFacts) { f.ControlPlaneLeft = False }}, 0, DeleteInfrastructure, "control plane"},
		{"nobody knows whether one is left", []func(*MachineDeletionFacts){func(f *MachineDeletionFacts) { f.ControlPlaneLeft = Unknown }}, 0, Drain, ""},
		{"it never ran on Machines", []func(*MachineDeletionFacts){func(f *MachineDeletionFacts) { f.ControlPlaneLeft, f.ExternalControlPlane = False, true }}, 0, Drain, ""},
		{"no kubeconfig", []func(*MachineDeletionFacts){func(f *MachineDeletionFacts) { f.KubeconfigGone = true }}, 0, DeleteInfrastructure, "kubeconfig"},
		{"no Node", []func(*MachineDeletionFacts){func(f *MachineDeletionFacts) { f.Node, f.NodeExists = "", False }}, 0, DeleteInfrastructure, "no Node"},
		{"nobody knows of a Node: look", []func(*MachineDeletionFacts){func(f *MachineDeletionFacts) { f.Node, f.NodeExists = "", Unknown }}, 0, FindNode, ""},
		{"a dead cluster does not hold for ever", []func(*MachineDeletionFacts){silentSince(-60), func(f *MachineDeletionFacts) { f.Node = "" }}, 10, DeleteInfrastructure, ""},
		{"nor does one in which no Node was ever seen", []func(*MachineDeletionFacts){silentSince(-60), func(f *MachineDeletionFacts) {
			f.Node, f.NodeTimeout = "", 0
		}}, 10, DeleteInfrastructure, ""},
		{"nor one that cannot tell which Node is meant", []func(*MachineDeletionFacts){func(f *MachineDeletionFacts) {
			f.Node, f.NodeExists, f.NodeFailed = "", Unknown, true
		}}, 10, DeleteInfrastructure, ""},
		{"a cluster that has been silent for a moment is waited for, however late it is", []func(*MachineDeletionFacts){silentSince(95), func(f *MachineDeletionFacts) {
			f.Node = ""
		}}, 100, FindNode, ""},
		{"without bound only a Node that was seen is waited for", []func(*MachineDeletionFacts){finishedNode, gone, func(f *MachineDeletionFacts) {
			f.NodeExists, f.NodeTimeout, f.SilentSince = Unknown, 0, epoch
		}}, 1e6, DeleteNode, ""},
		{"a Node that registered late is deleted", []func(*MachineDeletionFacts){gone, func(f *MachineDeletionFacts) { f.Infrastructure.Exists = False }}, 5, DeleteNode, ""},
		{"the Node is given up with its cluster", []func(*MachineDeletionFacts){finishedNode, gone, silentSince(0)}, 10, FinishMachine, "Seconds"},
		{"not while the cluster was silent for less than the time", []func(*MachineDeletionFacts){finishedNode, gone, silentSince(95)}, 104, DeleteNode, ""},
		{"not before it was asked", []func(*MachineDeletionFacts){finishedNode, gone, func(f *MachineDeletionFacts) { f.NodeExists = Unknown }}, 1e6, DeleteNode, ""},
		{"a Node is tried to be deleted, however late it is", []func(*MachineDeletionFacts){finishedNode, gone}, 1e6, DeleteNode, ""},
		{"tried in vain, in time", []func(*MachineDeletionFacts){finishedNode, gone, func(f *MachineDeletionFacts) { f.NodeFailed = true }}, 9, DeleteNode, ""},
		{"tried in vain, and late", []func(*MachineDeletionFacts){finishedNode, gone, func(f *MachineDeletionFacts) { f.NodeFailed = true }}, 10, FinishMachine, "Seconds"},
		{"tried in vain without bound", []func(*MachineDeletionFacts){finishedNode, gone, func(f *MachineDeletionFacts) {
			f.NodeFailed, f.NodeTimeout = true, 0
		}}, 1e6, DeleteNode, ""},
		{"no references", []func(*MachineDeletionFacts){finishedNode, func(f *MachineDeletionFacts) {
			f.Infrastructure, f.Bootstrap, f.NodeExists = External{}, External{}, False
		}}, 0, FinishMachine, ""},
		{"unread infrastructure is not gone", []func(*MachineDeletionFacts){finishedNode, func(f *MachineDeletionFacts) { f.Infrastructure.Exists = Unknown }}, 0, DeleteInfrastructure, ""},
	}
	for _, tt := range tests {
		f := dying()
		for _, change := range tt.changes {
			change(&f)
		}
		p := MachineDeletion(f, at(tt.now))
		if p.Step != tt.want || !strings.Contains(p.NodeLeft, tt.left) || tt.left == "" && p.NodeLeft != "" || p.NodeGivenUp != (tt.left == "Seconds") || p.Reason == "" || p.Message == "" {
			t.Errorf("%s: %s %+v; want %s, Node left because of %q", tt.name, p.Step, p, tt.want, tt.left)
		}
	}
}

func TestMachineDeletion_DeletesEachObjectOnce(t *testing.T) {
	t.Parallel()
	f := dying()
	f.ClusterDeleting = true
	if p := MachineDeletion(f, epoch); !p.DeleteObject {
		t.Errorf("%+v: want the infrastructure deleted", p)
	}
	f.Infrastructure.Deleting = true
	if p := MachineDeletion(f, epoch); p.DeleteObject {
		t.Errorf("%+v: want it waited for", p)
	}
	f.Infrastructure.Deleting, f.Infrastructure.Exists = false, Unknown
	if p := MachineDeletion(f, epoch); p.DeleteObject || !strings.Contains(p.Message, "could not be read") {
		t.Errorf("%+v: want it read first", p)
	}
}

func TestMachineDeletion_RecordsWhenAStepBegan(t *testing.T) {
	t.Parallel()
	f := dying()
	f.DrainTimeout = time.Minute
	if p := MachineDeletion(f, epoch); !p.Start || !p.GiveUpAt.Equal(at(60)) {
		t.Errorf("%+v: want a start and an end", p)
	}
	f.DrainStarted = at(-30)
	if p := MachineDeletion(f, epoch); p.Start || !p.GiveUpAt.Equal(at(30)) {
		t.Errorf("%+v: want the end counted from the start", p)
	}
}

// Liveness: whatever is missing and whatever fails, with timeouts set a deletion ends once hooks are removed and providers
// have deleted what they were asked to. Safety: infrastructure goes only when no hook is left; steps never go back.
func TestMachineDeletion_AlwaysEnds(t *testing.T) {
	t.Parallel()
	tri := rapid.SampledFrom([]Tri{Unknown, True, False})
	rapid.Check(t, func(t *rapid.T) {
		f := dying()
		f.DrainTimeout, f.VolumeTimeout = time.Minute, time.Minute
		f.ClusterDeleting = rapid.IntRange(0, 3).Draw(t, "cluster") == 0
		f.KubeconfigGone = rapid.IntRange(0, 3).Draw(t, "kubeconfig") == 0
		f.ControlPlaneLeft, f.NodeExists = tri.Draw(t, "control plane"), tri.Draw(t, "node")
		if rapid.Bool().Draw(t, "nodeless") {
			f.Node = ""
		}
		f.PreDrainHooks = rapid.SampledFrom([][]string{nil, {"a"}}).Draw(t, "pre-drain")
		f.PreTerminateHooks = rapid.SampledFrom([][]string{nil, {"a"}}).Draw(t, "pre-terminate")
		f.Infrastructure.Exists, f.Bootstrap.Exists = tri.Draw(t, "infrastructure"), tri.Draw(t, "bootstrap")
		answers := rapid.Bool().Draw(t, "answers")
		if !answers {
			f.SilentSince = epoch
		}
		now, last := epoch, MachineDeletionStep(0)
		for range 100 {
			p := MachineDeletion(f, now)
			if p.Step < last {
				t.Fatalf("goes back from %s to %s", last, p.Step)
			}
			last = p.Step
			if p.Step == FinishMachine {
				return
			}
			if p.Step >= DeleteInfrastructure && len(f.PreTerminateHooks) > 0 {
				t.Fatalf("%s while a hook holds", p.Step)
			}
			f = answer(f, p, now, answers)
			now = now.Add(20 * time.Second)
		}
		t.Fatalf("never ends: at %s with %+v", last, f)
	})
}

// answer is the world's reaction to a step: hooks are removed, providers delete, and the cluster does what it is asked if
// it answers at all.
func answer(f MachineDeletionFacts, p MachineDeletionPlan, now time.Time, clusterAnswers bool) MachineDeletionFacts {
	switch p.Step {
	case FindNode:
		if clusterAnswers {
			f.NodeExists = False
		}
	case WaitPreDrainHook:
		f.PreDrainHooks = nil
	case Drain:
		if p.Start {
			f.DrainStarted = now
		}
		f.Drained = TriOf(clusterAnswers)
	case WaitVolumes:
		if p.Start {
			f.VolumeWaitStarted = now
		}
		if clusterAnswers {
			f.VolumesDetached = True
		}
	case WaitPreTerminateHook:
		f.PreTerminateStarted, f.PreTerminateHooks = now, nil
	case DeleteInfrastructure:
		f.Infrastructure = answerObject(f.Infrastructure, p)
	case DeleteBootstrap:
		f.Bootstrap = answerObject(f.Bootstrap, p)
	case DeleteNode:
		if clusterAnswers {
			f.NodeExists = False
		}
		f.NodeFailed = !clusterAnswers
	case FinishMachine:
	}
	return f
}

func answerObject(e External, p MachineDeletionPlan) External {
	switch {
	case e.Exists == Unknown:
		e.Exists = True
	case p.DeleteObject:
		e.Deleting = true
	case e.Deleting:
		e.Exists = False
	}
	return e
}

func TestMachineDeletion_UsesTheReasonsOfTheAPI(t *testing.T) {
	t.Parallel()
	if p := MachineDeletion(dying(), epoch); p.Reason != clusterv1.MachineDeletingDrainingNodeReason {
		t.Errorf("reason %q", p.Reason)
	}
}
