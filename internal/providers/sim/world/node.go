package world

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"slipway.dev/slipway/internal/kubeadm/config"
)

// containerRuntime is what the Nodes say they run.
const containerRuntime = "containerd://2.1.4"

// newNode is the Node that a machine's kubelet registers.
func newNode(m Machine, name string, reg config.NodeRegistrationOptions, controlPlane bool, now time.Time) *corev1.Node {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name,
			Labels: map[string]string{
				corev1.LabelHostname: name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
				"beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": "amd64",
			},
			Annotations:       map[string]string{"node.alpha.kubernetes.io/ttl": "0", "volumes.kubernetes.io/controller-managed-attach-detach": "true"},
			CreationTimestamp: metav1.NewTime(now),
		},
		Spec: corev1.NodeSpec{ProviderID: m.ProviderID},
	}
	if m.Zone != "" {
		node.Labels[corev1.LabelTopologyZone] = m.Zone
	}
	if controlPlane {
		node.Labels["node-role.kubernetes.io/control-plane"] = ""
		node.Labels["node.kubernetes.io/exclude-from-external-load-balancers"] = ""
	}
	for _, arg := range reg.KubeletExtraArgs {
		applyKubeletArg(node, arg)
	}
	node.Spec.Taints = taints(reg, controlPlane)
	node.Status = nodeStatus(m, name, now)
	return node
}

// applyKubeletArg heeds the kubelet's flags that are seen from outside.
func applyKubeletArg(node *corev1.Node, arg config.Arg) {
	switch strings.TrimLeft(arg.Name, "-") {
	case "node-labels":
		for label := range strings.SplitSeq(arg.Value, ",") {
			if k, v, ok := strings.Cut(label, "="); ok {
				node.Labels[strings.TrimSpace(k)] = strings.TrimSpace(v)
			}
		}
	case "provider-id":
		// The machine's own provider ID wins: a template cannot know it.
	}
}

// taints are those that kubeadm and the kubelet register a Node with.
func taints(reg config.NodeRegistrationOptions, controlPlane bool) []corev1.Taint {
	if reg.Taints != nil {
		return *reg.Taints
	}
	if controlPlane {
		return []corev1.Taint{{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule}}
	}
	return nil
}

func nodeStatus(m Machine, name string, now time.Time) corev1.NodeStatus {
	resources := corev1.ResourceList{
		corev1.ResourceCPU: m.CPU, corev1.ResourceMemory: m.Memory,
		corev1.ResourcePods: resource.MustParse("110"), corev1.ResourceEphemeralStorage: resource.MustParse("100Gi"),
	}
	return corev1.NodeStatus{
		Capacity: resources, Allocatable: resources, Conditions: nodeConditions(now),
		Addresses: []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: Address(m.Name).String()},
			{Type: corev1.NodeHostName, Address: name},
		},
		NodeInfo: corev1.NodeSystemInfo{
			MachineID: idOf(m.ProviderID, "machine"), SystemUUID: idOf(m.ProviderID, "system"), BootID: idOf(m.ProviderID, now.String()),
			KernelVersion: "6.1.0-sim", OSImage: "Slipway Simulated Linux", ContainerRuntimeVersion: containerRuntime,
			KubeletVersion: "v" + m.Version.String(), OperatingSystem: "linux", Architecture: "amd64",
		},
	}
}

func nodeConditions(since time.Time) []corev1.NodeCondition {
	at := metav1.NewTime(since)
	condition := func(t corev1.NodeConditionType, s corev1.ConditionStatus, reason, message string) corev1.NodeCondition {
		return corev1.NodeCondition{Type: t, Status: s, LastHeartbeatTime: at, LastTransitionTime: at, Reason: reason, Message: message}
	}
	return []corev1.NodeCondition{
		condition(corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
		condition(corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
		condition(corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
		condition(corev1.NodeReady, corev1.ConditionTrue, "KubeletReady", "kubelet is posting ready status"),
	}
}

// idOf is a stable identifier in the form of a UUID.
func idOf(seed, salt string) string {
	a, b := Address(seed+salt), Address(salt+seed)
	x, y := a.As4(), b.As4()
	return fmt.Sprintf("%02x%02x%02x%02x-%02x%02x-4%02x0-8%02x0-%02x%02x%02x%02x%02x%02x", x[0], x[1], x[2], x[3], y[0], y[1], y[2]&0xf, y[3]&0xf,
		y[2], y[3], x[1], x[2], x[3], y[1])
}
