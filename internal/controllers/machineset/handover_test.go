package machineset_test

import (
	"context"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	infrav1 "slipway.dev/slipway/api/infrastructure/v1alpha1"
	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
	"slipway.dev/slipway/internal/planetest"
	"slipway.dev/slipway/internal/planetest/workers"
)

// untyped is an object of a kind, as caches of provider objects hold it.
func untyped(gvk schema.GroupVersionKind) client.Object {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvk)
	return u
}

// contend runs the controller whenever it leads, with watches that the Lag can hold back.
func contend(t *testing.T, w *workers.World, lag *planetest.Lag, writes *workers.Writes) *planetest.Contender {
	t.Helper()
	return planetest.Contend(t, lag.Config(planetest.Config(t)), w.Namespace, func(mgr ctrl.Manager) error { return setUp(mgr, writes) },
		&clusterv1.Machine{}, &clusterv1.MachineSet{},
		untyped(infrav1.GroupVersion.WithKind("SimMachine")), untyped(bootstrapv1.GroupVersion.WithKind("KubeadmConfig")))
}

// tidy waits until there are as many objects of machines as Machines.
func tidy(t *testing.T, w *workers.World, machines int) {
	t.Helper()
	planetest.Eventually(t, func(ctx context.Context) error {
		infrastructure, err := w.Infrastructure(ctx)
		if err != nil {
			return err
		}
		configs, err := w.Configs(ctx)
		if err != nil || len(infrastructure) != machines || len(configs) != machines {
			return fmt.Errorf("%d SimMachines, %d KubeadmConfigs, %w", len(infrastructure), len(configs), err)
		}
		return nil
	})
}

func TestMachineSet_ANewLeaderThatSeesTooFewMakesNoneTwice(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		// lives is how many writes the first leader makes: the metadata of the MachineSet and of two templates, and three
		// for each Machine; none for as many as it likes.
		lives int
		held  []string
		// machines is how many the first leader leaves behind.
		machines int
	}{
		{"all Machines are made", 0, []string{"machines"}, 3},
		{"all is made and nothing shows", 0, []string{"machines", "simmachines", "kubeadmconfigs"}, 3},
		{"a Machine is half made", 8, []string{"machines"}, 1},
		{"a Machine is half made and nothing shows", 8, []string{"machines", "simmachines", "kubeadmconfigs"}, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			w := workers.New(t)
			w.Keeper()
			first, lag := &workers.Writes{}, &planetest.Lag{}
			if row.lives > 0 {
				first.DieAfter(row.lives)
			}
			old := contend(t, w, &planetest.Lag{}, first)
			old.Lead()
			next := contend(t, w, lag, &workers.Writes{})
			lag.Hold(row.held...)
			machines, infrastructure := w.Count(&clusterv1.MachineList{}), w.Count(&infrav1.SimMachineList{})
			set := w.MachineSet("pool", 3)
			w.Make(set)
			machines.Await(t, func(n planetest.Numbers) bool { return n.All == row.machines })
			if row.lives > 0 {
				planetest.Eventually(t, func(context.Context) error {
					if !first.Dead() {
						return fmt.Errorf("%d writes", len(first.Log()))
					}
					return nil
				})
			}
			old.Stop()
			next.Lead()
			planetest.WaitOut(t)
			if n := machines.Since(); n.All != row.machines {
				t.Errorf("while the watch was held: %s Machines", n)
			}
			lag.Release()
			settled(t, w, set, 3)
			tidy(t, w, 3)
			if m, i := machines.Since(), infrastructure.Since(); m.All != 3 || i.All != 3 {
				t.Errorf("Machines: %s; SimMachines: %s", m, i)
			}
		})
	}
}

