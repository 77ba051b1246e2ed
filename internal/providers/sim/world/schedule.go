package world

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// pendingPods finds a Node for the Pods that wait for one, whoever made them, and starts those that were given one.
func (r *round) pendingPods() error {
	for _, pod := range r.pods {
		if pod.Status.Phase != corev1.PodPending || len(pod.Spec.SchedulingGates) > 0 {
			continue
		}
		before := pod.DeepCopy()
		switch node := r.node(pod.Spec.NodeName); {
		case node != nil && readyStatus(node) == corev1.ConditionTrue:
			run(pod, node.Name, r.now)
		case node != nil:
			r.watchful = true
		case pod.Spec.SchedulerName == corev1.DefaultSchedulerName:
			r.schedule(pod)
		}
		if !equality.Semantic.DeepEqual(before, pod) {
			r.changed = append(r.changed, pod)
		}
	}
	return nil
}

// schedule puts a Pod on the Node that suits it best, or says on it that none does.
func (r *round) schedule(pod *corev1.Pod) {
	var best *corev1.Node
	for _, node := range r.nodes {
		if node.Spec.Unschedulable || readyStatus(node) != corev1.ConditionTrue || !suits(pod.Spec, nil, node) || !r.hasRoom(pod, node) {
			continue
		}
		if best == nil || r.compare(pod, node, best) < 0 {
			best = node
		}
	}
	if best != nil {
		run(pod, best.Name, r.now)
		return
	}
	r.watchful = true
	unschedulable := corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, LastTransitionTime: metav1.NewTime(r.now),
		Message: fmt.Sprintf("0/%d nodes are available: each is cordoned, not ready, full, or ruled out by the Pod's selectors and tolerations.", len(r.nodes)),
	}
	i := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodScheduled })
	switch {
	case i < 0:
		pod.Status.Conditions = append(pod.Status.Conditions, unschedulable)
	case pod.Status.Conditions[i].Status == corev1.ConditionFalse:
		pod.Status.Conditions[i].Reason, pod.Status.Conditions[i].Message = unschedulable.Reason, unschedulable.Message
	default:
		pod.Status.Conditions[i] = unschedulable
	}
}

// suits tells whether a Pod's selectors and tolerations, and some more tolerations, let it run on a Node.
func suits(spec corev1.PodSpec, more []corev1.Toleration, node *corev1.Node) bool {
	match, err := nodeaffinity.GetRequiredNodeAffinity(&corev1.Pod{Spec: spec}).Match(node)
	if err != nil || !match {
		return false
	}
	for i := range node.Spec.Taints {
		taint := &node.Spec.Taints[i]
		tolerated := func(t corev1.Toleration) bool { return t.ToleratesTaint(logr.Discard(), taint, true) }
		if taint.Effect != corev1.TaintEffectPreferNoSchedule &&
			!slices.ContainsFunc(spec.Tolerations, tolerated) && !slices.ContainsFunc(more, tolerated) {
			return false
		}
	}
	return true
}

// hasRoom tells whether a Node has left what a Pod asks for.
func (r *round) hasRoom(pod *corev1.Pod, node *corev1.Node) bool {
	cpu, memory := request(pod, corev1.ResourceCPU), request(pod, corev1.ResourceMemory)
	count := int64(1)
	for _, other := range r.pods {
		if other != pod && other.Spec.NodeName == node.Name {
			cpu.Add(request(other, corev1.ResourceCPU))
			memory.Add(request(other, corev1.ResourceMemory))
			count++
		}
	}
	return cpu.Cmp(*node.Status.Allocatable.Cpu()) <= 0 && memory.Cmp(*node.Status.Allocatable.Memory()) <= 0 &&
		count <= node.Status.Allocatable.Pods().Value()
}

// request is what a Pod's containers ask for together.
func request(pod *corev1.Pod, name corev1.ResourceName) resource.Quantity {
	sum := resource.Quantity{}
	for i := range pod.Spec.Containers {
		sum.Add(pod.Spec.Containers[i].Resources.Requests[name])
	}
	return sum
}

// compare prefers the Node with fewer Pods of the same owner, then the one with fewer Pods.
func (r *round) compare(pod *corev1.Pod, a, b *corev1.Node) int {
	owner := metav1.GetControllerOf(pod)
	load := func(node *corev1.Node) (siblings, all int) {
		for _, other := range r.pods {
			if other.Spec.NodeName != node.Name {
				continue
			}
			all++
			if ref := metav1.GetControllerOf(other); owner != nil && ref != nil && ref.UID == owner.UID {
				siblings++
			}
		}
		return siblings, all
	}
	siblingsA, allA := load(a)
	siblingsB, allB := load(b)
	return cmp.Or(cmp.Compare(siblingsA, siblingsB), cmp.Compare(allA, allB), strings.Compare(a.Name, b.Name))
}
