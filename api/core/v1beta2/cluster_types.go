package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ClusterKind is the kind of a Cluster.
const ClusterKind = "Cluster"

// ClusterPhase is a one-word summary of where a Cluster is in its life, for people to read. Decisions rest on
// conditions, never on a phase.
type ClusterPhase string

const (
	// ClusterPhasePending is a Cluster that names neither infrastructure nor control plane yet.
	ClusterPhasePending ClusterPhase = "Pending"

	// ClusterPhaseProvisioning is a Cluster whose infrastructure or endpoint is not there yet.
	ClusterPhaseProvisioning ClusterPhase = "Provisioning"

	// ClusterPhaseProvisioned is a Cluster with infrastructure and a control plane endpoint.
	ClusterPhaseProvisioned ClusterPhase = "Provisioned"

	// ClusterPhaseDeleting is a Cluster that is being deleted.
	ClusterPhaseDeleting ClusterPhase = "Deleting"

	// ClusterPhaseFailed belongs to older versions of the API; it is never set.
	ClusterPhaseFailed ClusterPhase = "Failed"

	// ClusterPhaseUnknown is a Cluster whose phase cannot be told.
	ClusterPhaseUnknown ClusterPhase = "Unknown"
)

// ClusterSpec says what a Cluster should be.
// +kubebuilder:validation:MinProperties=1
type ClusterSpec struct {
	// paused stops all work on the Cluster and on everything that belongs to it. Unset means false.
	// +optional
	Paused *bool `json:"paused,omitempty"`

	// clusterNetwork is the network inside the cluster. Unset leaves every value to whoever needs it.
	// +optional
	ClusterNetwork ClusterNetwork `json:"clusterNetwork,omitempty,omitzero"`

	// controlPlaneEndpoint is where the cluster's API server is reached. Whoever knows it sets it: the user, the
	// infrastructure provider or the control plane provider; once set, it stays.
	// +optional
	ControlPlaneEndpoint APIEndpoint `json:"controlPlaneEndpoint,omitempty,omitzero"`

	// controlPlaneRef points at the object that runs the control plane. Unset means that control plane Machines are
	// made one by one. It cannot be removed once set.
	// +optional
	ControlPlaneRef ContractVersionedObjectReference `json:"controlPlaneRef,omitempty,omitzero"`

	// infrastructureRef points at the object that provides what the cluster's machines share, such as a network and a
	// load balancer. It cannot be removed once set.
	// +optional
	InfrastructureRef ContractVersionedObjectReference `json:"infrastructureRef,omitempty,omitzero"`

	// topology describes the whole cluster after a ClusterClass, which then makes and keeps every other object. Unset
	// means that those objects are made by hand. It cannot be added to or removed from an existing Cluster.
	// +optional
	Topology Topology `json:"topology,omitempty,omitzero"`

	// availabilityGates are further conditions without which the Cluster is not Available. Unset means those of the
	// ClusterClass, if there is one.
	// +optional
	// +listType=map
	// +listMapKey=conditionType
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	AvailabilityGates []ClusterAvailabilityGate `json:"availabilityGates,omitempty"`
}

// ClusterNetwork is the network inside a cluster.
// +kubebuilder:validation:MinProperties=1
type ClusterNetwork struct {
	// apiServerPort is the port that each API server listens on. Unset means 6443.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	APIServerPort *int32 `json:"apiServerPort,omitempty"`

	// services are the ranges that services get their addresses from.
	// +optional
	Services NetworkRanges `json:"services,omitempty,omitzero"`

	// pods are the ranges that pods get their addresses from.
	// +optional
	Pods NetworkRanges `json:"pods,omitempty,omitzero"`

	// serviceDomain is the DNS domain of services. Unset means cluster.local.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ServiceDomain string `json:"serviceDomain,omitempty"`
}

// NetworkRanges are ranges of addresses.
type NetworkRanges struct {
	// cidrBlocks are the ranges in CIDR notation.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=43
	CIDRBlocks []string `json:"cidrBlocks,omitempty"`
}

// APIEndpoint is where an API server is reached. It counts as known once both host and port are set.
// +kubebuilder:validation:MinProperties=1
type APIEndpoint struct {
	// host is the name or IP address.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Host string `json:"host,omitempty"`

	// port is the TCP port.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
}

