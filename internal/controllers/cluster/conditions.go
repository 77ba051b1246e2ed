package cluster

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/conditions"
	"slipway.dev/slipway/internal/contract"
	"slipway.dev/slipway/internal/outcome"
	"slipway.dev/slipway/internal/replicas"
)

// owned are the conditions that this controller writes.
func owned() []string {
	return []string{
		clusterv1.AvailableCondition, clusterv1.InfrastructureReadyCondition, clusterv1.ClusterControlPlaneInitializedCondition,
		clusterv1.ClusterControlPlaneAvailableCondition, clusterv1.ClusterControlPlaneMachinesReadyCondition,
		clusterv1.ClusterControlPlaneMachinesUpToDateCondition, clusterv1.ClusterWorkersAvailableCondition,
		clusterv1.ClusterWorkerMachinesReadyCondition, clusterv1.ClusterWorkerMachinesUpToDateCondition,
		clusterv1.ClusterRemoteConnectionProbeCondition, clusterv1.RollingOutCondition, clusterv1.ScalingUpCondition,
		clusterv1.ScalingDownCondition, clusterv1.RemediatingCondition, clusterv1.DeletingCondition, clusterv1.PausedCondition,
	}
}

// conditions are what the Cluster's own conditions have to be, Available but one computed from the others, and when they
// change by time alone; zero for never.
func (r *Reconciler) conditions(w *world, acted error, init clusterv1.ClusterInitializationStatus) ([]metav1.Condition, time.Duration) {
	controlPlaneUpToDate, after := machinesUpToDate(clusterv1.ClusterControlPlaneMachinesUpToDateCondition, w.controlPlaneMachines(), w.now)
	workersUpToDate, later := machinesUpToDate(clusterv1.ClusterWorkerMachinesUpToDateCondition, w.workerMachines(), w.now)
	want := []metav1.Condition{
		w.infrastructureReady(), w.controlPlaneInitialized(init), w.controlPlaneAvailable(),
		machinesReady(clusterv1.ClusterControlPlaneMachinesReadyCondition, w.controlPlaneMachines()), controlPlaneUpToDate,
		w.workersAvailable(),
		machinesReady(clusterv1.ClusterWorkerMachinesReadyCondition, w.workerMachines()), workersUpToDate,
		w.remoteProbe(r.ConnectionGrace, acted),
		w.moving(clusterv1.RollingOutCondition, clusterv1.ClusterRollingOutUnknownReason, nil),
		w.moving(clusterv1.ScalingUpCondition, clusterv1.ClusterScalingUpUnknownReason, w.standaloneSets()),
		w.moving(clusterv1.ScalingDownCondition, clusterv1.ClusterScalingDownUnknownReason, w.standaloneSets()),
		w.remediating(), w.deletingCondition(), replicas.Paused(w.cluster, w.cluster),
	}
	return append(want, w.available(want)), outcome.Sooner(after, later)
}

// unread is the condition about an object that cannot be read, or is not there.
func (w *world) unread(conditionType string, e external, once bool) metav1.Condition {
	if stall, ok := outcome.AsStall(e.err); ok {
		return conditions.False(conditionType, stall.Reason, stall.Message)
	}
	if e.err != nil {
		return conditions.Unknown(conditionType, clusterv1.InternalErrorReason, fmt.Sprintf("%s %s cannot be read; it is tried again", e.ref.Kind, e.ref.Name))
	}
	switch {
	case w.deleting() && once:
		return conditions.False(conditionType, clusterv1.ObjectDeletedReason, fmt.Sprintf("%s %s has been deleted", e.ref.Kind, e.ref.Name))
	case once:
		return conditions.False(conditionType, clusterv1.ObjectDeletedReason,
			fmt.Sprintf("%s %s has been deleted while the Cluster still exists; restore it from a backup, or delete the Cluster", e.ref.Kind, e.ref.Name))
	default:
		return conditions.False(conditionType, clusterv1.ObjectDoesNotExistReason, fmt.Sprintf("%s %s does not exist; create it, or correct the reference", e.ref.Kind, e.ref.Name))
	}
}

