package machineset_test

import (
	"context"
	"fmt"
	"testing"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/planetest"
	"slipway.dev/slipway/internal/planetest/workers"
)

// A template that nothing can be made from keeps nobody from having less, or from ending a drain that hangs.
func TestMachineSet_ShrinksAndPropagatesWithoutAUsableTemplate(t *testing.T) {
	t.Parallel()
	w := workers.New(t)
	for i := range 3 {
		m := &clusterv1.Machine{ObjectMeta: w.Meta(fmt.Sprintf("stray-%d", i)), Spec: w.Template("pool", "of-set").Spec}
		m.Labels["pool"], m.Finalizers = "of-set", []string{clusterv1.MachineFinalizer}
		m.Spec.InfrastructureRef.Kind, m.Spec.Bootstrap.ConfigRef.Kind = "SimMachine", "KubeadmConfig"
		w.Make(m)
	}
	run(t, w)
	set := w.MachineSet("pool", 2)
	set.Spec.Template.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: "nowhere.dev", Kind: "NothingTemplate", Name: "x"}
	set.Spec.Template.Spec.Deletion.NodeDrainTimeoutSeconds = new(int32(7))
	w.Make(set)
	planetest.Eventually(t, func(ctx context.Context) error {
		machines, err := w.Machines(ctx)
		if err != nil || len(machines) != 2 {
			return fmt.Errorf("%d Machines, %w", len(machines), err)
		}
		for _, m := range machines {
			if timeout := m.Spec.Deletion.NodeDrainTimeoutSeconds; timeout == nil || *timeout != 7 {
				return fmt.Errorf("Machine %s has the drain timeout %v", m.Name, timeout)
			}
		}
		return nil
	})
}
