package world

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
	"slipway.dev/slipway/internal/kubeadm/config"
	"slipway.dev/slipway/internal/providers/sim/workload"
)

// user is somebody with the cluster's kubeconfig.
type user struct {
	*testing.T
	*kubernetes.Clientset
	f *fleet
}

// team is a user of a cluster with one control-plane machine and some workers.
func team(t *testing.T, workers int) *user {
	t.Helper()
	f := newFleet(t, t.TempDir())
	f.boot("cp0", f.initData(bootstrapv1.KubeadmConfigSpec{}))
	u := &user{T: t, Clientset: f.admin(), f: f}
	for i := range workers {
		u.join(fmt.Sprint("w", i))
	}
	return u
}

// join makes a machine a worker and takes away the taint that it keeps until its Machine knows its Node.
func (u *user) join(name string) {
	u.Helper()
	u.f.boot(name, u.f.joinData(config.Worker, u.f.newToken(time.Hour)))
	_, err := u.CoreV1().Nodes().Patch(u.Context(), name, types.MergePatchType, []byte(`{"spec":{"taints":null}}`), metav1.PatchOptions{})
	u.must(err)
}

func template(labels map[string]string, image string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: image}}},
	}
}

func web(replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": "web"}
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}, Spec: appsv1.DeploymentSpec{
		Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template(labels, "nginx:1"),
	}}
}

func (u *user) must(err error) {
	u.Helper()
	if err != nil {
		u.Fatal(err)
	}
}

// running are the Pods of the default namespace that run on a Node and are ready.
func (u *user) running(selector string) []corev1.Pod {
	u.Helper()
	list, err := u.CoreV1().Pods("default").List(u.Context(), metav1.ListOptions{LabelSelector: selector})
	u.must(err)
	var out []corev1.Pod
	for _, p := range list.Items {
		if p.Status.Phase == corev1.PodRunning && p.Spec.NodeName != "" && workload.PodReady(&p) && p.DeletionTimestamp == nil {
			out = append(out, p)
		}
	}
	return out
}

func (u *user) eventuallyRunning(selector string, n int) []corev1.Pod {
	u.Helper()
	eventually(u.T, fmt.Sprintf("%d running Pods of %q", n, selector), func() bool { return len(u.running(selector)) == n })
	return u.running(selector)
}

func (u *user) patch(name, patch string) {
	u.Helper()
	_, err := u.AppsV1().Deployments("default").Patch(u.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	u.must(err)
}

func (u *user) cordon(node string, is bool) {
	u.Helper()
	_, err := u.CoreV1().Nodes().Patch(u.Context(), node, types.MergePatchType, fmt.Appendf(nil, `{"spec":{"unschedulable":%t}}`, is), metav1.PatchOptions{})
	u.must(err)
}

func TestDeployment_OfAUserRunsScalesRollsAndGoes(t *testing.T) {
	t.Parallel()
	u := team(t, 2)
	deployments := u.AppsV1().Deployments("default")
	_, err := deployments.Create(t.Context(), web(4), metav1.CreateOptions{})
	u.must(err)
	on := map[string]int{}
	for _, p := range u.eventuallyRunning("app=web", 4) {
		on[p.Spec.NodeName]++
	}
	if on["w0"] != 2 || on["w1"] != 2 {
		t.Errorf("Pods on Nodes: %v, want two on each worker and none on the control plane", on)
	}
	u.patch("web", `{"spec":{"replicas":1}}`)
	u.eventuallyRunning("app=web", 1)
	u.patch("web", `{"spec":{"replicas":3,"template":{"spec":{"containers":[{"name":"main","image":"nginx:2"}]}}}}`)
	eventually(t, "three Pods of the new image and no other", func() bool {
		pods := u.running("app=web")
		for _, p := range pods {
			if p.Spec.Containers[0].Image != "nginx:2" {
				return false
			}
		}
		return len(pods) == 3
	})
	eventually(t, "a status that says so", func() bool {
		d, err := deployments.Get(t.Context(), "web", metav1.GetOptions{})
		u.must(err)
		s := d.Status
		return s.ObservedGeneration == d.Generation && s.Replicas == 3 && s.UpdatedReplicas == 3 && s.AvailableReplicas == 3 && len(s.Conditions) == 2
	})
	u.must(deployments.Delete(t.Context(), "web", metav1.DeleteOptions{}))
	u.eventuallyRunning("app=web", 0)
}

func TestDeployment_OrphansItsPodsWhenAskedTo(t *testing.T) {
	t.Parallel()
	u := team(t, 1)
	_, err := u.AppsV1().Deployments("default").Create(t.Context(), web(2), metav1.CreateOptions{})
	u.must(err)
	u.eventuallyRunning("app=web", 2)
	orphan := metav1.DeletePropagationOrphan
	u.must(u.AppsV1().Deployments("default").Delete(t.Context(), "web", metav1.DeleteOptions{PropagationPolicy: &orphan}))
	for _, p := range u.eventuallyRunning("app=web", 2) {
		if len(p.OwnerReferences) > 0 {
			t.Errorf("Pod %s still has owners: %v", p.Name, p.OwnerReferences)
		}
	}
}

func TestEviction_WaitsForASuccessorWhereABudgetSaysSo(t *testing.T) {
	t.Parallel()
	u := team(t, 2)
	_, err := u.AppsV1().Deployments("default").Create(t.Context(), web(2), metav1.CreateOptions{})
	u.must(err)
	pods := u.eventuallyRunning("app=web", 2)
	one := intstr.FromInt32(1)
	_, err = u.PolicyV1().PodDisruptionBudgets("default").Create(t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &one, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
	}, metav1.CreateOptions{})
	u.must(err)
	for _, node := range []string{"w0", "w1"} {
		u.cordon(node, true)
	}
	evict := func(p corev1.Pod) error {
		return u.PolicyV1().Evictions("default").Evict(t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: p.Name}})
	}
	u.must(evict(pods[0]))
	if err := evict(pods[1]); !apierrors.IsTooManyRequests(err) {
		t.Errorf("evicting the last Pod while no Node takes another: %v, want a refusal", err)
	}
	u.cordon("w0", false)
	u.eventuallyRunning("app=web", 2)
	eventually(t, "the second eviction", func() bool { return evict(pods[1]) == nil })
	u.eventuallyRunning("app=web", 2)
}

