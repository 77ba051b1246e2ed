package plan

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
)

// unreachableGrace is how long a Pod on an unreachable Node may have been terminating before it is given up: its kubelet
// will not confirm.
const unreachableGrace = time.Second

// DrainPodFacts is one Pod on the Node that is drained.
type DrainPodFacts struct {
	// Namespace and Name say which Pod it is.
	Namespace, Name string
	// Labels and NamespaceLabels are those of the Pod and of its namespace.
	Labels, NamespaceLabels map[string]string
	// DaemonSet says that its controller is a DaemonSet, DaemonSetExists whether that exists.
	DaemonSet       bool
	DaemonSetExists Tri
	// Mirror says that it mirrors a static Pod, which no API can evict.
	Mirror bool
	// Finished says that its phase is Succeeded or Failed: there is nothing to wait for any more.
	Finished bool
	// DeletedAt is its deletion timestamp; zero when it is not being deleted.
	DeletedAt time.Time
	// Uncontrolled says that nothing would create it again, EmptyDir that it loses local data.
	Uncontrolled, EmptyDir bool
	// Claims are the names of the PersistentVolumeClaims it mounts.
	Claims []string
}

// DrainRule is a MachineDrainRule of the Machine's namespace, selectors compiled. A nil list of selectors selects
// everything, and so does a nil selector.
type DrainRule struct {
	// Name orders the rules: of several that match, the first by name counts.
	Name string
	// Behavior is what to do about matching Pods, Order their turn.
	Behavior clusterv1.MachineDrainRuleDrainBehavior
	Order    int32
	// Machines and Pods select what the rule is for; an entry matches when both its selectors do.
	Machines []DrainMachineSelector
	Pods     []DrainPodSelector
}

// DrainMachineSelector selects Machines by their own and their Cluster's labels.
type DrainMachineSelector struct {
	Machine, Cluster labels.Selector
}

// DrainPodSelector selects Pods by their own and their namespace's labels.
type DrainPodSelector struct {
	Pod, Namespace labels.Selector
}

// DrainFacts is everything that decides how a Node is drained.
type DrainFacts struct {
	// MachineLabels and ClusterLabels are those of the Machine and of its Cluster.
	MachineLabels, ClusterLabels map[string]string
	// Rules are the MachineDrainRules of the Machine's namespace.
	Rules []DrainRule
	// NodeUnreachable says that the Node's kubelet no longer reports.
	NodeUnreachable bool
	// Pods are all Pods on the Node.
	Pods []DrainPodFacts
}

// PodDecision is what a drain does about one Pod.
type PodDecision struct {
	// Pod is the Pod.
	Pod DrainPodFacts
	// Behavior is what to do, Order the turn among those that are drained.
	Behavior clusterv1.MachineDrainRuleDrainBehavior
	Order    int32
	// Reason says why it is skipped or waited for; Warning what the eviction loses. Both may be empty.
	Reason, Warning string
}

// DrainPlan is the next step of a drain. What it names is sorted by namespace and name.
type DrainPlan struct {
	// Decisions holds every Pod.
	Decisions []PodDecision
	// Evict are the Pods to evict now: those of the lowest order that are not going yet.
	Evict []PodDecision
	// Terminating are the Pods of that order that are going already, Completing those that must end by themselves, Later
	// those of a higher order.
	Terminating, Completing, Later []PodDecision
	// Done says that nothing is left to evict or to wait for.
	Done bool
	// SkippedClaims are the "namespace/name" of claims mounted by Pods that stay; their volumes are not waited for.
	SkippedClaims []string
}

// DrainNode decides which Pods of a Node are evicted now, which are waited for and which stay.
func DrainNode(f DrainFacts, now time.Time) DrainPlan {
	var p DrainPlan
	rules := slices.SortedFunc(slices.Values(f.Rules), func(a, b DrainRule) int { return strings.Compare(a.Name, b.Name) })
	for _, pod := range f.Pods {
		p.Decisions = append(p.Decisions, DecidePod(pod, f, rules, now))
	}
	slices.SortFunc(p.Decisions, func(a, b PodDecision) int {
		return cmp.Or(strings.Compare(a.Pod.Namespace, b.Pod.Namespace), strings.Compare(a.Pod.Name, b.Pod.Name))
	})
	turn, left := lowestOrder(p.Decisions)
	for _, d := range p.Decisions {
		switch {
		case d.Behavior == clusterv1.MachineDrainRuleDrainBehaviorSkip:
			p.SkippedClaims = append(p.SkippedClaims, qualifiedClaims(d.Pod)...)
		case d.completed():
		case d.Order > turn:
			p.Later = append(p.Later, d)
		case d.Behavior == clusterv1.MachineDrainRuleDrainBehaviorWaitCompleted:
			p.Completing = append(p.Completing, d)
		case !d.Pod.DeletedAt.IsZero():
			p.Terminating = append(p.Terminating, d)
		default:
			p.Evict = append(p.Evict, d)
		}
	}
	slices.Sort(p.SkippedClaims)
	p.SkippedClaims = slices.Compact(p.SkippedClaims)
	p.Done = !left
	return p
}

// completed reports whether the Pod has done what is waited for. Such Pods stay as objects, those of Jobs for days.
func (d PodDecision) completed() bool {
	return d.Behavior == clusterv1.MachineDrainRuleDrainBehaviorWaitCompleted && d.Pod.Finished
}

