package machine

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/plan"
)

// planNode decides what changes on the Machine's Node.
func planNode(w *world) plan.NodeSyncPlan {
	m, node := w.machine, w.node.node
	f := plan.NodeSyncFacts{
		MachineLabels: m.Labels, MachineAnnotations: m.Annotations, MachineTaints: m.Spec.Taints,
		Identity: map[string]string{
			clusterv1.ClusterNameAnnotation:      m.Spec.ClusterName,
			clusterv1.ClusterNamespaceAnnotation: m.Namespace,
			clusterv1.MachineAnnotation:          m.Name,
		},
		Interruptible: w.infraFacts.Interruptible.IsTrue(),
		Outdated:      outdated(w),
		Labels:        node.Labels, Annotations: node.Annotations,
	}
	if owner := metav1.GetControllerOf(m); owner != nil {
		f.Identity[clusterv1.OwnerKindAnnotation], f.Identity[clusterv1.OwnerNameAnnotation] = owner.Kind, owner.Name
	} else {
		f.Identity[clusterv1.OwnerKindAnnotation], f.Identity[clusterv1.OwnerNameAnnotation] = "", ""
	}
	for _, t := range node.Spec.Taints {
		f.Taints = append(f.Taints, plan.NodeTaint{Key: t.Key, Value: t.Value, Effect: string(t.Effect)})
	}
	return plan.NodeSync(f)
}

// outdated compares the revision of the Machine's MachineSet with the MachineDeployment's. A Machine without either has
// nothing that could outdate it.
func outdated(w *world) plan.Tri {
	if w.set == nil || w.deployment == nil {
		return plan.TriOf(false)
	}
	have, errHave := strconv.ParseInt(w.set.Annotations[clusterv1.RevisionAnnotation], 10, 64)
	want, errWant := strconv.ParseInt(w.deployment.Annotations[clusterv1.RevisionAnnotation], 10, 64)
	if errHave != nil || errWant != nil {
		return plan.Unknown
	}
	return plan.TriOf(have < want)
}

// nodePatch is the merge patch for a change. Taints are a list that a merge patch replaces whole, so a patch of them names
// the resourceVersion that they were read at.
func nodePatch(node *corev1.Node, change plan.NodeSyncPlan) ([]byte, error) {
	metadata := map[string]any{"uid": node.UID}
	patch := map[string]any{"metadata": metadata}
	if len(change.Labels) > 0 {
		metadata["labels"] = change.Labels
	}
	if len(change.Annotations) > 0 {
		metadata["annotations"] = change.Annotations
	}
	if len(change.AddTaints)+len(change.RemoveTaints) > 0 {
		metadata["resourceVersion"] = node.ResourceVersion
		patch["spec"] = map[string]any{"taints": changedTaints(node.Spec.Taints, change)}
	}
	body, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("encode the patch of Node %s: %w", node.Name, err)
	}
	return body, nil
}

func changedTaints(taints []corev1.Taint, change plan.NodeSyncPlan) []corev1.Taint {
	replaced := slices.Concat(change.RemoveTaints, change.AddTaints)
	out := slices.DeleteFunc(slices.Clone(taints), func(t corev1.Taint) bool {
		return slices.ContainsFunc(replaced, func(n plan.NodeTaint) bool { return n.Key == t.Key && n.Effect == string(t.Effect) })
	})
	for _, t := range change.AddTaints {
		out = append(out, corev1.Taint{Key: t.Key, Value: t.Value, Effect: corev1.TaintEffect(t.Effect)})
	}
	return out
}

// versions are those seen on the Machine; what cannot be seen now keeps the last value.
func versions(w *world) clusterv1.MachineVersions {
	var v clusterv1.MachineVersions
	if last := w.machine.Status.Slipway; last != nil {
		v = last.Versions
	}
	if node := w.node.node; node != nil {
		v.Kubelet, v.ContainerRuntime = node.Status.NodeInfo.KubeletVersion, node.Status.NodeInfo.ContainerRuntimeVersion
	}
	if cp := w.node.controlPlane; cp != nil {
		v.APIServer, v.ControllerManager, v.Scheduler, v.Etcd = cp.APIServer.Version, cp.ControllerManager.Version, cp.Scheduler.Version, cp.Etcd.Version
	}
	if tool := w.infraFacts.BootstrapToolVersion; tool != "" {
		v.BootstrapTool = tool
	}
	return v
}

// versionsMatch compares what follows spec.version with it.
func versionsMatch(w *world, v clusterv1.MachineVersions) plan.VersionMatch {
	components := []plan.ObservedComponent{{Component: "kubelet", Version: v.Kubelet}}
	if w.isControlPlane() {
		components = append(components,
			plan.ObservedComponent{Component: "kube-apiserver", Version: v.APIServer},
			plan.ObservedComponent{Component: "kube-controller-manager", Version: v.ControllerManager},
			plan.ObservedComponent{Component: "kube-scheduler", Version: v.Scheduler})
	}
	if w.bootstrap.ref.Kind == kubeadmConfigKind {
		components = append(components, plan.ObservedComponent{Component: "kubeadm", Version: v.BootstrapTool})
	}
	return plan.VersionsMatch(w.machine.Spec.Version, components)
}

// kubeadmConfigKind is the kind of bootstrap object whose tool has the version of Kubernetes.
const kubeadmConfigKind = "KubeadmConfig"
