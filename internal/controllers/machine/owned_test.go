package machine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
	"slipway.dev/slipway/internal/contract"
	"slipway.dev/slipway/internal/controllers/machine"
	"slipway.dev/slipway/internal/planetest"
)

// deployment makes a MachineDeployment with a MachineSet, both at revision 1.
func deployment(w *world) (*clusterv1.MachineDeployment, *clusterv1.MachineSet) {
	w.Helper()
	labels := map[string]string{clusterv1.MachineDeploymentNameLabel: "md"}
	template := clusterv1.MachineTemplateSpec{
		ObjectMeta: clusterv1.ObjectMeta{Labels: labels},
		Spec: clusterv1.MachineSpec{
			ClusterName: clusterName, Version: version,
			Bootstrap: clusterv1.Bootstrap{ConfigRef: w.Ref("ConfigTemplate", "t")}, InfrastructureRef: w.Ref("MachineTemplate", "t"),
		},
	}
	revision := map[string]string{clusterv1.RevisionAnnotation: "1"}
	md := &clusterv1.MachineDeployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "md", Annotations: revision},
		Spec:       clusterv1.MachineDeploymentSpec{ClusterName: clusterName, Selector: metav1.LabelSelector{MatchLabels: labels}, Template: template},
	}
	w.must(w.Create(w.Context(), md))
	set := &clusterv1.MachineSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace, Name: "md-1", Annotations: revision, Labels: labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(md, clusterv1.GroupVersion.WithKind("MachineDeployment"))},
		},
		Spec: clusterv1.MachineSetSpec{ClusterName: clusterName, Selector: metav1.LabelSelector{MatchLabels: labels}, Template: template},
	}
	w.must(w.Create(w.Context(), set))
	return md, set
}

func TestMachine_OfADeploymentTellsWhetherItIsUpToDate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, contract.V1Beta2)
	md, set := deployment(w)
	m := w.running("worker", func(m *clusterv1.Machine) {
		m.Labels = map[string]string{clusterv1.MachineDeploymentNameLabel: "md", clusterv1.MachineSetNameLabel: set.Name}
		m.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, clusterv1.GroupVersion.WithKind("MachineSet"))}
	})
	up := w.until(m, func(m *clusterv1.Machine) error { return isTrue(m, clusterv1.MachineUpToDateCondition) })
	if slices.ContainsFunc(up.OwnerReferences, func(r metav1.OwnerReference) bool { return r.Kind == "Cluster" }) {
		t.Errorf("owners are %v", up.OwnerReferences)
	}
	w.must(w.Patch(t.Context(), md, client.RawPatch("application/merge-patch+json",
		[]byte(`{"metadata":{"annotations":{"machinedeployment.clusters.x-k8s.io/revision":"2"}},"spec":{"template":{"spec":{"version":"v1.37.3"}}}}`))))
	w.until(m, func(m *clusterv1.Machine) error {
		return hasReason(m, clusterv1.MachineUpToDateCondition, clusterv1.MachineNotUpToDateReason)
	})
	planetest.Eventually(t, func(ctx context.Context) error {
		node := &corev1.Node{}
		if err := w.workload.Get(ctx, client.ObjectKey{Name: "worker"}, node); err != nil {
			return err
		}
		if outdated := clusterv1.NodeOutdatedRevisionTaint(); !slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&outdated) }) {
			return fmt.Errorf("the taints are %v", node.Spec.Taints)
		}
		return nil
	})
}

func TestMachine_OfAControlPlaneShowsTheVersionsThatRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, contract.V1Beta2)
	expiry := "2027-01-02T03:04:05Z"
	m := w.running("cp", func(m *clusterv1.Machine) {
		m.Labels = map[string]string{clusterv1.MachineControlPlaneLabel: ""}
		m.Annotations = map[string]string{clusterv1.MachineCertificatesExpiryDateAnnotation: expiry}
	})
	for component, tag := range map[string]string{
		"kube-apiserver": version, "kube-controller-manager": version, "kube-scheduler": "v1.37.1", "etcd": "3.7.3-0",
	} {
		p := pod(component+"-cp", "cp", func(p *corev1.Pod) {
			p.Namespace, p.Labels = "kube-system", map[string]string{"component": component, "tier": "control-plane"}
			p.Spec.Containers = []corev1.Container{{Name: component, Image: "registry.k8s.io/" + component + ":" + tag}}
		})
		w.must(w.workload.Create(t.Context(), p))
	}
	got := w.until(m, func(m *clusterv1.Machine) error {
		return hasReason(m, clusterv1.VersionsMatchCondition, clusterv1.VersionsDifferReason)
	})
	v := got.Status.Slipway.Versions
	if v.APIServer != version || v.Scheduler != "v1.37.1" || v.Etcd == "" || v.ControllerManager != version {
		t.Errorf("versions are %+v", v)
	}
	if at := got.Status.CertificatesExpiryDate.UTC().Format(time.RFC3339); at != expiry {
		t.Errorf("certificates expire %s", at)
	}
}

