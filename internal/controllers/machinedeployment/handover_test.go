package machinedeployment_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/conditions"
	"slipway.dev/slipway/internal/planetest"
	"slipway.dev/slipway/internal/planetest/workers"
)

// contend runs both controllers whenever they lead, with watches that the Lag can hold back.
func contend(t *testing.T, w *workers.World, lag *planetest.Lag, writes *workers.Writes) *planetest.Contender {
	t.Helper()
	return planetest.Contend(t, lag.Config(planetest.Config(t)), w.Namespace, func(mgr ctrl.Manager) error { return setUp(mgr, writes) },
		&clusterv1.Machine{}, &clusterv1.MachineSet{}, &clusterv1.MachineDeployment{})
}

func TestMachineDeployment_ANewLeaderThatSeesNoSetMakesNoneTwice(t *testing.T) {
	t.Parallel()
	w := workers.New(t)
	w.Keeper()
	lag := &planetest.Lag{}
	old := contend(t, w, &planetest.Lag{}, &workers.Writes{})
	old.Lead()
	next := contend(t, w, lag, &workers.Writes{})
	lag.Hold("machines", "machinesets")
	sets := w.Count(&clusterv1.MachineSetList{})
	machines := w.Count(&clusterv1.MachineList{})
	d := w.MachineDeployment("md", 2)
	w.Make(d)
	sets.Await(t, func(n planetest.Numbers) bool { return n.All == 1 })
	old.Stop()
	next.Lead()
	planetest.WaitOut(t)
	if n := sets.Since(); n.All != 1 {
		t.Errorf("while the watch was held: %s MachineSets", n)
	}
	lag.Release()
	settled(t, w, d, 2)
	if s, m := sets.Since(), machines.Since(); s.All != 1 || m.All != 2 {
		t.Errorf("MachineSets: %s; Machines: %s", s, m)
	}
}

func TestMachineDeployment_ANewLeaderKeepsTheBoundsOfARollout(t *testing.T) {
	t.Parallel()
	for step := range 4 {
		t.Run(fmt.Sprintf("after %d Machines are gone", step), func(t *testing.T) {
			t.Parallel()
			w := workers.New(t)
			keeper, lag := w.Keeper(), &planetest.Lag{}
			old := contend(t, w, &planetest.Lag{}, &workers.Writes{})
			old.Lead()
			d := w.MachineDeployment("md", 4)
			d.Spec.Rollout.Strategy.Type = clusterv1.RollingUpdateMachineDeploymentStrategyType
			d.Spec.Rollout.Strategy.RollingUpdate.MaxSurge = new(intstr.FromInt(1))
			d.Spec.Rollout.Strategy.RollingUpdate.MaxUnavailable = new(intstr.FromInt(1))
			w.Make(d)
			settled(t, w, d, 4)
			next := contend(t, w, lag, &workers.Writes{})
			machines := w.Count(&clusterv1.MachineList{})
			sets := w.Count(&clusterv1.MachineSetList{})
			machines.Await(t, func(n planetest.Numbers) bool { return n.All == 4 })
			machines.Begin()
			lag.Hold("machines", "machinesets")
			allowed := map[string]bool{}
			keeper.Unfit(func(m *clusterv1.Machine) bool { return unfit(m, allowed, step) })
			w.Change(d, func() { d.Spec.Template.Spec.Version = newer })
			sets.Await(t, func(n planetest.Numbers) bool { return n.All == 2 })
			planetest.Eventually(t, func(ctx context.Context) error { return replaced(ctx, w, step) })
			old.Stop()
			next.Lead()
			keeper.Unfit(nil)
			planetest.WaitOut(t)
			lag.Release()
			settled(t, w, d, 4)
			if s, m := sets.Since(), machines.Since(); s.All != 2 || m.Staying > 5 || m.Fewest < 3 {
				t.Errorf("MachineSets: %s; Machines: %s", s, m)
			}
		})
	}
}

