package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MachinePhase is a one-word summary of where a Machine is in its life, for people to read. Decisions rest on
// conditions, never on a phase.
type MachinePhase string

const (
	// MachinePhasePending is a Machine whose bootstrap data is not there yet.
	MachinePhasePending MachinePhase = "Pending"

	// MachinePhaseProvisioning is a Machine with bootstrap data whose infrastructure is being made.
	MachinePhaseProvisioning MachinePhase = "Provisioning"

	// MachinePhaseProvisioned is a Machine whose infrastructure exists but whose Node has not joined yet.
	MachinePhaseProvisioned MachinePhase = "Provisioned"

	// MachinePhaseRunning is a Machine whose Node has joined the cluster.
	MachinePhaseRunning MachinePhase = "Running"

	// MachinePhaseUpdating is a Machine that is being updated in place.
	MachinePhaseUpdating MachinePhase = "Updating"

	// MachinePhaseDeleting is a Machine that is being deleted.
	MachinePhaseDeleting MachinePhase = "Deleting"

	// MachinePhaseDeleted is a Machine whose infrastructure is gone; it is never set.
	MachinePhaseDeleted MachinePhase = "Deleted"

	// MachinePhaseFailed belongs to older versions of the API; it is never set.
	MachinePhaseFailed MachinePhase = "Failed"

	// MachinePhaseUnknown is a Machine whose phase cannot be told.
	MachinePhaseUnknown MachinePhase = "Unknown"
)

// MachineSpec says what a Machine should be.
type MachineSpec struct {
	// clusterName is the name of the Cluster that the Machine belongs to, in the same namespace. It cannot change.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	ClusterName string `json:"clusterName,omitempty"`

	// bootstrap says where the data comes from that turns the machine into a Node.
	// +required
	Bootstrap Bootstrap `json:"bootstrap,omitempty,omitzero"`

	// infrastructureRef points at the provider's object for the machine. In a template it points at the template that
	// such objects are made from.
	// +required
	InfrastructureRef ContractVersionedObjectReference `json:"infrastructureRef,omitempty,omitzero"`

	// version is the Kubernetes version that the Node should run, such as v1.37.2. Unset leaves it to the bootstrap data.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Version string `json:"version,omitempty"`

	// providerID is the identity that the infrastructure provider gave the machine; it equals spec.providerID of the
	// Node. It is written by the Machine's controller. Unset until the infrastructure exists.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	ProviderID string `json:"providerID,omitempty"`

	// failureDomain is where the machine should be put: a name from the Cluster's status.failureDomains. Unset leaves
	// it to the infrastructure provider.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	FailureDomain string `json:"failureDomain,omitempty"`

	// minReadySeconds is how many seconds the Machine must have been Ready to be Available. Unset means 0: at once.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MinReadySeconds *int32 `json:"minReadySeconds,omitempty"`

	// readinessGates are further conditions without which the Machine is not Ready. Unset means none.
	// +optional
	// +listType=map
	// +listMapKey=conditionType
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	ReadinessGates []MachineReadinessGate `json:"readinessGates,omitempty"`

	// deletion bounds the steps of deleting the Machine.
	// +optional
	Deletion MachineDeletionSpec `json:"deletion,omitempty,omitzero"`

	// taints are put on the Node. Unset leaves the Node's taints alone.
	// +optional
	// +listType=map
	// +listMapKey=key
	// +listMapKey=effect
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Taints []MachineTaint `json:"taints,omitempty"`
}

// Bootstrap says where the data comes from that turns a machine into a Node. One of its fields must be set.
type Bootstrap struct {
	// configRef points at the bootstrap provider's object that makes the data. In a template it points at the template
	// that such objects are made from. Unset means that dataSecretName is given by hand.
	// +optional
	ConfigRef ContractVersionedObjectReference `json:"configRef,omitempty,omitzero"`

	// dataSecretName is the name of the Secret that holds the data. The controller sets it when configRef's object is
	// done. Unset means that there is no data yet; the empty string means that the machine needs none.
	// +optional
	// +kubebuilder:validation:MinLength=0
	// +kubebuilder:validation:MaxLength=253
	DataSecretName *string `json:"dataSecretName,omitempty"`
}

