package world

import (
	"cmp"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"slipway.dev/slipway/internal/kubeadm/initobjects"
	"slipway.dev/slipway/internal/providers/sim/workload"
)

// staticPods are the control plane's Pods on a Node, as its kubelet mirrors them.
func staticPods(node *corev1.Node, images initobjects.Images, withEtcd bool, now time.Time) []workload.Object {
	components := []struct{ name, image string }{
		{"kube-apiserver", images.APIServer}, {"kube-controller-manager", images.ControllerManager}, {"kube-scheduler", images.Scheduler},
	}
	if withEtcd {
		components = append(components, struct{ name, image string }{"etcd", images.Etcd})
	}
	pods := make([]workload.Object, 0, len(components))
	for _, c := range components {
		pod := newPod(c.name+"-"+node.Name, node.Name, c.name, c.image, now)
		pod.Labels = map[string]string{"component": c.name, "tier": "control-plane"}
		pod.Annotations = map[string]string{
			corev1.MirrorPodAnnotationKey: idOf(c.image, node.Name), "kubernetes.io/config.source": "file", "kubernetes.io/config.hash": idOf(c.image, node.Name),
		}
		pod.Spec.HostNetwork, pod.Spec.PriorityClassName = true, "system-node-critical"
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(node, corev1.SchemeGroupVersion.WithKind("Node"))}
		pods = append(pods, pod)
	}
	return pods
}

// newPod is a running Pod in kube-system with one container.
func newPod(name, node, container, image string, now time.Time) *corev1.Pod {
	at := metav1.NewTime(now)
	ip := Address(node).String()
	started := true
	return &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: name, CreationTimestamp: at},
		Spec: corev1.PodSpec{
			NodeName: node, Containers: []corev1.Container{{Name: container, Image: image}}, RestartPolicy: corev1.RestartPolicyAlways,
			Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, HostIP: ip, PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}}, HostIPs: []corev1.HostIP{{IP: ip}}, StartTime: &at,
			Conditions: []corev1.PodCondition{
				{Type: corev1.PodInitialized, Status: corev1.ConditionTrue, LastTransitionTime: at},
				{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: at},
				{Type: corev1.ContainersReady, Status: corev1.ConditionTrue, LastTransitionTime: at},
				{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: at},
			},
			ContainerStatuses: []corev1.ContainerStatus{{
				Name: container, Image: image, Ready: true, Started: &started, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at}},
			}},
		},
	}
}

// tendAddons has kube-proxy run on every Node and CoreDNS on as many as it asks for, as the controllers of a real cluster
// would. It is level-based: what is right already is not written.
func (c *Cluster) tendAddons() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.api == nil {
		return nil
	}
	store := c.api.Store()
	nodes, err := workload.List[*corev1.Node](store, "", nil)
	if err != nil {
		return err
	}
	if err := c.dropStrandedPods(nodes); err != nil {
		return err
	}
	if err := c.tendProxy(nodes); err != nil {
		return err
	}
	return c.tendDNS(nodes)
}

