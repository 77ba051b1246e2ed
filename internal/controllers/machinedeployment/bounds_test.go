package machinedeployment_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/planetest"
	"slipway.dev/slipway/internal/planetest/workers"
)

// A template that changes again at once leaves behind a MachineSet that is just making Machines. They count, although the
// cache does not show them yet.
func TestMachineDeployment_KeepsItsBoundsWhenTheTemplateChangesTwice(t *testing.T) {
	t.Parallel()
	w := workers.New(t)
	w.Keeper()
	lag := &planetest.Lag{}
	planetest.Contend(t, lag.Config(planetest.Config(t)), w.Namespace, func(mgr ctrl.Manager) error { return setUp(mgr, &workers.Writes{}) },
		&clusterv1.Machine{}, &clusterv1.MachineSet{}).Lead()
	d := w.MachineDeployment("md", 2)
	w.Make(d)
	settled(t, w, d, 2)
	machines := w.Count(&clusterv1.MachineList{})
	machines.Await(t, func(n planetest.Numbers) bool { return n.All == 2 })
	machines.Begin()
	lag.Hold("machines")
	w.Change(d, func() { d.Spec.Template.Spec.Version = "v1.37.7" })
	machines.Await(t, func(n planetest.Numbers) bool { return n.All == 3 })
	w.Change(d, func() { d.Spec.Template.Spec.Version = newer })
	planetest.Eventually(t, func(ctx context.Context) error {
		sets, err := w.Sets(ctx)
		if err != nil || len(sets) < 3 {
			return fmt.Errorf("%d MachineSets, %w", len(sets), err)
		}
		return nil
	})
	select {
	case <-t.Context().Done():
	case <-time.After(3 * time.Second):
	}
	lag.Release()
	settled(t, w, d, 2)
	if n := machines.Since(); n.All > 3 || n.Fewest < 2 {
		t.Errorf("there were %s", n)
	}
}

func TestMachineDeployment_GoesBackWithinItsBounds(t *testing.T) {
	t.Parallel()
	w := workers.New(t)
	run(t, w)
	d := w.MachineDeployment("md", 2)
	w.Make(d)
	first := settled(t, w, d, 2)
	stop := watchBounds(t, w, 3, 2)
	w.Change(d, func() { d.Spec.Template.Spec.Version = newer })
	planetest.Eventually(t, func(ctx context.Context) error {
		sets, err := w.Sets(ctx)
		if err != nil || len(sets) < 2 {
			return fmt.Errorf("%d MachineSets, %w", len(sets), err)
		}
		return nil
	})
	w.Change(d, func() { d.Spec.Template.Spec.Version = workers.Version })
	last := settled(t, w, d, 2)
	stop()
	planetest.Eventually(t, func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(d), d); err != nil {
			return err
		}
		if last.Name != first.Name || last.Annotations[clusterv1.RevisionAnnotation] != "3" || d.Annotations[clusterv1.RevisionAnnotation] != "3" {
			return fmt.Errorf("MachineSet %s with annotations %v, deployment with %v", last.Name, last.Annotations, d.Annotations)
		}
		return nil
	})
}
