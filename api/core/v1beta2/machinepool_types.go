package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MachinePoolPhase is the stage of life of a MachinePool in one word, for people; controllers decide by conditions.
// +kubebuilder:validation:Enum=Pending;Provisioning;Provisioned;Running;ScalingUp;ScalingDown;Scaling;Deleting;Failed;Unknown
type MachinePoolPhase string

const (
	// MachinePoolPhasePending means that nothing has been done yet.
	MachinePoolPhasePending MachinePoolPhase = "Pending"

	// MachinePoolPhaseProvisioning means that the infrastructure is being made.
	MachinePoolPhaseProvisioning MachinePoolPhase = "Provisioning"

	// MachinePoolPhaseProvisioned means that the infrastructure is there but its Nodes are not.
	MachinePoolPhaseProvisioned MachinePoolPhase = "Provisioned"

	// MachinePoolPhaseRunning means that there are as many Nodes as wanted.
	MachinePoolPhaseRunning MachinePoolPhase = "Running"

	// MachinePoolPhaseScalingUp means that machines are being added.
	MachinePoolPhaseScalingUp MachinePoolPhase = "ScalingUp"

	// MachinePoolPhaseScalingDown means that machines are being removed.
	MachinePoolPhaseScalingDown MachinePoolPhase = "ScalingDown"

	// MachinePoolPhaseScaling means that the number of machines is being changed by something else, as an autoscaler.
	MachinePoolPhaseScaling MachinePoolPhase = "Scaling"

	// MachinePoolPhaseDeleting means that the MachinePool is being deleted.
	MachinePoolPhaseDeleting MachinePoolPhase = "Deleting"

	// MachinePoolPhaseFailed means that the MachinePool cannot go on by itself. It is read from older objects and never
	// set.
	MachinePoolPhaseFailed MachinePoolPhase = "Failed"

	// MachinePoolPhaseUnknown means that the stage could not be found out.
	MachinePoolPhaseUnknown MachinePoolPhase = "Unknown"
)

// MachinePoolSpec describes a group of equal machines that the infrastructure manages as one.
type MachinePoolSpec struct {
	// clusterName is the name of the Cluster that the pool belongs to. It cannot be changed.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	ClusterName string `json:"clusterName,omitempty"`

	// replicas is the number of machines wanted. Unset means 1, or a number within the bounds of the autoscaler
	// annotations if the pool has both.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// template describes each machine of the pool.
	// +required
	Template MachineTemplateSpec `json:"template,omitempty,omitzero"`

	// providerIDList holds the provider IDs of the machines of the pool. The controller fills it in from the
	// infrastructure.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10000
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=512
	ProviderIDList []string `json:"providerIDList,omitempty"`

	// failureDomains lists where the infrastructure may place machines of the pool. When unset, the infrastructure
	// chooses.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	FailureDomains []string `json:"failureDomains,omitempty"`
}

// MachinePoolStatus is what was last seen of a MachinePool.
// +kubebuilder:validation:MinProperties=1
type MachinePoolStatus struct {
	// conditions describes the state of the MachinePool.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// initialization remembers the first steps that have been reached. What is once true stays true; other systems wait
	// for it.
	// +optional
	Initialization MachinePoolInitializationStatus `json:"initialization,omitempty,omitzero"`

	// nodeRefs lists the Nodes of the pool that have been found.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10000
	NodeRefs []corev1.ObjectReference `json:"nodeRefs,omitempty"`

	// replicas is the number of machines that the pool has.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// readyReplicas is the number of machines that are Ready.
	// +optional
	ReadyReplicas *int32 `json:"readyReplicas,omitempty"`

	// availableReplicas is the number of machines that are Available.
	// +optional
	AvailableReplicas *int32 `json:"availableReplicas,omitempty"`

	// upToDateReplicas is the number of machines that are as the template describes them.
	// +optional
	UpToDateReplicas *int32 `json:"upToDateReplicas,omitempty"`

	// versions counts the machines by Kubernetes version, one entry a version.
	// +optional
	// +listType=map
	// +listMapKey=version
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	Versions []StatusVersion `json:"versions,omitempty"`

	// phase is the stage of life of the pool in one word, for people.
	// +optional
	Phase MachinePoolPhase `json:"phase,omitempty"`

	// observedGeneration is the generation of the spec that this status was made from.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// deprecated holds what older API versions reported and newer ones no longer do.
	// +optional
	Deprecated *MachinePoolDeprecatedStatus `json:"deprecated,omitempty"`
}