// dropStrandedPods ends the Pods of Nodes that are gone, as the Pod garbage collector does.
func (c *Cluster) dropStrandedPods(nodes []*corev1.Node) error {
	pods, err := workload.List[*corev1.Pod](c.api.Store(), "", nil)
	if err != nil {
		return err
	}
	for _, pod := range pods {
		if pod.Spec.NodeName == "" || slices.ContainsFunc(nodes, func(n *corev1.Node) bool { return n.Name == pod.Spec.NodeName }) {
			continue
		}
		if err := workload.Delete[*corev1.Pod](c.api.Store(), types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) tendProxy(nodes []*corev1.Node) error {
	store := c.api.Store()
	key := types.NamespacedName{Namespace: metav1.NamespaceSystem, Name: "kube-proxy"}
	if !workload.Has[*appsv1.DaemonSet](store, key) {
		return nil
	}
	ds, err := workload.Read[*appsv1.DaemonSet](store, key)
	if err != nil {
		return err
	}
	var objects []workload.Object
	for _, node := range nodes {
		name := "kube-proxy-" + suffix(node.Name)
		if workload.Has[*corev1.Pod](store, types.NamespacedName{Namespace: key.Namespace, Name: name}) {
			continue
		}
		pod := newPod(name, node.Name, "kube-proxy", imageOf(ds.Spec.Template), c.world.opts.Now())
		pod.Labels = ds.Spec.Template.Labels
		pod.Spec.HostNetwork, pod.Spec.PriorityClassName = true, "system-node-critical"
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(ds, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))}
		objects = append(objects, pod)
	}
	n := int32(len(nodes))
	if s := ds.Status; s.DesiredNumberScheduled != n || s.NumberReady != n || s.ObservedGeneration != ds.Generation {
		ds.Status = appsv1.DaemonSetStatus{
			CurrentNumberScheduled: n, DesiredNumberScheduled: n, NumberReady: n, NumberAvailable: n, UpdatedNumberScheduled: n, ObservedGeneration: ds.Generation,
		}
		ds.ResourceVersion = ""
		objects = append(objects, ds)
	}
	if len(objects) == 0 {
		return nil
	}
	_, err = store.Put(objects...)
	return err
}

func (c *Cluster) tendDNS(nodes []*corev1.Node) error {
	store := c.api.Store()
	key := types.NamespacedName{Namespace: metav1.NamespaceSystem, Name: "coredns"}
	if !workload.Has[*appsv1.Deployment](store, key) {
		return nil
	}
	d, err := workload.Read[*appsv1.Deployment](store, key)
	if err != nil || d.Spec.Selector == nil {
		return err
	}
	selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
	if err != nil {
		return err
	}
	pods, err := workload.List[*corev1.Pod](store, key.Namespace, selector)
	if err != nil {
		return err
	}
	want := int32(1)
	if d.Spec.Replicas != nil {
		want = *d.Spec.Replicas
	}
	objects := c.missingPods(d, want-int32(len(pods)), pods, schedulable(nodes))
	have := int32(len(pods) + len(objects))
	if s := d.Status; s.Replicas != have || s.ReadyReplicas != have || s.ObservedGeneration != d.Generation {
		d.Status = appsv1.DeploymentStatus{Replicas: have, ReadyReplicas: have, AvailableReplicas: have, UpdatedReplicas: have, ObservedGeneration: d.Generation}
		d.ResourceVersion = ""
		objects = append(objects, d)
	}
	if len(objects) == 0 {
		return nil
	}
	_, err = store.Put(objects...)
	return err
}

// missingPods makes up to n Pods of a Deployment, on the Nodes that have the fewest of them.
func (c *Cluster) missingPods(d *appsv1.Deployment, n int32, have []*corev1.Pod, nodes []*corev1.Node) []workload.Object {
	if len(nodes) == 0 {
		return nil
	}
	load := map[string]int{}
	for _, pod := range have {
		load[pod.Spec.NodeName]++
	}
	var made []workload.Object
	for range max(n, 0) {
		node := slices.MinFunc(nodes, func(a, b *corev1.Node) int {
			return cmp.Or(cmp.Compare(load[a.Name], load[b.Name]), strings.Compare(a.Name, b.Name))
		})
		load[node.Name]++
		pod := newPod(d.Name+"-"+randomSuffix(), node.Name, d.Name, imageOf(d.Spec.Template), c.world.opts.Now())
		pod.Labels = labels.Merge(d.Spec.Template.Labels, nil)
		pod.Spec.PriorityClassName = "system-cluster-critical"
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind("Deployment"))}
		made = append(made, pod)
	}
	return made
}

func schedulable(nodes []*corev1.Node) []*corev1.Node {
	return slices.DeleteFunc(slices.Clone(nodes), func(n *corev1.Node) bool { return n.Spec.Unschedulable || readyStatus(n) != corev1.ConditionTrue })
}

func imageOf(t corev1.PodTemplateSpec) string {
	if len(t.Spec.Containers) == 0 {
		return ""
	}
	return t.Spec.Containers[0].Image
}
