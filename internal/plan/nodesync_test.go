package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
)

func TestNodeSync_FollowsTheMachine(t *testing.T) {
	t.Parallel()
	tracked := map[string]string{
		clusterv1.LabelsFromMachineAnnotation: "", clusterv1.AnnotationsFromMachineAnnotation: "", clusterv1.TaintsFromMachineAnnotation: "",
	}
	uninitialized := NodeTaint{Key: "node.cluster.x-k8s.io/uninitialized", Effect: "NoSchedule"}
	outdated := NodeTaint{Key: "node.cluster.x-k8s.io/outdated-revision", Effect: "PreferNoSchedule"}
	always := clusterv1.MachineTaint{Key: "a", Value: "v", Effect: "NoExecute", Propagation: clusterv1.MachineTaintPropagationAlways}
	once := clusterv1.MachineTaint{Key: "o", Effect: "NoSchedule", Propagation: clusterv1.MachineTaintPropagationOnInitialization}
	for _, tc := range []struct {
		name  string
		facts NodeSyncFacts
		want  NodeSyncPlan
	}{
		{"nothing to do", NodeSyncFacts{Annotations: tracked, MachineLabels: map[string]string{"mine": "x"}}, NodeSyncPlan{}},
		{"a Node that has just joined is marked and let loose",
			NodeSyncFacts{Taints: []NodeTaint{uninitialized}, Identity: map[string]string{"cluster.x-k8s.io/machine": "m"}},
			NodeSyncPlan{Annotations: map[string]*string{
				clusterv1.LabelsFromMachineAnnotation: new(""), clusterv1.AnnotationsFromMachineAnnotation: new(""), clusterv1.TaintsFromMachineAnnotation: new(""),
				"cluster.x-k8s.io/machine": new("m"),
			}, RemoveTaints: []NodeTaint{uninitialized}}},
		{"labels of the promised domains go over, others do not", NodeSyncFacts{Annotations: tracked, MachineLabels: map[string]string{
			"node-role.kubernetes.io/worker": "", "x.node-restriction.kubernetes.io/a": "1", "node.cluster.x-k8s.io/b": "2", "notnode.cluster.x-k8s.io.evil/c": "3",
			"anode.cluster.x-k8s.io/d": "4",
		}}, NodeSyncPlan{
			Labels: map[string]*string{"node-role.kubernetes.io/worker": new(""), "x.node-restriction.kubernetes.io/a": new("1"), "node.cluster.x-k8s.io/b": new("2")},
			Annotations: map[string]*string{
				clusterv1.LabelsFromMachineAnnotation: new("node-role.kubernetes.io/worker,node.cluster.x-k8s.io/b,x.node-restriction.kubernetes.io/a"),
			},
		}},
		{"what came from the Machine and left it is removed, what a user set is not", NodeSyncFacts{
			Labels: map[string]string{"node.cluster.x-k8s.io/old": "1", "node.cluster.x-k8s.io/users": "1"},
			Annotations: map[string]string{
				clusterv1.LabelsFromMachineAnnotation: "node.cluster.x-k8s.io/old", clusterv1.AnnotationsFromMachineAnnotation: "", clusterv1.TaintsFromMachineAnnotation: "",
			},
		}, NodeSyncPlan{
			Labels:      map[string]*string{"node.cluster.x-k8s.io/old": nil},
			Annotations: map[string]*string{clusterv1.LabelsFromMachineAnnotation: new("")},
		}},
		{"an owner that is gone leaves no trace", NodeSyncFacts{
			Identity:    map[string]string{clusterv1.OwnerNameAnnotation: ""},
			Annotations: withEntry(tracked, clusterv1.OwnerNameAnnotation, "set"),
		}, NodeSyncPlan{Annotations: map[string]*string{clusterv1.OwnerNameAnnotation: nil}}},
		{"a Node of an older revision is marked", NodeSyncFacts{Annotations: tracked, Outdated: True}, NodeSyncPlan{AddTaints: []NodeTaint{outdated}}},
		{"the mark goes when the revision is current", NodeSyncFacts{Annotations: tracked, Outdated: False, Taints: []NodeTaint{outdated}}, NodeSyncPlan{RemoveTaints: []NodeTaint{outdated}}},
		{"an unknown revision changes nothing", NodeSyncFacts{Annotations: tracked, Taints: []NodeTaint{outdated}}, NodeSyncPlan{}},
		{"taints are set, and tracked when they are kept", NodeSyncFacts{
			Annotations:   map[string]string{clusterv1.LabelsFromMachineAnnotation: "", clusterv1.AnnotationsFromMachineAnnotation: ""},
			MachineTaints: []clusterv1.MachineTaint{always, once},
		}, NodeSyncPlan{
			Annotations: map[string]*string{clusterv1.TaintsFromMachineAnnotation: new("a:NoExecute")},
			AddTaints:   []NodeTaint{{"a", "v", "NoExecute"}, {"o", "", "NoSchedule"}},
		}},
		{"a taint for the beginning is not set again", NodeSyncFacts{Annotations: tracked, MachineTaints: []clusterv1.MachineTaint{once}}, NodeSyncPlan{}},
		{"a kept taint with another value is put right", NodeSyncFacts{
			Annotations: withEntry(tracked, clusterv1.TaintsFromMachineAnnotation, "a:NoExecute"), MachineTaints: []clusterv1.MachineTaint{always},
			Taints: []NodeTaint{{"a", "other", "NoExecute"}},
		}, NodeSyncPlan{AddTaints: []NodeTaint{{"a", "v", "NoExecute"}}}},
		{"a kept taint that left the Machine goes", NodeSyncFacts{
			Annotations: withEntry(tracked, clusterv1.TaintsFromMachineAnnotation, "a:NoExecute"), Taints: []NodeTaint{{"a", "v", "NoExecute"}, {"b", "", "NoExecute"}},
		}, NodeSyncPlan{Annotations: map[string]*string{clusterv1.TaintsFromMachineAnnotation: new("")}, RemoveTaints: []NodeTaint{{"a", "v", "NoExecute"}}}},
		{"interruptible machines are marked", NodeSyncFacts{Annotations: tracked, Interruptible: true}, NodeSyncPlan{Labels: map[string]*string{clusterv1.InterruptibleLabel: new("")}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := NodeSync(tc.facts)
			if len(got.Labels) == 0 {
				got.Labels = nil
			}
			if len(got.Annotations) == 0 {
				got.Annotations = nil
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("plan differs (-want +got):\n%s", diff)
			}
		})
	}
}