// IsValid tells whether both host and port are known.
func (e APIEndpoint) IsValid() bool {
	return e.Host != "" && e.Port != 0
}

// IsZero tells whether neither host nor port is known.
func (e APIEndpoint) IsZero() bool {
	return e == APIEndpoint{}
}

// ClusterStatus says what was last observed of a Cluster.
// +kubebuilder:validation:MinProperties=1
type ClusterStatus struct {
	// conditions describe the Cluster's state; the first to read is Available.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// initialization holds the milestones of the Cluster's making. A milestone once reached stays reached.
	// +optional
	Initialization ClusterInitializationStatus `json:"initialization,omitempty,omitzero"`

	// controlPlane counts the control plane's replicas. Unset where the control plane has no notion of replicas.
	// +optional
	ControlPlane *ClusterControlPlaneStatus `json:"controlPlane,omitempty"`

	// workers counts the workers of all MachineDeployments, MachineSets and MachinePools of the Cluster.
	// +optional
	Workers *WorkersStatus `json:"workers,omitempty"`

	// failureDomains are the places that the infrastructure offers for machines, such as zones.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	FailureDomains []FailureDomain `json:"failureDomains,omitempty"`

	// phase is a one-word summary for people.
	// +optional
	// +kubebuilder:validation:Enum=Pending;Provisioning;Provisioned;Deleting;Failed;Unknown
	Phase string `json:"phase,omitempty"`

	// observedGeneration is the metadata.generation that this status was computed from.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// deprecated holds what only readers of older versions of the API look at.
	// +optional
	Deprecated *ClusterDeprecatedStatus `json:"deprecated,omitempty"`
}

// ClusterInitializationStatus holds the milestones of a Cluster's making.
// +kubebuilder:validation:MinProperties=1
type ClusterInitializationStatus struct {
	// infrastructureProvisioned becomes true when the infrastructure is there, and then stays true. Machines are not
	// made before.
	// +optional
	InfrastructureProvisioned *bool `json:"infrastructureProvisioned,omitempty"`

	// controlPlaneInitialized becomes true when the control plane first answers requests, and then stays true. Workers
	// do not join before.
	// +optional
	ControlPlaneInitialized *bool `json:"controlPlaneInitialized,omitempty"`
}

// ClusterControlPlaneStatus counts a control plane's replicas.
type ClusterControlPlaneStatus struct {
	// desiredReplicas is the number of control plane machines that are wanted.
	// +optional
	DesiredReplicas *int32 `json:"desiredReplicas,omitempty"`

	// replicas is the number of control plane machines that exist, those being deleted included.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// upToDateReplicas is the number of control plane machines that match what is wanted now.
	// +optional
	UpToDateReplicas *int32 `json:"upToDateReplicas,omitempty"`

	// readyReplicas is the number of control plane machines that are Ready.
	// +optional
	ReadyReplicas *int32 `json:"readyReplicas,omitempty"`

	// availableReplicas is the number of control plane machines that are Available.
	// +optional
	AvailableReplicas *int32 `json:"availableReplicas,omitempty"`

	// versions counts the control plane machines at each Kubernetes version.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Versions []StatusVersion `json:"versions,omitempty"`

	// upgradePlan lists the versions that the control plane has yet to go through, next one first. Unset when no
	// upgrade of a topology is under way; an entry goes as soon as its version is asked for.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	UpgradePlan []StatusUpgradePlanVersion `json:"upgradePlan,omitempty"`
}

// WorkersStatus counts a Cluster's workers.
type WorkersStatus struct {
	// desiredReplicas is the number of workers that are wanted.
	// +optional
	DesiredReplicas *int32 `json:"desiredReplicas,omitempty"`

	// replicas is the number of workers that exist, those being deleted included.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// upToDateReplicas is the number of workers that match what is wanted now.
	// +optional
	UpToDateReplicas *int32 `json:"upToDateReplicas,omitempty"`

	// readyReplicas is the number of workers that are Ready.
	// +optional
	ReadyReplicas *int32 `json:"readyReplicas,omitempty"`

	// availableReplicas is the number of workers that are Available.
	// +optional
	AvailableReplicas *int32 `json:"availableReplicas,omitempty"`

	// versions counts the workers at each Kubernetes version.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Versions []StatusVersion `json:"versions,omitempty"`

	// upgradePlan lists the versions that the workers have yet to go through, next one first. Unset when no upgrade of
	// a topology is under way; an entry goes as soon as its version is asked for.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	UpgradePlan []StatusUpgradePlanVersion `json:"upgradePlan,omitempty"`
}

