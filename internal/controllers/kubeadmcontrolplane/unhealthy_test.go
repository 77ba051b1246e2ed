package kubeadmcontrolplane_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	infrav1 "slipway.dev/slipway/api/infrastructure/v1alpha1"
	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
	"slipway.dev/slipway/internal/conditions"
	"slipway.dev/slipway/internal/planetest"
)

// ail gives the machine of a Machine a fault, or ends all of its faults.
func (w *world) ail(m *clusterv1.Machine, faults ...infrav1.SimMachineFaultType) {
	w.Helper()
	sim := &infrav1.SimMachine{}
	w.must(w.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: m.Spec.InfrastructureRef.Name}, sim))
	planetest.Change(w, w, sim, func() {
		sim.Spec.Faults = nil
		for _, f := range faults {
			sim.Spec.Faults = append(sim.Spec.Faults, infrav1.SimMachineFault{Type: f})
		}
	})
}

// sick is a control plane of three whose second Machine has a dead etcd member, and all of its Machines.
func sick(t *testing.T, change ...func(*world)) (w *world, machines []clusterv1.Machine, patient *clusterv1.Machine) {
	t.Helper()
	w = newWorld(t, 3, change...)
	w.run(t)
	machines = w.settled(3)
	patient = &machines[1]
	w.ail(patient, infrav1.EtcdMemberDeadFault)
	w.says(controlplanev1.KubeadmControlPlaneEtcdClusterHealthyCondition, metav1.ConditionFalse, "Machine "+patient.Name)
	return w, machines, patient
}

func TestUnhealthy_ADeadEtcdMemberIsToldAndForgiven(t *testing.T) {
	t.Parallel()
	w, _, patient := sick(t)
	w.says(clusterv1.AvailableCondition, metav1.ConditionTrue, "") // Two of three are a quorum.
	w.must(w.Get(t.Context(), client.ObjectKeyFromObject(patient), patient))
	for _, want := range []struct {
		condition string
		status    metav1.ConditionStatus
		words     string
	}{
		{controlplanev1.KubeadmControlPlaneMachineEtcdPodHealthyCondition, metav1.ConditionFalse, "CrashLoopBackOff"},
		{controlplanev1.KubeadmControlPlaneMachineEtcdMemberHealthyCondition, metav1.ConditionUnknown, ""},
		{controlplanev1.KubeadmControlPlaneMachineAPIServerPodHealthyCondition, metav1.ConditionTrue, ""},
		{clusterv1.ReadyCondition, metav1.ConditionFalse, "EtcdPodHealthy"},
	} {
		planetest.Eventually(t, func(ctx context.Context) error {
			if err := w.Get(ctx, client.ObjectKeyFromObject(patient), patient); err != nil {
				return err
			}
			c := conditions.Find(patient.Status.Conditions, want.condition)
			if c == nil || c.Status != want.status || !strings.Contains(c.Message, want.words) {
				return fmt.Errorf("%s is %+v, want %s with %q", want.condition, c, want.status, want.words)
			}
			return nil
		})
	}
	w.ail(patient)
	w.says(controlplanev1.KubeadmControlPlaneEtcdClusterHealthyCondition, metav1.ConditionTrue, "")
	w.settled(3)
}

func TestUnhealthy_HoldsEveryStepThatIsNoMend(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		change    func(*controlplanev1.KubeadmControlPlane)
		mark      bool // a healthy Machine is marked to go first
		condition string
		after     int
	}{
		{"scaling up", func(kcp *controlplanev1.KubeadmControlPlane) { kcp.Spec.Replicas = new(int32(5)) }, false, clusterv1.ScalingUpCondition, 5},
		{"a rollout", upgrade, false, clusterv1.RollingOutCondition, 3},
		{"scaling down", func(kcp *controlplanev1.KubeadmControlPlane) { kcp.Spec.Replicas = new(int32(1)) }, true, clusterv1.ScalingDownCondition, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w, machines, patient := sick(t)
			if tt.mark {
				w.must(w.Patch(t.Context(), &machines[0], client.RawPatch(types.MergePatchType,
					[]byte(`{"metadata":{"annotations":{"`+clusterv1.DeleteMachineAnnotation+`":""}}}`))))
			}
			stop := w.watchNumbers()
			w.change(tt.change)
			why := "Machine " + patient.Name + ": etcd pod is not healthy"
			w.says(tt.condition, metav1.ConditionTrue, why)
			planetest.Told(t, w, w.kcp, "ControlPlaneUnhealthy", why)
			if present, err := w.list(t.Context()); err != nil || len(present) != 3 {
				t.Errorf("%d Machines while etcd is not well, %v", len(present), err)
			}
			if fewest, most, _ := stop(); fewest < 3 || most > 3 && fewest != 1<<10 {
				t.Errorf("from %d to %d Machines while etcd is not well", fewest, most)
			}
			w.ail(patient)
			w.settled(tt.after)
		})
	}
}

func TestUnhealthy_GoesFirstWhereOneGoes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		setup  func(*world)
		change func(*controlplanev1.KubeadmControlPlane)
		after  int
	}{
		{"scaling down", func(*world) {}, func(kcp *controlplanev1.KubeadmControlPlane) { kcp.Spec.Replicas = new(int32(1)) }, 1},
		{"a rollout without surge", func(w *world) { w.kcp.Spec.Rollout = surge(0) }, upgrade, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w, machines, patient := sick(t, tt.setup)
			release := w.hold(patient)
			w.change(tt.change)
			planetest.Eventually(t, func(ctx context.Context) error {
				present, err := w.list(ctx)
				if err != nil {
					return err
				}
				if !slices.ContainsFunc(present, func(m clusterv1.Machine) bool { return !m.DeletionTimestamp.IsZero() }) {
					return fmt.Errorf("none of %d Machines is deleted", len(machines))
				}
				for i := range present {
					if m := &present[i]; !m.DeletionTimestamp.IsZero() && m.Name != patient.Name {
						t.Errorf("Machine %s goes before %s", m.Name, patient.Name)
					}
				}
				return nil
			})
			release()
			w.gone(patient)
			w.settled(tt.after)
			if members, err := w.members(t.Context()); err != nil || len(members) != tt.after {
				t.Errorf("etcd members %v, %v", members, err)
			}
		})
	}
}