func withEntry(m map[string]string, key, value string) map[string]string {
	out := map[string]string{key: value}
	for k, v := range m {
		if k != key {
			out[k] = v
		}
	}
	return out
}

// A Node that was changed as planned needs no further change, whatever it looked like.
func TestNodeSync_IsDoneAfterOneWrite(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SampledFrom([]string{"node.cluster.x-k8s.io/a", "node.cluster.x-k8s.io/b", "node-role.kubernetes.io/w", "other"})
		entries := rapid.MapOf(keys, rapid.SampledFrom([]string{"", "1", "2"}))
		f := NodeSyncFacts{
			MachineLabels: entries.Draw(t, "machine labels"), MachineAnnotations: entries.Draw(t, "machine annotations"),
			Labels: entries.Draw(t, "labels"), Annotations: entries.Draw(t, "annotations"),
			Interruptible: rapid.Bool().Draw(t, "interruptible"), Outdated: rapid.SampledFrom([]Tri{Unknown, True, False}).Draw(t, "outdated"),
		}
		f.Annotations[clusterv1.LabelsFromMachineAnnotation] = rapid.SampledFrom([]string{"", "node.cluster.x-k8s.io/a", "node.cluster.x-k8s.io/b,other"}).Draw(t, "tracked")
		for _, key := range rapid.SliceOfDistinct(keys, rapid.ID[string]).Draw(t, "machine taints") {
			f.MachineTaints = append(f.MachineTaints, clusterv1.MachineTaint{Key: key, Effect: "NoSchedule", Propagation: clusterv1.MachineTaintPropagationAlways})
		}
		for _, key := range rapid.SliceOfDistinct(keys, rapid.ID[string]).Draw(t, "taints") {
			f.Taints = append(f.Taints, NodeTaint{Key: key, Value: "v", Effect: "NoSchedule"})
		}
		p := NodeSync(f)
		applyEntries(f.Labels, p.Labels)
		applyEntries(f.Annotations, p.Annotations)
		for _, taint := range append(p.RemoveTaints, p.AddTaints...) {
			if i := indexTaint(f.Taints, taint); i >= 0 {
				f.Taints = append(f.Taints[:i:i], f.Taints[i+1:]...)
			}
		}
		f.Taints = append(f.Taints, p.AddTaints...)
		if again := NodeSync(f); !again.Empty() {
			t.Fatalf("a second write is needed: %+v", again)
		}
	})
}

func applyEntries(to map[string]string, change map[string]*string) {
	for k, v := range change {
		if v == nil {
			delete(to, k)
		} else {
			to[k] = *v
		}
	}
}
