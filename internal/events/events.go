// Package events names what controllers tell in Events. The names are those that users of the Cluster API know.
package events

// Reasons of Events.
const (
	// SuccessfulCreate tells that an owner created objects.
	SuccessfulCreate = "SuccessfulCreate"
	// FailedCreate tells that an owner's objects were refused.
	FailedCreate = "FailedCreate"
	// SuccessfulDelete tells that an owner began the deletion of objects.
	SuccessfulDelete = "SuccessfulDelete"
	// SuccessfulAdopt tells that an owner took over objects that had none.
	SuccessfulAdopt = "SuccessfulAdopt"
	// SuccessfulScale tells that a MachineDeployment changed the size of a MachineSet.
	SuccessfulScale = "SuccessfulScale"
)

// Actions of Events: what was being done.
const (
	// Create is the creation of objects.
	Create = "Create"
	// Delete is the deletion of objects.
	Delete = "Delete"
	// Adopt is the taking over of objects without an owner.
	Adopt = "Adopt"
	// Scale is a change of size.
	Scale = "Scale"
)
