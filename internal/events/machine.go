package events

// Reasons of Events about Machines.
const (
	// SuccessfulSetNodeRef tells that a Machine's Node was found.
	SuccessfulSetNodeRef = "SuccessfulSetNodeRef"
	// SuccessfulSetInterruptibleNodeLabel tells that a Node was marked as one that may be taken away at any time.
	SuccessfulSetInterruptibleNodeLabel = "SuccessfulSetInterruptibleNodeLabel"
	// SuccessfulDrainNode tells that a Node was drained.
	SuccessfulDrainNode = "SuccessfulDrainNode"
	// FailedDrainNode tells that draining a Node went wrong; it is tried again.
	FailedDrainNode = "FailedDrainNode"
	// NodeVolumesDetached tells that no volume is attached to a Node any more.
	NodeVolumesDetached = "NodeVolumesDetached"
	// FailedWaitForVolumeDetach tells that the volumes of a Node could not be looked at; it is tried again.
	FailedWaitForVolumeDetach = "FailedWaitForVolumeDetach"
	// FailedDeleteNode tells that a Node could not be deleted; it is tried again for a while.
	FailedDeleteNode = "FailedDeleteNode"
)

// Actions of Events about Machines.
const (
	// LinkNode is finding the Node of a Machine.
	LinkNode = "LinkNode"
	// DrainNode is evicting the Pods of a Node.
	DrainNode = "DrainNode"
	// WaitForVolumes is waiting until the volumes of a Node are detached.
	WaitForVolumes = "WaitForVolumes"
	// DeleteNode is the deletion of a Node.
	DeleteNode = "DeleteNode"
)
