package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
)

const (
	// SimMachineFinalizer keeps a SimMachine until its simulated machine is gone.
	SimMachineFinalizer = "simmachine.infrastructure.cluster.x-k8s.io"

	// SimProviderIDPrefix is what the provider ID of every simulated machine begins with.
	SimProviderIDPrefix = "sim://"
)

// SimMachineFaultType names something that goes wrong for one simulated machine.
// +kubebuilder:validation:Enum=SlowBoot;FailedBoot;FailedBootstrap;NodeLost;MachineVanished;EtcdMemberDead
type SimMachineFaultType string

const (
	// SlowBootFault holds the machine's boot for as long as the fault lasts.
	SlowBootFault SimMachineFaultType = "SlowBoot"

	// FailedBootFault makes the machine fail to boot.
	FailedBootFault SimMachineFaultType = "FailedBoot"

	// FailedBootstrapFault lets the machine boot and then makes kubeadm fail on it.
	FailedBootstrapFault SimMachineFaultType = "FailedBootstrap"

	// NodeLostFault stops the kubelet, so that the Node is no longer heard of; it comes back when the fault ends.
	NodeLostFault SimMachineFaultType = "NodeLost"

	// MachineVanishedFault makes the machine disappear, as if somebody had deleted it behind Slipway's back.
	MachineVanishedFault SimMachineFaultType = "MachineVanished"

	// EtcdMemberDeadFault stops the etcd member on a control-plane machine; it comes back when the fault ends.
	EtcdMemberDeadFault SimMachineFaultType = "EtcdMemberDead"
)

// SimMachineSpec says what one simulated machine shall be. Only providerID and faults may change; another machine takes
// a new SimMachine.
// +kubebuilder:validation:XValidation:rule="has(self.failureDomain) == has(oldSelf.failureDomain) && (!has(self.failureDomain) || self.failureDomain == oldSelf.failureDomain)",message="failureDomain cannot be changed; delete the Machine to get a new one, or create a new template"
// +kubebuilder:validation:XValidation:rule="has(self.bootDelay) == has(oldSelf.bootDelay) && (!has(self.bootDelay) || duration(self.bootDelay) == duration(oldSelf.bootDelay))",message="bootDelay cannot be changed; delete the Machine to get a new one, or create a new template"
// +kubebuilder:validation:XValidation:rule="has(self.capacity) == has(oldSelf.capacity)",message="capacity cannot be changed; delete the Machine to get a new one, or create a new template"
type SimMachineSpec struct {
	// providerID is the machine's name in the simulated world, "sim://" followed by namespace, cluster and machine.
	// The controller writes it; the Node bears it too.
	// +optional
	// +kubebuilder:validation:MinLength=7
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^sim://.+$`
	ProviderID string `json:"providerID,omitempty"`

	// failureDomain is the zone that the machine is in. When unset, it is the Machine's.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	FailureDomain string `json:"failureDomain,omitempty"`

	// bootDelay is how long the machine takes to boot, from "0s" to "1h": for example "500ms". When unset, 1 second.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('1h')",message="give a bootDelay of 1h or less"
	BootDelay *metav1.Duration `json:"bootDelay,omitempty"`

	// capacity is what the machine's Node offers to pods. When unset, 4 CPUs and 8Gi of memory.
	// +optional
	Capacity SimCapacity `json:"capacity,omitempty,omitzero"`

	// faults are what goes wrong now; each kind of fault may appear once. They may be added and removed at any time.
	// When unset, nothing goes wrong.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Faults []SimMachineFault `json:"faults,omitempty"`
}

// SimCapacity is what a simulated machine's Node offers to pods. Its rules compare amounts, not spellings, since clients
// that read and write it may turn 4 into "4".
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="has(self.cpu) == has(oldSelf.cpu) && (!has(self.cpu) || quantity(string(self.cpu)).compareTo(quantity(string(oldSelf.cpu))) == 0)",message="cpu cannot be changed; delete the Machine to get a new one, or create a new template"
// +kubebuilder:validation:XValidation:rule="has(self.memory) == has(oldSelf.memory) && (!has(self.memory) || quantity(string(self.memory)).compareTo(quantity(string(oldSelf.memory))) == 0)",message="memory cannot be changed; delete the Machine to get a new one, or create a new template"
type SimCapacity struct {
	// cpu is the number of CPUs, above 0: for example "4" or "500m". When unset, 4.
	// +optional
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).isGreaterThan(quantity('0'))",message="give an amount above 0, or leave it out"
	CPU *resource.Quantity `json:"cpu,omitempty"`

	// memory is the amount of memory in bytes, above 0: for example "8Gi". When unset, 8Gi.
	// +optional
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).isGreaterThan(quantity('0'))",message="give an amount above 0, or leave it out"
	Memory *resource.Quantity `json:"memory,omitempty"`
}

