package world

import (
	"encoding/json"
	"errors"
	"hash/fnv"
	"slices"
	"strconv"
	"time"

	"github.com/blang/semver/v4"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"

	"slipway.dev/slipway/internal/kubeadm/certs"
	"slipway.dev/slipway/internal/kubeadm/initobjects"
	"slipway.dev/slipway/internal/providers/sim/workload"
)

// round is one look at a cluster by what a controller manager, a scheduler and the kubelets do in a real one. It is
// level-based: what is right already is not written. All that it makes is written at once, and what it deletes after that.
type round struct {
	c     *Cluster
	store *workload.Store
	now   time.Time
	nodes []*corev1.Node
	// wanted are the Deployments.
	wanted []*appsv1.Deployment
	// pods are those that count, with those that the round makes.
	pods []*corev1.Pod
	// changed are the objects to write, and drop the Pods to delete.
	changed []workload.Object
	drop    []*corev1.Pod
	// watchful tells that a change of any Node may matter to a Pod.
	watchful bool
}

// tend runs one round.
func (c *Cluster) tend() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.api == nil {
		return nil
	}
	// Until it is known whether a Pod waits for a Node, one may: a change while the round lasts must not be missed.
	c.watchful.Store(true)
	r := &round{c: c, store: c.api.Store(), now: c.world.opts.Now()}
	for _, step := range []func() error{r.observe, r.staticPods, r.namespaces, r.pendingPods, r.daemonSets, r.deployments} {
		if err := step(); err != nil {
			return err
		}
	}
	c.watchful.Store(r.watchful)
	return r.write()
}

// observe reads what asks for a Node before the Nodes, so that whoever made a Node fit for Pods and then asked for some gets them
// there.
func (r *round) observe() error {
	var err error
	if r.wanted, err = workload.List[*appsv1.Deployment](r.store, "", nil); err != nil {
		return err
	}
	pods, err := workload.List[*corev1.Pod](r.store, "", nil)
	if err != nil {
		return err
	}
	if r.nodes, err = workload.List[*corev1.Node](r.store, "", nil); err != nil {
		return err
	}
	for _, pod := range pods {
		node := r.node(pod.Spec.NodeName)
		switch {
		case pod.Spec.NodeName != "" && node == nil:
			r.drop = append(r.drop, pod) // As the Pod garbage collector does.
		case finished(pod):
		default:
			r.pods = append(r.pods, pod)
			r.showReady(pod, node)
		}
	}
	return nil
}

// showReady says of a Pod on a Node that is not heard of that it is not ready, as the node controller does. The control
// plane's own Pods are left alone: behind a silent kubelet they run on.
func (r *round) showReady(pod *corev1.Pod, node *corev1.Node) {
	if node == nil || isMirror(pod) || pod.Status.Phase != corev1.PodRunning {
		return
	}
	ready := corev1.ConditionTrue
	if readyStatus(node) != corev1.ConditionTrue {
		ready = corev1.ConditionFalse
	}
	if setPodReady(pod, ready, r.now) {
		r.changed = append(r.changed, pod)
	}
}

func (r *round) node(name string) *corev1.Node {
	i := slices.IndexFunc(r.nodes, func(n *corev1.Node) bool { return n.Name == name })
	if i < 0 {
		return nil
	}
	return r.nodes[i]
}

// staticPods brings back the control plane's Pods that somebody deleted, since a kubelet mirrors them again, and shows whether etcd
// runs. A kubelet that is not heard of says nothing new of either.
func (r *round) staticPods() error {
	for _, m := range r.c.machines {
		node := r.node(m.Node)
		if !m.ControlPlane || node == nil || !r.c.alive(m) {
			continue
		}
		r.showEtcd(m)
		if r.mirrors(m.Node) >= 3+r.etcdOf(m.Node) {
			continue
		}
		cluster, err := r.c.stored()
		if err != nil {
			return nil //nolint:nilerr // Somebody deleted the cluster's configuration; nothing can be mirrored without it.
		}
		version, err := semver.ParseTolerant(m.Version)
		if err != nil {
			continue
		}
		for _, pod := range staticPods(node, initobjects.ImagesOf(*cluster, version), r.etcdOf(m.Node) > 0, r.now) {
			if !workload.Has[*corev1.Pod](r.store, types.NamespacedName{Namespace: pod.GetNamespace(), Name: pod.GetName()}) {
				r.changed = append(r.changed, pod)
			}
		}
	}
	return nil
}

