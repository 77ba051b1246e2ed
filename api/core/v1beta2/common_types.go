package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ContractVersionedObjectReference points at a provider's object in the namespace of the object that holds the
// reference. It names no API version: that is looked up from the contract labels of the kind's CRD, so that a provider
// can move on to a new version without any reference being rewritten.
type ContractVersionedObjectReference struct {
	// kind of the object that is referred to.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$`
	Kind string `json:"kind,omitempty"`

	// name of the object that is referred to.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Name string `json:"name,omitempty"`

	// apiGroup of the object that is referred to, without a version.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	APIGroup string `json:"apiGroup,omitempty"`
}

// IsDefined tells whether the reference points at anything; an unset reference is the zero value.
func (r ContractVersionedObjectReference) IsDefined() bool {
	return r != ContractVersionedObjectReference{}
}

// GroupKind returns the group and kind that the reference names.
func (r ContractVersionedObjectReference) GroupKind() schema.GroupKind {
	return schema.GroupKind{Group: r.APIGroup, Kind: r.Kind}
}

// ObjectMeta is the metadata that a template hands on to what is made from it: labels and annotations, nothing else.
// +kubebuilder:validation:MinProperties=1
type ObjectMeta struct {
	// labels are put on every object made from the template. Changing them changes existing objects in place and
	// replaces nothing.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// annotations are put on every object made from the template. Changing them changes existing objects in place and
	// replaces nothing.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// ConditionPolarity says which status of a condition is the good one.
type ConditionPolarity string

const (
	// PositivePolarityCondition marks a condition that is True when all is well.
	PositivePolarityCondition ConditionPolarity = "Positive"

	// NegativePolarityCondition marks a condition that is False when all is well.
	NegativePolarityCondition ConditionPolarity = "Negative"
)

// MachineReadinessGate adds one more condition to those that make a Machine Ready.
type MachineReadinessGate struct {
	// conditionType of a condition in the Machine's status.conditions. While the condition is absent, it counts as
	// Unknown and the Machine is not Ready.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=316
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$`
	ConditionType string `json:"conditionType,omitempty"`

	// polarity says which status is the good one: True for Positive, False for Negative. Unset means Positive.
	// +optional
	// +kubebuilder:validation:Enum=Positive;Negative
	Polarity ConditionPolarity `json:"polarity,omitempty"`
}

// ClusterAvailabilityGate adds one more condition to those that make a Cluster Available.
type ClusterAvailabilityGate struct {
	// conditionType of a condition in the Cluster's status.conditions. While the condition is absent, it counts as
	// Unknown and the Cluster is not Available.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=316
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$`
	ConditionType string `json:"conditionType,omitempty"`

	// polarity says which status is the good one: True for Positive, False for Negative. Unset means Positive.
	// +optional
	// +kubebuilder:validation:Enum=Positive;Negative
	Polarity ConditionPolarity `json:"polarity,omitempty"`
}

// MachineTaintPropagation says how often a Machine's taint is put on its Node.
type MachineTaintPropagation string

const (
	// MachineTaintPropagationAlways puts a taint back whenever it is missing and takes it off when it leaves the spec.
	MachineTaintPropagationAlways MachineTaintPropagation = "Always"

	// MachineTaintPropagationOnInitialization puts a taint on once, when the Node is first seen, and then leaves it to
	// whoever manages the Node.
	MachineTaintPropagationOnInitialization MachineTaintPropagation = "OnInitialization"
)

// MachineTaint is a taint that a Machine puts on its Node. Key and effect together tell taints apart.
type MachineTaint struct {
	// key of the taint, optionally with a DNS prefix.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$`
	Key string `json:"key,omitempty"`

	// value of the taint. Unset means a taint without a value.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$`
	Value string `json:"value,omitempty"`

	// effect of the taint on pods that do not tolerate it.
	// +required
	// +kubebuilder:validation:Enum=NoSchedule;PreferNoSchedule;NoExecute
	Effect corev1.TaintEffect `json:"effect,omitempty"`

	// propagation says whether the taint is kept on the Node (Always) or put on it once (OnInitialization).
	// +required
	// +kubebuilder:validation:Enum=Always;OnInitialization
	Propagation MachineTaintPropagation `json:"propagation,omitempty"`
}

// MachineAddressType is the kind of an address.
type MachineAddressType string

const (
	// MachineHostName is the name the machine calls itself.
	MachineHostName MachineAddressType = "Hostname"

	// MachineExternalIP is an IP address that is reachable from outside the machine's network.
	MachineExternalIP MachineAddressType = "ExternalIP"

	// MachineInternalIP is an IP address within the machine's network.
	MachineInternalIP MachineAddressType = "InternalIP"

	// MachineExternalDNS is a DNS name that resolves to an ExternalIP.
	MachineExternalDNS MachineAddressType = "ExternalDNS"

	// MachineInternalDNS is a DNS name that resolves to an InternalIP.
	MachineInternalDNS MachineAddressType = "InternalDNS"
)

// MachineAddress is one address of a machine.
type MachineAddress struct {
	// type of the address.
	// +required
	// +kubebuilder:validation:Enum=Hostname;ExternalIP;InternalIP;ExternalDNS;InternalDNS
	Type MachineAddressType `json:"type,omitempty"`

	// address is an IP address or a name, as type says.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Address string `json:"address,omitempty"`
}

// MachineAddresses are the addresses of one machine, in the order its provider reports them.
type MachineAddresses []MachineAddress

// MachineDeletionSpec bounds the steps of deleting a Machine.
// +kubebuilder:validation:MinProperties=1
type MachineDeletionSpec struct {
	// nodeDrainTimeoutSeconds is how many seconds draining the Node may take before deletion goes on without it.
	// Unset or 0 means that draining may take for ever.
	// +optional
	// +kubebuilder:validation:Minimum=0
	NodeDrainTimeoutSeconds *int32 `json:"nodeDrainTimeoutSeconds,omitempty"`

	// nodeVolumeDetachTimeoutSeconds is how many seconds to wait for the Node's volumes to be detached before deletion
	// goes on without that. Unset or 0 means to wait for ever.
	// +optional
	// +kubebuilder:validation:Minimum=0
	NodeVolumeDetachTimeoutSeconds *int32 `json:"nodeVolumeDetachTimeoutSeconds,omitempty"`

	// nodeDeletionTimeoutSeconds is how many seconds deleting the Node object is tried, counted from when the Machine
	// was deleted. Unset becomes 10 at admission; 0 means to try for ever.
	// +optional
	// +kubebuilder:validation:Minimum=0
	NodeDeletionTimeoutSeconds *int32 `json:"nodeDeletionTimeoutSeconds,omitempty"`
}

// StatusVersion counts the replicas at one Kubernetes version.
type StatusVersion struct {
	// version of Kubernetes, as the replicas report it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Version string `json:"version,omitempty"`

	// replicas is the number of replicas at this version. Unset where the replicas of a version cannot be counted.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Replicas *int32 `json:"replicas,omitempty"`
}

// StatusUpgradePlanVersion is one version that an upgrade under way has yet to reach.
type StatusUpgradePlanVersion struct {
	// version of Kubernetes that comes in the plan.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Version string `json:"version,omitempty"`
}

// UnhealthyNodeCondition describes a Node condition that, held long enough, makes the Machine unhealthy.
type UnhealthyNodeCondition struct {
	// type of the Node condition.
	// +required
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=1
	Type corev1.NodeConditionType `json:"type,omitempty"`

	// status of the Node condition that is unhealthy: True, False or Unknown.
	// +required
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=1
	Status corev1.ConditionStatus `json:"status,omitempty"`

	// timeoutSeconds is how many seconds the condition must have had that status. 0 means at once.
	// +required
	// +kubebuilder:validation:Minimum=0
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty"`
}

// UnhealthyMachineCondition describes a Machine condition that, held long enough, makes the Machine unhealthy.
type UnhealthyMachineCondition struct {
	// type of the Machine condition. Conditions that follow from the health check itself cannot be used.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=316
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$`
	// +kubebuilder:validation:XValidation:rule="!(self in ['Ready','Available','HealthCheckSucceeded','OwnerRemediated','ExternallyRemediated'])",message="Ready, Available, HealthCheckSucceeded, OwnerRemediated and ExternallyRemediated depend on the health check's own result; name another condition type"
	Type string `json:"type,omitempty"`

	// status of the Machine condition that is unhealthy: True, False or Unknown.
	// +required
	// +kubebuilder:validation:Enum=True;False;Unknown
	Status metav1.ConditionStatus `json:"status,omitempty"`

	// timeoutSeconds is how many seconds the condition must have had that status. 0 means at once.
	// +required
	// +kubebuilder:validation:Minimum=0
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty"`
}
