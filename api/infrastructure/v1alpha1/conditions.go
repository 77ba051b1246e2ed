package v1alpha1

// Conditions of a SimMachine and their reasons, beside Ready and Paused, which all kinds share.
const (
	// BootedCondition is True once the machine has booted.
	BootedCondition = "Booted"

	// BootedReason means that the machine has booted.
	BootedReason = "Booted"

	// BootingReason means that the machine is booting.
	BootingReason = "Booting"

	// BootFailedReason means that the machine could not boot.
	BootFailedReason = "BootFailed"

	// MachineVanishedReason means that the machine was there and is gone.
	MachineVanishedReason = "MachineVanished"

	// BootstrappedCondition is True once the machine has read its bootstrap data and become a Node.
	BootstrappedCondition = "Bootstrapped"

	// BootstrappedReason means that the machine has become a Node.
	BootstrappedReason = "Bootstrapped"

	// BootstrappingReason means that kubeadm is at work on the machine.
	BootstrappingReason = "Bootstrapping"

	// BootstrapFailedReason means that the bootstrap data was bad or kubeadm failed.
	BootstrapFailedReason = "BootstrapFailed"
)

// Conditions of SimCluster and SimMachine and their reasons.
const (
	// FaultFreeCondition is False while a fault of the spec is at work.
	FaultFreeCondition = "FaultFree"

	// NoFaultsReason means that no fault is at work.
	NoFaultsReason = "NoFaults"

	// FaultsActiveReason means that at least one fault is at work; the message names each.
	FaultsActiveReason = "FaultsActive"
)
