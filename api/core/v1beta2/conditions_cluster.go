package v1beta2

// Condition types of a Cluster, besides AvailableCondition, InfrastructureReadyCondition, RollingOutCondition,
// ScalingUpCondition, ScalingDownCondition, RemediatingCondition, DeletingCondition and PausedCondition.
const (
	// ClusterControlPlaneInitializedCondition becomes True when the control plane first answers, and stays True.
	ClusterControlPlaneInitializedCondition = "ControlPlaneInitialized"

	// ClusterControlPlaneAvailableCondition mirrors Available of the control plane object.
	ClusterControlPlaneAvailableCondition = "ControlPlaneAvailable"

	// ClusterControlPlaneMachinesReadyCondition summarises Ready of the control plane's Machines.
	ClusterControlPlaneMachinesReadyCondition = "ControlPlaneMachinesReady"

	// ClusterControlPlaneMachinesUpToDateCondition summarises UpToDate of the control plane's Machines.
	ClusterControlPlaneMachinesUpToDateCondition = "ControlPlaneMachinesUpToDate"

	// ClusterWorkersAvailableCondition summarises Available of the Cluster's MachineDeployments.
	ClusterWorkersAvailableCondition = "WorkersAvailable"

	// ClusterWorkerMachinesReadyCondition summarises Ready of the worker Machines.
	ClusterWorkerMachinesReadyCondition = "WorkerMachinesReady"

	// ClusterWorkerMachinesUpToDateCondition summarises UpToDate of the worker Machines.
	ClusterWorkerMachinesUpToDateCondition = "WorkerMachinesUpToDate"

	// ClusterRemoteConnectionProbeCondition tells whether the workload cluster's API server answers.
	ClusterRemoteConnectionProbeCondition = "RemoteConnectionProbe"

	// ClusterTopologyReconciledCondition tells whether all objects of a topology are as the topology says.
	ClusterTopologyReconciledCondition = "TopologyReconciled"
)

// Reasons of a Cluster's conditions.
const (
	// ClusterControlPlaneInitializedReason goes with ClusterControlPlaneInitializedCondition being True.
	ClusterControlPlaneInitializedReason = "Initialized"

	// ClusterControlPlaneNotInitializedReason goes with ClusterControlPlaneInitializedCondition being False.
	ClusterControlPlaneNotInitializedReason = "NotInitialized"

	// ClusterWorkersAvailableNoWorkersReason goes with ClusterWorkersAvailableCondition being True for want of workers.
	ClusterWorkersAvailableNoWorkersReason = "NoWorkers"

	// ClusterRemoteConnectionProbeSucceededReason goes with ClusterRemoteConnectionProbeCondition being True.
	ClusterRemoteConnectionProbeSucceededReason = "ProbeSucceeded"

	// ClusterRemoteConnectionProbeFailedReason goes with ClusterRemoteConnectionProbeCondition being False.
	ClusterRemoteConnectionProbeFailedReason = "ProbeFailed"

	// ClusterRollingOutUnknownReason goes with RollingOutCondition being Unknown.
	ClusterRollingOutUnknownReason = "RollingOutUnknown"

	// ClusterScalingUpUnknownReason goes with ScalingUpCondition being Unknown.
	ClusterScalingUpUnknownReason = "ScalingUpUnknown"

	// ClusterScalingDownUnknownReason goes with ScalingDownCondition being Unknown.
	ClusterScalingDownUnknownReason = "ScalingDownUnknown"

	// ClusterDeletingWaitingForBeforeDeleteHookReason says that an extension holds the deletion.
	ClusterDeletingWaitingForBeforeDeleteHookReason = "WaitingForBeforeDeleteHook"

	// ClusterDeletingWaitingForWorkersDeletionReason says that workers are being deleted.
	ClusterDeletingWaitingForWorkersDeletionReason = "WaitingForWorkersDeletion"

	// ClusterDeletingWaitingForControlPlaneDeletionReason says that the control plane is being deleted.
	ClusterDeletingWaitingForControlPlaneDeletionReason = "WaitingForControlPlaneDeletion"

	// ClusterDeletingWaitingForInfrastructureDeletionReason says that the infrastructure is being deleted.
	ClusterDeletingWaitingForInfrastructureDeletionReason = "WaitingForInfrastructureDeletion"
)

