package plan_test

import (
	"testing"

	"pgregory.net/rapid"

	"slipway.dev/slipway/internal/plan"
)

func TestBootstrap_WaitsInOrder(t *testing.T) {
	t.Parallel()
	ready := plan.BootstrapFacts{Machine: "m", DataExists: plan.False, InfrastructureProvisioned: true, ControlPlaneInitialized: true, EndpointKnown: true}
	for _, tc := range []struct {
		name   string
		change func(*plan.BootstrapFacts)
		step   plan.BootstrapStep
		reason string
	}{
		{"all is there", func(*plan.BootstrapFacts) {}, plan.MakeJoinData, ""},
		{"no Machine", func(f *plan.BootstrapFacts) { f.Machine = "" }, plan.WaitForBootstrap, plan.WaitingForMachine},
		{"the data exists", func(f *plan.BootstrapFacts) { f.DataExists = plan.True }, plan.KeepData, ""},
		{"nobody looked for the data", func(f *plan.BootstrapFacts) { f.DataExists = plan.Unknown }, plan.WaitForBootstrap, plan.WaitingForMachine},
		{"booted and the data is gone", func(f *plan.BootstrapFacts) { f.Booted = true }, plan.ForgetData, ""},
		{"the Machine goes", func(f *plan.BootstrapFacts) { f.MachineDeleting = true }, plan.WaitForBootstrap, plan.WaitingForMachineDeletion},
		{"no infrastructure", func(f *plan.BootstrapFacts) { f.InfrastructureProvisioned = false }, plan.WaitForBootstrap, plan.WaitingForInfrastructure},
		{"no endpoint", func(f *plan.BootstrapFacts) { f.EndpointKnown = false }, plan.WaitForBootstrap, plan.WaitingForEndpoint},
		{"a worker first", func(f *plan.BootstrapFacts) { f.ControlPlaneInitialized = false }, plan.WaitForBootstrap, plan.WaitingForControlPlaneToStart},
		{"a control plane machine first", func(f *plan.BootstrapFacts) { f.ControlPlaneInitialized, f.ControlPlane = false, true }, plan.MakeInitData, ""},
		{"a control plane machine that only joins", func(f *plan.BootstrapFacts) {
			f.ControlPlaneInitialized, f.ControlPlane, f.OnlyJoins = false, true, true
		}, plan.WaitForBootstrap, plan.WaitingForControlPlaneToStart},
		{"a control plane machine that only joins, later", func(f *plan.BootstrapFacts) { f.ControlPlane, f.OnlyJoins = true, true }, plan.MakeJoinData, ""},
		{"a control plane machine later", func(f *plan.BootstrapFacts) { f.ControlPlane = true }, plan.MakeJoinData, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f := ready
			tc.change(&f)
			if got := plan.Bootstrap(f); got.Step != tc.step || got.Reason != tc.reason || (got.Message == "") != (got.Reason == "") {
				t.Errorf("%+v, want step %d, reason %s", got, tc.step, tc.reason)
			}
		})
	}
}

func TestBootstrap_NeverMakesDataForAMachineThatHasSomeOrNeedsNone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		flag := func(name string) bool { return rapid.Bool().Draw(t, name) }
		f := plan.BootstrapFacts{
			Machine: rapid.SampledFrom([]string{"", "m"}).Draw(t, "machine"), MachineDeleting: flag("deleting"), ControlPlane: flag("control plane"),
			Booted: flag("booted"), DataExists: rapid.SampledFrom([]plan.Tri{plan.Unknown, plan.True, plan.False}).Draw(t, "data"),
			InfrastructureProvisioned: flag("infrastructure"), ControlPlaneInitialized: flag("initialized"), EndpointKnown: flag("endpoint"), OnlyJoins: flag("only joins"),
		}
		p := plan.Bootstrap(f)
		makes := p.Step == plan.MakeInitData || p.Step == plan.MakeJoinData
		if makes && (f.DataExists != plan.False || f.Booted || f.MachineDeleting || f.Machine == "") {
			t.Fatalf("makes data: %+v", f)
		}
		if p.Step == plan.MakeInitData && (f.ControlPlaneInitialized || !f.ControlPlane || f.OnlyJoins) {
			t.Fatalf("starts another control plane: %+v", f)
		}
	})
}