// FailureDomain is a place for machines that can fail as a whole, such as a zone.
type FailureDomain struct {
	// name of the failure domain, unique within its Cluster.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name,omitempty"`

	// controlPlane says whether control plane machines may be put here. Unset means false.
	// +optional
	ControlPlane *bool `json:"controlPlane,omitempty"`

	// attributes are whatever the infrastructure provider wants to tell about the failure domain.
	// +optional
	Attributes map[string]string `json:"attributes,omitempty"`
}

// ClusterDeprecatedStatus holds what only readers of older versions of the API look at.
type ClusterDeprecatedStatus struct {
	// v1beta1 holds the parts of the status that only v1beta1 has.
	// +optional
	V1Beta1 *ClusterV1Beta1DeprecatedStatus `json:"v1beta1,omitempty"`
}

// ClusterV1Beta1DeprecatedStatus holds the parts of a Cluster's status that only v1beta1 has.
type ClusterV1Beta1DeprecatedStatus struct {
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

// Cluster is a Kubernetes cluster: what it should be, and what was last seen of it.
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=clusters,shortName=cl,scope=Namespaced,categories=cluster-api
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ClusterClass",type="string",JSONPath=".spec.topology.classRef.name",description="ClusterClass that the topology follows; empty for a cluster made by hand"
// +kubebuilder:printcolumn:name="Available",type="string",JSONPath=`.status.conditions[?(@.type=="Available")].status`,description="Whether the cluster can be used"
// +kubebuilder:printcolumn:name="CP Desired",type="integer",JSONPath=".status.controlPlane.desiredReplicas",description="Control plane machines wanted"
// +kubebuilder:printcolumn:name="CP Current",type="integer",JSONPath=".status.controlPlane.replicas",description="Control plane machines that exist",priority=10
// +kubebuilder:printcolumn:name="CP Ready",type="integer",JSONPath=".status.controlPlane.readyReplicas",description="Control plane machines that are Ready",priority=10
// +kubebuilder:printcolumn:name="CP Available",type="integer",JSONPath=".status.controlPlane.availableReplicas",description="Control plane machines that are Available"
// +kubebuilder:printcolumn:name="CP Up-to-date",type="integer",JSONPath=".status.controlPlane.upToDateReplicas",description="Control plane machines that match what is wanted now"
// +kubebuilder:printcolumn:name="W Desired",type="integer",JSONPath=".status.workers.desiredReplicas",description="Workers wanted"
// +kubebuilder:printcolumn:name="W Current",type="integer",JSONPath=".status.workers.replicas",description="Workers that exist",priority=10
// +kubebuilder:printcolumn:name="W Ready",type="integer",JSONPath=".status.workers.readyReplicas",description="Workers that are Ready",priority=10
// +kubebuilder:printcolumn:name="W Available",type="integer",JSONPath=".status.workers.availableReplicas",description="Workers that are Available"
// +kubebuilder:printcolumn:name="W Up-to-date",type="integer",JSONPath=".status.workers.upToDateReplicas",description="Workers that match what is wanted now"
// +kubebuilder:printcolumn:name="Paused",type="string",JSONPath=`.status.conditions[?(@.type=="Paused")].status`,description="Whether work on the cluster is paused",priority=10
// +kubebuilder:printcolumn:name="Phase",type="string",JSONPath=".status.phase",description="Summary of the cluster's state"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since the Cluster was created"
// +kubebuilder:printcolumn:name="Version",type="string",JSONPath=".spec.topology.version",description="Kubernetes version of the topology"
type Cluster struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard metadata of an object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what the cluster should be.
	// +required
	Spec ClusterSpec `json:"spec,omitempty,omitzero"`

	// status says what was last observed.
	// +optional
	Status ClusterStatus `json:"status,omitempty,omitzero"`
}

// ClusterList is a list of Clusters.
// +kubebuilder:object:root=true
type ClusterList struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard metadata of a list.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty,omitzero"`

	// items are the Clusters.
	Items []Cluster `json:"items"`
}
