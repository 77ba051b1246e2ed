package plan

import (
	"strings"
	"testing"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
)

func TestTemplateDiffers_CountsOnlyWhatNeedsNewMachines(t *testing.T) {
	t.Parallel()
	base := clusterv1.MachineTemplateSpec{Spec: clusterv1.MachineSpec{ClusterName: "c", Version: "v1.37.2"}}
	for _, row := range []struct {
		name   string
		change func(*clusterv1.MachineTemplateSpec)
		want   string // empty for no difference
	}{
		{"metadata", func(m *clusterv1.MachineTemplateSpec) { m.ObjectMeta.Labels = map[string]string{"a": "b"} }, ""},
		{"minReadySeconds", func(m *clusterv1.MachineTemplateSpec) { m.Spec.MinReadySeconds = new(int32(3)) }, ""},
		{"readinessGates", func(m *clusterv1.MachineTemplateSpec) {
			m.Spec.ReadinessGates = []clusterv1.MachineReadinessGate{{ConditionType: "A"}}
		}, ""},
		{"deletion", func(m *clusterv1.MachineTemplateSpec) { m.Spec.Deletion.NodeDrainTimeoutSeconds = new(int32(3)) }, ""},
		{"taints", func(m *clusterv1.MachineTemplateSpec) { m.Spec.Taints = []clusterv1.MachineTaint{{Key: "a"}} }, ""},
		{"the v of the version", func(m *clusterv1.MachineTemplateSpec) { m.Spec.Version = "1.37.2" }, ""},
		{"the version", func(m *clusterv1.MachineTemplateSpec) { m.Spec.Version = "v1.37.3" }, "Version v1.37.2, v1.37.3 required"},
		{"the failure domain", func(m *clusterv1.MachineTemplateSpec) { m.Spec.FailureDomain = "z" }, "Failure domain none, z required"},
		{"the infrastructure", func(m *clusterv1.MachineTemplateSpec) {
			m.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{Kind: "FooTemplate", Name: "x"}
		}, "Infrastructure from nothing, FooTemplate x required"},
		{"the bootstrap configuration", func(m *clusterv1.MachineTemplateSpec) {
			m.Spec.Bootstrap.ConfigRef = clusterv1.ContractVersionedObjectReference{Kind: "BarTemplate", Name: "y"}
		}, "Bootstrap configuration from nothing, BarTemplate y required"},
		{"the data secret", func(m *clusterv1.MachineTemplateSpec) { m.Spec.Bootstrap.DataSecretName = new("s") },
			"Bootstrap data from Secret none, s required"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			want := *base.DeepCopy()
			row.change(&want)
			if got := strings.Join(TemplateDiffers(base, want), "; "); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
			if same := TemplateHash(base) == TemplateHash(want); same != (row.want == "") {
				t.Errorf("the hashes being equal is %t", same)
			}
		})
	}
}
