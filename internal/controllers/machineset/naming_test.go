package machineset_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	infrav1 "slipway.dev/slipway/api/infrastructure/v1alpha1"
	"slipway.dev/slipway/internal/controllers/machineset"
	"slipway.dev/slipway/internal/plan"
	"slipway.dev/slipway/internal/planetest"
	"slipway.dev/slipway/internal/planetest/workers"
)

// runDrawing runs the controller with names whose random part is one letter throughout: each letter comes twice, then the
// next one.
func runDrawing(t *testing.T, w *workers.World) {
	t.Helper()
	var drawn atomic.Int64
	planetest.Manager(t, w.Namespace, func(mgr ctrl.Manager) error {
		if _, err := workers.Keep(mgr); err != nil {
			return err
		}
		r := &machineset.Reconciler{Client: mgr.GetClient(), APIReader: mgr.GetAPIReader(), Now: time.Now, Random: func(n int) int {
			return int(drawn.Add(1)-1) / (2 * plan.SuffixLength) % n
		}}
		return r.SetupWithManager(mgr, controller.Options{})
	})
}

func pool(w *workers.World, name, naming string, replicas int32) *clusterv1.MachineSet {
	set := w.MachineSet(name, replicas)
	set.Spec.MachineNaming.Template = naming
	set.Spec.Selector.MatchLabels = map[string]string{"pool": name}
	set.Spec.Template.ObjectMeta.Labels = map[string]string{"pool": name}
	return set
}

func TestMachineSet_LeavesTheMachinesOfOthersAloneWhereNamesCollide(t *testing.T) {
	t.Parallel()
	w := workers.New(t)
	// A machine of nobody's has the first name that is drawn, but no Machine that the cache could show.
	foreign := &infrav1.SimMachine{ObjectMeta: w.Meta("demo-bbbbb")}
	w.Make(foreign)
	runDrawing(t, w)
	const naming = "{{ .cluster.name }}-{{ .random }}"
	first := pool(w, "first", naming, 1)
	w.Make(first)
	count(t, w, first, 1)
	before, err := w.Infrastructure(t.Context())
	w.Must(err)
	second := pool(w, "second", naming, 3)
	w.Make(second)
	count(t, w, second, 3)
	count(t, w, first, 1)
	for i := range before {
		after := &infrav1.SimMachine{}
		w.Must(w.Get(t.Context(), client.ObjectKeyFromObject(&before[i]), after))
		if after.UID != before[i].UID || after.DeletionTimestamp != nil || after.Labels["pool"] != before[i].Labels["pool"] {
			t.Errorf("SimMachine %s was %+v and is %+v", after.Name, before[i].ObjectMeta, after.ObjectMeta)
		}
	}
	tidyBut(t, w, 4, foreign.Name)
}

// count waits until the set has that many Machines, all available.
func count(t *testing.T, w *workers.World, set *clusterv1.MachineSet, replicas int32) {
	t.Helper()
	planetest.Eventually(t, func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(set), set); err != nil {
			return err
		}
		if s := set.Status; s.AvailableReplicas == nil || *s.AvailableReplicas != replicas || *s.Replicas != replicas {
			return fmt.Errorf("status %+v", s)
		}
		return nil
	})
}

// tidyBut waits until there are as many objects of machines as Machines, and one SimMachine more.
func tidyBut(t *testing.T, w *workers.World, machines int, foreign string) {
	t.Helper()
	planetest.Eventually(t, func(ctx context.Context) error {
		infrastructure, err := w.Infrastructure(ctx)
		if err != nil {
			return err
		}
		configs, err := w.Configs(ctx)
		if err != nil || len(infrastructure) != machines+1 || len(configs) != machines {
			return fmt.Errorf("beside %s, %d SimMachines, %d KubeadmConfigs, %w", foreign, len(infrastructure)-1, len(configs), err)
		}
		return nil
	})
}

func TestMachineSet_SaysThatItsTemplateHasNoNamesLeft(t *testing.T) {
	t.Parallel()
	w := workers.New(t)
	runDrawing(t, w)
	// Admission asks for {{ .random }} and cannot tell that this template drops it again.
	const naming = `{{ .machineSet.name }}-{{ slice .random 0 1 }}{{/* {{ .random }} */}}`
	set := pool(w, "pool", naming, 30)
	w.Make(set)
	planetest.Eventually(t, func(ctx context.Context) error {
		machines, err := w.Machines(ctx)
		if err != nil || len(machines) < 20 {
			return fmt.Errorf("%d Machines, %w", len(machines), err)
		}
		return nil
	})
	planetest.Eventually(t, func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(set), set); err != nil {
			return err
		}
		for _, c := range set.Status.Conditions {
			if c.Type == clusterv1.ScalingUpCondition && strings.Contains(c.Message, "gives names that are taken") && strings.Contains(c.Message, "slice .random") {
				return nil
			}
		}
		return fmt.Errorf("conditions %+v", set.Status.Conditions)
	})
}