func (w *world) infrastructureReady() metav1.Condition {
	const t = clusterv1.InfrastructureReadyCondition
	switch {
	case !w.infra.ref.IsDefined():
		return conditions.True(t, clusterv1.ReadyReason, "")
	case w.infra.object == nil || w.infra.err != nil:
		return w.unread(t, w.infra, isTrue(w.cluster.Status.Initialization.InfrastructureProvisioned))
	}
	return w.infra.object.Mirror(t, clusterv1.ReadyCondition, w.infraView.Provisioned)
}

func (w *world) controlPlaneInitialized(init clusterv1.ClusterInitializationStatus) metav1.Condition {
	const t = clusterv1.ClusterControlPlaneInitializedCondition
	switch {
	case isTrue(init.ControlPlaneInitialized):
		return conditions.True(t, clusterv1.ClusterControlPlaneInitializedReason, "")
	case !w.controlPlane.ref.IsDefined():
		return conditions.False(t, clusterv1.ClusterControlPlaneNotInitializedReason, "Waiting for the first control plane Machine to have a Node")
	case w.controlPlane.missing():
		return w.unread(t, w.controlPlane, false)
	}
	return conditions.False(t, clusterv1.ClusterControlPlaneNotInitializedReason,
		fmt.Sprintf("Waiting for %s %s to report that the control plane is initialized", w.controlPlane.ref.Kind, w.controlPlane.ref.Name))
}

func (w *world) controlPlaneAvailable() metav1.Condition {
	const t = clusterv1.ClusterControlPlaneAvailableCondition
	switch {
	case !w.controlPlane.ref.IsDefined():
		return availableMachines(t, w.controlPlaneMachines())
	case w.controlPlane.object == nil || w.controlPlane.err != nil:
		return w.unread(t, w.controlPlane, isTrue(w.cluster.Status.Initialization.ControlPlaneInitialized))
	}
	return w.controlPlane.object.Mirror(t, clusterv1.AvailableCondition, w.controlPlaneView.Initialized)
}

// availableMachines is the condition of a control plane that is nothing but Machines: one that serves is enough.
func availableMachines(t string, machines []*clusterv1.Machine) metav1.Condition {
	for _, m := range machines {
		if conditions.IsTrue(m.Status.Conditions, clusterv1.AvailableCondition) {
			return conditions.True(t, clusterv1.AvailableReason, "")
		}
	}
	return conditions.False(t, clusterv1.NotAvailableReason, "No control plane Machine is Available")
}

func machinesReady(t string, machines []*clusterv1.Machine) metav1.Condition {
	c := replicas.MachinesReady(machines)
	c.Type = t
	return c
}

// machinesUpToDate merges what owners say of their Machines. Nobody says it of a Machine that stands alone: it is what it
// was made as.
func machinesUpToDate(t string, machines []*clusterv1.Machine, now time.Time) (metav1.Condition, time.Duration) {
	judged := filter(machines, func(m *clusterv1.Machine) bool {
		return metav1.GetControllerOf(m) != nil || conditions.Has(m.Status.Conditions, clusterv1.MachineUpToDateCondition)
	})
	c, after := replicas.MachinesUpToDate(judged, now)
	c.Type = t
	return c, after
}

func (w *world) workersAvailable() metav1.Condition {
	const t = clusterv1.ClusterWorkersAvailableCondition
	if len(w.deployments) == 0 {
		return conditions.True(t, clusterv1.ClusterWorkersAvailableNoWorkersReason, "")
	}
	return conditions.Aggregate{
		Type: t, Of: clusterv1.AvailableCondition,
		Reasons: conditions.Reasons{Issue: clusterv1.NotAvailableReason, Unknown: clusterv1.AvailableUnknownReason, Info: clusterv1.AvailableReason},
	}.Over(w.deploymentMembers())
}

func (w *world) deploymentMembers() []conditions.Member {
	members := make([]conditions.Member, 0, len(w.deployments))
	for _, o := range w.deployments {
		members = append(members, conditions.Member{Kind: machineDeploymentKind, Name: o.Name, Conditions: o.Status.Conditions})
	}
	return members
}