func TestDaemonSet_OfAUserRunsWhereItMay(t *testing.T) {
	t.Parallel()
	u := team(t, 2)
	labels := map[string]string{"app": "agent"}
	ds := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "agent"}, Spec: appsv1.DaemonSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template(labels, "agent:1"),
	}}
	_, err := u.AppsV1().DaemonSets("default").Create(t.Context(), ds, metav1.CreateOptions{})
	u.must(err)
	u.eventuallyRunning("app=agent", 2) // The control plane's taint keeps it off there.
	patch := `{"spec":{"template":{"spec":{"nodeSelector":{"fast":"yes"},"containers":[{"name":"main","image":"agent:2"}]}}}}`
	_, err = u.AppsV1().DaemonSets("default").Patch(t.Context(), "agent", types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
	u.must(err)
	u.eventuallyRunning("app=agent", 0)
	_, err = u.CoreV1().Nodes().Patch(t.Context(), "w1", types.MergePatchType, []byte(`{"metadata":{"labels":{"fast":"yes"}}}`), metav1.PatchOptions{})
	u.must(err)
	if pods := u.eventuallyRunning("app=agent", 1); pods[0].Spec.NodeName != "w1" || pods[0].Spec.Containers[0].Image != "agent:2" {
		t.Errorf("the Pod is on %s with %s", pods[0].Spec.NodeName, pods[0].Spec.Containers[0].Image)
	}
}

func TestPod_WaitsForANodeThatHasRoom(t *testing.T) {
	t.Parallel()
	u := team(t, 1)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "big", Labels: map[string]string{"app": "big"}}, Spec: template(nil, "x").Spec}
	pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("3")}
	second := pod.DeepCopy()
	second.Name = "second"
	for _, p := range []*corev1.Pod{pod, second} {
		_, err := u.CoreV1().Pods("default").Create(t.Context(), p, metav1.CreateOptions{})
		u.must(err)
	}
	u.eventuallyRunning("app=big", 1)
	eventually(t, "the other Pod to say why it waits", func() bool {
		for _, name := range []string{"big", "second"} {
			p, err := u.CoreV1().Pods("default").Get(t.Context(), name, metav1.GetOptions{})
			u.must(err)
			for _, c := range p.Status.Conditions {
				if c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable {
					return true
				}
			}
		}
		return false
	})
	u.join("w9")
	u.eventuallyRunning("app=big", 2)
}

