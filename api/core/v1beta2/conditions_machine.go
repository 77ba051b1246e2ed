package v1beta2

// Condition types of a Machine, besides AvailableCondition, ReadyCondition, BootstrapConfigReadyCondition,
// InfrastructureReadyCondition, DeletingCondition and PausedCondition.
const (
	// MachineUpToDateCondition tells whether the Machine matches what its owner wants now. The owner sets it.
	MachineUpToDateCondition = "UpToDate"

	// MachineNodeReadyCondition mirrors Ready of the Node.
	MachineNodeReadyCondition = "NodeReady"

	// MachineNodeHealthyCondition tells whether the Node is ready and short of nothing.
	MachineNodeHealthyCondition = "NodeHealthy"

	// MachineUpdatingCondition is True while the Machine is updated in place.
	MachineUpdatingCondition = "Updating"

	// MachineHealthCheckSucceededCondition tells whether a health check finds the Machine healthy. It is absent while no
	// health check selects the Machine.
	MachineHealthCheckSucceededCondition = "HealthCheckSucceeded"

	// MachineOwnerRemediatedCondition is False while the Machine's owner has yet to replace it for being unhealthy.
	MachineOwnerRemediatedCondition = "OwnerRemediated"

	// MachineExternallyRemediatedCondition is False while something else has yet to mend the Machine.
	MachineExternallyRemediatedCondition = "ExternallyRemediated"
)

// Reasons of a Machine's conditions.
const (
	// MachineWaitingForMinReadySecondsReason says that the Machine has not been Ready for long enough to be Available.
	MachineWaitingForMinReadySecondsReason = "WaitingForMinReadySeconds"

	// MachineUpToDateReason goes with MachineUpToDateCondition being True.
	MachineUpToDateReason = "UpToDate"

	// MachineNotUpToDateReason goes with MachineUpToDateCondition being False; the message lists what differs.
	MachineNotUpToDateReason = "NotUpToDate"

	// MachineUpToDateUpdatingReason goes with MachineUpToDateCondition being False while an update in place goes on.
	MachineUpToDateUpdatingReason = "Updating"

	// MachineBootstrapDataSecretProvidedReason says that the user gave the bootstrap data.
	MachineBootstrapDataSecretProvidedReason = "DataSecretProvided"

	// MachineNodeReadyReason goes with MachineNodeReadyCondition being True.
	MachineNodeReadyReason = "NodeReady"

	// MachineNodeNotReadyReason goes with MachineNodeReadyCondition being False.
	MachineNodeNotReadyReason = "NodeNotReady"

	// MachineNodeReadyUnknownReason goes with MachineNodeReadyCondition being Unknown.
	MachineNodeReadyUnknownReason = "NodeReadyUnknown"

	// MachineNodeHealthyReason goes with MachineNodeHealthyCondition being True.
	MachineNodeHealthyReason = "NodeHealthy"

	// MachineNodeNotHealthyReason goes with MachineNodeHealthyCondition being False.
	MachineNodeNotHealthyReason = "NodeNotHealthy"

	// MachineNodeHealthUnknownReason goes with MachineNodeHealthyCondition being Unknown.
	MachineNodeHealthUnknownReason = "NodeHealthyUnknown"

	// MachineNodeDoesNotExistReason says that the Node was never seen.
	MachineNodeDoesNotExistReason = "NodeDoesNotExist"

	// MachineNodeDeletedReason says that the Node was there and has been deleted.
	MachineNodeDeletedReason = "NodeDeleted"

	// MachineNotUpdatingReason goes with MachineUpdatingCondition being False.
	MachineNotUpdatingReason = "NotUpdating"

	// MachineInPlaceUpdatingReason goes with MachineUpdatingCondition being True.
	MachineInPlaceUpdatingReason = "InPlaceUpdating"

	// MachineInPlaceUpdateFailedReason says that an update in place did not succeed and is tried again.
	MachineInPlaceUpdateFailedReason = "InPlaceUpdateFailed"

	// MachineDeletingWaitingForPreDrainHookReason says that a hook holds the deletion before the Node is drained.
	MachineDeletingWaitingForPreDrainHookReason = "WaitingForPreDrainHook"

	// MachineDeletingDrainingNodeReason says that the Node is being drained.
	MachineDeletingDrainingNodeReason = "DrainingNode"

	// MachineDeletingWaitingForVolumeDetachReason says that volumes are still attached to the Node.
	MachineDeletingWaitingForVolumeDetachReason = "WaitingForVolumeDetach"

	// MachineDeletingWaitingForPreTerminateHookReason says that a hook holds the deletion before the infrastructure goes.
	MachineDeletingWaitingForPreTerminateHookReason = "WaitingForPreTerminateHook"

	// MachineDeletingWaitingForInfrastructureDeletionReason says that the infrastructure is being deleted.
	MachineDeletingWaitingForInfrastructureDeletionReason = "WaitingForInfrastructureDeletion"

	// MachineDeletingWaitingForBootstrapDeletionReason says that the bootstrap object is being deleted.
	MachineDeletingWaitingForBootstrapDeletionReason = "WaitingForBootstrapDeletion"

	// MachineDeletingDeletingNodeReason says that the Node object is being deleted.
	MachineDeletingDeletingNodeReason = "DeletingNode"
)

