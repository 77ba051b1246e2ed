package machine_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
	"slipway.dev/slipway/internal/apply"
	corev1ac "slipway.dev/slipway/internal/applyconfigurations/core/v1beta2"
	"slipway.dev/slipway/internal/conditions"
	"slipway.dev/slipway/internal/contract"
	"slipway.dev/slipway/internal/controllers/machine"
)

// longRounds is the variable that makes each writer write as often as it says; `make crash` does. By default it is shortRounds.
const (
	longRounds  = "SLIPWAY_CONDITION_ROUNDS"
	shortRounds = 100
)

func roundsWanted(t *testing.T) int {
	t.Helper()
	text := os.Getenv(longRounds)
	if text == "" {
		return shortRounds
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", longRounds, err)
	}
	return n
}

const (
	updated = "example.com/Updated"
	applied = "example.com/Applied"
)

// contested are the conditions that are written at once: by the controller under test, by the owner of a control plane's
// Machines, and by two third parties.
func contested() []string {
	return []string{clusterv1.InfrastructureReadyCondition, controlplanev1.KubeadmControlPlaneMachineAPIServerPodHealthyCondition, updated, applied}
}

// inRound is a condition as its writer wants it in a round. Its status changes every ten rounds.
func inRound(conditionType string, round int) metav1.Condition {
	c := metav1.Condition{Type: conditionType, Status: metav1.ConditionTrue, Reason: "Written", Message: fmt.Sprintf("round %d", round)}
	if round/10%2 == 1 {
		c.Status = metav1.ConditionFalse
	}
	return c
}

func TestConditions_OfManyWritersAreNeitherLostNorBroughtBack(t *testing.T) {
	t.Parallel()
	rounds := roundsWanted(t)
	w := newWorld(t, contract.V1Beta2, func(r *machine.Reconciler) { r.Settle = time.Millisecond })
	m := w.running("worker")
	w.writeInfrastructure(0)
	m = w.until(m, func(m *clusterv1.Machine) error {
		if got := conditions.Message(m.Status.Conditions, clusterv1.InfrastructureReadyCondition); got != "round 0" {
			return fmt.Errorf("the infrastructure says %q", got)
		}
		return nil
	})
	stop := w.witness(t, m, rounds)
	var all sync.WaitGroup
	for _, write := range []func(context.Context, int) error{
		func(_ context.Context, round int) error { w.writeInfrastructure(round); return nil },
		w.applier("capi-kubeadmcontrolplane", controlplanev1.KubeadmControlPlaneMachineAPIServerPodHealthyCondition, m),
		w.applier("example-provider", applied, m),
		func(ctx context.Context, round int) error { return w.update(ctx, m, round) },
	} {
		all.Go(func() {
			for round := 1; round <= rounds && !t.Failed(); round++ {
				if err := write(t.Context(), round); err != nil {
					t.Errorf("round %d: %v", round, err)
				}
			}
		})
	}
	all.Wait()
	final := w.until(m, func(m *clusterv1.Machine) error {
		for _, c := range contested() {
			if got := conditions.Message(m.Status.Conditions, c); got != fmt.Sprintf("round %d", rounds) {
				return fmt.Errorf("condition %s says %q", c, got)
			}
		}
		return nil
	})
	stop()
	for _, c := range m.Status.Conditions {
		if !conditions.Has(final.Status.Conditions, c.Type) {
			t.Errorf("condition %s was lost", c.Type)
		}
	}
}

// writeInfrastructure has the fake provider write its condition, which the controller mirrors.
func (w *world) writeInfrastructure(round int) {
	w.Helper()
	c := inRound(clusterv1.ReadyCondition, round)
	w.Edit("Machine", "worker", map[string]any{"status.conditions": []any{map[string]any{
		"type": c.Type, "status": string(c.Status), "reason": c.Reason, "message": c.Message,
		"lastTransitionTime": time.Unix(int64(1e9+round/10), 0).UTC().Format(time.RFC3339),
	}}})
}

// applier writes a condition as a controller does: by server-side apply, as a field manager of its own.
func (w *world) applier(manager, conditionType string, m *clusterv1.Machine) func(context.Context, int) error {
	a := apply.New(w, manager)
	return func(ctx context.Context, round int) error {
		live := &clusterv1.Machine{}
		if err := w.Get(ctx, client.ObjectKeyFromObject(m), live); err != nil {
			return err
		}
		want := conditions.Stamp(live.Status.Conditions, []metav1.Condition{inRound(conditionType, round)}, live.Generation, time.Now())
		status := corev1ac.MachineStatus().WithConditions(conditions.ApplyConfigurations(want)...)
		_, err := a.ApplyStatus(ctx, live, corev1ac.Machine(live.Name, live.Namespace).WithUID(live.UID).WithStatus(status))
		return err
	}
}

// update writes a condition as a provider does that knows no server-side apply: in turn by an update and by a merge patch
// of the whole list, each of which is tried again when somebody else was faster.
func (w *world) update(ctx context.Context, m *clusterv1.Machine, round int) error {
	for {
		live := &clusterv1.Machine{}
		if err := w.Get(ctx, client.ObjectKeyFromObject(m), live); err != nil {
			return err
		}
		before := live.DeepCopy()
		conditions.Set(&live.Status.Conditions, inRound(updated, round), live.Generation, time.Now())
		var err error
		if round%2 == 0 {
			err = w.Status().Update(ctx, live)
		} else {
			err = w.Status().Patch(ctx, live, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
		}
		if !apierrors.IsConflict(err) {
			return err
		}
	}
}

// witness looks at each version of the Machine until stop is called: no contested condition goes away or becomes what it
// was in an earlier round, and no transition time changes without the status.
func (w *world) witness(t *testing.T, m *clusterv1.Machine, rounds int) (stop func()) {
	t.Helper()
	events, err := w.Watch(t.Context(), &clusterv1.MachineList{}, client.InNamespace(w.namespace), client.MatchingFields{"metadata.name": m.Name})
	w.must(err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		var last []metav1.Condition
		versions := 0
		for e := range events.ResultChan() {
			now, ok := e.Object.(*clusterv1.Machine)
			if e.Type == watch.Bookmark || !ok {
				continue
			}
			versions++
			if err := succeeds(last, now.Status.Conditions); err != nil {
				t.Errorf("version %s: %v", now.ResourceVersion, err)
			}
			last = now.Status.Conditions
		}
		if versions < rounds {
			t.Errorf("only %d versions were seen", versions)
		}
	}()
	return func() {
		events.Stop()
		<-done
	}
}

// succeeds reports what is wrong with conditions that follow upon others.
func succeeds(before, after []metav1.Condition) error {
	var errs []error
	for _, was := range before {
		is := conditions.Find(after, was.Type)
		switch {
		case is == nil:
			errs = append(errs, fmt.Errorf("condition %s is lost", was.Type))
		case is.Status == was.Status && !is.LastTransitionTime.Equal(&was.LastTransitionTime):
			errs = append(errs, fmt.Errorf("condition %s is %s as before, since %s instead of %s", is.Type, is.Status, is.LastTransitionTime, was.LastTransitionTime))
		case roundOf(*is) < roundOf(was):
			errs = append(errs, fmt.Errorf("condition %s went back from %q to %q", is.Type, was.Message, is.Message))
		}
	}
	return errors.Join(errs...)
}

// roundOf returns the round in which a condition was written; -1 where that is not told.
func roundOf(c metav1.Condition) int {
	round := -1
	if strings.HasPrefix(c.Message, "round ") {
		if _, err := fmt.Sscanf(c.Message, "round %d", &round); err != nil {
			return -1
		}
	}
	return round
}
