package v1beta2

// Condition types that several kinds have.
const (
	// AvailableCondition tells whether the object does its service: enough of what it manages has been ready long enough.
	AvailableCondition = "Available"

	// ReadyCondition tells whether the object works right now.
	ReadyCondition = "Ready"

	// BootstrapConfigReadyCondition mirrors Ready of the bootstrap object.
	BootstrapConfigReadyCondition = "BootstrapConfigReady"

	// InfrastructureReadyCondition mirrors Ready of the infrastructure object.
	InfrastructureReadyCondition = "InfrastructureReady"

	// MachinesReadyCondition summarises Ready of the object's Machines.
	MachinesReadyCondition = "MachinesReady"

	// MachinesUpToDateCondition summarises UpToDate of the object's Machines.
	MachinesUpToDateCondition = "MachinesUpToDate"

	// RollingOutCondition is True while Machines are being replaced by up-to-date ones.
	RollingOutCondition = "RollingOut"

	// ScalingUpCondition is True while there are fewer Machines than wanted.
	ScalingUpCondition = "ScalingUp"

	// ScalingDownCondition is True while there are more Machines than wanted.
	ScalingDownCondition = "ScalingDown"

	// RemediatingCondition is True while unhealthy Machines are being replaced.
	RemediatingCondition = "Remediating"

	// DeletingCondition is True while the object is being deleted.
	DeletingCondition = "Deleting"

	// PausedCondition is True while nobody works on the object.
	PausedCondition = "Paused"
)

// Reasons that several conditions have.
const (
	// AvailableReason goes with AvailableCondition and its like being True.
	AvailableReason = "Available"

	// NotAvailableReason goes with AvailableCondition and its like being False.
	NotAvailableReason = "NotAvailable"

	// AvailableUnknownReason goes with AvailableCondition and its like being Unknown.
	AvailableUnknownReason = "AvailableUnknown"

	// ReadyReason goes with ReadyCondition and its like being True.
	ReadyReason = "Ready"

	// NotReadyReason goes with ReadyCondition and its like being False.
	NotReadyReason = "NotReady"

	// ReadyUnknownReason goes with ReadyCondition and its like being Unknown.
	ReadyUnknownReason = "ReadyUnknown"

	// UpToDateReason goes with MachinesUpToDateCondition and its like being True.
	UpToDateReason = "UpToDate"

	// NotUpToDateReason goes with MachinesUpToDateCondition and its like being False.
	NotUpToDateReason = "NotUpToDate"

	// UpToDateUnknownReason goes with MachinesUpToDateCondition and its like being Unknown.
	UpToDateUnknownReason = "UpToDateUnknown"

	// RollingOutReason goes with RollingOutCondition being True.
	RollingOutReason = "RollingOut"

	// NotRollingOutReason goes with RollingOutCondition being False.
	NotRollingOutReason = "NotRollingOut"

	// ScalingUpReason goes with ScalingUpCondition being True.
	ScalingUpReason = "ScalingUp"

	// NotScalingUpReason goes with ScalingUpCondition being False.
	NotScalingUpReason = "NotScalingUp"

	// ScalingDownReason goes with ScalingDownCondition being True.
	ScalingDownReason = "ScalingDown"

	// NotScalingDownReason goes with ScalingDownCondition being False.
	NotScalingDownReason = "NotScalingDown"

	// RemediatingReason goes with RemediatingCondition being True.
	RemediatingReason = "Remediating"

	// NotRemediatingReason goes with RemediatingCondition being False.
	NotRemediatingReason = "NotRemediating"

	// DeletingReason goes with DeletingCondition being True where no step of deletion is named.
	DeletingReason = "Deleting"

	// NotDeletingReason goes with DeletingCondition being False.
	NotDeletingReason = "NotDeleting"

	// DeletionCompletedReason goes with DeletingCondition being True when nothing is left but the object itself.
	DeletionCompletedReason = "DeletionCompleted"

	// PausedReason goes with PausedCondition being True.
	PausedReason = "Paused"

	// NotPausedReason goes with PausedCondition being False.
	NotPausedReason = "NotPaused"

	// NoReplicasReason says that there is no Machine to tell anything about.
	NoReplicasReason = "NoReplicas"

	// WaitingForReplicasSetReason says that the number of wanted replicas is not set yet.
	WaitingForReplicasSetReason = "WaitingForReplicasSet"

	// ProvisionedReason says that infrastructure is there.
	ProvisionedReason = "Provisioned"

	// NotProvisionedReason says that infrastructure is not there yet.
	NotProvisionedReason = "NotProvisioned"

	// WaitingForClusterInfrastructureReadyReason says that the Cluster's infrastructure comes first.
	WaitingForClusterInfrastructureReadyReason = "WaitingForClusterInfrastructureReady"

	// WaitingForControlPlaneInitializedReason says that the first control plane machine comes first.
	WaitingForControlPlaneInitializedReason = "WaitingForControlPlaneInitialized"

	// WaitingForBootstrapDataReason says that the bootstrap data comes first.
	WaitingForBootstrapDataReason = "WaitingForBootstrapData"

	// ObjectDoesNotExistReason says that an object that is referred to was never seen.
	ObjectDoesNotExistReason = "ObjectDoesNotExist"

	// ObjectDeletedReason says that an object that is referred to was there and has been deleted.
	ObjectDeletedReason = "ObjectDeleted"

	// InvalidConditionReportedReason says that another object's condition cannot be understood.
	InvalidConditionReportedReason = "InvalidConditionReported"

	// InspectionFailedReason says that the workload cluster could not be asked.
	InspectionFailedReason = "InspectionFailed"

	// ConnectionDownReason says that there has been no connection to the workload cluster for too long.
	ConnectionDownReason = "ConnectionDown"

	// InternalErrorReason says that Slipway itself went wrong; the message and the log tell more.
	InternalErrorReason = "InternalError"
)