// DecidePod decides about one Pod. The rules must be sorted by name. The checks stand in the order of their precedence:
// what cannot be evicted, then the Pod's own label, then the rules.
func DecidePod(pod DrainPodFacts, f DrainFacts, rules []DrainRule, now time.Time) PodDecision {
	checks := []func(PodDecision, DrainFacts, []DrainRule, time.Time) (PodDecision, bool){
		skipGivenUp, skipDaemonSet, skipMirror, byLabel, byRule,
	}
	d := PodDecision{Pod: pod, Behavior: clusterv1.MachineDrainRuleDrainBehaviorDrain, Warning: evictionWarning(pod)}
	for _, check := range checks {
		if decided, yes := check(d, f, rules, now); yes {
			return decided
		}
	}
	return d
}

// skipGivenUp passes over Pods that were asked to go on a Node that no longer answers: nobody will confirm their end.
func skipGivenUp(d PodDecision, f DrainFacts, _ []DrainRule, now time.Time) (PodDecision, bool) {
	d.Behavior, d.Reason = clusterv1.MachineDrainRuleDrainBehaviorSkip, "it is terminating on a Node that is unreachable"
	return d, f.NodeUnreachable && !d.Pod.DeletedAt.IsZero() && now.Sub(d.Pod.DeletedAt) > unreachableGrace
}

// skipDaemonSet leaves Pods of a DaemonSet alone, since it would create them again at once; finished ones and those whose
// DaemonSet is gone are treated like others.
func skipDaemonSet(d PodDecision, _ DrainFacts, _ []DrainRule, _ time.Time) (PodDecision, bool) {
	if !d.Pod.DaemonSet || d.Pod.Finished || d.Pod.DaemonSetExists == False {
		return d, false
	}
	d.Behavior, d.Reason, d.Warning = clusterv1.MachineDrainRuleDrainBehaviorSkip, "its DaemonSet would create it again", ""
	return d, true
}

func skipMirror(d PodDecision, _ DrainFacts, _ []DrainRule, _ time.Time) (PodDecision, bool) {
	d.Behavior, d.Reason, d.Warning = clusterv1.MachineDrainRuleDrainBehaviorSkip, "it mirrors a static Pod", ""
	return d, d.Pod.Mirror
}

// byLabel follows the Pod's drain label. Upper case does not matter, nor does the dash.
func byLabel(d PodDecision, _ DrainFacts, _ []DrainRule, _ time.Time) (PodDecision, bool) {
	switch strings.Replace(strings.ToLower(d.Pod.Labels[clusterv1.PodDrainLabel]), "-", "", 1) {
	case "skip":
		d.Behavior, d.Reason, d.Warning = clusterv1.MachineDrainRuleDrainBehaviorSkip, "its label "+clusterv1.PodDrainLabel+" says so", ""
		return d, true
	case "waitcompleted":
		d.Behavior, d.Reason, d.Warning = clusterv1.MachineDrainRuleDrainBehaviorWaitCompleted, "its label "+clusterv1.PodDrainLabel+" says so", ""
		return d, true
	}
	return d, false
}

func byRule(d PodDecision, f DrainFacts, rules []DrainRule, _ time.Time) (PodDecision, bool) {
	for _, r := range rules {
		if !r.matches(d.Pod, f) {
			continue
		}
		d.Behavior, d.Reason = r.Behavior, "MachineDrainRule "+r.Name+" says so"
		if r.Behavior == clusterv1.MachineDrainRuleDrainBehaviorDrain {
			d.Order, d.Reason = r.Order, ""
		} else {
			d.Warning = ""
		}
		return d, true
	}
	return d, false
}

func (r DrainRule) matches(pod DrainPodFacts, f DrainFacts) bool {
	machine := r.Machines == nil || slices.ContainsFunc(r.Machines, func(s DrainMachineSelector) bool {
		return selects(s.Machine, f.MachineLabels) && selects(s.Cluster, f.ClusterLabels)
	})
	return machine && (r.Pods == nil || slices.ContainsFunc(r.Pods, func(s DrainPodSelector) bool {
		return selects(s.Pod, pod.Labels) && selects(s.Namespace, pod.NamespaceLabels)
	}))
}

func selects(s labels.Selector, set map[string]string) bool {
	return s == nil || s.Matches(labels.Set(set))
}

func evictionWarning(pod DrainPodFacts) string {
	var lost []string
	if pod.Uncontrolled {
		lost = append(lost, "nothing creates it again")
	}
	if pod.EmptyDir {
		lost = append(lost, "its emptyDir is lost")
	}
	return strings.Join(lost, ", ")
}

// lowestOrder returns the order whose turn it is; false when no Pod is left to drain or wait for.
func lowestOrder(decisions []PodDecision) (int32, bool) {
	var lowest int32
	found := false
	for _, d := range decisions {
		if d.Behavior == clusterv1.MachineDrainRuleDrainBehaviorSkip || d.completed() || found && d.Order >= lowest {
			continue
		}
		lowest, found = d.Order, true
	}
	return lowest, found
}

func qualifiedClaims(pod DrainPodFacts) []string {
	list := make([]string, len(pod.Claims))
	for i, c := range pod.Claims {
		list[i] = pod.Namespace + "/" + c
	}
	return list
}
