package events

// Reasons of Events about control planes.
const (
	// ControlPlaneUnhealthy tells that a control plane waits for its Machines to be healthy before it goes on.
	ControlPlaneUnhealthy = "ControlPlaneUnhealthy"
	// FailedScaleDown tells that a Machine could not be deleted; it is tried again.
	FailedScaleDown = "FailedScaleDown"
	// LeftEtcd tells that a Machine's member was removed from etcd.
	LeftEtcd = "EtcdMemberRemoved"
)

// LeaveEtcd is the action of taking a member out of etcd.
const LeaveEtcd = "LeaveEtcd"
