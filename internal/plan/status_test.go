package plan

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
)

func TestPhases_FollowTheirFacts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		f    ClusterPhaseFacts
		want clusterv1.ClusterPhase
	}{
		{ClusterPhaseFacts{}, "Pending"},
		{ClusterPhaseFacts{HasRefs: true}, "Provisioning"},
		{ClusterPhaseFacts{HasRefs: true, InfrastructureProvisioned: true}, "Provisioning"},
		{ClusterPhaseFacts{HasRefs: true, InfrastructureProvisioned: true, EndpointValid: true}, "Provisioned"},
		{ClusterPhaseFacts{HasRefs: true, InfrastructureProvisioned: true, EndpointValid: true, Deleting: true}, "Deleting"},
	} {
		if got := ClusterPhase(tt.f); got != tt.want {
			t.Errorf("%+v: %s, want %s", tt.f, got, tt.want)
		}
	}
	for _, tt := range []struct {
		f    MachinePhaseFacts
		want clusterv1.MachinePhase
	}{
		{MachinePhaseFacts{}, "Pending"},
		{MachinePhaseFacts{BootstrapDataCreated: true}, "Provisioning"},
		{MachinePhaseFacts{BootstrapDataCreated: true, InfrastructureProvisioned: true, HasProviderID: true}, "Provisioned"},
		{MachinePhaseFacts{BootstrapDataCreated: true, InfrastructureProvisioned: true, HasProviderID: true, HasNode: true}, "Running"},
		{MachinePhaseFacts{InfrastructureProvisioned: true, HasProviderID: true, HasNode: true, Updating: true}, "Updating"},
		{MachinePhaseFacts{HasNode: true, Updating: true, Deleting: true}, "Deleting"},
	} {
		if got := MachinePhase(tt.f); got != tt.want {
			t.Errorf("%+v: %s, want %s", tt.f, got, tt.want)
		}
	}
	three := int32(3)
	for _, tt := range []struct {
		desired  *int32
		machines int32
		want     clusterv1.MachineDeploymentPhase
	}{{nil, 3, "Unknown"}, {&three, 2, "ScalingUp"}, {&three, 4, "ScalingDown"}, {&three, 3, "Running"}} {
		if got := MachineDeploymentPhase(tt.desired, tt.machines); got != tt.want {
			t.Errorf("%v of %v: %s, want %s", tt.machines, tt.desired, got, tt.want)
		}
	}
}

func TestCountMachines_EveryCounter(t *testing.T) {
	t.Parallel()
	machines := []CountedMachine{
		{Ready: True, Available: True, UpToDate: True, Version: "v1.37.2", HasTemplateLabels: true, NodeReady: true, NodeReadySince: at(-60)},
		{Ready: True, Available: False, UpToDate: True, Version: "v1.37.2", HasTemplateLabels: true, NodeReady: true, NodeReadySince: at(-5)},
		{Ready: False, Available: Unknown, UpToDate: False, Version: "v1.36.0"},
		{},
	}
	want := Counts{
		Replicas: 4, Ready: 2, Available: 1, UpToDate: 2,
		Versions:   []VersionCount{{"v1.36.0", 1}, {"v1.37.2", 2}},
		Deprecated: DeprecatedCounts{FullyLabeled: 2, Ready: 2, Available: 1, Updated: 2, Unavailable: 4, NotReady: 2},
	}
	if diff := cmp.Diff(want, CountMachines(machines, 5, 30, epoch)); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
}

func TestAvailableAfter_WaitsExactly(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		ready   bool
		since   int
		minimum int32
		want    bool
		wait    time.Duration
	}{
		{false, -100, 0, false, 0},
		{true, -100, 0, true, 0},
		{true, 5, 0, true, 0},
		{true, -10, 30, false, 20 * time.Second},
		{true, -30, 30, true, 0},
	} {
		if got, wait := AvailableAfter(tt.ready, at(tt.since), tt.minimum, epoch); got != tt.want || wait != tt.wait {
			t.Errorf("%+v: %v, %s", tt, got, wait)
		}
	}
}
