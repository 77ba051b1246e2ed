package machineset_test

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/planetest"
	"slipway.dev/slipway/internal/planetest/workers"
)

// The size may be seen lowered before it is seen whom that is about.
func TestMachineSet_DeletesWhomAWatchThatLagsDoesNotShowYet(t *testing.T) {
	t.Parallel()
	for name, decide := range map[string]func(*workers.World, *workers.Keeper, *clusterv1.Machine){
		"marked by an autoscaler": func(w *workers.World, _ *workers.Keeper, m *clusterv1.Machine) {
			w.Change(m, func() { m.Annotations = map[string]string{clusterv1.DeleteMachineAnnotation: "yes"} })
		},
		"being deleted by somebody": func(w *workers.World, keeper *workers.Keeper, m *clusterv1.Machine) {
			keeper.Cling(func(*clusterv1.Machine) bool { return true })
			w.Must(w.Delete(w.Context(), m))
		},
		"deleted by somebody": func(w *workers.World, _ *workers.Keeper, m *clusterv1.Machine) {
			w.Must(w.Delete(w.Context(), m))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := workers.New(t)
			keeper, lag := w.Keeper(), &planetest.Lag{}
			contend(t, w, lag, &workers.Writes{}).Lead()
			set := w.MachineSet("pool", 3)
			w.Make(set)
			all := settled(t, w, set, 3)
			lag.Hold("machines")
			machines := w.Count(&clusterv1.MachineList{})
			machines.Await(t, func(n planetest.Numbers) bool { return n.All == 3 })
			machines.Begin()
			decide(w, keeper, &all[2])
			w.Change(set, func() { set.Spec.Replicas = new(int32(2)) })
			planetest.WaitOut(t)
			keeper.Cling(nil)
			lag.Release()
			for _, m := range settled(t, w, set, 2) {
				if m.Name == all[2].Name {
					t.Error("the Machine that was to go was kept")
				}
			}
			if n := machines.Since(); n.Fewest != 2 || n.All != 3 {
				t.Errorf("there were %s", n)
			}
			w.Must(w.Get(t.Context(), client.ObjectKeyFromObject(&all[0]), &clusterv1.Machine{}))
		})
	}
}
