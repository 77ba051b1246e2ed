package plan

import "fmt"

// BootstrapFacts is everything that decides what is done about the bootstrap data of a machine.
type BootstrapFacts struct {
	// Machine is the name of the Machine that refers to the configuration; empty when there is none.
	Machine string
	// MachineDeleting says that the Machine has a deletion timestamp.
	MachineDeleting bool
	// ControlPlane says that the Machine is part of the control plane.
	ControlPlane bool
	// OnlyJoins says that the configuration tells how to join and nothing of how to start a control plane.
	OnlyJoins bool
	// Booted says that the Machine has infrastructure or a Node: its data was used.
	Booted bool
	// DataExists says whether the Secret with the data exists.
	DataExists Tri
	// InfrastructureProvisioned, ControlPlaneInitialized and EndpointKnown are facts of the Cluster.
	InfrastructureProvisioned, ControlPlaneInitialized, EndpointKnown bool
}

// BootstrapStep is what is done about the bootstrap data of a machine.
type BootstrapStep int8

// The steps.
const (
	// WaitForBootstrap: something has to happen first.
	WaitForBootstrap BootstrapStep = iota
	// KeepData: the data exists, and stays as it is.
	KeepData
	// ForgetData: the data was used and is gone; nobody needs it any more.
	ForgetData
	// MakeInitData: make the data of the machine that starts the control plane.
	MakeInitData
	// MakeJoinData: make the data of a machine that joins.
	MakeJoinData
)

// BootstrapPlan is the next step about the bootstrap data of a machine.
type BootstrapPlan struct {
	// Step is what is to be done.
	Step BootstrapStep
	// Reason and Message say what is waited for; empty when nothing is.
	Reason, Message string
}

// Reasons of a BootstrapPlan that waits.
const (
	WaitingForMachine             = "WaitingForMachine"
	WaitingForMachineDeletion     = "WaitingForMachineDeletion"
	WaitingForInfrastructure      = "WaitingForClusterInfrastructure"
	WaitingForEndpoint            = "WaitingForControlPlaneEndpoint"
	WaitingForControlPlaneToStart = "WaitingForControlPlaneAvailable"
)

// Bootstrap decides what is done about the bootstrap data of a machine. A configuration that only joins never starts a
// control plane: that would have none of the settings which stand with another machine. Data is made once: the Secret of a machine that
// has booted is never made again, for what it would hold could not be what the machine read.
func Bootstrap(f BootstrapFacts) BootstrapPlan {
	switch {
	case f.Machine == "":
		return BootstrapPlan{Reason: WaitingForMachine, Message: "Waiting for a Machine whose spec.bootstrap.configRef names this object"}
	case f.DataExists == True:
		return BootstrapPlan{Step: KeepData}
	case f.DataExists == Unknown:
		return BootstrapPlan{Reason: WaitingForMachine, Message: "Waiting until it is known whether the data exists"}
	case f.Booted:
		return BootstrapPlan{Step: ForgetData}
	case f.MachineDeleting:
		return BootstrapPlan{Reason: WaitingForMachineDeletion, Message: fmt.Sprintf("Machine %s is being deleted and needs no bootstrap data", f.Machine)}
	case !f.InfrastructureProvisioned:
		return BootstrapPlan{Reason: WaitingForInfrastructure, Message: "Waiting for the Cluster's infrastructure to be provisioned"}
	case !f.EndpointKnown:
		return BootstrapPlan{Reason: WaitingForEndpoint, Message: "Waiting for the Cluster's spec.controlPlaneEndpoint to be set"}
	case f.ControlPlaneInitialized:
		return BootstrapPlan{Step: MakeJoinData}
	case f.ControlPlane && f.OnlyJoins:
		return BootstrapPlan{Reason: WaitingForControlPlaneToStart,
			Message: "Waiting for another machine to start the control plane: this object has a joinConfiguration, but no initConfiguration or clusterConfiguration"}
	case f.ControlPlane:
		return BootstrapPlan{Step: MakeInitData}
	default:
		return BootstrapPlan{Reason: WaitingForControlPlaneToStart, Message: "Waiting for the Cluster's control plane to be initialized"}
	}
}
