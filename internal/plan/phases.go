package plan

// Phase is a one-word summary of an object, spelled as in the API's phase fields.
type Phase string

// The phases in use.
const (
	PhasePending      Phase = "Pending"
	PhaseProvisioning Phase = "Provisioning"
	PhaseProvisioned  Phase = "Provisioned"
	PhaseRunning      Phase = "Running"
	PhaseUpdating     Phase = "Updating"
	PhaseDeleting     Phase = "Deleting"
	PhaseScalingUp    Phase = "ScalingUp"
	PhaseScalingDown  Phase = "ScalingDown"
	PhaseUnknown      Phase = "Unknown"
)

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
func ClusterPhase(f ClusterPhaseFacts) Phase {
	switch {
	case f.Deleting:
		return PhaseDeleting
	case f.InfrastructureProvisioned && f.EndpointValid:
		return PhaseProvisioned
	case f.HasRefs:
		return PhaseProvisioning
	default:
		return PhasePending
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
func MachinePhase(f MachinePhaseFacts) Phase {
	switch {
	case f.Deleting:
		return PhaseDeleting
	case f.Updating:
		return PhaseUpdating
	case f.HasNode && f.InfrastructureProvisioned:
		return PhaseRunning
	case f.HasProviderID:
		return PhaseProvisioned
	case f.BootstrapDataCreated && !f.InfrastructureProvisioned:
		return PhaseProvisioning
	default:
		return PhasePending
	}
}

// MachineDeploymentPhase returns the phase of a MachineDeployment from its spec.replicas (nil when unset) and the number of
// Machines it has. More Machines than asked for is ScalingDown, also while a rollout surges.
func MachineDeploymentPhase(desired *int32, machines int32) Phase {
	switch {
	case desired == nil:
		return PhaseUnknown
	case machines < *desired:
		return PhaseScalingUp
	case machines > *desired:
		return PhaseScalingDown
	default:
		return PhaseRunning
	}
}
