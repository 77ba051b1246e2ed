package v1beta2

import corev1 "k8s.io/api/core/v1"

// NodeUninitializedTaint returns the taint that a Node joins with and that the Machine's controller takes off once the
// Machine's labels are on the Node, so that no pod lands on a Node that does not look as it should.
func NodeUninitializedTaint() corev1.Taint {
	return corev1.Taint{Key: "node.cluster.x-k8s.io/uninitialized", Effect: corev1.TaintEffectNoSchedule}
}

// NodeOutdatedRevisionTaint returns the taint on Nodes that a rollout is about to replace, so that pods that have to
// move prefer Nodes that stay.
func NodeOutdatedRevisionTaint() corev1.Taint {
	return corev1.Taint{Key: "node.cluster.x-k8s.io/outdated-revision", Effect: corev1.TaintEffectPreferNoSchedule}
}
