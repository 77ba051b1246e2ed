package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
)

// worker returns a healthy, available Machine of that age in seconds.
func worker(name string, age int, changes ...func(*ScaleMachine)) ScaleMachine {
	m := ScaleMachine{Name: name, Created: at(-age), HasNode: true, NodeHealthy: True, Available: true}
	for _, change := range changes {
		change(&m)
	}
	return m
}

func deletingMachine(m *ScaleMachine) { m.Deleting = true }
func noNode(m *ScaleMachine)          { m.HasNode, m.Available, m.NodeHealthy = false, false, Unknown }
func sick(m *ScaleMachine)            { m.NodeHealthy = False }
func failedCheck(m *ScaleMachine)     { m.HealthCheckSucceeded = False }
func marked(m *ScaleMachine)          { m.DeleteAnnotated = true }
func updating(m *ScaleMachine)        { m.Updating = true }
func unavailable(m *ScaleMachine)     { m.Available = false }

func victims(p SetScalePlan) []string {
	var list []string
	for _, v := range p.Delete {
		list = append(list, v.Name)
	}
	return list
}

func TestScaleSet_WhoGoes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		replicas int32
		order    clusterv1.MachineSetDeletionOrder
		machines []ScaleMachine
		want     []string
	}{
		{"one already going is the one that goes", 2, "Oldest", []ScaleMachine{worker("a", 10), worker("b", 20, noNode), worker("c", 30, deletingMachine)}, nil},
		{"one more than is going", 1, "Oldest", []ScaleMachine{worker("a", 10), worker("b", 20, noNode), worker("c", 30, deletingMachine)}, []string{"b"}},
		{"the oldest", 2, "Oldest", []ScaleMachine{worker("a", 10), worker("b", 20), worker("c", 30)}, []string{"c"}},
		{"the newest", 2, "Newest", []ScaleMachine{worker("a", 10), worker("b", 20), worker("c", 30)}, []string{"a"}},
		{"any, by name", 2, "Random", []ScaleMachine{worker("b", 10), worker("a", 20), worker("c", 30)}, []string{"a"}},
		{"an unknown order is Random", 2, "", []ScaleMachine{worker("b", 10), worker("a", 20), worker("c", 30)}, []string{"a"}},
		{"marked before broken", 2, "Newest", []ScaleMachine{worker("a", 10, noNode), worker("b", 20, marked), worker("c", 30)}, []string{"b"}},
		{"updating before broken", 2, "Random", []ScaleMachine{worker("a", 10, noNode), worker("b", 20, updating), worker("c", 30)}, []string{"b"}},
		{"broken before healthy, however old", 2, "Oldest", []ScaleMachine{worker("a", 10, sick), worker("b", 1e9), worker("c", 30)}, []string{"a"}},
		{"a failed health check is broken", 2, "Newest", []ScaleMachine{worker("a", 10), worker("b", 20, failedCheck), worker("c", 30)}, []string{"b"}},
		{"not available before available", 2, "Oldest", []ScaleMachine{worker("a", 10, unavailable), worker("b", 20), worker("c", 30)}, []string{"a"}},
		{"all of them", 0, "Oldest", []ScaleMachine{worker("a", 10), worker("b", 20)}, []string{"b", "a"}},
		{"as many as asked for", 2, "Oldest", []ScaleMachine{worker("a", 10), worker("b", 20)}, nil},
	}
	for _, tt := range tests {
		p := ScaleSet(SetScaleFacts{Replicas: tt.replicas, Order: tt.order, Machines: tt.machines}, epoch)
		if diff := cmp.Diff(tt.want, victims(p)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		for _, v := range p.Delete {
			if v.Reason == "" {
				t.Errorf("%s: %s goes without a reason", tt.name, v.Name)
			}
		}
	}
}

func TestScaleSet_WhatIsCreated(t *testing.T) {
	t.Parallel()
	f := SetScaleFacts{Replicas: 3, Machines: []ScaleMachine{worker("a", 1, deletingMachine)}}
	if p := ScaleSet(f, epoch); p.Create != 2 || p.Reason == "" {
		t.Errorf("plan %+v: want 2 created; one being deleted still counts", p)
	}
	held := f
	held.Held = []string{"Control plane cp is upgrading"}
	if p := ScaleSet(held, epoch); p.Create != 0 || !strings.Contains(p.Reason, "upgrading") {
		t.Errorf("held plan %+v: want none created, and why", p)
	}
	f.CreateDisabled = true
	if p := ScaleSet(f, epoch); p.Create != 0 || p.Reason == "" {
		t.Errorf("disabled plan %+v: want none created, and why", p)
	}
	f.Replicas = 0
	if p := ScaleSet(f, epoch); p.Create != 0 || len(p.Delete) != 0 {
		t.Errorf("plan %+v: want nothing, the only Machine goes already", p)
	}
}

