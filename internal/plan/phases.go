package plan

import clusterv1 "slipway.dev/slipway/api/core/v1beta2"

// ClusterPhaseFacts decide the phase of a Cluster.
type ClusterPhaseFacts struct {
	// Deleting says that the Cluster has a deletion timestamp.
	Deleting bool
	// HasRefs says that infrastructureRef or controlPlaneRef is set.
	HasRefs bool
	// InfrastructureProvisioned is status.initialization.infrastructureProvisioned.
	InfrastructureProvisioned bool
	// EndpointValid says that the control plane endpoint has host and port.
	EndpointValid bool
}

// ClusterPhase returns the phase of a Cluster.
func ClusterPhase(f ClusterPhaseFacts) clusterv1.ClusterPhase {
	switch {
	case f.Deleting:
		return clusterv1.ClusterPhaseDeleting
	case f.InfrastructureProvisioned && f.EndpointValid:
		return clusterv1.ClusterPhaseProvisioned
	case f.HasRefs:
		return clusterv1.ClusterPhaseProvisioning
	default:
		return clusterv1.ClusterPhasePending
	}
}

// MachinePhaseFacts decide the phase of a Machine.
type MachinePhaseFacts struct {
	// Deleting says that the Machine has a deletion timestamp.
	Deleting bool
	// Updating says that its Updating condition is True.
	Updating bool
	// BootstrapDataCreated and InfrastructureProvisioned are the fields of status.initialization.
	BootstrapDataCreated, InfrastructureProvisioned bool
	// HasProviderID says that spec.providerID is set, HasNode that status.nodeRef is.
	HasProviderID, HasNode bool
}

// MachinePhase returns the phase of a Machine.
func MachinePhase(f MachinePhaseFacts) clusterv1.MachinePhase {
	switch {
	case f.Deleting:
		return clusterv1.MachinePhaseDeleting
	case f.Updating:
		return clusterv1.MachinePhaseUpdating
	case f.HasNode && f.InfrastructureProvisioned:
		return clusterv1.MachinePhaseRunning
	case f.HasProviderID:
		return clusterv1.MachinePhaseProvisioned
	case f.BootstrapDataCreated && !f.InfrastructureProvisioned:
		return clusterv1.MachinePhaseProvisioning
	default:
		return clusterv1.MachinePhasePending
	}
}

// MachineDeploymentPhase returns the phase of a MachineDeployment from its spec.replicas (nil when unset) and the number of
// Machines it has. More Machines than asked for is ScalingDown, also while a rollout surges.
func MachineDeploymentPhase(desired *int32, machines int32) clusterv1.MachineDeploymentPhase {
	switch {
	case desired == nil:
		return clusterv1.MachineDeploymentPhaseUnknown
	case machines < *desired:
		return clusterv1.MachineDeploymentPhaseScalingUp
	case machines > *desired:
		return clusterv1.MachineDeploymentPhaseScalingDown
	default:
		return clusterv1.MachineDeploymentPhaseRunning
	}
}
