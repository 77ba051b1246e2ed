package v1beta2

// Conditions of a KubeadmControlPlane, with their reasons, beside those that several kinds share (Available,
// MachinesReady, MachinesUpToDate, RollingOut, ScalingUp, ScalingDown, Remediating, Deleting, Paused).
const (
	// KubeadmControlPlaneInitializedCondition is True once the first machine serves the API; it never turns back.
	KubeadmControlPlaneInitializedCondition = "Initialized"

	// KubeadmControlPlaneInitializedReason means that the control plane is initialized.
	KubeadmControlPlaneInitializedReason = "Initialized"

	// KubeadmControlPlaneNotInitializedReason means that the control plane is not initialized yet.
	KubeadmControlPlaneNotInitializedReason = "NotInitialized"

	// KubeadmControlPlaneCertificatesAvailableCondition is True while the cluster's certificate authorities exist.
	KubeadmControlPlaneCertificatesAvailableCondition = "CertificatesAvailable"

	// KubeadmControlPlaneEtcdClusterHealthyCondition is True while every etcd member on the machines is healthy.
	// It is absent when etcd is external.
	KubeadmControlPlaneEtcdClusterHealthyCondition = "EtcdClusterHealthy"

	// KubeadmControlPlaneEtcdClusterHealthyReason means that every etcd member is healthy.
	KubeadmControlPlaneEtcdClusterHealthyReason = "Healthy"

	// KubeadmControlPlaneEtcdClusterNotHealthyReason means that at least one etcd member is not healthy.
	KubeadmControlPlaneEtcdClusterNotHealthyReason = "NotHealthy"

	// KubeadmControlPlaneEtcdClusterHealthUnknownReason means that at least one etcd member could not be examined.
	KubeadmControlPlaneEtcdClusterHealthUnknownReason = "HealthUnknown"

	// KubeadmControlPlaneControlPlaneComponentsHealthyCondition is True while every component on the machines is healthy.
	KubeadmControlPlaneControlPlaneComponentsHealthyCondition = "ControlPlaneComponentsHealthy"

	// KubeadmControlPlaneControlPlaneComponentsHealthyReason means that every component is healthy.
	KubeadmControlPlaneControlPlaneComponentsHealthyReason = "Healthy"

	// KubeadmControlPlaneControlPlaneComponentsNotHealthyReason means that at least one component is not healthy.
	KubeadmControlPlaneControlPlaneComponentsNotHealthyReason = "NotHealthy"

	// KubeadmControlPlaneControlPlaneComponentsHealthUnknownReason means that a component could not be examined.
	KubeadmControlPlaneControlPlaneComponentsHealthUnknownReason = "HealthUnknown"

	// KubeadmControlPlaneDeletingWaitingForWorkersDeletionReason means that deletion waits for the cluster's workers.
	KubeadmControlPlaneDeletingWaitingForWorkersDeletionReason = "WaitingForWorkersDeletion"

	// KubeadmControlPlaneDeletingWaitingForMachineDeletionReason means that deletion waits for the control plane's own
	// machines.
	KubeadmControlPlaneDeletingWaitingForMachineDeletionReason = "WaitingForMachineDeletion"
)

// Conditions that the control plane's controller sets on its Machines, with their reasons.
const (
	// KubeadmControlPlaneMachineAPIServerPodHealthyCondition is True while the machine's API server pod is healthy.
	KubeadmControlPlaneMachineAPIServerPodHealthyCondition = "APIServerPodHealthy"

	// KubeadmControlPlaneMachineControllerManagerPodHealthyCondition is True while its controller manager pod is healthy.
	KubeadmControlPlaneMachineControllerManagerPodHealthyCondition = "ControllerManagerPodHealthy"

	// KubeadmControlPlaneMachineSchedulerPodHealthyCondition is True while the machine's scheduler pod is healthy.
	KubeadmControlPlaneMachineSchedulerPodHealthyCondition = "SchedulerPodHealthy"

	// KubeadmControlPlaneMachineEtcdPodHealthyCondition is True while the machine's etcd pod is healthy.
	KubeadmControlPlaneMachineEtcdPodHealthyCondition = "EtcdPodHealthy"

	// KubeadmControlPlaneMachinePodRunningReason means that the pod runs and is ready.
	KubeadmControlPlaneMachinePodRunningReason = "Running"

	// KubeadmControlPlaneMachinePodProvisioningReason means that the pod is starting.
	KubeadmControlPlaneMachinePodProvisioningReason = "Provisioning"

	// KubeadmControlPlaneMachinePodDoesNotExistReason means that there is no such pod.
	KubeadmControlPlaneMachinePodDoesNotExistReason = "DoesNotExist"

	// KubeadmControlPlaneMachinePodFailedReason means that the pod has failed.
	KubeadmControlPlaneMachinePodFailedReason = "Failed"

	// KubeadmControlPlaneMachinePodDeletingReason means that the machine or its pod is being deleted.
	KubeadmControlPlaneMachinePodDeletingReason = "Deleting"

	// KubeadmControlPlaneMachineEtcdMemberHealthyCondition is True while the machine's etcd member is healthy.
	KubeadmControlPlaneMachineEtcdMemberHealthyCondition = "EtcdMemberHealthy"

	// KubeadmControlPlaneMachineEtcdMemberHealthyReason means that the etcd member is healthy.
	KubeadmControlPlaneMachineEtcdMemberHealthyReason = "Healthy"

	// KubeadmControlPlaneMachineEtcdMemberNotHealthyReason means that the etcd member is not healthy.
	KubeadmControlPlaneMachineEtcdMemberNotHealthyReason = "NotHealthy"

	// KubeadmControlPlaneMachineEtcdMemberDeletingReason means that the machine, and so its member, is being deleted.
	KubeadmControlPlaneMachineEtcdMemberDeletingReason = "Deleting"

	// KubeadmControlPlaneMachineNodeKubeadmLabelsAndTaintsSetCondition is True once the Node bears the labels and taints
	// that kubeadm gives to control-plane nodes.
	KubeadmControlPlaneMachineNodeKubeadmLabelsAndTaintsSetCondition = "NodeKubeadmLabelsAndTaintsSet"

	// KubeadmControlPlaneMachineNodeKubeadmLabelsAndTaintsSetReason means that labels and taints are there.
	KubeadmControlPlaneMachineNodeKubeadmLabelsAndTaintsSetReason = "Set"

	// KubeadmControlPlaneMachineNodeKubeadmLabelsAndTaintsNotSetReason means that a label or taint is missing.
	KubeadmControlPlaneMachineNodeKubeadmLabelsAndTaintsNotSetReason = "NotSet"

	// KubeadmControlPlaneMachineNodeKubeadmLabelsAndTaintsDeletingReason means that the machine is being deleted.
	KubeadmControlPlaneMachineNodeKubeadmLabelsAndTaintsDeletingReason = "Deleting"

	// KubeadmControlPlaneMachineCannotBeRemediatedReason means that the machine's replacement is not possible.
	KubeadmControlPlaneMachineCannotBeRemediatedReason = "CannotBeRemediated"

	// KubeadmControlPlaneMachineRemediationDeferredReason means that the machine's replacement must wait.
	KubeadmControlPlaneMachineRemediationDeferredReason = "RemediationDeferred"

	// KubeadmControlPlaneMachineRemediationMachineDeletingReason means that the unhealthy machine is being deleted.
	KubeadmControlPlaneMachineRemediationMachineDeletingReason = "MachineDeleting"
)

