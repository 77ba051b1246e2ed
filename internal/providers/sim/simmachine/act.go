package simmachine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/blang/semver/v4"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	infrav1 "slipway.dev/slipway/api/infrastructure/v1alpha1"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/conditions"
	"slipway.dev/slipway/internal/outcome"
	"slipway.dev/slipway/internal/providers/sim/faults"
	"slipway.dev/slipway/internal/providers/sim/owner"
	"slipway.dev/slipway/internal/providers/sim/world"
)

const (
	// defaultBootDelay is how long a machine takes to boot when its spec does not say.
	defaultBootDelay = time.Second
	// joinRetry is how soon kubeadm join looks again for an endpoint that does not answer, and joinPatience how long it does.
	joinRetry    = 500 * time.Millisecond
	joinPatience = 5 * time.Minute
	// portRecheck is how soon to look again whether the endpoint's port is free.
	portRecheck = 5 * time.Second
	// staleRecheck is how soon to look again at a SimMachine that is not the one which the API server has.
	staleRecheck = time.Second
)

// bootFailure says that the machine does not boot while its fault lasts.
type bootFailure struct{ next time.Duration }

func (bootFailure) Error() string { return "the machine does not boot" }

// act makes the world as the SimMachine wants it.
func (r *Reconciler) act(ctx context.Context, seen *observed) error {
	if !seen.sim.DeletionTimestamp.IsZero() {
		return r.delete(ctx, seen)
	}
	switch {
	case seen.machine == nil:
		return outcome.Waiting(0, "WaitingForMachine", "No Machine refers to this SimMachine yet")
	case seen.cluster == nil || !seen.placed:
		return outcome.Waiting(0, clusterv1.WaitingForClusterInfrastructureReadyReason, "The SimCluster has no endpoint yet")
	}
	if err := r.claim(ctx, seen); err != nil {
		return err
	}
	if err := r.displace(ctx, seen); err != nil {
		return err
	}
	starts, err := seen.world.FaultStarts(seen.sim.UID, faults.Names(seen.faults))
	if err != nil {
		return fmt.Errorf("write down when the faults of machine %s began: %w", seen.sim.Name, err)
	}
	seen.active = faults.At(seen.faults, starts, seen.now)
	if !seen.booted {
		if err := r.boot(ctx, seen); err != nil {
			return err
		}
	}
	return r.ail(seen)
}

// displace takes away the machine of a SimMachine that had the name before, and is gone.
func (r *Reconciler) displace(ctx context.Context, seen *observed) error {
	if !seen.another {
		return nil
	}
	key := client.ObjectKeyFromObject(seen.sim)
	if err := r.strays.Machine(ctx, seen.world, key); err != nil {
		return err
	}
	seen.look()
	if seen.another {
		return outcome.Quietly(staleRecheck, "StaleCache", "the cache shows a SimMachine %s that is gone", key)
	}
	return nil
}

// claim writes finalizer and provider ID in one patch, before the machine is switched on.
func (r *Reconciler) claim(ctx context.Context, seen *observed) error {
	if seen.sim.Spec.ProviderID != "" && controllerutil.ContainsFinalizer(seen.sim, infrav1.SimMachineFinalizer) {
		return nil
	}
	before := seen.sim.DeepCopy()
	controllerutil.AddFinalizer(seen.sim, infrav1.SimMachineFinalizer)
	if seen.sim.Spec.ProviderID == "" {
		seen.sim.Spec.ProviderID = fmt.Sprintf("%s%s/%s/%s", infrav1.SimProviderIDPrefix, seen.sim.Namespace, seen.cluster.Name, seen.sim.Name)
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, seen.sim, patch, client.FieldOwner(fieldManager)); err != nil {
		return fmt.Errorf("write the provider ID of SimMachine %s: %w", client.ObjectKeyFromObject(seen.sim), err)
	}
	return nil
}

// boot switches the machine on and, when it has had its time, lets it read its bootstrap data.
func (r *Reconciler) boot(_ context.Context, seen *observed) error {
	if seen.data == nil {
		return outcome.Waiting(0, clusterv1.WaitingForBootstrapDataReason, "The Machine has no bootstrap data yet")
	}
	if failed := conditions.Find(seen.sim.Status.Conditions, infrav1.BootstrappedCondition); failed != nil && failed.Reason == infrav1.BootstrapFailedReason {
		return &world.BootstrapError{Step: "", Err: errors.New(failed.Message)}
	}
	if seen.active.Has(string(infrav1.FailedBootFault)) {
		return bootFailure{next: until(seen.active.Next, seen.now)}
	}
	on := r.power.since(seen.sim, seen.now)
	delay := defaultBootDelay
	if seen.sim.Spec.BootDelay != nil {
		delay = seen.sim.Spec.BootDelay.Duration
	}
	if seen.active.Has(string(infrav1.SlowBootFault)) {
		return outcome.Waiting(until(seen.active.Next, seen.now), infrav1.BootingReason, "The machine boots slowly")
	}
	if left := delay - seen.now.Sub(on); left > 0 {
		return outcome.Waiting(left, infrav1.BootingReason, "The machine is booting")
	}
	if seen.active.Has(string(infrav1.FailedBootstrapFault)) {
		return &world.BootstrapError{Step: "kubeadm", Err: errors.New("it failed, as the fault FailedBootstrap asks for")}
	}
	return r.bootstrap(seen, on.Add(delay))
}