// MachineStatus says what was last observed of a Machine.
// +kubebuilder:validation:MinProperties=1
type MachineStatus struct {
	// conditions describe the Machine's state; the first to read are Available and Ready.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// initialization holds the milestones of the Machine's making. A milestone once reached stays reached.
	// +optional
	Initialization MachineInitializationStatus `json:"initialization,omitempty,omitzero"`

	// nodeRef names the Node in the workload cluster. Unset until the Node has joined.
	// +optional
	NodeRef MachineNodeReference `json:"nodeRef,omitempty,omitzero"`

	// nodeInfo is a copy of the Node's status.nodeInfo.
	// +optional
	NodeInfo *corev1.NodeSystemInfo `json:"nodeInfo,omitempty"`

	// lastUpdated is when phase last changed.
	// +optional
	LastUpdated metav1.Time `json:"lastUpdated,omitempty,omitzero"`

	// addresses are the machine's addresses, as its infrastructure provider reports them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Addresses MachineAddresses `json:"addresses,omitempty"`

	// failureDomain is where the machine really is.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	FailureDomain string `json:"failureDomain,omitempty"`

	// phase is a one-word summary for people.
	// +optional
	// +kubebuilder:validation:Enum=Pending;Provisioning;Provisioned;Running;Updating;Deleting;Deleted;Failed;Unknown
	Phase string `json:"phase,omitempty"`

	// certificatesExpiryDate is when the first of the machine's certificates expires. Set on control plane machines only.
	// +optional
	CertificatesExpiryDate metav1.Time `json:"certificatesExpiryDate,omitempty,omitzero"`

	// observedGeneration is the metadata.generation that this status was computed from.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// deletion tells since when the steps of deleting the Machine last. Unset while the Machine is not being deleted.
	// +optional
	Deletion *MachineDeletionStatus `json:"deletion,omitempty"`

	// slipway is what Slipway alone reports. Nothing depends on it.
	// +optional
	Slipway *MachineSlipwayStatus `json:"slipway,omitempty"`

	// deprecated holds what only readers of older versions of the API look at.
	// +optional
	Deprecated *MachineDeprecatedStatus `json:"deprecated,omitempty"`
}

// MachineInitializationStatus holds the milestones of a Machine's making.
// +kubebuilder:validation:MinProperties=1
type MachineInitializationStatus struct {
	// infrastructureProvisioned becomes true when the machine's infrastructure is there, and then stays true.
	// +optional
	InfrastructureProvisioned *bool `json:"infrastructureProvisioned,omitempty"`

	// bootstrapDataSecretCreated becomes true when the bootstrap data is there, and then stays true.
	// +optional
	BootstrapDataSecretCreated *bool `json:"bootstrapDataSecretCreated,omitempty"`
}

// MachineNodeReference names a Node in the workload cluster.
type MachineNodeReference struct {
	// name of the Node.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Name string `json:"name,omitempty"`
}

// IsDefined tells whether the Node is known.
func (r MachineNodeReference) IsDefined() bool {
	return r.Name != ""
}

// MachineDeletionStatus tells since when the steps of deleting a Machine last; each start is what its timeout counts from.
type MachineDeletionStatus struct {
	// nodeDrainStartTime is when draining the Node began.
	// +optional
	NodeDrainStartTime metav1.Time `json:"nodeDrainStartTime,omitempty,omitzero"`

	// waitForNodeVolumeDetachStartTime is when waiting for the Node's volumes to be detached began.
	// +optional
	WaitForNodeVolumeDetachStartTime metav1.Time `json:"waitForNodeVolumeDetachStartTime,omitempty,omitzero"`

	// waitForPreDrainHookStartTime is when waiting for the hooks that come before draining began.
	// +optional
	WaitForPreDrainHookStartTime metav1.Time `json:"waitForPreDrainHookStartTime,omitempty,omitzero"`

	// waitForPreTerminateHookStartTime is when waiting for the hooks that come before the infrastructure's deletion began.
	// +optional
	WaitForPreTerminateHookStartTime metav1.Time `json:"waitForPreTerminateHookStartTime,omitempty,omitzero"`
}

