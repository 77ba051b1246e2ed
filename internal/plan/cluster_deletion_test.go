package plan

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestClusterDeletion_InOrder(t *testing.T) {
	t.Parallel()
	base := ClusterDeletionFacts{DescendantsRead: True,
		ControlPlane:   External{Referenced: true, Kind: "KubeadmControlPlane", Name: "cp", Exists: True},
		Infrastructure: External{Referenced: true, Kind: "SimCluster", Name: "c", Exists: True}}
	md := Descendant{Kind: MachineDeploymentKind, Name: "md"}
	set := Descendant{Kind: MachineSetKind, Name: "md-x", Managed: true}
	machine := Descendant{Kind: MachineKind, Name: "md-x-1", Managed: true}
	alone := Descendant{Kind: MachineKind, Name: "alone"}
	pool := Descendant{Kind: MachinePoolKind, Name: "pool"}
	cpMachine := Descendant{Kind: MachineKind, Name: "cp-1", ControlPlane: true, Managed: true}
	stray := Descendant{Kind: MachineKind, Name: "stray", ControlPlane: true}
	going := func(d Descendant) Descendant { d.Deleting = true; return d }
	tests := []struct {
		name   string
		change func(*ClusterDeletionFacts)
		step   ClusterDeletionStep
		del    []string
		object bool
		says   string
	}{
		{"workers, owners first", func(f *ClusterDeletionFacts) { f.Descendants = []Descendant{alone, machine, set, md, pool, cpMachine} },
			DeleteWorkers, []string{"pool", "md", "alone"}, false, "MachinePool pool and MachineDeployment md and MachineSet md-x and Machines alone, md-x-1"},
		{"asked once, then waited for", func(f *ClusterDeletionFacts) { f.Descendants = []Descendant{going(md), going(set), machine} }, DeleteWorkers, nil, false, "MachineDeployment md"},
		{"unread workers are not gone", func(f *ClusterDeletionFacts) { f.DescendantsRead = Unknown }, DeleteWorkers, nil, false, "listed"},
		{"then the control plane", func(f *ClusterDeletionFacts) { f.Descendants = []Descendant{cpMachine} }, DeleteControlPlane, nil, true, "KubeadmControlPlane cp"},
		{"a stray control plane Machine goes with it", func(f *ClusterDeletionFacts) { f.Descendants = []Descendant{cpMachine, stray} }, DeleteControlPlane, []string{"stray"}, true, "stray"},
		{"and is waited for", func(f *ClusterDeletionFacts) {
			f.Descendants, f.ControlPlane.Exists = []Descendant{going(stray)}, False
		}, DeleteControlPlane, nil, false, "stray"},
		{"an unread control plane is not gone", func(f *ClusterDeletionFacts) { f.ControlPlane.Exists = Unknown }, DeleteControlPlane, nil, false, "could not be read"},
		{"without a control plane object its Machines are workers", func(f *ClusterDeletionFacts) { f.ControlPlane, f.Descendants = External{}, []Descendant{stray} }, DeleteWorkers, []string{"stray"}, false, "stray"},
		{"then the infrastructure", func(f *ClusterDeletionFacts) { f.ControlPlane.Exists = False }, DeleteClusterInfrastructure, nil, true, "SimCluster c"},
		{"waited for", func(f *ClusterDeletionFacts) { f.ControlPlane.Exists, f.Infrastructure.Deleting = False, true }, DeleteClusterInfrastructure, nil, false, "SimCluster c"},
		{"then nothing", func(f *ClusterDeletionFacts) { f.ControlPlane.Exists, f.Infrastructure.Exists = False, False }, FinishCluster, nil, false, "completed"},
		{"there never was anything", func(f *ClusterDeletionFacts) { f.ControlPlane, f.Infrastructure = External{}, External{} }, FinishCluster, nil, false, ""},
	}
	for _, tt := range tests {
		f := base
		tt.change(&f)
		p := ClusterDeletion(f)
		var del []string
		for _, d := range p.Delete {
			del = append(del, d.Name)
		}
		if p.Step != tt.step || !slices.Equal(del, tt.del) || p.DeleteObject != tt.object || !strings.Contains(p.Message, tt.says) || p.Reason == "" {
			t.Errorf("%s: %+v; want step %d, delete %v, object %v, saying %q", tt.name, p, tt.step, tt.del, tt.object, tt.says)
		}
	}
}