// showEtcd says of a Node's etcd Pod whether its container runs.
func (r *round) showEtcd(m *machine) {
	i := slices.IndexFunc(r.pods, func(pod *corev1.Pod) bool {
		return pod.Spec.NodeName == m.Node && isMirror(pod) && pod.Labels["component"] == etcdComponent
	})
	if i >= 0 && setCrashing(r.pods[i], m.EtcdDead, r.now) {
		r.changed = append(r.changed, r.pods[i])
	}
}

// mirrors counts the static Pods of a Node.
func (r *round) mirrors(node string) int {
	n := 0
	for _, pod := range r.pods {
		if pod.Spec.NodeName == node && isMirror(pod) {
			n++
		}
	}
	return n
}

// etcdOf is how many etcd members run on a Node: one or none.
func (r *round) etcdOf(node string) int {
	if r.c.members != nil {
		if _, ok := r.c.members.Member(node); ok {
			return 1
		}
	}
	return 0
}

// namespaces gives each namespace what every Pod in it may count on: a service account, and the cluster's CA.
func (r *round) namespaces() error {
	const rootCA = "kube-root-ca.crt"
	all, err := workload.List[*corev1.Namespace](r.store, "", nil)
	if err != nil {
		return err
	}
	for _, ns := range all {
		if ns.DeletionTimestamp != nil {
			continue
		}
		if !workload.Has[*corev1.ServiceAccount](r.store, types.NamespacedName{Namespace: ns.Name, Name: "default"}) {
			r.changed = append(r.changed, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: "default"}})
		}
		if !workload.Has[*corev1.ConfigMap](r.store, types.NamespacedName{Namespace: ns.Name, Name: rootCA}) {
			r.changed = append(r.changed, &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: rootCA},
				Data:       map[string]string{"ca.crt": string(r.c.pki[certs.ClusterCA].Cert)},
			})
		}
	}
	return nil
}

// of are the Pods that a controller owns.
func (r *round) of(owner workload.Object) []*corev1.Pod {
	var out []*corev1.Pod
	for _, pod := range r.pods {
		if ref := metav1.GetControllerOf(pod); ref != nil && ref.UID == owner.GetUID() {
			out = append(out, pod)
		}
	}
	return out
}

// newPod is a Pod of a controller's template, which runs nowhere yet.
func (r *round) newPod(owner workload.Object, kind, suffix, hashKey string, t corev1.PodTemplateSpec) *corev1.Pod {
	const longest = 230 // Room for the suffix in the 253 characters of a name.
	name := owner.GetName()
	t = *t.DeepCopy()
	pod := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: owner.GetNamespace(), Name: name[:min(len(name), longest)] + "-" + suffix, CreationTimestamp: metav1.NewTime(r.now),
			Labels: t.Labels, Annotations: t.Annotations,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, appsv1.SchemeGroupVersion.WithKind(kind))},
		},
		Spec: t.Spec, Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	pod.Labels[hashKey] = templateHash(t)
	return pod
}

// templateHash tells templates apart.
func templateHash(t corev1.PodTemplateSpec) string {
	h := fnv.New32a()
	// A template that was decoded can be encoded.
	_ = json.NewEncoder(h).Encode(t)
	return rand.SafeEncodeString(strconv.FormatUint(uint64(h.Sum32()), 10))
}

// split tells the Pods of the present template from older ones. A Pod without the label was made before there was one.
func split(pods []*corev1.Pod, hashKey, hash string) (current, old []*corev1.Pod) {
	for _, pod := range pods {
		if have, ok := pod.Labels[hashKey]; !ok || have == hash {
			current = append(current, pod)
		} else {
			old = append(old, pod)
		}
	}
	return current, old
}

// add counts a Pod that the round makes.
func (r *round) add(pod *corev1.Pod) {
	r.pods = append(r.pods, pod)
	r.changed = append(r.changed, pod)
}

// write writes what the round changed. Who wrote one of the objects meanwhile goes first: another round follows.
func (r *round) write() error {
	var errs []error
	if _, err := r.store.Put(r.changed...); err != nil {
		for _, obj := range r.changed {
			if _, err := r.store.Put(obj); apierrors.IsConflict(err) {
				r.c.world.tender.add(r.c)
			} else {
				errs = append(errs, err)
			}
		}
	}
	for _, pod := range r.drop {
		errs = append(errs, workload.Delete[*corev1.Pod](r.store, types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}))
	}
	return errors.Join(errs...)
}
