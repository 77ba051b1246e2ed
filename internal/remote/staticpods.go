package remote

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Component is a part of the control plane that kubeadm runs as a static Pod; its value begins the Pod's name.
type Component string

// The components of a control plane. The names are kubeadm's.
const (
	APIServer         Component = "kube-apiserver"
	ControllerManager Component = "kube-controller-manager"
	Scheduler         Component = "kube-scheduler"
	EtcdServer        Component = "etcd"
)

// Components returns all components, in the order in which they are reported.
func Components() []Component {
	return []Component{APIServer, ControllerManager, Scheduler, EtcdServer}
}

// PodHealth is how a static Pod does. The values are the reasons of the Machine's conditions for it.
type PodHealth string

const (
	// PodRunning means that the Pod runs and is ready.
	PodRunning PodHealth = "Running"
	// PodProvisioning means that the Pod is on its way, or runs and is not ready yet.
	PodProvisioning PodHealth = "Provisioning"
	// PodDoesNotExist means that the Node has no such Pod.
	PodDoesNotExist PodHealth = "DoesNotExist"
	// PodFailed means that the Pod has ended or crashes again and again.
	PodFailed PodHealth = "Failed"
	// PodDeleting means that the Pod is being deleted.
	PodDeleting PodHealth = "Deleting"
)

// StaticPod is what is known of one component on one Node.
type StaticPod struct {
	Health PodHealth
	// Message says more where Health is not Running; it is stable and fits a condition.
	Message string
	// Image is the image of the component's container, as asked for in its manifest.
	Image string
	// Version is the tag of Image; empty when it has none.
	Version string
}

// ControlPlane is what is observed of the control plane on one Node.
type ControlPlane struct {
	APIServer         StaticPod
	ControllerManager StaticPod
	Scheduler         StaticPod
	Etcd              StaticPod
}

// Component returns what is observed of one of the four.
func (p ControlPlane) Component(component Component) StaticPod {
	switch component {
	case APIServer:
		return p.APIServer
	case ControllerManager:
		return p.ControllerManager
	case Scheduler:
		return p.Scheduler
	case EtcdServer:
		return p.Etcd
	}
	return StaticPod{Health: PodDoesNotExist}
}

// ControlPlane returns what is observed of the control plane on a Node of a connected cluster, from memory. It returns
// ErrNotConnected without a connection, and another error when the cluster does not let us see its Pods.
func (c *Clusters) ControlPlane(key types.NamespacedName, nodeName string) (ControlPlane, error) {
	conn, err := c.connection(key)
	if err != nil {
		return ControlPlane{}, err
	}
	return conn.pods.controlPlane(nodeName)
}

// staticPodKey names a component on a Node.
type staticPodKey struct {
	node      string
	component Component
}

// podStore holds what is known of one cluster's control-plane Pods: facts only, the Pods themselves are not kept.
type podStore struct {
	changed func(nodeName string)

	mu     sync.RWMutex // guards what follows
	facts  map[staticPodKey]StaticPod
	denied error
}

func newPodStore(changed func(nodeName string)) *podStore {
	return &podStore{changed: changed, facts: map[staticPodKey]StaticPod{}}
}

func (s *podStore) controlPlane(node string) (ControlPlane, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.denied != nil {
		return ControlPlane{}, fmt.Errorf("read the control plane's Pods: %w", s.denied)
	}
	return ControlPlane{
		APIServer:         s.fact(node, APIServer),
		ControllerManager: s.fact(node, ControllerManager),
		Scheduler:         s.fact(node, Scheduler),
		Etcd:              s.fact(node, EtcdServer),
	}, nil
}

func (s *podStore) fact(node string, component Component) StaticPod {
	fact, ok := s.facts[staticPodKey{node, component}]
	if !ok {
		return StaticPod{Health: PodDoesNotExist, Message: fmt.Sprintf("Pod %s-%s does not exist", component, node)}
	}
	return fact
}

// etcdNodes returns the Nodes with an etcd Pod, those with a healthy one first, each part in order of names.
func (s *podStore) etcdNodes() []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var healthy, others []string
	for key, fact := range s.facts {
		switch {
		case key.component != EtcdServer:
		case fact.Health == PodRunning:
			healthy = append(healthy, key.node)
		default:
			others = append(others, key.node)
		}
	}
	slices.Sort(healthy)
	slices.Sort(others)
	return append(healthy, others...)
}

func (s *podStore) replace(pods []*corev1.Pod) {
	s.mu.RLock()
	gone := make(map[staticPodKey]struct{}, len(s.facts))
	for key := range s.facts {
		gone[key] = struct{}{}
	}
	s.mu.RUnlock()
	for _, pod := range pods {
		if key, ok := staticPodKeyOf(pod.Name); ok {
			delete(gone, key)
		}
		s.put(pod)
	}
	for key := range gone {
		s.removeKey(key)
	}
	s.mu.Lock()
	s.denied = nil
	s.mu.Unlock()
}