func TestMachineSet_ANewLeaderThatSeesTooManyDeletesNoneTwice(t *testing.T) {
	t.Parallel()
	w := workers.New(t)
	w.Keeper()
	lag := &planetest.Lag{}
	old := contend(t, w, &planetest.Lag{}, &workers.Writes{})
	old.Lead()
	set := w.MachineSet("pool", 4)
	w.Make(set)
	all := settled(t, w, set, 4)
	next := contend(t, w, lag, &workers.Writes{})
	lag.Hold("machines")
	machines := w.Count(&clusterv1.MachineList{})
	machines.Await(t, func(n planetest.Numbers) bool { return n.All == 4 })
	machines.Begin()
	// The next leader does not see who is to go first, and would choose others.
	for i := range all[:2] {
		w.Change(&all[3-i], func() { all[3-i].Annotations = map[string]string{clusterv1.DeleteMachineAnnotation: "yes"} })
	}
	w.Change(set, func() { set.Spec.Replicas = new(int32(2)) })
	machines.Await(t, func(n planetest.Numbers) bool { return n.All == 2 })
	old.Stop()
	next.Lead()
	planetest.WaitOut(t)
	if n := machines.Since(); n.Fewest != 2 {
		t.Errorf("while the watch was held: %s", n)
	}
	lag.Release()
	settled(t, w, set, 2)
	if n := machines.Since(); n.Fewest != 2 || n.All != 4 {
		t.Errorf("there were %s", n)
	}
}

func TestMachineSet_ALeaderWaitsUntilItSeesWhatItDid(t *testing.T) {
	t.Parallel()
	w := workers.New(t)
	w.Keeper()
	lag := &planetest.Lag{}
	contend(t, w, lag, &workers.Writes{}).Lead()
	machines := w.Count(&clusterv1.MachineList{})
	lag.Hold("machines", "simmachines", "kubeadmconfigs")
	set := w.MachineSet("pool", 3)
	w.Make(set)
	machines.Await(t, func(n planetest.Numbers) bool { return n.All == 3 })
	w.Change(set, func() { set.Spec.Replicas = new(int32(2)) })
	planetest.WaitOut(t)
	if n := machines.Since(); n.All != 3 {
		t.Errorf("while the watch was held: %s", n)
	}
	lag.Release()
	settled(t, w, set, 2)
	machines.Begin()
	lag.Hold("machines")
	w.Change(set, func() { set.Spec.Replicas = new(int32(1)) })
	machines.Await(t, func(n planetest.Numbers) bool { return n.Staying == 1 })
	w.Change(set, func() { set.Spec.Replicas = new(int32(4)) })
	planetest.WaitOut(t)
	if n := machines.Since(); n.Fewest != 1 || n.All > 4 {
		t.Errorf("while the watch was held: %s", n)
	}
	lag.Release()
	settled(t, w, set, 4)
	tidy(t, w, 4)
	if n := machines.Since(); n.Fewest != 1 || n.All > 4 {
		t.Errorf("there were %s", n)
	}
}

func TestMachineSet_AWriteWhoseAnswerIsLostIsNotMadeTwice(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"KubeadmConfig", "SimMachine", "Machine"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w := workers.New(t)
			w.Keeper()
			lag, writes := &planetest.Lag{}, &workers.Writes{}
			lost := 0
			writes.Lose(func(obj client.Object) bool {
				if obj.GetObjectKind().GroupVersionKind().Kind == kind && lost < 2 {
					lost++
					return true
				}
				return false
			})
			contend(t, w, lag, writes).Lead()
			machines, infrastructure := w.Count(&clusterv1.MachineList{}), w.Count(&infrav1.SimMachineList{})
			configs := w.Count(&bootstrapv1.KubeadmConfigList{})
			lag.Hold("machines", "simmachines", "kubeadmconfigs")
			set := w.MachineSet("pool", 2)
			w.Make(set)
			planetest.WaitOut(t)
			lag.Release()
			settled(t, w, set, 2)
			tidy(t, w, 2)
			if m, i, c := machines.Since(), infrastructure.Since(), configs.Since(); m.All != 2 || i.All != 2 || c.All != 2 {
				t.Errorf("Machines: %s; SimMachines: %s; KubeadmConfigs: %s", m, i, c)
			}
		})
	}
}