// Only the infrastructure sees the tool that joins a machine to its cluster.
func TestMachine_SaysThatTheBootstrapToolIsNotObservableUntilItIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, contract.V1Beta2)
	config := &bootstrapv1.KubeadmConfig{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "worker"}}
	w.must(w.Create(t.Context(), config))
	config.Status.DataSecretName, config.Status.Initialization.DataSecretCreated = "worker-data", new(true)
	w.must(w.Status().Update(t.Context(), config))
	m := w.machine("worker", func(m *clusterv1.Machine) {
		m.Spec.Bootstrap.ConfigRef = clusterv1.ContractVersionedObjectReference{APIGroup: bootstrapv1.GroupVersion.Group, Kind: "KubeadmConfig", Name: "worker"}
	})
	w.provisioned("worker")
	w.joined("worker")
	w.until(m, func(m *clusterv1.Machine) error {
		return errors.Join(hasReason(m, clusterv1.VersionsMatchCondition, clusterv1.VersionsNotObservableReason),
			says(m, clusterv1.VersionsMatchCondition, "Could not be observed: kubeadm"))
	})
	for tool, reason := range map[string]string{"v1.36.1": clusterv1.VersionsDifferReason, version: clusterv1.VersionsMatchReason} {
		w.Edit("Machine", "worker", map[string]any{"status.bootstrapToolVersion": tool})
		got := w.until(m, func(m *clusterv1.Machine) error { return hasReason(m, clusterv1.VersionsMatchCondition, reason) })
		if v := got.Status.Slipway.Versions; v.BootstrapTool != tool {
			t.Errorf("versions are %+v, want the bootstrap tool %s", v, tool)
		}
	}
}

// deaf is a client whose every second answer to a write is lost: the write is done, and the controller hears of an error,
// as when it is killed in between.
type deaf struct {
	client.Client
	count *atomic.Int32
}

var errLost = errors.New("the answer was lost")

func (d deaf) lose(err error) error {
	if err == nil && d.count.Add(1)%2 == 0 {
		return errLost
	}
	return err
}

func (d deaf) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	return d.lose(d.Client.Patch(ctx, obj, patch, opts...))
}

func (d deaf) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	return d.lose(d.Client.Delete(ctx, obj, opts...))
}

func (d deaf) SubResource(name string) client.SubResourceClient {
	return deafStatus{d.Client.SubResource(name), d}
}

type deafStatus struct {
	client.SubResourceClient
	deaf deaf
}

func (d deafStatus) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	return d.deaf.lose(d.SubResourceClient.Patch(ctx, obj, patch, opts...))
}

func TestMachine_LivesThroughLostAnswers(t *testing.T) {
	t.Parallel()
	for first := range int32(2) {
		t.Run(fmt.Sprintf("from write %d on", first+1), func(t *testing.T) {
			t.Parallel()
			count := &atomic.Int32{}
			count.Store(first)
			w := newWorld(t, contract.V1Beta2, func(r *machine.Reconciler) { r.Client = deaf{r.Client, count} })
			controlPlane(w)
			m := w.running("worker")
			w.until(m, func(m *clusterv1.Machine) error { return isTrue(m, clusterv1.AvailableCondition) })
			w.must(w.Delete(t.Context(), m))
			w.untilGone(w, m)
			w.untilGone(w, w.Fake("Machine", "worker"))
			w.untilGone(w, w.Fake("Config", "worker"))
			w.untilGone(w.workload, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker"}})
		})
	}
}

func TestMachine_TellsOfItsNodeOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, contract.V1Beta2)
	controlPlane(w)
	m := w.running("worker")
	w.must(w.Delete(t.Context(), m))
	w.untilGone(w, m)
	planetest.Eventually(t, func(ctx context.Context) error {
		list := &corev1.EventList{}
		if err := w.List(ctx, list, client.InNamespace(w.namespace)); err != nil {
			return err
		}
		var told []string
		for _, e := range list.Items {
			if e.InvolvedObject.Name == "worker" {
				told = append(told, fmt.Sprintf("%s %d", e.Reason, max(1, e.Count)))
			}
		}
		slices.Sort(told)
		if got := strings.Join(told, ", "); got != "NodeVolumesDetached 1, SuccessfulDrainNode 1, SuccessfulSetNodeRef 1" {
			return errors.New(got)
		}
		return nil
	})
}