// SimMachineFault is something that goes wrong for one simulated machine.
type SimMachineFault struct {
	// type is what goes wrong: SlowBoot, FailedBoot, FailedBootstrap, NodeLost, MachineVanished or EtcdMemberDead.
	// +required
	Type SimMachineFaultType `json:"type,omitempty"`

	// duration is how long the fault lasts, counted from when it was first seen: for example "90s" or "1h30m".
	// When unset, it lasts until it is removed from the list. A machine that has vanished does not come back.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s')",message="give a duration above 0s, or leave it out to make the fault last until it is removed"
	Duration *metav1.Duration `json:"duration,omitempty"`
}

// SimMachineStatus is what has been observed of one simulated machine.
// +kubebuilder:validation:MinProperties=1
type SimMachineStatus struct {
	// conditions tell how the machine is: Ready first of all, then Booted, Bootstrapped, FaultFree and Paused.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// initialization is the provider contract's account of the first completion.
	// +optional
	Initialization SimMachineInitializationStatus `json:"initialization,omitempty,omitzero"`

	// addresses are the machine's addresses and host name.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Addresses []clusterv1.MachineAddress `json:"addresses,omitempty"`

	// failureDomain is the zone that the machine is in. Unset when it is in none.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	FailureDomain string `json:"failureDomain,omitempty"`

	// bootTime is when the machine had booted. Unset until then.
	// +optional
	BootTime metav1.Time `json:"bootTime,omitempty,omitzero"`

	// bootstrapToolVersion is the version of kubeadm on the machine. Unset until kubeadm has run.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	BootstrapToolVersion string `json:"bootstrapToolVersion,omitempty"`
}

// SimMachineInitializationStatus tells which first steps are done; a step, once done, stays done.
// +kubebuilder:validation:MinProperties=1
type SimMachineInitializationStatus struct {
	// provisioned is true once the machine has booted. Unset means not yet.
	// +optional
	Provisioned *bool `json:"provisioned,omitempty"`
}

// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=simmachines,scope=Namespaced,categories=cluster-api
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1alpha1"
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']",description="Cluster that the machine belongs to"
// +kubebuilder:printcolumn:name="Machine",type="string",JSONPath=`.metadata.ownerReferences[?(@.kind=="Machine")].name`,description="Machine that owns the SimMachine"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether all is well"
// +kubebuilder:printcolumn:name="Zone",type="string",JSONPath=".status.failureDomain",description="Zone that the machine is in"
// +kubebuilder:printcolumn:name="Faults",type="string",JSONPath=".spec.faults[*].type",description="What is asked to go wrong",priority=10
// +kubebuilder:printcolumn:name="Provider ID",type="string",JSONPath=".spec.providerID",description="Name of the machine in the simulated world",priority=10
// +kubebuilder:printcolumn:name="Paused",type="string",JSONPath=`.status.conditions[?(@.type=="Paused")].status`,description="Whether reconciliation is paused",priority=10
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since the SimMachine was created"

// SimMachine is the infrastructure of one Machine, simulated: it boots, reads its bootstrap data as a real machine
// would, and registers a Node.
type SimMachine struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec says what the machine shall be. When unset, it has the defaults.
	// +optional
	Spec SimMachineSpec `json:"spec,omitempty,omitzero"`

	// status is what has been observed; only the controller writes it.
	// +optional
	Status SimMachineStatus `json:"status,omitempty,omitzero"`
}

// +kubebuilder:object:root=true

// SimMachineList is a list of SimMachines.
type SimMachineList struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty,omitzero"`

	// items are the SimMachines.
	Items []SimMachine `json:"items"`
}