// Safety: a set never ends with fewer Machines than it was asked for, however often it is asked before any is gone; and no
// Machine goes while one that should go before it stays.
func TestScaleSet_NeverTakesMoreThanAsked(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := SetScaleFacts{
			Replicas: rapid.Int32Range(0, 8).Draw(t, "replicas"),
			Order:    rapid.SampledFrom([]clusterv1.MachineSetDeletionOrder{"Random", "Newest", "Oldest"}).Draw(t, "order"),
		}
		for i := range rapid.IntRange(0, 8).Draw(t, "machines") {
			m := worker(fmt.Sprintf("m%d", i), rapid.IntRange(0, 1e8).Draw(t, "age"))
			for _, change := range []func(*ScaleMachine){deletingMachine, noNode, sick, failedCheck, marked, updating, unavailable} {
				if rapid.IntRange(0, 3).Draw(t, "change") == 0 {
					change(&m)
				}
			}
			f.Machines = append(f.Machines, m)
		}
		for round := range 3 {
			p := ScaleSet(f, at(round))
			for _, name := range victims(p) {
				f.Machines[slices.IndexFunc(f.Machines, func(m ScaleMachine) bool { return m.Name == name })].Deleting = true
			}
			if round > 0 && len(p.Delete) > 0 {
				t.Fatalf("asked again it takes %v more", victims(p))
			}
		}
		staying := slices.DeleteFunc(slices.Clone(f.Machines), func(m ScaleMachine) bool { return m.Deleting })
		if len(f.Machines) >= int(f.Replicas) && len(staying) > int(f.Replicas) {
			t.Fatalf("%d stay of %d asked for", len(staying), f.Replicas)
		}
	})
}

func TestUnavailableFirst_CountsWhatCostsNothing(t *testing.T) {
	t.Parallel()
	list := []ScaleMachine{worker("a", 10, noNode), worker("b", 20), worker("c", 30, unavailable), worker("d", 5, deletingMachine)}
	if n := UnavailableFirst(list, "Oldest", epoch); n != 2 {
		t.Errorf("UnavailableFirst is %d, want 2", n)
	}
	list = append(list, worker("e", 1, marked))
	if n := UnavailableFirst(list, "Oldest", epoch); n != 0 {
		t.Errorf("an available Machine marked by hand goes first: UnavailableFirst is %d, want 0", n)
	}
}

func TestPreflight_HoldsBack(t *testing.T) {
	t.Parallel()
	stable := PreflightFacts{ControlPlane: "KubeadmControlPlane cp", ControlPlaneRead: True, ControlPlaneVersion: "v1.37.2",
		ControlPlaneStatusVersion: "v1.37.2", Version: "v1.37.2", KubeadmBootstrap: true}
	const (
		stability = clusterv1.MachineSetPreflightCheckControlPlaneIsStable
		skew      = clusterv1.MachineSetPreflightCheckKubernetesVersionSkew
		kubeadm   = clusterv1.MachineSetPreflightCheckKubeadmVersionSkew
		topology  = clusterv1.MachineSetPreflightCheckControlPlaneVersionSkew
	)
	type checks = []clusterv1.MachineSetPreflightCheck
	tests := []struct {
		name   string
		change func(*PreflightFacts)
		want   checks
	}{
		{"all is well", func(*PreflightFacts) {}, nil},
		{"no control plane object", func(f *PreflightFacts) { f.ControlPlane = "" }, nil},
		{"a control plane without a version", func(f *PreflightFacts) { f.ControlPlaneVersion = "" }, nil},
		{"it could not be read", func(f *PreflightFacts) { f.ControlPlaneRead = Unknown }, checks{stability}},
		{"it does not exist", func(f *PreflightFacts) { f.ControlPlaneRead = False }, checks{stability}},
		{"it is provisioning", func(f *PreflightFacts) { f.ControlPlaneStatusVersion = "" }, checks{stability}},
		{"it is upgrading", func(f *PreflightFacts) { f.ControlPlaneStatusVersion = "v1.36.1" }, checks{stability}},
		{"workers newer", func(f *PreflightFacts) { f.Version = "v1.38.0" }, checks{skew, kubeadm}},
		{"workers one minor older", func(f *PreflightFacts) { f.Version = "v1.36.0" }, checks{kubeadm}},
		{"workers one minor older, not by kubeadm", func(f *PreflightFacts) { f.Version, f.KubeadmBootstrap = "v1.36.0", false }, nil},
		{"workers four minors older", func(f *PreflightFacts) { f.Version, f.KubeadmBootstrap = "v1.33.0", false }, checks{skew}},
		{"workers three minors older than an old control plane", func(f *PreflightFacts) {
			f.ControlPlaneVersion, f.ControlPlaneStatusVersion, f.Version, f.KubeadmBootstrap = "v1.27.0", "v1.27.0", "v1.24.0", false
		}, checks{skew}},
		{"another patch in a topology", func(f *PreflightFacts) { f.Version, f.TopologyManaged = "v1.37.1", true }, checks{topology}},
		{"a malformed version", func(f *PreflightFacts) { f.Version = "1.37" }, checks{skew}},
		{"all are skipped", func(f *PreflightFacts) { f.Skip, f.ControlPlaneRead = checks{"All"}, Unknown }, nil},
		{"one is skipped", func(f *PreflightFacts) { f.Skip, f.Version = checks{kubeadm}, "v1.38.0" }, checks{skew}},
	}
	for _, tt := range tests {
		f := stable
		tt.change(&f)
		var got checks
		failed := Preflight(f)
		for _, p := range failed {
			got = append(got, p.Check)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		for _, message := range PreflightMessages(failed) {
			if !strings.Contains(message, "preflight check failed") {
				t.Errorf("%s: message %q", tt.name, message)
			}
		}
	}
	skipped, unknown := SkippedChecks("KubeadmVersionSkew, ,Nonsense,All")
	if !cmp.Equal(skipped, checks{kubeadm, "All"}) || !cmp.Equal(unknown, []string{"Nonsense"}) {
		t.Errorf("SkippedChecks: %v, unknown %v", skipped, unknown)
	}
}