// unfit keeps new Machines from becoming available, but for the first few.
func unfit(m *clusterv1.Machine, allowed map[string]bool, few int) bool {
	if m.Spec.Version != newer {
		return false
	}
	if !allowed[m.Name] && len(allowed) < few {
		allowed[m.Name] = true
	}
	return !allowed[m.Name]
}

// replaced returns nil once so many old Machines are gone, and one more new one was made.
func replaced(ctx context.Context, w *workers.World, few int) error {
	machines, err := w.Machines(ctx)
	fresh := 0
	for _, m := range machines {
		if m.Spec.Version == newer {
			fresh++
		}
	}
	if err != nil || fresh < min(few+1, 4) {
		return fmt.Errorf("%d new Machines of %d, %w", fresh, len(machines), err)
	}
	return nil
}

func TestMachineDeployment_ASetWhoseAnswerIsLostIsNotMadeTwice(t *testing.T) {
	t.Parallel()
	w := workers.New(t)
	w.Keeper()
	lag, writes := &planetest.Lag{}, &workers.Writes{}
	lost := 0
	writes.Lose(func(obj client.Object) bool {
		if obj.GetObjectKind().GroupVersionKind().Kind != "MachineSet" || lost > 0 {
			return false
		}
		lost++
		return true
	})
	contend(t, w, lag, writes).Lead()
	sets := w.Count(&clusterv1.MachineSetList{})
	lag.Hold("machinesets")
	d := w.MachineDeployment("md", 2)
	w.Make(d)
	planetest.WaitOut(t)
	lag.Release()
	settled(t, w, d, 2)
	if n := sets.Since(); n.All != 1 {
		t.Errorf("MachineSets: %s", n)
	}
}

func TestMachineDeployment_TellsWhyItsSetIsRefusedAndOnce(t *testing.T) {
	t.Parallel()
	w := workers.New(t)
	writes, _ := run(t, w)
	tries := make(chan struct{}, 100)
	writes.Refuse(func(obj client.Object) error {
		if obj.GetObjectKind().GroupVersionKind().Kind != "MachineSet" {
			return nil
		}
		tries <- struct{}{}
		return apierrors.NewForbidden(schema.GroupResource{Resource: "machinesets"}, obj.GetName(), errors.New("the quota is used up"))
	})
	d := w.MachineDeployment("md", 1)
	w.Make(d)
	for range 6 {
		<-tries
	}
	planetest.Eventually(t, func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(d), d); err != nil {
			return err
		}
		message := conditions.Message(d.Status.Conditions, clusterv1.ScalingUpCondition)
		if !strings.Contains(message, "A MachineSet could not be created: ") || !strings.Contains(message, "\"md-<random>\" is forbidden: the quota is used up") {
			return fmt.Errorf("ScalingUp says %q", message)
		}
		return nil
	})
	writes.Refuse(nil)
	settled(t, w, d, 1)
	planetest.ToldOnce(t, w, d, "FailedCreate", "SuccessfulCreate")
}

func TestMachineDeployment_TellsWhatKeepsItsSetFromGrowing(t *testing.T) {
	t.Parallel()
	w := workers.New(t)
	writes, _ := run(t, w)
	writes.Refuse(func(obj client.Object) error {
		if obj.GetObjectKind().GroupVersionKind().Kind != "SimMachine" {
			return nil
		}
		return apierrors.NewForbidden(schema.GroupResource{Resource: "simmachines"}, obj.GetName(), errors.New("the quota is used up"))
	})
	d := w.MachineDeployment("md", 2)
	w.Make(d)
	planetest.Eventually(t, func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(d), d); err != nil {
			return err
		}
		if message := conditions.Message(d.Status.Conditions, clusterv1.ScalingUpCondition); !strings.Contains(message, "the quota is used up") {
			return fmt.Errorf("ScalingUp says %q", message)
		}
		return nil
	})
	writes.Refuse(nil)
	w.Change(d, func() { d.Spec.Replicas = new(int32(1)) })
	settled(t, w, d, 1)
	if message := conditions.Message(d.Status.Conditions, clusterv1.ScalingUpCondition); message != "" {
		t.Errorf("ScalingUp says %q", message)
	}
}
