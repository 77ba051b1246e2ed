package kubeadmcontrolplane_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
	"slipway.dev/slipway/internal/conditions"
	"slipway.dev/slipway/internal/planetest"
)

func TestControlPlane_ComesUpAndIsQuiet(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3, func(w *world) {
		w.kcp.Spec.MachineTemplate.ObjectMeta = clusterv1.ObjectMeta{Labels: map[string]string{"team": "blue"}, Annotations: map[string]string{"note": "hello"}}
		w.kcp.Spec.MachineTemplate.Spec.ReadinessGates = []clusterv1.MachineReadinessGate{{ConditionType: "APIServerPodHealthy"}}
	})
	writes := w.run(t)
	machines := w.settled(3)
	for i := range machines {
		checkMachine(t, w, &machines[i])
	}
	checkConfigs(t, w)
	checkSecrets(t, w)
	if s := w.kcp.Status; !*s.Initialization.ControlPlaneInitialized || len(s.Versions) != 1 || *s.Versions[0].Replicas != 3 ||
		s.Selector != "cluster.x-k8s.io/cluster-name=demo,cluster.x-k8s.io/control-plane=" || s.Deprecated.V1Beta1.UpdatedReplicas != 3 {
		t.Errorf("status %+v", s)
	}
	for _, c := range w.kcp.Status.Deprecated.V1Beta1.Conditions {
		if c.Status != corev1.ConditionTrue {
			t.Errorf("old condition %+v", c)
		}
	}
	if !slices.Contains(w.kcp.Finalizers, controlplanev1.KubeadmControlPlaneFinalizer) {
		t.Errorf("finalizers %v", w.kcp.Finalizers)
	}
	writes.Cease(t)
	// Finalizer, template, 5 Secrets; 3 objects and the certificates' end a Machine. How often statuses are written, that of a
	// Machine included, depends on how the events come: at most once for each thing that happens to a Machine.
	statuses, others := 0, 0
	for _, line := range writes.Log() {
		if strings.HasPrefix(line, "patch status of ") {
			statuses++
		} else {
			others++
		}
	}
	if others > 7+3*4 || statuses > 3*12 {
		t.Errorf("%d writes of statuses and %d others:\n%s", statuses, others, strings.Join(writes.Log(), "\n"))
	}
}

func checkMachine(t *testing.T, w *world, m *clusterv1.Machine) {
	t.Helper()
	owner := metav1.GetControllerOf(m)
	if owner == nil || owner.UID != w.kcp.UID || !slices.Contains(m.Finalizers, clusterv1.MachineFinalizer) {
		t.Errorf("owner %+v, finalizers %v", owner, m.Finalizers)
	}
	labels := map[string]string{clusterv1.ClusterNameLabel: clusterName, clusterv1.MachineControlPlaneLabel: "", clusterv1.MachineControlPlaneNameLabel: clusterName, "team": "blue"}
	for k, v := range labels {
		if have, ok := m.Labels[k]; !ok || have != v {
			t.Errorf("label %s is %q", k, have)
		}
	}
	if _, ok := m.Annotations[controlplanev1.PreTerminateHookCleanupAnnotation]; !ok || m.Annotations["note"] != "hello" {
		t.Errorf("annotations %v", m.Annotations)
	}
	if m.Spec.InfrastructureRef.Name != m.Name || m.Spec.Bootstrap.ConfigRef.Name != m.Name || !strings.HasPrefix(m.Name, clusterName+"-") {
		t.Errorf("names %s, %s, %s", m.Name, m.Spec.InfrastructureRef.Name, m.Spec.Bootstrap.ConfigRef.Name)
	}
	var gates []string
	for _, g := range m.Spec.ReadinessGates {
		gates = append(gates, g.ConditionType)
		if !conditions.IsTrue(m.Status.Conditions, g.ConditionType) {
			t.Errorf("condition %s is not True", g.ConditionType)
		}
	}
	want := []string{"APIServerPodHealthy", "ControllerManagerPodHealthy", "SchedulerPodHealthy", "EtcdPodHealthy", "EtcdMemberHealthy", "NodeKubeadmLabelsAndTaintsSet"}
	if !slices.Equal(gates, want) {
		t.Errorf("gates %v", gates)
	}
}

