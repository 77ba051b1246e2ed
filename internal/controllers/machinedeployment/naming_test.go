package machinedeployment_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/plan"
	"slipway.dev/slipway/internal/planetest"
	"slipway.dev/slipway/internal/planetest/workers"
)

func TestMachineDeployment_LeavesASetOfThatNameAlone(t *testing.T) {
	t.Parallel()
	w := workers.New(t)
	foreign := w.MachineSet("md-bbbbb", 0)
	w.Make(foreign)
	var drawn atomic.Int64
	planetest.Manager(t, w.Namespace, func(mgr ctrl.Manager) error {
		if _, err := workers.Keep(mgr); err != nil {
			return err
		}
		// The first name is md-bbbbb, the next md-ccccc.
		return setUpDrawing(mgr, &workers.Writes{}, func(n int) int { return int(drawn.Add(1)-1) / plan.SuffixLength % n })
	})
	d := w.MachineDeployment("md", 1)
	w.Make(d)
	planetest.Eventually(t, func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(d), d); err != nil {
			return err
		}
		if n := d.Status.AvailableReplicas; n == nil || *n != 1 {
			return fmt.Errorf("status %+v", d.Status)
		}
		return nil
	})
	after := &clusterv1.MachineSet{}
	w.Must(w.Get(t.Context(), client.ObjectKeyFromObject(foreign), after))
	if after.Generation != foreign.Generation || after.Labels[clusterv1.MachineDeploymentNameLabel] != "" {
		t.Errorf("the MachineSet became %+v", after)
	}
	w.Must(w.Get(t.Context(), w.Key("md-ccccc"), after))
}