func TestPods_OfALostNodeAreNotReadyUntilItIsBack(t *testing.T) {
	t.Parallel()
	u := team(t, 1)
	_, err := u.AppsV1().Deployments("default").Create(t.Context(), web(1), metav1.CreateOptions{})
	u.must(err)
	u.eventuallyRunning("app=web", 1)
	u.must(u.f.cluster().AilMachine("w0", "", MachineAilments{Lost: true}))
	u.eventuallyRunning("app=web", 0)
	u.must(u.f.cluster().AilMachine("w0", "", MachineAilments{}))
	u.eventuallyRunning("app=web", 1)
}

func TestStaticPods_ComeBackWhenSomebodyDeletesThem(t *testing.T) {
	t.Parallel()
	u := team(t, 0)
	for _, name := range []string{"etcd-cp0", "kube-apiserver-cp0"} {
		u.must(u.CoreV1().Pods("kube-system").Delete(t.Context(), name, metav1.DeleteOptions{}))
		eventually(t, name+" again", func() bool {
			p, err := u.CoreV1().Pods("kube-system").Get(t.Context(), name, metav1.GetOptions{})
			return err == nil && workload.PodReady(p)
		})
	}
}

func TestNamespace_HasAServiceAccountAndTheClusterCA(t *testing.T) {
	t.Parallel()
	u := team(t, 0)
	_, err := u.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}}, metav1.CreateOptions{})
	u.must(err)
	eventually(t, "service account and CA", func() bool {
		_, errAccount := u.CoreV1().ServiceAccounts("team").Get(t.Context(), "default", metav1.GetOptions{})
		cm, errCA := u.CoreV1().ConfigMaps("team").Get(t.Context(), "kube-root-ca.crt", metav1.GetOptions{})
		return errAccount == nil && errCA == nil && strings.Contains(cm.Data["ca.crt"], "BEGIN CERTIFICATE")
	})
	u.must(u.CoreV1().Namespaces().Delete(t.Context(), "team", metav1.DeleteOptions{}))
	eventually(t, "the namespace to go for good", func() bool {
		_, err := u.CoreV1().Namespaces().Get(t.Context(), "team", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

func TestTender_WritesNothingOnceAllIsAsItShallBe(t *testing.T) {
	t.Parallel()
	u := team(t, 2)
	_, err := u.AppsV1().Deployments("default").Create(t.Context(), web(3), metav1.CreateOptions{})
	u.must(err)
	u.eventuallyRunning("app=web", 3)
	c := u.f.cluster()
	u.must(c.tend())
	before := c.api.Store().ResourceVersion()
	for range 3 {
		u.must(c.tend())
	}
	if after := c.api.Store().ResourceVersion(); after != before {
		t.Errorf("resourceVersion went from %s to %s", before, after)
	}
}

func TestNodeLease_IsFreshEvenAfterARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := newFleet(t, dir)
	f.boot("cp0", f.initData(bootstrapv1.KubeadmConfigSpec{}))
	for range 2 {
		lease, err := f.admin().CoordinationV1().Leases("kube-node-lease").Get(t.Context(), "cp0", metav1.GetOptions{})
		if err != nil || lease.Spec.RenewTime == nil || f.world.opts.Now().Sub(lease.Spec.RenewTime.Time) > 2*heartbeatEvery {
			t.Errorf("lease %+v, %v; want one that was just renewed", lease.Spec, err)
		}
		if err := f.world.Close(); err != nil {
			t.Fatal(err)
		}
		f.open(dir)
		f.cluster()
	}
}

func TestLogAndExec_SayThatThePodIsSimulated(t *testing.T) {
	t.Parallel()
	u := team(t, 0)
	pods := u.CoreV1().Pods("kube-system")
	log, err := pods.GetLogs("etcd-cp0", &corev1.PodLogOptions{}).DoRaw(t.Context())
	if err != nil || !strings.Contains(string(log), "simulated") {
		t.Errorf("log %q, %v", log, err)
	}
	for _, sub := range []string{"exec", "attach"} {
		err := u.CoreV1().RESTClient().Post().Namespace("kube-system").Resource("pods").Name("etcd-cp0").SubResource(sub).Do(t.Context()).Error()
		if !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), "no container runs") {
			t.Errorf("%s: %v", sub, err)
		}
	}
}