// MachineDeprecatedStatus holds what only readers of older versions of the API look at.
type MachineDeprecatedStatus struct {
	// v1beta1 holds the parts of the status that only v1beta1 has.
	// +optional
	V1Beta1 *MachineV1Beta1DeprecatedStatus `json:"v1beta1,omitempty"`
}

// MachineV1Beta1DeprecatedStatus holds the parts of a Machine's status that only v1beta1 has.
type MachineV1Beta1DeprecatedStatus struct {
	// conditions are the conditions in v1beta1's form.
	// +optional
	Conditions Conditions `json:"conditions,omitempty"`

	// failureReason was one word for a failure that nothing but a person could mend.
	// +optional
	FailureReason *string `json:"failureReason,omitempty"`

	// failureMessage told more about such a failure.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=10240
	FailureMessage *string `json:"failureMessage,omitempty"`
}

// Machine is one machine that is, or is to become, a Node of a cluster.
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=machines,shortName=ma,scope=Namespaced,categories=cluster-api
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".spec.clusterName",description="Cluster that the machine belongs to"
// +kubebuilder:printcolumn:name="Node Name",type="string",JSONPath=".status.nodeRef.name",description="Node that the machine became"
// +kubebuilder:printcolumn:name="Provider ID",type="string",JSONPath=".spec.providerID",description="Identity given by the infrastructure provider",priority=10
// +kubebuilder:printcolumn:name="Failure domain",type="string",JSONPath=".status.failureDomain",description="Failure domain that the machine is in"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether the machine and its Node work"
// +kubebuilder:printcolumn:name="Available",type="string",JSONPath=`.status.conditions[?(@.type=="Available")].status`,description="Whether the machine has been Ready for long enough"
// +kubebuilder:printcolumn:name="Up-to-date",type="string",JSONPath=`.status.conditions[?(@.type=="UpToDate")].status`,description="Whether the machine matches what its owner wants now"
// +kubebuilder:printcolumn:name="Internal-IP",type="string",JSONPath=`.status.addresses[?(@.type=="InternalIP")].address`,description="Address within the machine's network",priority=10
// +kubebuilder:printcolumn:name="External-IP",type="string",JSONPath=`.status.addresses[?(@.type=="ExternalIP")].address`,description="Address that is reachable from outside",priority=10
// +kubebuilder:printcolumn:name="OS-Image",type="string",JSONPath=".status.nodeInfo.osImage",description="Operating system of the Node",priority=10
// +kubebuilder:printcolumn:name="Paused",type="string",JSONPath=`.status.conditions[?(@.type=="Paused")].status`,description="Whether work on the machine is paused",priority=10
// +kubebuilder:printcolumn:name="Phase",type="string",JSONPath=".status.phase",description="Summary of the machine's state"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since the Machine was created"
// +kubebuilder:printcolumn:name="Version",type="string",JSONPath=".spec.version",description="Kubernetes version that is wanted"
type Machine struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard metadata of an object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what the machine should be.
	// +required
	Spec MachineSpec `json:"spec,omitempty,omitzero"`

	// status says what was last observed.
	// +optional
	Status MachineStatus `json:"status,omitempty,omitzero"`
}

// MachineList is a list of Machines.
// +kubebuilder:object:root=true
type MachineList struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard metadata of a list.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty,omitzero"`

	// items are the Machines.
	Items []Machine `json:"items"`
}