func (r *Reconciler) bootstrap(seen *observed, booted time.Time) error {
	machine, err := machineOf(seen)
	if err != nil {
		return err
	}
	rebuild := conditions.IsTrue(seen.sim.Status.Conditions, infrav1.BootstrappedCondition) || seen.machine.Status.NodeRef.Name != ""
	// A file that was lost knows no Node. A SimMachine that somebody made again comes back to one.
	lost := rebuild && !seen.world.Knows(seen.sim.Name)
	record, err := seen.world.Boot(machine, seen.data.Data["value"], rebuild)
	if errors.Is(err, world.ErrUnreachable) {
		if seen.now.Sub(booted) > joinPatience {
			return &world.BootstrapError{Step: "kubeadm join", Err: fmt.Errorf("%w, for more than %s", err, joinPatience)}
		}
		return outcome.Waiting(joinRetry, infrav1.BootstrappingReason, "kubeadm join waits for the cluster's API endpoint to answer")
	}
	if unheard, ok := errors.AsType[*world.ListenError](err); ok {
		return &outcome.Stall{Reason: infrav1.BootingReason, Recheck: portRecheck, Err: err, Message: owner.Unserved(seen.place, unheard)}
	}
	if err != nil {
		return err
	}
	if lost {
		fate := "was lost"
		if aside := seen.world.SetAside(); aside != "" {
			fate = "could not be read and was moved to " + aside
		}
		r.Recorder.Eventf(seen.sim, nil, corev1.EventTypeWarning, "Rebuilt", "Rebuild",
			"The simulated cluster's file %s; machine %s was rebuilt from its spec and bootstrap data", fate, seen.sim.Name)
	}
	seen.record, seen.booted = record, true
	r.power.forget(client.ObjectKeyFromObject(seen.sim))
	return nil
}

func machineOf(seen *observed) (world.Machine, error) {
	version, err := semver.ParseTolerant(seen.machine.Spec.Version)
	if err != nil {
		return world.Machine{}, &outcome.Stall{Reason: "InvalidVersion", Err: err, Message: fmt.Sprintf(
			"Machine %s has no version that a simulated machine could run (%q). Set spec.version, such as v1.37.2", seen.machine.Name, seen.machine.Spec.Version)}
	}
	m := world.Machine{
		Name: seen.sim.Name, UID: seen.sim.UID, ProviderID: seen.sim.Spec.ProviderID, Zone: seen.zone(), Version: version,
		CPU: resource.MustParse("4"), Memory: resource.MustParse("8Gi"),
	}
	if c := seen.sim.Spec.Capacity.CPU; c != nil {
		m.CPU = *c
	}
	if c := seen.sim.Spec.Capacity.Memory; c != nil {
		m.Memory = *c
	}
	return m, nil
}

// ail makes the machine's faults so.
func (r *Reconciler) ail(seen *observed) error {
	err := seen.world.AilMachine(seen.sim.Name, seen.sim.UID, world.MachineAilments{
		Lost:     seen.active.Has(string(infrav1.NodeLostFault)),
		EtcdDead: seen.active.Has(string(infrav1.EtcdMemberDeadFault)),
		Gone:     seen.active.Has(string(infrav1.MachineVanishedFault)),
	})
	if err != nil {
		return fmt.Errorf("set the faults of machine %s: %w", seen.sim.Name, err)
	}
	seen.look()
	if !seen.active.Next.IsZero() {
		return outcome.Quietly(until(seen.active.Next, seen.now), "FaultEnds", "a fault ends by itself")
	}
	return nil
}

// delete takes the machine away.
func (r *Reconciler) delete(ctx context.Context, seen *observed) error {
	if seen.world != nil {
		if err := seen.world.Delete(seen.sim.Name, seen.sim.UID); err != nil {
			return fmt.Errorf("take away machine %s: %w", seen.sim.Name, err)
		}
		if _, err := seen.world.FaultStarts(seen.sim.UID, nil); err != nil {
			return fmt.Errorf("forget the faults of machine %s: %w", seen.sim.Name, err)
		}
	}
	r.power.forget(client.ObjectKeyFromObject(seen.sim))
	_, err := apply.RemoveFinalizer(ctx, r.Client, fieldManager, seen.sim, infrav1.SimMachineFinalizer)
	return err
}

// until is the time to a moment; zero when there is none.
func until(moment, now time.Time) time.Duration {
	if moment.IsZero() {
		return 0
	}
	return max(moment.Sub(now), time.Millisecond)
}

// shown is what controller-runtime is told of an outcome: bootstrap and boot failures are no errors to retry.
func shown(err error) error {
	if boot, ok := errors.AsType[bootFailure](err); ok {
		return outcome.Quietly(boot.next, "BootFailed", "boot failed")
	}
	if _, ok := errors.AsType[*world.BootstrapError](err); ok {
		return nil
	}
	return err
}