// deny records that the Pods cannot be read, so that nobody takes them for absent.
func (s *podStore) deny(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.denied = err
}

func (s *podStore) put(pod *corev1.Pod) {
	key, ok := staticPodKeyOf(pod.Name)
	if !ok {
		return
	}
	fact := staticPodOf(pod, key.component)
	s.mu.Lock()
	old, had := s.facts[key]
	s.facts[key] = fact
	s.mu.Unlock()
	if !had || old != fact {
		s.changed(key.node)
	}
}

func (s *podStore) remove(name string) {
	if key, ok := staticPodKeyOf(name); ok {
		s.removeKey(key)
	}
}

func (s *podStore) removeKey(key staticPodKey) {
	s.mu.Lock()
	_, had := s.facts[key]
	delete(s.facts, key)
	s.mu.Unlock()
	if had {
		s.changed(key.node)
	}
}

// staticPodKeyOf takes the name of a mirror Pod apart: the kubelet makes it of the manifest's name and the Node's.
func staticPodKeyOf(podName string) (staticPodKey, bool) {
	for _, component := range Components() {
		if node, ok := strings.CutPrefix(podName, string(component)+"-"); ok && node != "" {
			return staticPodKey{node: strings.Clone(node), component: component}, true
		}
	}
	return staticPodKey{}, false
}

// staticPodOf takes from a Pod what is worth keeping.
func staticPodOf(pod *corev1.Pod, component Component) StaticPod {
	health, message := podHealth(pod)
	fact := StaticPod{Health: health, Message: message}
	for i := range pod.Spec.Containers {
		if pod.Spec.Containers[i].Name == string(component) || len(pod.Spec.Containers) == 1 {
			fact.Image = strings.Clone(pod.Spec.Containers[i].Image)
		}
	}
	fact.Version = imageTag(fact.Image)
	return fact
}

// imageTag is the tag of an image reference such as host:5000/name:tag@digest.
func imageTag(image string) string {
	image, _, _ = strings.Cut(image, "@")
	image = image[strings.LastIndex(image, "/")+1:]
	_, tag, _ := strings.Cut(image, ":")
	return tag
}

func podHealth(pod *corev1.Pod) (PodHealth, string) {
	if !pod.DeletionTimestamp.IsZero() {
		return PodDeleting, "Pod " + pod.Name + " is being deleted"
	}
	switch pod.Status.Phase {
	case corev1.PodPending:
		return pendingHealth(pod)
	case corev1.PodRunning:
		return runningHealth(pod)
	case corev1.PodSucceeded:
		return PodFailed, "Pod " + pod.Name + " has ended"
	case corev1.PodFailed:
		return PodFailed, "Pod " + pod.Name + " has failed" + detail(pod.Status.Message)
	case corev1.PodUnknown:
	}
	return PodProvisioning, "Pod " + pod.Name + " has not reported a phase yet"
}

func pendingHealth(pod *corev1.Pod) (PodHealth, string) {
	if condition := podCondition(pod, corev1.PodScheduled); condition != nil && condition.Status == corev1.ConditionFalse {
		return PodProvisioning, "Pod " + pod.Name + " waits to be scheduled"
	}
	if health, message, troubled := containerTrouble(pod); troubled {
		return health, message
	}
	return PodProvisioning, "Pod " + pod.Name + " waits for its containers to start"
}

func runningHealth(pod *corev1.Pod) (PodHealth, string) {
	if condition := podCondition(pod, corev1.PodReady); condition != nil && condition.Status == corev1.ConditionTrue {
		return PodRunning, ""
	}
	if health, message, troubled := containerTrouble(pod); troubled {
		return health, message
	}
	return PodProvisioning, "Pod " + pod.Name + " runs and is not ready yet"
}

// containerTrouble tells what keeps a Pod's containers from running. A container that waits for its image or to be made
// is on its way; one that waits for any other reason has failed at least once.
func containerTrouble(pod *corev1.Pod) (PodHealth, string, bool) {
	for i := range pod.Status.ContainerStatuses {
		status := &pod.Status.ContainerStatuses[i]
		switch {
		case status.State.Waiting != nil && startingUp(status.State.Waiting.Reason):
		case status.State.Waiting != nil:
			return PodFailed, "Pod " + pod.Name + ": container " + status.Name + " waits" + detail(status.State.Waiting.Reason), true
		case status.State.Terminated != nil:
			return PodFailed, "Pod " + pod.Name + ": container " + status.Name + " has ended" + detail(status.State.Terminated.Reason), true
		}
	}
	return "", "", false
}

func startingUp(reason string) bool {
	return reason == "" || reason == "ContainerCreating" || reason == "PodInitializing"
}

func podCondition(pod *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == kind {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

func detail(text string) string {
	if text == "" {
		return ""
	}
	return ": " + strings.Clone(text)
}
