package world

import (
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"slipway.dev/slipway/internal/kubeadm/initobjects"
	"slipway.dev/slipway/internal/providers/sim/workload"
)

// etcdComponent is the label component of etcd's static Pod, which also begins its name.
const etcdComponent = "etcd"

// staticPods are the control plane's Pods on a Node, as its kubelet mirrors them.
func staticPods(node *corev1.Node, images initobjects.Images, withEtcd bool, now time.Time) []workload.Object {
	components := []struct{ name, image string }{
		{"kube-apiserver", images.APIServer}, {"kube-controller-manager", images.ControllerManager}, {"kube-scheduler", images.Scheduler},
	}
	if withEtcd {
		components = append(components, struct{ name, image string }{etcdComponent, images.Etcd})
	}
	pods := make([]workload.Object, 0, len(components))
	for _, c := range components {
		pod := &corev1.Pod{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
			ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: c.name + "-" + node.Name, CreationTimestamp: metav1.NewTime(now)},
			Spec: corev1.PodSpec{
				Containers: []corev1.Container{{Name: c.name, Image: c.image}}, RestartPolicy: corev1.RestartPolicyAlways,
				Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			},
		}
		pod.Labels = map[string]string{"component": c.name, "tier": "control-plane"}
		pod.Annotations = map[string]string{
			corev1.MirrorPodAnnotationKey: idOf(c.image, node.Name), "kubernetes.io/config.source": "file", "kubernetes.io/config.hash": idOf(c.image, node.Name),
		}
		pod.Spec.HostNetwork, pod.Spec.PriorityClassName = true, "system-node-critical"
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(node, corev1.SchemeGroupVersion.WithKind("Node"))}
		run(pod, node.Name, now)
		pods = append(pods, pod)
	}
	return pods
}

// run puts a Pod on a Node and has its containers run, as a kubelet would report it.
func run(pod *corev1.Pod, node string, now time.Time) {
	at := metav1.NewTime(now)
	host := Address(node).String()
	ip := host
	if !pod.Spec.HostNetwork {
		ip = Address(pod.Namespace + "/" + pod.Name).String()
	}
	pod.Spec.NodeName = node
	pod.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, HostIP: host, PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}}, HostIPs: []corev1.HostIP{{IP: host}},
		StartTime: &at, QOSClass: pod.Status.QOSClass,
	}
	ready := []corev1.PodConditionType{corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled}
	for _, gate := range pod.Spec.ReadinessGates {
		ready = append(ready, gate.ConditionType)
	}
	for _, t := range ready {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: t, Status: corev1.ConditionTrue, LastTransitionTime: at})
	}
	for _, c := range pod.Spec.InitContainers {
		pod.Status.InitContainerStatuses = append(pod.Status.InitContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, Ready: true,
			State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed", StartedAt: at, FinishedAt: at}},
		})
	}
	for _, c := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, Ready: true, Started: new(true),
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at}},
		})
	}
}

// setPodReady changes a Pod's Ready condition and tells whether it was otherwise.
func setPodReady(pod *corev1.Pod, ready corev1.ConditionStatus, now time.Time) bool {
	i := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady })
	if i < 0 || pod.Status.Conditions[i].Status == ready {
		return false
	}
	pod.Status.Conditions[i].Status, pod.Status.Conditions[i].LastTransitionTime = ready, metav1.NewTime(now)
	return true
}

// setCrashing has a Pod's containers end again and again, or run, and tells whether they did otherwise.
func setCrashing(pod *corev1.Pod, crashing bool, now time.Time) bool {
	ready, state := corev1.ConditionTrue, corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(now)}}
	if crashing {
		ready, state = corev1.ConditionFalse, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	}
	if !setPodReady(pod, ready, now) {
		return false
	}
	for i := range pod.Status.ContainerStatuses {
		c := &pod.Status.ContainerStatuses[i]
		c.Ready, c.Started, c.State = !crashing, new(!crashing), state
		if crashing {
			c.RestartCount++
		}
	}
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.ContainersReady {
			c.Status, c.LastTransitionTime = ready, metav1.NewTime(now)
		}
	}
	return true
}

// isMirror tells a static Pod's mirror from a Pod that somebody made.
func isMirror(pod *corev1.Pod) bool {
	_, ok := pod.Annotations[corev1.MirrorPodAnnotationKey]
	return ok
}

// finished tells that a Pod counts for nothing any more.
func finished(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// podLog says why there is nothing to read.
func podLog() io.ReadCloser {
	return io.NopCloser(strings.NewReader("This Pod is simulated: no container runs, so there is nothing to log.\n"))
}
