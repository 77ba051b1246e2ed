package simcluster

import (
	"context"

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
)

// owned are the conditions that this controller writes.
func owned() []string {
	return []string{clusterv1.ReadyCondition, infrav1.FaultFreeCondition, clusterv1.PausedCondition}
}

// report writes the status if it differs from what is observed.
func (r *Reconciler) report(ctx context.Context, seen *observed, err error) error {
	sim := seen.sim
	if outcome.IsQuiet(err) {
		err = nil
	}
	if !sim.DeletionTimestamp.IsZero() && !controllerutil.ContainsFinalizer(sim, infrav1.SimClusterFinalizer) {
		return nil
	}
	_, chosen := owner.PlaceOf(sim)
	faultFree := faults.Report(seen.faults, seen.active, conditions.Find(sim.Status.Conditions, infrav1.FaultFreeCondition))
	conds := conditions.Stamp(sim.Status.Conditions, []metav1.Condition{ready(seen, err), faultFree, owner.PausedCondition(seen.paused)}, sim.Generation, seen.now)
	domains := failureDomains(sim.Spec.FailureDomains)
	provisioned := sim.Status.Initialization.Provisioned
	if chosen && !seen.paused {
		provisioned = new(true)
	}
	if conditions.EqualOwned(sim.Status.Conditions, conds, owned()...) && equality.Semantic.DeepEqual(domains, sim.Status.FailureDomains) &&
		equality.Semantic.DeepEqual(provisioned, sim.Status.Initialization.Provisioned) {
		return nil
	}
	status := infraac.SimClusterStatus().WithConditions(conditions.ApplyConfigurations(conds)...)
	if provisioned != nil {
		status.WithInitialization(infraac.SimClusterInitializationStatus().WithProvisioned(*provisioned))
	}
	for _, d := range domains {
		domain := coreac.FailureDomain().WithName(d.Name)
		if d.ControlPlane != nil {
			domain.WithControlPlane(*d.ControlPlane)
		}
		status.WithFailureDomains(domain)
	}
	_, err = r.applier.ApplyStatus(ctx, sim, infraac.SimCluster(sim.Name, sim.Namespace).WithUID(sim.UID).WithStatus(status))
	return err
}

func ready(seen *observed, err error) metav1.Condition {
	if !seen.sim.DeletionTimestamp.IsZero() {
		message := "The simulated cluster is being taken down"
		if wait, ok := outcome.AsWait(err); ok {
			message = wait.Message
		}
		return conditions.False(clusterv1.ReadyCondition, clusterv1.DeletingReason, message)
	}
	if wait, ok := outcome.AsWait(err); ok {
		return conditions.False(clusterv1.ReadyCondition, wait.Reason, wait.Message)
	}
	if stall, ok := outcome.AsStall(err); ok {
		return conditions.False(clusterv1.ReadyCondition, stall.Reason, stall.Message)
	}
	if err != nil {
		return conditions.False(clusterv1.ReadyCondition, clusterv1.InternalErrorReason, "The endpoint could not be served; the controller's log says why, and it is tried again")
	}
	return conditions.True(clusterv1.ReadyCondition, clusterv1.ReadyReason, "")
}

// failureDomains are the zones as the Cluster reads them. Where none is for control planes, all are.
func failureDomains(spec []infrav1.SimFailureDomain) []clusterv1.FailureDomain {
	stated := false
	for _, d := range spec {
		stated = stated || d.ControlPlane != nil && *d.ControlPlane
	}
	var domains []clusterv1.FailureDomain
	for _, d := range spec {
		domains = append(domains, clusterv1.FailureDomain{Name: d.Name, ControlPlane: new(!stated || d.ControlPlane != nil && *d.ControlPlane)})
	}
	return domains
}
