package world

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"slipway.dev/slipway/internal/providers/sim/workload"
)

func (r *round) daemonSets() error {
	all, err := workload.List[*appsv1.DaemonSet](r.store, "", nil)
	if err != nil {
		return err
	}
	for _, ds := range all {
		if ds.DeletionTimestamp == nil && len(ds.Spec.Template.Spec.Containers) > 0 {
			r.daemonSet(ds)
		}
	}
	return nil
}

func (r *round) daemonSet(ds *appsv1.DaemonSet) {
	// What asks something of Nodes that may change must be looked at when they do.
	r.watchful = r.watchful || len(ds.Spec.Template.Spec.NodeSelector) > 0 || ds.Spec.Template.Spec.Affinity != nil ||
		!toleratesAll(ds.Spec.Template.Spec.Tolerations)
	have := map[string]*corev1.Pod{}
	for _, pod := range r.of(ds) {
		have[pod.Spec.NodeName] = pod
	}
	hash := templateHash(ds.Spec.Template)
	status := appsv1.DaemonSetStatus{ObservedGeneration: ds.Generation}
	for _, node := range r.nodes {
		if !suits(ds.Spec.Template.Spec, daemonTolerations(), node) {
			continue
		}
		status.DesiredNumberScheduled++
		if pod := r.daemonPod(ds, node, have[node.Name]); pod != nil {
			r.countDaemon(ds, pod, &status, hash)
		}
		delete(have, node.Name)
	}
	for _, pod := range have { // On Nodes that it may not run on any more.
		r.drop = append(r.drop, pod)
	}
	status.NumberUnavailable = status.DesiredNumberScheduled - status.NumberAvailable
	if !equality.Semantic.DeepEqual(ds.Status, status) {
		ds.Status = status
		r.changed = append(r.changed, ds)
	}
}

// daemonPod is the Pod of a DaemonSet on a Node that suits it: the one that is there, or a new one if the Node can start it.
func (r *round) daemonPod(ds *appsv1.DaemonSet, node *corev1.Node, have *corev1.Pod) *corev1.Pod {
	if have != nil || readyStatus(node) != corev1.ConditionTrue {
		return have
	}
	pod := r.newPod(ds, "DaemonSet", suffix(node.Name), appsv1.DefaultDaemonSetUniqueLabelKey, ds.Spec.Template)
	pod.Spec.Tolerations = append(pod.Spec.Tolerations, daemonTolerations()...)
	run(pod, node.Name, r.now)
	r.add(pod)
	return pod
}

// countDaemon counts a Pod of a DaemonSet, and drops it when it is of an older template.
func (r *round) countDaemon(ds *appsv1.DaemonSet, pod *corev1.Pod, status *appsv1.DaemonSetStatus, hash string) {
	status.CurrentNumberScheduled++
	if workload.PodReady(pod) {
		status.NumberReady++
		status.NumberAvailable++
	}
	switch current, _ := split([]*corev1.Pod{pod}, appsv1.DefaultDaemonSetUniqueLabelKey, hash); {
	case len(current) > 0:
		status.UpdatedNumberScheduled++
	case ds.Spec.UpdateStrategy.Type != appsv1.OnDeleteDaemonSetStrategyType:
		r.drop = append(r.drop, pod) // Its end is heard of, and its successor made then.
	}
}

// toleratesAll tells that no taint matters.
func toleratesAll(tolerations []corev1.Toleration) bool {
	return slices.ContainsFunc(tolerations, func(t corev1.Toleration) bool {
		return t.Key == "" && t.Operator == corev1.TolerationOpExists && t.Effect == ""
	})
}

// daemonTolerations are those that the DaemonSet controller adds.
func daemonTolerations() []corev1.Toleration {
	return []corev1.Toleration{
		{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute},
		{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute},
		{Key: corev1.TaintNodeUnschedulable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
	}
}
