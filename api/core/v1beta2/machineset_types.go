package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MachineSetDeletionOrder says which Machines go first when a MachineSet shrinks. Machines that are marked for deletion
// or unhealthy go before all others in any order.
type MachineSetDeletionOrder string

const (
	// RandomMachineSetDeletionOrder takes Machines in no particular order.
	RandomMachineSetDeletionOrder MachineSetDeletionOrder = "Random"

	// NewestMachineSetDeletionOrder takes the youngest Machines first.
	NewestMachineSetDeletionOrder MachineSetDeletionOrder = "Newest"

	// OldestMachineSetDeletionOrder takes the oldest Machines first.
	OldestMachineSetDeletionOrder MachineSetDeletionOrder = "Oldest"
)

// MachineSetPreflightCheck names a check that a MachineSet makes before it creates a Machine.
type MachineSetPreflightCheck string

const (
	// MachineSetPreflightCheckAll stands for all checks.
	MachineSetPreflightCheckAll MachineSetPreflightCheck = "All"

	// MachineSetPreflightCheckKubeadmVersionSkew checks that new Machines have the control plane's minor version, which
	// kubeadm join demands.
	MachineSetPreflightCheckKubeadmVersionSkew MachineSetPreflightCheck = "KubeadmVersionSkew"

	// MachineSetPreflightCheckKubernetesVersionSkew checks that new Machines are within the version skew that
	// Kubernetes allows between kubelet and API server.
	MachineSetPreflightCheckKubernetesVersionSkew MachineSetPreflightCheck = "KubernetesVersionSkew"

	// MachineSetPreflightCheckControlPlaneIsStable checks that the control plane is neither coming up nor upgrading.
	MachineSetPreflightCheckControlPlaneIsStable MachineSetPreflightCheck = "ControlPlaneIsStable"

	// MachineSetPreflightCheckControlPlaneVersionSkew checks that new Machines have the version that the topology's
	// control plane has by now.
	MachineSetPreflightCheckControlPlaneVersionSkew MachineSetPreflightCheck = "ControlPlaneVersionSkew"
)

// MachineSetSpec says what a MachineSet should be.
type MachineSetSpec struct {
	// clusterName is the name of the Cluster that the MachineSet belongs to, in the same namespace. It cannot change.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	ClusterName string `json:"clusterName,omitempty"`

	// replicas is the number of Machines that are wanted. Unset is filled in at admission: within the bounds of the
	// autoscaler's annotations if both are there, else 1.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// selector picks the MachineSet's Machines by their labels. It must match the template's labels.
	// +required
	Selector metav1.LabelSelector `json:"selector,omitempty,omitzero"`

	// template is what Machines are made from.
	// +required
	Template MachineTemplateSpec `json:"template,omitempty,omitzero"`

	// machineNaming says how Machines are named.
	// +optional
	MachineNaming MachineNamingSpec `json:"machineNaming,omitempty,omitzero"`

	// deletion says which Machines go first.
	// +optional
	Deletion MachineSetDeletionSpec `json:"deletion,omitempty,omitzero"`
}

// MachineNamingSpec says how Machines are named.
// +kubebuilder:validation:MinProperties=1
type MachineNamingSpec struct {
	// template is a Go template for names. It knows .cluster.name, .machineSet.name and .random, and must use .random,
	// which is five characters that no Machine had before. A name of more than 63 characters is cut to 58, and five
	// random ones are added. Unset means {{ .machineSet.name }}-{{ .random }}.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Template string `json:"template,omitempty"`
}

// MachineSetDeletionSpec says which Machines go first when a MachineSet shrinks.
// +kubebuilder:validation:MinProperties=1
type MachineSetDeletionSpec struct {
	// order in which Machines are taken. Unset means Random.
	// +optional
	// +kubebuilder:validation:Enum=Random;Newest;Oldest
	Order MachineSetDeletionOrder `json:"order,omitempty"`
}