func checkConfigs(t *testing.T, w *world) {
	t.Helper()
	var configs bootstrapv1.KubeadmConfigList
	w.must(w.List(t.Context(), &configs, client.InNamespace(w.namespace)))
	starts := 0
	for _, c := range configs.Items {
		if c.Labels["team"] != "blue" || c.Annotations["note"] != "hello" || c.Labels[clusterv1.MachineControlPlaneNameLabel] != clusterName {
			t.Errorf("labels %v, annotations %v", c.Labels, c.Annotations)
		}
		if c.Spec.JoinConfiguration.ControlPlane == nil {
			starts++
		}
		if c.Spec.ClusterConfiguration.EncryptionAlgorithm != bootstrapv1.EncryptionAlgorithmECDSAP256 {
			t.Errorf("spec %+v", c.Spec)
		}
	}
	if starts != 1 || len(configs.Items) != 3 {
		t.Errorf("%d KubeadmConfigs, of which %d start the control plane", len(configs.Items), starts)
	}
}

func checkSecrets(t *testing.T, w *world) {
	t.Helper()
	for _, name := range []string{"ca", "etcd", "proxy", "sa", "kubeconfig"} {
		s := &corev1.Secret{}
		w.must(w.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: clusterName + "-" + name}, s))
		owner := metav1.GetControllerOf(s)
		if s.Type != clusterv1.ClusterSecretType || s.Labels[clusterv1.ClusterNameLabel] != clusterName || owner == nil || owner.UID != w.kcp.UID {
			t.Errorf("Secret %s: type %s, labels %v, owner %+v", name, s.Type, s.Labels, owner)
		}
	}
}