// Condition types and reasons under status.deprecated.v1beta1, for clients that read no others.
const (
	// MachinesCreatedV1Beta1Condition tells whether all Machines could be made.
	MachinesCreatedV1Beta1Condition = "MachinesCreated"

	// MachinesReadyV1Beta1Condition sums up whether the Machines are ready.
	MachinesReadyV1Beta1Condition = "MachinesReady"

	// MachinesSpecUpToDateV1Beta1Condition tells whether all Machines match the spec.
	MachinesSpecUpToDateV1Beta1Condition = "MachinesSpecUpToDate"

	// ResizedV1Beta1Condition tells whether there are as many Machines as wanted.
	ResizedV1Beta1Condition = "Resized"

	// AvailableV1Beta1Condition tells whether the control plane has come up.
	AvailableV1Beta1Condition = "Available"

	// CertificatesAvailableV1Beta1Condition tells whether the cluster's certificate authorities exist.
	CertificatesAvailableV1Beta1Condition = "CertificatesAvailable"

	// ControlPlaneComponentsHealthyV1Beta1Condition tells whether every component is healthy.
	ControlPlaneComponentsHealthyV1Beta1Condition = "ControlPlaneComponentsHealthy"

	// EtcdClusterHealthyV1Beta1Condition tells whether every etcd member is healthy.
	EtcdClusterHealthyV1Beta1Condition = "EtcdClusterHealthy"

	// InfrastructureTemplateCloningFailedReason means that the infrastructure template could not be cloned.
	InfrastructureTemplateCloningFailedReason = "InfrastructureTemplateCloningFailed"

	// BootstrapTemplateCloningFailedReason means that a machine's KubeadmConfig could not be made.
	BootstrapTemplateCloningFailedReason = "BootstrapTemplateCloningFailed"

	// MachineGenerationFailedReason means that a Machine could not be made.
	MachineGenerationFailedReason = "MachineGenerationFailed"

	// RollingUpdateInProgressReason means that machines are being replaced.
	RollingUpdateInProgressReason = "RollingUpdateInProgress"

	// WaitingForKubeadmInitReason means that the first machine has not come up yet.
	WaitingForKubeadmInitReason = "WaitingForKubeadmInit"

	// ControlPlaneComponentsInspectionFailedReason means that the components could not be examined.
	ControlPlaneComponentsInspectionFailedReason = "ControlPlaneComponentsInspectionFailed"

	// ControlPlaneComponentsUnhealthyReason means that at least one component is not healthy.
	ControlPlaneComponentsUnhealthyReason = "ControlPlaneComponentsUnhealthy"

	// ControlPlaneComponentsUnknownReason means that at least one component could not be examined.
	ControlPlaneComponentsUnknownReason = "ControlPlaneComponentsUnknown"

	// EtcdClusterInspectionFailedReason means that etcd could not be examined.
	EtcdClusterInspectionFailedReason = "EtcdClusterInspectionFailed"

	// EtcdClusterUnhealthyReason means that at least one etcd member is not healthy.
	EtcdClusterUnhealthyReason = "EtcdClusterUnhealthy"

	// EtcdClusterUnknownReason means that at least one etcd member could not be examined.
	EtcdClusterUnknownReason = "EtcdClusterUnknown"

	// EtcdMemberInspectionFailedReason means that a machine's etcd member could not be examined.
	EtcdMemberInspectionFailedReason = "MemberInspectionFailed"

	// EtcdMemberUnhealthyReason means that a machine's etcd member is not healthy.
	EtcdMemberUnhealthyReason = "EtcdMemberUnhealthy"

	// PodInspectionFailedReason means that a component's pod could not be examined.
	PodInspectionFailedReason = "PodInspectionFailed"

	// PodMissingReason means that a component has no pod.
	PodMissingReason = "PodMissing"

	// PodProvisioningReason means that a component's pod is starting.
	PodProvisioningReason = "PodProvisioning"

	// PodFailedReason means that a component's pod has failed.
	PodFailedReason = "PodFailed"
)
