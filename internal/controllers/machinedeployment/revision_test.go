package machinedeployment_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/conditions"
	"slipway.dev/slipway/internal/planetest"
	"slipway.dev/slipway/internal/planetest/workers"
)

// While the deployment's number is higher than that of a set, all Nodes of the set count as outdated.
func TestMachineDeployment_NumbersOnlySetsThatAreMade(t *testing.T) {
	t.Parallel()
	w := workers.New(t)
	run(t, w)
	d := w.MachineDeployment("md", 1)
	w.Make(d)
	before := settled(t, w, d, 1)
	w.Change(d, func() { d.Spec.Template.Spec.InfrastructureRef.Name = "later" })
	planetest.Eventually(t, func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(d), d); err != nil {
			return err
		}
		if message := conditions.Message(d.Status.Conditions, clusterv1.ScalingUpCondition); !strings.Contains(message, "SimMachineTemplate later does not exist") {
			return fmt.Errorf("ScalingUp says %q", message)
		}
		return nil
	})
	if got := d.Annotations[clusterv1.RevisionAnnotation]; got != "1" {
		t.Errorf("the deployment has revision %s, and its only set 1", got)
	}
	w.Make(w.MachineTemplate("later"))
	planetest.Eventually(t, func(ctx context.Context) error {
		sets, err := w.Sets(ctx)
		if err != nil || len(sets) != 1 || sets[0].Name == before.Name {
			return fmt.Errorf("%d MachineSets, %w", len(sets), err)
		}
		return nil
	})
	if after := settled(t, w, d, 1); after.Annotations[clusterv1.RevisionAnnotation] != "2" || d.Annotations[clusterv1.RevisionAnnotation] != "2" {
		t.Errorf("annotations of the deployment %v, of its set %v", d.Annotations, after.Annotations)
	}
}
