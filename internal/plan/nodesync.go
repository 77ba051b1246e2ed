package plan

import (
	"maps"
	"slices"
	"strings"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
)

// NodeTaint is a taint of a Node.
type NodeTaint struct {
	Key, Value, Effect string
}

// NodeSyncFacts compare a Machine with its Node, as far as the Node follows the Machine.
type NodeSyncFacts struct {
	// MachineLabels, MachineAnnotations and MachineTaints are those of the Machine.
	MachineLabels, MachineAnnotations map[string]string
	MachineTaints                     []clusterv1.MachineTaint
	// Identity are the annotations that say whose Node it is. An empty value means that the annotation has no place there.
	Identity map[string]string
	// Interruptible says that the infrastructure may take the machine away at any time.
	Interruptible bool
	// Outdated says whether the Machine's MachineSet is older than the current one of its MachineDeployment.
	Outdated Tri
	// Labels, Annotations and Taints are those of the Node.
	Labels, Annotations map[string]string
	Taints              []NodeTaint
}

// NodeSyncPlan is what has to change on the Node; nothing when all is empty. A nil value removes the key.
type NodeSyncPlan struct {
	// Labels and Annotations to set and to remove.
	Labels, Annotations map[string]*string
	// AddTaints are put on the Node, in place of one with the same key and effect; RemoveTaints go.
	AddTaints, RemoveTaints []NodeTaint
}

// Empty reports whether the Node is as it should be.
func (p NodeSyncPlan) Empty() bool {
	return len(p.Labels) == 0 && len(p.Annotations) == 0 && len(p.AddTaints) == 0 && len(p.RemoveTaints) == 0
}

// NodeSync decides what changes on a Node so that it follows its Machine. What came from the Machine is tracked in
// annotations of the Node, so that only that is taken away again.
func NodeSync(f NodeSyncFacts) NodeSyncPlan {
	p := NodeSyncPlan{Labels: map[string]*string{}, Annotations: map[string]*string{}}
	syncKeys(p.Labels, p.Annotations, clusterv1.LabelsFromMachineAnnotation, f.Labels, f.Annotations, syncedLabels(f))
	syncKeys(p.Annotations, p.Annotations, clusterv1.AnnotationsFromMachineAnnotation, f.Annotations, f.Annotations, syncedAnnotations(f))
	for key, value := range f.Identity {
		change(p.Annotations, f.Annotations, key, value, value != "")
	}
	if f.Interruptible {
		change(p.Labels, f.Labels, clusterv1.InterruptibleLabel, "", true)
	}
	syncTaints(f, &p)
	return p
}

func syncedLabels(f NodeSyncFacts) map[string]string {
	synced := maps.Clone(f.MachineLabels)
	maps.DeleteFunc(synced, func(key, _ string) bool {
		prefix, _, _ := strings.Cut(key, "/")
		own := prefix == clusterv1.NodeRoleLabelPrefix || within(prefix, clusterv1.NodeRestrictionLabelDomain) || within(prefix, clusterv1.ManagedNodeLabelDomain)
		return !own
	})
	return synced
}

func syncedAnnotations(f NodeSyncFacts) map[string]string {
	synced := maps.Clone(f.MachineAnnotations)
	maps.DeleteFunc(synced, func(key, _ string) bool {
		prefix, _, _ := strings.Cut(key, "/")
		return !within(prefix, clusterv1.ManagedNodeAnnotationDomain)
	})
	return synced
}

// within reports whether a prefix is the domain or a subdomain of it.
func within(prefix, domain string) bool {
	return prefix == domain || strings.HasSuffix(prefix, "."+domain)
}

// syncKeys sets what is synced and removes what was synced before and is not any more, by the tracking annotation.
func syncKeys(out, annotations map[string]*string, tracking string, have, haveAnnotations, synced map[string]string) {
	for key, value := range synced {
		change(out, have, key, value, true)
	}
	for _, key := range splitList(haveAnnotations[tracking]) {
		if _, still := synced[key]; !still {
			change(out, have, key, "", false)
		}
	}
	change(annotations, haveAnnotations, tracking, strings.Join(slices.Sorted(maps.Keys(synced)), ","), true)
}

func change(out map[string]*string, have map[string]string, key, value string, want bool) {
	old, there := have[key]
	switch {
	case want && (!there || old != value):
		out[key] = &value
	case !want && there:
		out[key] = nil
	}
}

func splitList(list string) []string {
	return slices.DeleteFunc(strings.Split(list, ","), func(s string) bool { return s == "" })
}

// syncTaints takes off the taint that a Node joins with, since its labels are set in the same write; marks Nodes that a
// rollout will replace; and has the Node follow the Machine's own taints.
func syncTaints(f NodeSyncFacts, p *NodeSyncPlan) {
	joined, outdated := clusterv1.NodeUninitializedTaint(), clusterv1.NodeOutdatedRevisionTaint()
	remove := func(t NodeTaint) {
		if i := indexTaint(f.Taints, t); i >= 0 {
			p.RemoveTaints = append(p.RemoveTaints, f.Taints[i])
		}
	}
	add := func(t NodeTaint) {
		if i := indexTaint(f.Taints, t); i < 0 || f.Taints[i].Value != t.Value {
			p.AddTaints = append(p.AddTaints, t)
		}
	}
	remove(NodeTaint{Key: joined.Key, Effect: string(joined.Effect)})
	switch f.Outdated {
	case True:
		add(NodeTaint{Key: outdated.Key, Effect: string(outdated.Effect)})
	case False:
		remove(NodeTaint{Key: outdated.Key, Effect: string(outdated.Effect)})
	case Unknown:
	}
	tracked, initialized := f.Annotations[clusterv1.TaintsFromMachineAnnotation]
	var always []string
	for _, t := range f.MachineTaints {
		taint := NodeTaint{Key: t.Key, Value: t.Value, Effect: string(t.Effect)}
		if t.Propagation == clusterv1.MachineTaintPropagationAlways {
			always = append(always, taint.Key+":"+taint.Effect)
		} else if initialized {
			continue
		}
		add(taint)
	}
	for _, entry := range splitList(tracked) {
		key, effect, _ := strings.Cut(entry, ":")
		if !slices.Contains(always, entry) {
			remove(NodeTaint{Key: key, Effect: effect})
		}
	}
	slices.Sort(always)
	change(p.Annotations, f.Annotations, clusterv1.TaintsFromMachineAnnotation, strings.Join(always, ","), true)
}

func indexTaint(taints []NodeTaint, t NodeTaint) int {
	return slices.IndexFunc(taints, func(o NodeTaint) bool { return o.Key == t.Key && o.Effect == t.Effect })
}