// Reasons of ClusterTopologyReconciledCondition.
const (
	// ClusterTopologyReconcileSucceededReason says that every object is as the topology says.
	ClusterTopologyReconcileSucceededReason = "ReconcileSucceeded"

	// ClusterTopologyReconciledFailedReason says that an object could not be made as the topology says.
	ClusterTopologyReconciledFailedReason = "ReconcileFailed"

	// ClusterTopologyReconciledClusterCreatingReason says that the cluster is being created.
	ClusterTopologyReconciledClusterCreatingReason = "ClusterCreating"

	// ClusterTopologyReconciledClusterUpgradingReason says that the cluster is being upgraded.
	ClusterTopologyReconciledClusterUpgradingReason = "ClusterUpgrading"

	// ClusterTopologyReconciledClusterClassNotReconciledReason says that the ClusterClass has to be looked at first.
	ClusterTopologyReconciledClusterClassNotReconciledReason = "ClusterClassNotReconciled"

	// ClusterTopologyReconciledControlPlaneUpgradePendingReason says that the control plane's upgrade is still to come.
	ClusterTopologyReconciledControlPlaneUpgradePendingReason = "ControlPlaneUpgradePending"

	// ClusterTopologyReconciledMachineDeploymentsCreatePendingReason says that MachineDeployments are still to be created.
	ClusterTopologyReconciledMachineDeploymentsCreatePendingReason = "MachineDeploymentsCreatePending"

	// ClusterTopologyReconciledMachineDeploymentsUpgradePendingReason says that MachineDeployments are still to be upgraded.
	ClusterTopologyReconciledMachineDeploymentsUpgradePendingReason = "MachineDeploymentsUpgradePending"

	// ClusterTopologyReconciledMachineDeploymentsUpgradeDeferredReason says that a user put MachineDeployments' upgrade off.
	ClusterTopologyReconciledMachineDeploymentsUpgradeDeferredReason = "MachineDeploymentsUpgradeDeferred"

	// ClusterTopologyReconciledMachinePoolsCreatePendingReason says that MachinePools are still to be created.
	ClusterTopologyReconciledMachinePoolsCreatePendingReason = "MachinePoolsCreatePending"

	// ClusterTopologyReconciledMachinePoolsUpgradePendingReason says that MachinePools are still to be upgraded.
	ClusterTopologyReconciledMachinePoolsUpgradePendingReason = "MachinePoolsUpgradePending"

	// ClusterTopologyReconciledMachinePoolsUpgradeDeferredReason says that a user put MachinePools' upgrade off.
	ClusterTopologyReconciledMachinePoolsUpgradeDeferredReason = "MachinePoolsUpgradeDeferred"

	// ClusterTopologyReconciledHookBlockingReason says that an extension holds the next step.
	ClusterTopologyReconciledHookBlockingReason = "LifecycleHookBlocking"
)

// Condition types and reasons of a ClusterClass, besides PausedCondition.
const (
	// ClusterClassVariablesReadyCondition tells whether the class's variables are known.
	ClusterClassVariablesReadyCondition = "VariablesReady"

	// ClusterClassVariablesReadyReason goes with ClusterClassVariablesReadyCondition being True.
	ClusterClassVariablesReadyReason = "VariablesReady"

	// ClusterClassVariablesReadyVariableDiscoveryFailedReason goes with ClusterClassVariablesReadyCondition being False.
	ClusterClassVariablesReadyVariableDiscoveryFailedReason = "VariableDiscoveryFailed"

	// ClusterClassRefVersionsUpToDateCondition tells whether the class refers to each template in the newest version
	// that its provider's contract offers.
	ClusterClassRefVersionsUpToDateCondition = "RefVersionsUpToDate"

	// ClusterClassRefVersionsUpToDateReason goes with ClusterClassRefVersionsUpToDateCondition being True.
	ClusterClassRefVersionsUpToDateReason = "RefVersionsUpToDate"

	// ClusterClassRefVersionsNotUpToDateReason goes with ClusterClassRefVersionsUpToDateCondition being False.
	ClusterClassRefVersionsNotUpToDateReason = "RefVersionsNotUpToDate"
)
