package events

// Reasons of Events about Clusters. A change of phase is told by the phase's name.
const (
	// InfrastructureReady tells that a Cluster's infrastructure is there.
	InfrastructureReady = "InfrastructureReady"
	// ControlPlaneInitialized tells that a Cluster's control plane has answered for the first time.
	ControlPlaneInitialized = "ControlPlaneInitialized"
	// Deleted tells that all that belonged to a Cluster is gone.
	Deleted = "Deleted"
)

// Provision is bringing a Cluster up; it is the action of Events about that.
const Provision = "Provision"