func TestControlPlane_ScalesThroughTheSubresourceAndLeavesEtcd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.run(t)
	first := w.settled(1)[0].Name
	w.scale(3)
	w.settled(3)
	stop := w.watchNumbers()
	m := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: first}}
	w.must(w.Patch(t.Context(), m, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"cluster.x-k8s.io/delete-machine":"yes"}}}`))))
	w.scale(1)
	left := w.settled(1)[0].Name
	if left == first {
		t.Error("the annotated Machine was kept")
	}
	if fewest, _, _ := stop(); fewest != 1 {
		t.Errorf("there were %d Machines at times", fewest)
	}
	members, err := w.members(t.Context())
	w.must(err)
	if !slices.Equal(members, []string{left}) {
		t.Errorf("etcd members %v, Machine %s", members, left)
	}
}

func (w *world) scale(replicas int32) {
	w.Helper()
	scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}
	w.must(w.SubResource("scale").Update(w.Context(), w.kcp, client.WithSubResourceBody(scale)))
}

func TestControlPlane_IsDeletedAfterItsWorkers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3)
	w.run(t)
	machines := w.settled(3)
	worker := &clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace, Name: "worker", Labels: map[string]string{clusterv1.ClusterNameLabel: clusterName},
			Annotations: map[string]string{clusterv1.PausedAnnotation: ""}, Finalizers: []string{"example.com/stay"},
		},
		Spec: clusterv1.MachineSpec{ClusterName: clusterName, InfrastructureRef: machines[0].Spec.InfrastructureRef, Bootstrap: clusterv1.Bootstrap{DataSecretName: new("none")}},
	}
	worker.Spec.InfrastructureRef.Name = "none"
	pool := &clusterv1.MachinePool{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "pool", Labels: worker.Labels},
		Spec:       clusterv1.MachinePoolSpec{ClusterName: clusterName, Template: clusterv1.MachineTemplateSpec{Spec: worker.Spec}},
	}
	w.must(w.Create(t.Context(), pool))
	w.must(w.Create(t.Context(), worker))
	w.must(w.Delete(t.Context(), w.kcp))
	w.says(clusterv1.DeletingCondition, metav1.ConditionTrue, "Machine worker")
	if left, err := w.list(t.Context()); err != nil || len(left) != 3 || slices.ContainsFunc(left, func(m clusterv1.Machine) bool { return !m.DeletionTimestamp.IsZero() }) {
		t.Fatalf("%d Machines are left while a worker is there, %v", len(left), err)
	}
	w.must(w.Patch(t.Context(), worker, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))))
	w.must(w.Delete(t.Context(), worker))
	w.says(clusterv1.DeletingCondition, metav1.ConditionTrue, "MachinePool pool")
	w.must(w.Delete(t.Context(), pool))
	w.gone(w.kcp)
	left, err := w.list(t.Context())
	w.must(err)
	if len(left) != 0 {
		t.Errorf("%d Machines are left", len(left))
	}
}

func TestControlPlane_DoesNothingWhilePaused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	writes := w.run(t)
	w.settled(1)
	w.change(func(kcp *controlplanev1.KubeadmControlPlane) {
		kcp.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
	})
	w.says(clusterv1.PausedCondition, metav1.ConditionTrue, "annotation")
	before := len(writes.Log())
	w.change(func(kcp *controlplanev1.KubeadmControlPlane) { kcp.Spec.Replicas = new(int32(3)) })
	writes.Cease(t)
	if log := writes.Log(); len(log) > before+1 { // Paused once more, for the new generation.
		t.Errorf("written while paused: %v", log[before:])
	}
	w.change(func(kcp *controlplanev1.KubeadmControlPlane) { kcp.Annotations = nil })
	w.settled(3)
}

func TestControlPlane_TakesBackAStrippedStatus(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3)
	writes := w.run(t)
	machines := w.settled(3)
	writes.Cease(t)
	before := len(writes.Log())
	for i := range machines {
		w.strip(&machines[i])
	}
	w.strip(w.kcp)
	after := w.settled(3)
	for i := range after {
		if after[i].UID != machines[i].UID {
			t.Errorf("Machine %s is new", after[i].Name)
		}
	}
	for _, line := range writes.Log()[before:] {
		if !strings.HasPrefix(line, "patch status of") {
			t.Errorf("written: %s", line)
		}
	}
}

func (w *world) strip(o client.Object) {
	w.Helper()
	w.must(w.Status().Patch(w.Context(), o, client.RawPatch("application/json-patch+json", []byte(`[{"op":"remove","path":"/status"}]`))))
}

func TestControlPlane_GoesOnWhereItWasKilled(t *testing.T) {
	t.Parallel()
	for _, lives := range []int{0, 1, 3, 6, 7, 8, 9, 10, 11, 14} {
		t.Run(fmt.Sprintf("after %d writes", lives), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 1)
			w.firstLife(t, lives)
			w.TB = t
			w.run(t)
			w.settled(1)
			w.tidy(1)
		})
	}
}

// firstLife runs the controllers until the one under test has died at a write, or has no more to write.
func (w *world) firstLife(t *testing.T, lives int) {
	t.Helper()
	t.Run("first life", func(t *testing.T) {
		w.TB = t
		writes := w.run(t)
		writes.DieAfter(lives)
		last, same := -1, 0
		planetest.Eventually(t, func(context.Context) error {
			if n := len(writes.Log()); n != last {
				last, same = n, 0
			}
			if same++; !writes.Dead() && same < 100 {
				return fmt.Errorf("%d writes", last)
			}
			return nil
		})
	})
}

// tidy checks that nothing is left of a Machine that does not exist.
func (w *world) tidy(replicas int) {
	w.Helper()
	planetest.Eventually(w, func(ctx context.Context) error {
		var configs bootstrapv1.KubeadmConfigList
		if err := w.List(ctx, &configs, client.InNamespace(w.namespace)); err != nil {
			return err
		}
		infrastructure := &metav1.PartialObjectMetadataList{}
		infrastructure.SetGroupVersionKind(w.gvk("SimMachineList"))
		if err := w.List(ctx, infrastructure, client.InNamespace(w.namespace)); err != nil {
			return err
		}
		members, err := w.members(ctx)
		if err != nil || len(configs.Items) != replicas || len(infrastructure.Items) != replicas || len(members) != replicas {
			return fmt.Errorf("%d KubeadmConfigs, %d SimMachines, etcd members %v, %w", len(configs.Items), len(infrastructure.Items), members, err)
		}
		return nil
	})
}
