package kubeadmcontrolplane_test

import (
	"context"
	"fmt"
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
	"slipway.dev/slipway/internal/planetest"
	"slipway.dev/slipway/internal/provision"
)

// A Machine that was not made by the control plane has no hook, and its etcd member would be left behind.
func TestAdoption_PutsTheHookOnSoThatTheMemberLeaves(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3)
	w.run(t)
	adopted := w.settled(3)[0]
	before := adopted.DeepCopy()
	delete(adopted.Annotations, controlplanev1.PreTerminateHookCleanupAnnotation)
	adopted.OwnerReferences = nil
	w.must(w.Patch(t.Context(), &adopted, client.MergeFrom(before)))
	planetest.Eventually(t, func(ctx context.Context) error {
		w.must(w.Get(ctx, client.ObjectKeyFromObject(&adopted), &adopted))
		if _, hooked := adopted.Annotations[controlplanev1.PreTerminateHookCleanupAnnotation]; !hooked || !metav1.IsControlledBy(&adopted, w.kcp) {
			return fmt.Errorf("annotations %v, owners %v", adopted.Annotations, adopted.OwnerReferences)
		}
		return nil
	})
	w.must(w.Delete(t.Context(), &adopted))
	w.gone(&adopted)
	w.settled(3)
	w.tidy(3)
}

// A Machine without the labels by which it is found still runs an API server and a member of etcd.
func TestMachine_ThatLostItsLabelsIsStillCountedAndGetsThemBack(t *testing.T) {
	t.Parallel()
	for _, label := range []string{clusterv1.MachineControlPlaneLabel, clusterv1.ClusterNameLabel} {
		t.Run(label, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 1)
			w.run(t)
			m := w.settled(1)[0]
			strip := func() {
				before := m.DeepCopy()
				delete(m.Labels, label)
				w.must(w.Patch(t.Context(), &m, client.MergeFrom(before)))
			}
			strip()
			planetest.Eventually(t, func(ctx context.Context) error {
				w.must(w.Get(ctx, client.ObjectKeyFromObject(&m), &m))
				if _, labelled := m.Labels[label]; !labelled {
					return fmt.Errorf("labels %v", m.Labels)
				}
				return nil
			})
			if again := w.settled(1)[0]; again.UID != m.UID {
				t.Errorf("Machine %s was replaced by %s", m.Name, again.Name)
			}
			release := w.hold(&m)
			w.must(w.Delete(t.Context(), w.cluster))
			w.says(clusterv1.DeletingCondition, metav1.ConditionTrue, m.Name)
			strip()
			release()
			w.gone(&m)
			w.gone(w.cluster)
		})
	}
}

// Nobody but a control plane drops its hook, and nobody but its owner takes the authorities along.
func TestOrphaning_LeavesNothingThatHoldsUpTheDeletionOfTheCluster(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.run(t)
	m := w.settled(1)[0]
	w.must(w.Delete(t.Context(), w.kcp, client.PropagationPolicy(metav1.DeletePropagationOrphan)))
	w.gone(w.kcp)
	w.must(w.Get(t.Context(), client.ObjectKeyFromObject(&m), &m))
	if _, hooked := m.Annotations[controlplanev1.PreTerminateHookCleanupAnnotation]; hooked || !m.DeletionTimestamp.IsZero() {
		t.Errorf("annotations %v, deleted %v", m.Annotations, m.DeletionTimestamp)
	}
	w.must(w.Delete(t.Context(), w.cluster))
	w.gone(w.cluster)
	w.gone(&m)
	planetest.Eventually(t, func(ctx context.Context) error {
		var left corev1.SecretList
		if err := w.List(ctx, &left, client.InNamespace(w.namespace)); err != nil {
			return err
		}
		if len(left.Items) > 0 {
			return fmt.Errorf("%d Secrets are left, such as %s", len(left.Items), left.Items[0].Name)
		}
		return nil
	})
}

// The garbage collector may have left the Machines to others before the control plane saw that this was asked for.
func TestDeletion_WaitsForNoWorkerWithoutMachines(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	worker := w.foreign("worker", nil)
	left := w.foreign("left", map[string]string{clusterv1.MachineControlPlaneLabel: ""})
	left.Annotations = map[string]string{controlplanev1.PreTerminateHookCleanupAnnotation: ""}
	for _, m := range []*clusterv1.Machine{worker, left} {
		w.must(w.Create(t.Context(), m))
	}
	w.kcp.Labels = map[string]string{clusterv1.ClusterNameLabel: clusterName}
	w.kcp.OwnerReferences = []metav1.OwnerReference{provision.OwnerCluster(w.cluster)}
	w.kcp.Finalizers = []string{controlplanev1.KubeadmControlPlaneFinalizer}
	w.must(w.Update(t.Context(), w.kcp))
	w.must(w.Delete(t.Context(), w.kcp))
	w.run(t)
	w.gone(w.kcp)
	for _, m := range []*clusterv1.Machine{worker, left} {
		w.must(w.Get(t.Context(), client.ObjectKeyFromObject(m), m))
		if _, hooked := m.Annotations[controlplanev1.PreTerminateHookCleanupAnnotation]; hooked || !m.DeletionTimestamp.IsZero() {
			t.Errorf("Machine %s: annotations %v, deleted %v", m.Name, m.Annotations, m.DeletionTimestamp)
		}
	}
}

func TestInit_NotBesideMachinesOfOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	other := w.foreign("by-hand", map[string]string{clusterv1.MachineControlPlaneLabel: ""})
	w.must(w.Create(t.Context(), other))
	w.run(t)
	w.says(clusterv1.ScalingUpCondition, metav1.ConditionTrue, "does not control: by-hand")
	machines, err := w.list(t.Context())
	w.must(err)
	if len(machines) != 1 {
		t.Errorf("%d Machines", len(machines))
	}
	w.must(w.Delete(t.Context(), other))
	w.settled(1)
}

// foreign returns a Machine of the Cluster that nobody controls.
func (w *world) foreign(name string, labels map[string]string) *clusterv1.Machine {
	m := &clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: clusterName}},
		Spec: clusterv1.MachineSpec{
			ClusterName: clusterName, Version: oldVersion, Bootstrap: clusterv1.Bootstrap{DataSecretName: new("mine")},
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: w.kcp.Spec.MachineTemplate.Spec.InfrastructureRef.APIGroup, Kind: "SimMachine", Name: name},
		},
	}
	maps.Copy(m.Labels, labels)
	return m
}
