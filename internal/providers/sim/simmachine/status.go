package simmachine

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	infrav1 "slipway.dev/slipway/api/infrastructure/v1alpha1"
	coreac "slipway.dev/slipway/internal/applyconfigurations/core/v1beta2"
	infraac "slipway.dev/slipway/internal/applyconfigurations/infrastructure/v1alpha1"
	"slipway.dev/slipway/internal/conditions"
	"slipway.dev/slipway/internal/outcome"
	"slipway.dev/slipway/internal/providers/sim/faults"
	"slipway.dev/slipway/internal/providers/sim/owner"
	"slipway.dev/slipway/internal/providers/sim/world"
)

// owned are the conditions that this controller writes.
func owned() []string {
	return []string{clusterv1.ReadyCondition, infrav1.BootedCondition, infrav1.BootstrappedCondition, infrav1.FaultFreeCondition, clusterv1.PausedCondition}
}

// report writes the status if it differs from what is observed. The first boot of a healthy machine is told when it is over:
// a machine that is only booting is not worth a write.
func (r *Reconciler) report(ctx context.Context, seen *observed, err error) error {
	sim := seen.sim
	if outcome.IsQuiet(err) {
		err = nil
	}
	if !sim.DeletionTimestamp.IsZero() && !controllerutil.ContainsFinalizer(sim, infrav1.SimMachineFinalizer) || early(seen, err) {
		return nil
	}
	want := statusOf(seen, err)
	conds := conditions.Stamp(sim.Status.Conditions, want.Conditions, sim.Generation, seen.now)
	if conditions.EqualOwned(sim.Status.Conditions, conds, owned()...) && sameBut(want, sim.Status) {
		return nil
	}
	status := infraac.SimMachineStatus().WithConditions(conditions.ApplyConfigurations(conds)...)
	if want.Initialization.Provisioned != nil {
		status.WithInitialization(infraac.SimMachineInitializationStatus().WithProvisioned(*want.Initialization.Provisioned))
	}
	for _, a := range want.Addresses {
		status.WithAddresses(coreac.MachineAddress().WithType(a.Type).WithAddress(a.Address))
	}
	if want.FailureDomain != "" {
		status.WithFailureDomain(want.FailureDomain)
	}
	if !want.BootTime.IsZero() {
		status.WithBootTime(want.BootTime)
	}
	if want.BootstrapToolVersion != "" {
		status.WithBootstrapToolVersion(want.BootstrapToolVersion)
	}
	_, err = r.applier.ApplyStatus(ctx, sim, infraac.SimMachine(sim.Name, sim.Namespace).WithUID(sim.UID).WithStatus(status))
	return err
}

// early tells that nothing has happened yet that a user would want to read.
func early(seen *observed, err error) bool {
	_, waiting := outcome.AsWait(err)
	return waiting && !seen.paused && len(seen.faults) == 0 && len(seen.sim.Status.Conditions) == 0
}

func statusOf(seen *observed, err error) infrav1.SimMachineStatus {
	status := infrav1.SimMachineStatus{
		Initialization: seen.sim.Status.Initialization, Addresses: seen.sim.Status.Addresses,
		FailureDomain: seen.sim.Status.FailureDomain, BootTime: seen.sim.Status.BootTime,
		BootstrapToolVersion: seen.sim.Status.BootstrapToolVersion,
	}
	booted, bootstrapped := stages(seen, err)
	if booted.Status == metav1.ConditionTrue && !seen.paused {
		status.Initialization.Provisioned = new(true)
		status.FailureDomain = seen.zone()
		status.Addresses = []clusterv1.MachineAddress{
			{Type: clusterv1.MachineInternalIP, Address: world.Address(seen.sim.Name).String()}, {Type: clusterv1.MachineHostName, Address: seen.sim.Name},
		}
		if seen.booted {
			status.BootTime = metav1.NewTime(seen.record.Booted.UTC()).Rfc3339Copy()
			status.BootstrapToolVersion = seen.record.Version
		}
	}
	faultFree := faults.Report(seen.faults, seen.active, conditions.Find(seen.sim.Status.Conditions, infrav1.FaultFreeCondition))
	status.Conditions = []metav1.Condition{ready(seen, booted, bootstrapped), booted, bootstrapped, faultFree, owner.PausedCondition(seen.paused)}
	return status
}

// stages are the conditions Booted and Bootstrapped.
func stages(seen *observed, err error) (booted, bootstrapped metav1.Condition) {
	booted = conditions.True(infrav1.BootedCondition, infrav1.BootedReason, "")
	bootstrapped = conditions.True(infrav1.BootstrappedCondition, infrav1.BootstrappedReason, "")
	wait, waiting := outcome.AsWait(err)
	failed, failedBootstrap := errors.AsType[*world.BootstrapError](err)
	switch {
	case seen.booted && seen.record.Gone:
		booted = conditions.False(infrav1.BootedCondition, infrav1.MachineVanishedReason, "The machine was there and is gone")
	case seen.booted:
	case failedBootstrap:
		message := failed.Err.Error()
		if failed.Step != "" {
			message = failed.Error()
		}
		bootstrapped = conditions.False(infrav1.BootstrappedCondition, infrav1.BootstrapFailedReason, message)
	case waiting && wait.Reason == infrav1.BootstrappingReason:
		bootstrapped = conditions.False(infrav1.BootstrappedCondition, infrav1.BootstrappingReason, wait.Message)
	case waiting:
		booted = conditions.False(infrav1.BootedCondition, wait.Reason, wait.Message)
		bootstrapped = conditions.False(infrav1.BootstrappedCondition, wait.Reason, wait.Message)
	case errors.As(err, new(bootFailure)):
		booted = conditions.False(infrav1.BootedCondition, infrav1.BootFailedReason, "The machine does not boot, as the fault FailedBoot asks for")
		bootstrapped = conditions.False(infrav1.BootstrappedCondition, infrav1.BootFailedReason, "The machine has not booted")
	default:
		message := "The machine has not booted"
		if stall, ok := outcome.AsStall(err); ok {
			message = stall.Message
		}
		booted = conditions.False(infrav1.BootedCondition, infrav1.BootingReason, message)
		bootstrapped = conditions.False(infrav1.BootstrappedCondition, infrav1.BootingReason, message)
	}
	return booted, bootstrapped
}

func ready(seen *observed, booted, bootstrapped metav1.Condition) metav1.Condition {
	switch {
	case !seen.sim.DeletionTimestamp.IsZero():
		return conditions.False(clusterv1.ReadyCondition, clusterv1.DeletingReason, "The simulated machine is being taken away")
	case booted.Status != metav1.ConditionTrue:
		return conditions.False(clusterv1.ReadyCondition, booted.Reason, booted.Message)
	case bootstrapped.Status != metav1.ConditionTrue:
		return conditions.False(clusterv1.ReadyCondition, bootstrapped.Reason, bootstrapped.Message)
	}
	return conditions.True(clusterv1.ReadyCondition, clusterv1.ReadyReason, "")
}

// sameBut compares two statuses apart from their conditions.
func sameBut(a, b infrav1.SimMachineStatus) bool {
	a.Conditions, b.Conditions = nil, nil
	return equality.Semantic.DeepEqual(a, b)
}