// Liveness and safety: whatever is there, in whatever state, a Cluster's deletion ends, and its infrastructure goes last.
func TestClusterDeletion_AlwaysEnds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		tri := rapid.SampledFrom([]Tri{Unknown, True, False})
		external := func(name string) External {
			return External{Referenced: rapid.Bool().Draw(t, name), Name: name, Exists: tri.Draw(t, name), Deleting: rapid.Bool().Draw(t, name)}
		}
		f := ClusterDeletionFacts{DescendantsRead: tri.Draw(t, "read"), ControlPlane: external("cp"), Infrastructure: external("infra")}
		for i := range rapid.IntRange(0, 6).Draw(t, "descendants") {
			kind := rapid.SampledFrom([]DescendantKind{MachinePoolKind, MachineDeploymentKind, MachineSetKind, MachineKind}).Draw(t, "kind")
			f.Descendants = append(f.Descendants, Descendant{Name: string(rune('a' + i)), Kind: kind,
				ControlPlane: kind == MachineKind && rapid.Bool().Draw(t, "control plane"), Managed: rapid.Bool().Draw(t, "managed")})
		}
		for range 60 {
			p := ClusterDeletion(f)
			switch p.Step {
			case FinishCluster:
				if len(f.Descendants) > 0 {
					t.Fatalf("finished with %+v left", f.Descendants)
				}
				return
			case DeleteClusterInfrastructure:
				if len(f.Descendants) > 0 || !f.ControlPlane.gone() {
					t.Fatalf("the infrastructure goes before %+v", f)
				}
				f.Infrastructure = answerObject(f.Infrastructure, MachineDeletionPlan{DeleteObject: p.DeleteObject})
			case DeleteControlPlane:
				f.ControlPlane = answerObject(f.ControlPlane, MachineDeletionPlan{DeleteObject: p.DeleteObject})
			case DeleteWorkers:
				f.DescendantsRead = True
			}
			f.Descendants = answerDescendants(f, p)
		}
		t.Fatalf("never ends: %+v", f)
	})
}

// answerDescendants is the world: what was asked to go is gone the next time, and owners that are gone take what they
// manage with them, or leave it behind for the Cluster.
func answerDescendants(f ClusterDeletionFacts, p ClusterDeletionPlan) []Descendant {
	var left []Descendant
	direct := slices.ContainsFunc(f.Descendants, func(d Descendant) bool { return !d.Managed && d.Kind != MachineKind })
	for _, d := range f.Descendants {
		switch {
		case d.Deleting:
			continue
		case slices.Contains(p.Delete, d):
			d.Deleting = true
		case d.Managed && (d.ControlPlane && f.ControlPlane.gone() || !d.ControlPlane && !direct):
			d.Managed = false
		}
		left = append(left, d)
	}
	return left
}

func TestControlPlaneDeletion_WaitsForWorkers(t *testing.T) {
	t.Parallel()
	machines := []ControlPlaneMachine{master(2, "b"), master(1, "a"), master(3, "c", leaving)}
	worker := []Descendant{{Kind: MachineKind, Name: "w1"}}
	for _, tt := range []struct {
		name     string
		workers  []Descendant
		read     Tri
		machines []ControlPlaneMachine
		wait     bool
		del      []string
		finish   bool
		says     string
	}{
		{"unread", nil, Unknown, machines, true, nil, false, "listed"},
		{"workers left", worker, True, machines, true, nil, false, "Machine w1"},
		{"all at once", nil, True, machines, false, []string{"cp-1", "cp-2"}, false, "Machines cp-1, cp-2, cp-3"},
		{"waiting", nil, True, machines[2:], false, nil, false, "Machine cp-3"},
		{"none", nil, True, nil, false, nil, true, "completed"},
		{"none, workers left", worker, True, nil, false, nil, true, "completed"},
		{"none, unread", nil, Unknown, nil, false, nil, true, "completed"},
	} {
		p := ControlPlaneDeletion(tt.workers, tt.read, tt.machines)
		if p.Wait != tt.wait || !slices.Equal(p.Delete, tt.del) || p.Finish != tt.finish || !strings.Contains(p.Message, tt.says) || p.Reason == "" {
			t.Errorf("%s: %+v; want %v, %v, %v, saying %q", tt.name, p, tt.wait, tt.del, tt.finish, tt.says)
		}
	}
}
