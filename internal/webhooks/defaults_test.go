package webhooks_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
)

// complete holds an object of each kind that has defaults, with all of them.
func complete() []client.Object {
	return []client.Object{machine(), machineSet(), machineDeployment(), machinePool(), healthCheck(), controlPlane()}
}

func TestDefaulting_LeavesCompleteObjectsAlone(t *testing.T) {
	t.Parallel()
	for _, obj := range complete() {
		if r := ask(t, "mutate", obj, nil); r.Patch != nil {
			t.Errorf("%T: %s", obj, r.Patch)
		}
		if r := ask(t, "validate", obj, nil); !r.Allowed {
			t.Errorf("%T: %q", obj, refusals(r))
		}
	}
}

func TestDefaulting_CompletesWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	compare := func(t *testing.T, want, got client.Object) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("defaults (-want +got):\n%s", diff)
		}
	}
	compare(t, machine(), defaulted(t, machine(func(m *clusterv1.Machine) {
		m.Labels, m.Spec.Version, m.Spec.Deletion = nil, "1.37.2", clusterv1.MachineDeletionSpec{}
	}), nil))
	compare(t, machineSet(), defaulted(t, machineSet(func(s *clusterv1.MachineSet) {
		s.Labels, s.Spec.Replicas, s.Spec.Selector = nil, nil, metav1.LabelSelector{}
		s.Spec.Template.ObjectMeta.Labels, s.Spec.Template.Spec.Version = nil, "1.37.2"
	}), nil))
	compare(t, machineDeployment(), defaulted(t, machineDeployment(func(d *clusterv1.MachineDeployment) {
		d.Labels, d.Spec.Replicas, d.Spec.Selector = nil, nil, metav1.LabelSelector{}
		d.Spec.Template.ObjectMeta.Labels, d.Spec.Template.Spec.Version = nil, "1.37.2"
		d.Spec.Rollout = clusterv1.MachineDeploymentRolloutSpec{}
	}), nil))
	compare(t, machinePool(), defaulted(t, machinePool(func(p *clusterv1.MachinePool) {
		p.Labels, p.Spec.Replicas = nil, nil
		p.Spec.Template.Spec.Version, p.Spec.Template.Spec.Deletion = "1.37.2", clusterv1.MachineDeletionSpec{}
	}), nil))
	compare(t, healthCheck(), defaulted(t, healthCheck(func(h *clusterv1.MachineHealthCheck) {
		h.Labels, h.Spec.Checks = nil, clusterv1.MachineHealthCheckChecks{}
	}), nil))
	compare(t, controlPlane(func(k *controlplanev1.KubeadmControlPlane) { k.Spec.Replicas = new(int32(1)) }),
		defaulted(t, controlPlane(func(k *controlplanev1.KubeadmControlPlane) {
			k.Spec.Replicas, k.Spec.Version, k.Spec.Rollout = nil, "1.37.2", controlplanev1.KubeadmControlPlaneRolloutSpec{}
		}), nil))
}

func TestDefaulting_KeepsWhatIsSaid(t *testing.T) {
	t.Parallel()
	got := defaulted(t, machineDeployment(func(d *clusterv1.MachineDeployment) {
		d.Labels = map[string]string{"mine": "yes"}
		d.Spec.Selector = metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
		d.Spec.Template.ObjectMeta.Labels = map[string]string{"a": "b"}
		d.Spec.Rollout.Strategy.RollingUpdate = clusterv1.MachineDeploymentRolloutStrategyRollingUpdate{MaxUnavailable: new(intstr.FromString("25%"))}
	}), nil)
	want := machineDeployment(func(d *clusterv1.MachineDeployment) {
		d.Labels["mine"] = "yes"
		labels := map[string]string{"a": "b", clusterv1.ClusterNameLabel: "c"}
		d.Spec.Selector.MatchLabels, d.Spec.Template.ObjectMeta.Labels = labels, labels
		d.Spec.Rollout.Strategy.RollingUpdate.MaxUnavailable = new(intstr.FromString("25%"))
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
	onDelete := defaulted(t, machineDeployment(func(d *clusterv1.MachineDeployment) {
		d.Spec.Rollout.Strategy = clusterv1.MachineDeploymentRolloutStrategy{Type: clusterv1.OnDeleteMachineDeploymentStrategyType}
	}), nil)
	if onDelete.Spec.Rollout.Strategy.RollingUpdate != (clusterv1.MachineDeploymentRolloutStrategyRollingUpdate{}) {
		t.Errorf("OnDelete got %+v", onDelete.Spec.Rollout.Strategy.RollingUpdate)
	}
	kept := defaulted(t, machine(func(m *clusterv1.Machine) {
		m.Spec.Deletion = clusterv1.MachineDeletionSpec{NodeDeletionTimeoutSeconds: new(int32(0)), NodeDrainTimeoutSeconds: new(int32(5))}
	}), nil)
	if *kept.Spec.Deletion.NodeDeletionTimeoutSeconds != 0 || *kept.Spec.Deletion.NodeDrainTimeoutSeconds != 5 {
		t.Errorf("deletion became %+v", kept.Spec.Deletion)
	}
}

func TestDefaulting_ReplicasFollowTheAutoscalersAnnotations(t *testing.T) {
	t.Parallel()
	sized := func(replicas *int32, low, high string) *clusterv1.MachineDeployment {
		return machineDeployment(func(d *clusterv1.MachineDeployment) {
			d.Spec.Replicas = replicas
			d.Annotations = map[string]string{clusterv1.AutoscalerMinSizeAnnotation: low, clusterv1.AutoscalerMaxSizeAnnotation: high}
		})
	}
	for _, row := range []struct {
		name     string
		replicas *int32
		stored   *int32
		want     int32
	}{
		{"new", nil, nil, 3},
		{"said", new(int32(7)), new(int32(4)), 7},
		{"stored within", nil, new(int32(4)), 4},
		{"stored below", nil, new(int32(1)), 3},
		{"stored above", nil, new(int32(9)), 5},
	} {
		var old *clusterv1.MachineDeployment
		if row.stored != nil {
			old = sized(row.stored, "3", "5")
		}
		if got := *defaulted(t, sized(row.replicas, "3", "5"), old).Spec.Replicas; got != row.want {
			t.Errorf("%s: %d replicas, not %d", row.name, got, row.want)
		}
	}
	want := []string{`metadata.annotations: Invalid value: annotation cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size is "few": write a whole number`}
	if diff := cmp.Diff(want, refusals(ask(t, "mutate", sized(nil, "few", "5"), nil))); diff != "" {
		t.Errorf("refusals (-want +got):\n%s", diff)
	}
}

func TestDefaulting_WithoutANameThereIsNoSelector(t *testing.T) {
	t.Parallel()
	got := defaulted(t, machineDeployment(func(d *clusterv1.MachineDeployment) {
		d.Name, d.GenerateName, d.Spec.Selector, d.Spec.Template.ObjectMeta.Labels = "", "d-", metav1.LabelSelector{}, nil
	}), nil)
	checkRows(t, []row{{name: "generated name", obj: got, want: []string{
		"spec.selector: Required value: give the labels by which the Machines are found, and the same labels in spec.template.metadata.labels",
	}}})
}