// MachinePoolInitializationStatus remembers the first steps of a MachinePool.
// +kubebuilder:validation:MinProperties=1
type MachinePoolInitializationStatus struct {
	// infrastructureProvisioned is true once the infrastructure provider has said that the pool's infrastructure is
	// there.
	// +optional
	InfrastructureProvisioned *bool `json:"infrastructureProvisioned,omitempty"`

	// bootstrapDataSecretCreated is true once the bootstrap provider has written the Secret with the bootstrap data.
	// +optional
	BootstrapDataSecretCreated *bool `json:"bootstrapDataSecretCreated,omitempty"`
}

// MachinePoolDeprecatedStatus holds what older API versions reported.
type MachinePoolDeprecatedStatus struct {
	// v1beta1 holds what version v1beta1 reported.
	// +optional
	V1Beta1 *MachinePoolV1Beta1DeprecatedStatus `json:"v1beta1,omitempty"`
}

// MachinePoolV1Beta1DeprecatedStatus holds what version v1beta1 of MachinePool reported.
type MachinePoolV1Beta1DeprecatedStatus struct {
	// conditions holds the conditions in the form of version v1beta1.
	// +optional
	Conditions Conditions `json:"conditions,omitempty"`

	// failureReason is a word for a failure that could not be recovered from. It is read from older objects and never
	// set.
	// +optional
	FailureReason *string `json:"failureReason,omitempty"`

	// failureMessage is a sentence for a failure that could not be recovered from. It is read from older objects and
	// never set.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=10240
	FailureMessage *string `json:"failureMessage,omitempty"`

	// readyReplicas is the number of machines whose Node is ready.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`

	// availableReplicas is the number of machines whose Node has been ready for minReadySeconds.
	// +optional
	AvailableReplicas int32 `json:"availableReplicas,omitempty"`

	// unavailableReplicas is the number of machines that are missing from availableReplicas.
	// +optional
	UnavailableReplicas int32 `json:"unavailableReplicas,omitempty"`
}

// MachinePool is a group of equal machines that the infrastructure manages as one.
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=machinepools,shortName=mp,scope=Namespaced,categories=cluster-api
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".spec.clusterName",description="Cluster that the pool belongs to"
// +kubebuilder:printcolumn:name="Desired",type=integer,JSONPath=".spec.replicas",description="Number of machines wanted"
// +kubebuilder:printcolumn:name="Current",type="integer",JSONPath=".status.replicas",description="Number of machines that there are"
// +kubebuilder:printcolumn:name="Ready",type="integer",JSONPath=".status.readyReplicas",description="Number of machines that are Ready"
// +kubebuilder:printcolumn:name="Available",type=integer,JSONPath=".status.availableReplicas",description="Number of machines that are Available"
// +kubebuilder:printcolumn:name="Up-to-date",type=integer,JSONPath=".status.upToDateReplicas",description="Number of machines that are as the template describes them"
// +kubebuilder:printcolumn:name="Paused",type="string",JSONPath=`.status.conditions[?(@.type=="Paused")].status`,description="Whether reconciliation is paused",priority=10
// +kubebuilder:printcolumn:name="Phase",type="string",JSONPath=".status.phase",description="Stage of life of the pool"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
// +kubebuilder:printcolumn:name="Version",type="string",JSONPath=".spec.template.spec.version",description="Kubernetes version of the machines"
type MachinePool struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec describes the pool that is wanted.
	// +required
	Spec MachinePoolSpec `json:"spec,omitempty,omitzero"`
	// status is what was last seen of it.
	// +optional
	Status MachinePoolStatus `json:"status,omitempty,omitzero"`
}

// MachinePoolList is a list of MachinePools.
// +kubebuilder:object:root=true
type MachinePoolList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list's metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// items lists the MachinePools.
	Items []MachinePool `json:"items"`
}