// Reasons of the conditions that health checks, and whoever remediates, set on a Machine.
const (
	// MachineHealthCheckSucceededReason goes with MachineHealthCheckSucceededCondition being True.
	MachineHealthCheckSucceededReason = "HealthCheckSucceeded"

	// MachineHealthCheckUnhealthyNodeReason says that a condition of the Node has been bad for too long.
	MachineHealthCheckUnhealthyNodeReason = "UnhealthyNode"

	// MachineHealthCheckUnhealthyMachineReason says that a condition of the Machine has been bad for too long.
	MachineHealthCheckUnhealthyMachineReason = "UnhealthyMachine"

	// MachineHealthCheckNodeStartupTimeoutReason says that the Node did not appear in time.
	MachineHealthCheckNodeStartupTimeoutReason = "NodeStartupTimeout"

	// MachineHealthCheckNodeDeletedReason says that the Node was there and has been deleted.
	MachineHealthCheckNodeDeletedReason = "NodeDeleted"

	// MachineHealthCheckHasRemediateAnnotationReason says that a user asked for the Machine to be replaced.
	MachineHealthCheckHasRemediateAnnotationReason = "HasRemediateAnnotation"

	// MachineOwnerRemediatedWaitingForRemediationReason says that the owner has not acted yet.
	MachineOwnerRemediatedWaitingForRemediationReason = "WaitingForRemediation"

	// MachineSetMachineCannotBeRemediatedReason says that the MachineSet must not replace the Machine.
	MachineSetMachineCannotBeRemediatedReason = "CannotBeRemediated"

	// MachineSetMachineRemediationDeferredReason says that the MachineSet will replace the Machine later.
	MachineSetMachineRemediationDeferredReason = "RemediationDeferred"

	// MachineSetMachineRemediationMachineDeletingReason says that the Machine is being deleted to be replaced.
	MachineSetMachineRemediationMachineDeletingReason = "MachineDeleting"

	// MachineExternallyRemediatedWaitingForRemediationReason says that the request was made and not answered yet.
	MachineExternallyRemediatedWaitingForRemediationReason = "WaitingForRemediation"

	// MachineExternallyRemediatedRemediationTemplateNotFoundReason says that the template for requests does not exist.
	MachineExternallyRemediatedRemediationTemplateNotFoundReason = "RemediationTemplateNotFound"

	// MachineExternallyRemediatedRemediationRequestCreationFailedReason says that the request could not be created.
	MachineExternallyRemediatedRemediationRequestCreationFailedReason = "RemediationRequestCreationFailed"
)

// MachineDeploymentAvailableWaitingForAvailableReplicasSetReason says, on a MachineDeployment's AvailableCondition, that
// the available Machines have not been counted yet.
const MachineDeploymentAvailableWaitingForAvailableReplicasSetReason = "WaitingForAvailableReplicasSet"

// Condition types and reasons of a MachineHealthCheck, besides PausedCondition.
const (
	// MachineHealthCheckRemediationAllowedCondition tells whether so few Machines are unhealthy that they are replaced.
	MachineHealthCheckRemediationAllowedCondition = "RemediationAllowed"

	// MachineHealthCheckRemediationAllowedReason goes with MachineHealthCheckRemediationAllowedCondition being True.
	MachineHealthCheckRemediationAllowedReason = "RemediationAllowed"

	// MachineHealthCheckTooManyUnhealthyReason goes with MachineHealthCheckRemediationAllowedCondition being False.
	MachineHealthCheckTooManyUnhealthyReason = "TooManyUnhealthy"
)