// MachineTemplateSpec is what Machines are made from.
type MachineTemplateSpec struct {
	// metadata is put on each Machine, its infrastructure object and its bootstrap object.
	// +optional
	ObjectMeta ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec of each Machine.
	// +required
	Spec MachineSpec `json:"spec,omitempty,omitzero"`
}

// MachineSetStatus says what was last observed of a MachineSet.
// +kubebuilder:validation:MinProperties=1
type MachineSetStatus struct {
	// conditions describe the MachineSet's state.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// selector is spec.selector as a string, for the scale subresource.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Selector string `json:"selector,omitempty"`

	// replicas is the number of Machines that exist, those being deleted included.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// readyReplicas is the number of Machines that are Ready.
	// +optional
	ReadyReplicas *int32 `json:"readyReplicas,omitempty"`

	// availableReplicas is the number of Machines that are Available.
	// +optional
	AvailableReplicas *int32 `json:"availableReplicas,omitempty"`

	// upToDateReplicas is the number of Machines that match what is wanted now.
	// +optional
	UpToDateReplicas *int32 `json:"upToDateReplicas,omitempty"`

	// versions counts the Machines at each Kubernetes version.
	// +optional
	// +listType=map
	// +listMapKey=version
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	Versions []StatusVersion `json:"versions,omitempty"`

	// observedGeneration is the metadata.generation that this status was computed from.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// deprecated holds what only readers of older versions of the API look at.
	// +optional
	Deprecated *MachineSetDeprecatedStatus `json:"deprecated,omitempty"`
}

// MachineSetDeprecatedStatus holds what only readers of older versions of the API look at.
type MachineSetDeprecatedStatus struct {
	// v1beta1 holds the parts of the status that only v1beta1 has.
	// +optional
	V1Beta1 *MachineSetV1Beta1DeprecatedStatus `json:"v1beta1,omitempty"`
}

// MachineSetV1Beta1DeprecatedStatus holds the parts of a MachineSet's status that only v1beta1 has.
type MachineSetV1Beta1DeprecatedStatus struct {
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

	// fullyLabeledReplicas is the number of Machines that carry all labels of the template.
	// +optional
	FullyLabeledReplicas int32 `json:"fullyLabeledReplicas"`

	// readyReplicas is the number of Machines whose Node is ready.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas"`

	// availableReplicas is the number of Machines whose Node has been ready for minReadySeconds.
	// +optional
	AvailableReplicas int32 `json:"availableReplicas"`
}

// MachineSet keeps a number of like Machines.
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=machinesets,shortName=ms,scope=Namespaced,categories=cluster-api
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".spec.clusterName",description="Cluster that the machines belong to"
// +kubebuilder:printcolumn:name="Desired",type="integer",JSONPath=".spec.replicas",description="Machines wanted"
// +kubebuilder:printcolumn:name="Current",type="integer",JSONPath=".status.replicas",description="Machines that exist"
// +kubebuilder:printcolumn:name="Ready",type="integer",JSONPath=".status.readyReplicas",description="Machines that are Ready"
// +kubebuilder:printcolumn:name="Available",type="integer",JSONPath=".status.availableReplicas",description="Machines that are Available"
// +kubebuilder:printcolumn:name="Up-to-date",type="integer",JSONPath=".status.upToDateReplicas",description="Machines that match what is wanted now"
// +kubebuilder:printcolumn:name="Paused",type="string",JSONPath=`.status.conditions[?(@.type=="Paused")].status`,description="Whether work on the MachineSet is paused",priority=10
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since the MachineSet was created"
// +kubebuilder:printcolumn:name="Version",type="string",JSONPath=".spec.template.spec.version",description="Kubernetes version that is wanted"
type MachineSet struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard metadata of an object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what the MachineSet should be.
	// +required
	Spec MachineSetSpec `json:"spec,omitempty,omitzero"`

	// status says what was last observed.
	// +optional
	Status MachineSetStatus `json:"status,omitempty,omitzero"`
}

// MachineSetList is a list of MachineSets.
// +kubebuilder:object:root=true
type MachineSetList struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard metadata of a list.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty,omitzero"`

	// items are the MachineSets.
	Items []MachineSet `json:"items"`
}