// moving merges a condition that the control plane, the MachineDeployments and the given MachineSets have. A control plane
// counts only if it reports the condition.
func (w *world) moving(t, unknown string, sets []*clusterv1.MachineSet) metav1.Condition {
	members := w.deploymentMembers()
	for _, o := range sets {
		members = append(members, conditions.Member{Kind: machineSetKind, Name: o.Name, Conditions: o.Status.Conditions})
	}
	if o := w.controlPlane.object; o != nil {
		if reported, err := o.Conditions(); err == nil && conditions.Has(reported, t) {
			members = append(members, conditions.Member{Kind: o.Kind(), Name: o.Name(), ControlPlane: true, Conditions: reported})
		}
	}
	return conditions.Aggregate{Type: t, Of: t, Reasons: conditions.Reasons{Issue: t, Unknown: unknown, Info: "Not" + t}}.Over(members)
}

// remediating tells of Machines that their owners are to replace; those that are unhealthy beside are named.
func (w *world) remediating() metav1.Condition {
	const t = clusterv1.RemediatingCondition
	var members []conditions.Member
	var unhealthy []string
	for _, m := range w.machines {
		switch {
		case conditions.IsFalse(m.Status.Conditions, clusterv1.MachineOwnerRemediatedCondition):
			members = append(members, conditions.Member{Kind: machineKind, Name: m.Name, ControlPlane: replicas.IsControlPlane(m), Conditions: m.Status.Conditions})
		case conditions.IsFalse(m.Status.Conditions, clusterv1.MachineHealthCheckSucceededCondition):
			unhealthy = append(unhealthy, m.Name)
		}
	}
	if len(members) > 0 {
		return conditions.Aggregate{
			Type: t, Of: clusterv1.MachineOwnerRemediatedCondition,
			Reasons: conditions.Reasons{Issue: clusterv1.RemediatingReason, Unknown: clusterv1.RemediatingReason, Info: clusterv1.NotRemediatingReason},
		}.Over(members)
	}
	c := replicas.Remediating()
	switch len(unhealthy) {
	case 0:
	case 1:
		c.Message = fmt.Sprintf("Machine %s is not healthy (not to be remediated)", unhealthy[0])
	default:
		c.Message = fmt.Sprintf("Machines %s are not healthy (not to be remediated)", conditions.Names(unhealthy))
	}
	return c
}

const machineKind = "Machine"

func (w *world) deletingCondition() metav1.Condition {
	const t = clusterv1.DeletingCondition
	if !w.deleting() {
		return conditions.False(t, clusterv1.NotDeletingReason, "")
	}
	if w.deletion.Reason == "" {
		return conditions.True(t, clusterv1.InternalErrorReason, "The next step cannot be told; it is tried again")
	}
	return conditions.True(t, w.deletion.Reason, w.deletion.Message)
}

// available sums up. While the Cluster is being deleted it is no issue that parts of it are gone already.
func (w *world) available(want []metav1.Condition) metav1.Condition {
	s := conditions.Summary{
		Type: clusterv1.AvailableCondition,
		For: []string{
			clusterv1.DeletingCondition, clusterv1.ClusterRemoteConnectionProbeCondition, clusterv1.InfrastructureReadyCondition,
			clusterv1.ClusterControlPlaneAvailableCondition, clusterv1.ClusterWorkersAvailableCondition,
		},
		Polarity: map[string]conditions.Polarity{},
		Reasons:  conditions.Reasons{Issue: clusterv1.NotAvailableReason, Unknown: clusterv1.AvailableUnknownReason, Info: clusterv1.AvailableReason},
		Priority: func(c metav1.Condition) (conditions.Priority, bool) {
			gone := c.Reason == clusterv1.ObjectDeletedReason || c.Reason == clusterv1.ObjectDoesNotExistReason
			return conditions.Info, w.deleting() && gone
		},
	}
	for _, gate := range w.cluster.Spec.AvailabilityGates {
		s.For = append(s.For, gate.ConditionType)
		if gate.Polarity == clusterv1.NegativePolarityCondition {
			s.Polarity[gate.ConditionType] = conditions.Negative
		}
	}
	return s.Of(append(conditions.Without(w.cluster.Status.Conditions, owned()...), want...))
}

// failure is what a provider of the older contract calls a terminal failure.
func (w *world) failure() contract.Failure {
	if !w.infraView.Failure.IsZero() {
		return w.infraView.Failure
	}
	return w.controlPlaneView.Failure
}
