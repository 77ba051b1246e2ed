package machinedeployment_test

import (
	"context"
	"fmt"
	"testing"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/planetest"
	"slipway.dev/slipway/internal/planetest/workers"
)

// A template that nothing can be made from keeps nobody from having less, or from ending a drain that hangs.
func TestMachineDeployment_ShrinksAndPropagatesWithoutAUsableTemplate(t *testing.T) {
	t.Parallel()
	w := workers.New(t)
	run(t, w)
	d := w.MachineDeployment("md", 2)
	w.Make(d)
	before := settled(t, w, d, 2)
	w.Change(d, func() {
		d.Spec.Replicas = new(int32(1))
		d.Spec.Template.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: "nowhere.dev", Kind: "NothingTemplate", Name: "x"}
		d.Spec.Template.Spec.Deletion.NodeDrainTimeoutSeconds = new(int32(7))
	})
	planetest.Eventually(t, func(ctx context.Context) error {
		machines, err := w.Machines(ctx)
		if err != nil || len(machines) != 1 {
			return fmt.Errorf("%d Machines, %w", len(machines), err)
		}
		if timeout := machines[0].Spec.Deletion.NodeDrainTimeoutSeconds; timeout == nil || *timeout != 7 {
			return fmt.Errorf("the Machine has the drain timeout %v", timeout)
		}
		return nil
	})
	sets, err := w.Sets(t.Context())
	w.Must(err)
	if len(sets) != 1 || sets[0].Name != before.Name {
		t.Errorf("the MachineSets are %+v", sets)
	}
}
