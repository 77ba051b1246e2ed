package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
)

// KubeadmControlPlaneSpec says what the control plane of one cluster shall be.
type KubeadmControlPlaneSpec struct {
	// replicas is how many control-plane machines there shall be; 1 or more, and odd when etcd runs on them.
	// When unset, admission sets 1.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// version is the Kubernetes version: for example "v1.37.2". Changing it replaces the machines one by one.
	// It may go up by one minor version at a time.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Version string `json:"version,omitempty"`

	// machineTemplate says what the control-plane machines are made from.
	// +required
	MachineTemplate KubeadmControlPlaneMachineTemplate `json:"machineTemplate,omitempty,omitzero"`

	// kubeadmConfigSpec says how machines become control-plane nodes through kubeadm. Changing most of it replaces the
	// machines one by one. When unset, everything is left to the controller and to kubeadm.
	// +optional
	KubeadmConfigSpec bootstrapv1.KubeadmConfigSpec `json:"kubeadmConfigSpec,omitempty,omitzero"`

	// rollout says when and how machines are replaced. When unset, they are replaced only when they no longer match
	// the spec, a new one before an old one.
	// +optional
	Rollout KubeadmControlPlaneRolloutSpec `json:"rollout,omitempty,omitzero"`

	// remediation bounds the replacement of unhealthy machines. When unset, the defaults of its fields hold.
	// +optional
	Remediation KubeadmControlPlaneRemediationSpec `json:"remediation,omitempty,omitzero"`

	// machineNaming says how new machines are named. When unset, a name is the control plane's name and a random suffix.
	// +optional
	MachineNaming MachineNamingSpec `json:"machineNaming,omitempty,omitzero"`
}

// KubeadmControlPlaneMachineTemplate says what the control-plane machines are made from.
type KubeadmControlPlaneMachineTemplate struct {
	// metadata holds labels and annotations that each Machine, with its infrastructure and bootstrap objects, gets.
	// Changes reach existing machines in place. When unset, they get only what the controller needs.
	// +optional
	ObjectMeta clusterv1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec is the part of a Machine's spec that all control-plane machines share.
	// +required
	Spec KubeadmControlPlaneMachineTemplateSpec `json:"spec,omitempty,omitzero"`
}

// KubeadmControlPlaneMachineTemplateSpec is the part of a Machine's spec that all control-plane machines share.
type KubeadmControlPlaneMachineTemplateSpec struct {
	// infrastructureRef names the template, in the same namespace, that infrastructure machines are cloned from.
	// Naming another one replaces the machines one by one.
	// +required
	InfrastructureRef clusterv1.ContractVersionedObjectReference `json:"infrastructureRef,omitempty,omitzero"`

	// readinessGates are further conditions that a Machine must have to be Ready. Changes reach existing machines in
	// place. When unset, the control plane's own conditions decide.
	// +optional
	// +listType=map
	// +listMapKey=conditionType
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	ReadinessGates []clusterv1.MachineReadinessGate `json:"readinessGates,omitempty"`

	// deletion bounds the steps of deleting a Machine. Changes reach existing machines in place.
	// When unset, the defaults of its fields hold.
	// +optional
	Deletion clusterv1.MachineDeletionSpec `json:"deletion,omitempty,omitzero"`

	// taints are put on each Node by its Machine. Changes reach existing machines in place.
	// When unset, only kubeadm's taints are there.
	// +optional
	// +listType=map
	// +listMapKey=key
	// +listMapKey=effect
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Taints []clusterv1.MachineTaint `json:"taints,omitempty"`
}

// KubeadmControlPlaneStatus is what has been observed of a control plane.
// +kubebuilder:validation:MinProperties=1
type KubeadmControlPlaneStatus struct {
	// conditions tell how the control plane is: Available and Initialized first of all; then those on certificates,
	// etcd, components, machines, roll-out, scaling, remediation and deletion.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// initialization is the provider contract's account of the first steps of the control plane.
	// +optional
	Initialization KubeadmControlPlaneInitializationStatus `json:"initialization,omitempty,omitzero"`

	// selector is the label selector, as a string, of the control plane's Machines; the scale subresource shows it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Selector string `json:"selector,omitempty"`

	// replicas is how many control-plane machines there are, whatever their state.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// readyReplicas is how many machines are Ready.
	// +optional
	ReadyReplicas *int32 `json:"readyReplicas,omitempty"`

	// availableReplicas is how many machines are Available.
	// +optional
	AvailableReplicas *int32 `json:"availableReplicas,omitempty"`

	// upToDateReplicas is how many machines match the spec.
	// +optional
	UpToDateReplicas *int32 `json:"upToDateReplicas,omitempty"`

	// versions counts machines by Kubernetes version, the lowest version first.
	// +optional
	// +listType=map
	// +listMapKey=version
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	Versions []clusterv1.StatusVersion `json:"versions,omitempty"`

	// version is the lowest Kubernetes version among the machines. Deprecated: versions tells more.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Version string `json:"version,omitempty"`

	// observedGeneration is the metadata.generation that the controller last acted on.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// lastRemediation tells which unhealthy machine was replaced last. Unset when none has been.
	// +optional
	LastRemediation LastRemediationStatus `json:"lastRemediation,omitempty,omitzero"`

	// deprecated holds what older clients still read; it goes away together with v1beta1.
	// +optional
	Deprecated *KubeadmControlPlaneDeprecatedStatus `json:"deprecated,omitempty"`
}

// KubeadmControlPlaneInitializationStatus tells which first steps are done; a step, once done, stays done.
// +kubebuilder:validation:MinProperties=1
type KubeadmControlPlaneInitializationStatus struct {
	// controlPlaneInitialized is true once the first machine serves the Kubernetes API and others can join.
	// Unset means not yet.
	// +optional
	ControlPlaneInitialized *bool `json:"controlPlaneInitialized,omitempty"`
}

// LastRemediationStatus tells which unhealthy machine was replaced last.
type LastRemediationStatus struct {
	// machine is the name of the Machine that was replaced.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Machine string `json:"machine,omitempty"`

	// time is when its replacement began.
	// +required
	Time metav1.Time `json:"time,omitempty,omitzero"`

	// retryCount is how many replacements in a row had been made for the same machine before this one; 0 for the first.
	// +required
	// +kubebuilder:validation:Minimum=0
	RetryCount *int32 `json:"retryCount,omitempty"`
}

// KubeadmControlPlaneDeprecatedStatus groups status that is kept for clients of older API versions.
type KubeadmControlPlaneDeprecatedStatus struct {
	// v1beta1 holds status as v1beta1 knew it.
	// +optional
	V1Beta1 *KubeadmControlPlaneV1Beta1DeprecatedStatus `json:"v1beta1,omitempty"`
}

// KubeadmControlPlaneV1Beta1DeprecatedStatus is the status that v1beta1 clients still read. Its counts go by the
// readiness of Nodes and are written even when they are 0.
type KubeadmControlPlaneV1Beta1DeprecatedStatus struct {
	// conditions are the old style of conditions, with a severity.
	// +optional
	Conditions clusterv1.Conditions `json:"conditions,omitempty"`

	// failureReason is a short word for a failure that was deemed final. Nothing sets it any more.
	// +optional
	FailureReason string `json:"failureReason,omitempty"`

	// failureMessage is a sentence on a failure that was deemed final. Nothing sets it any more.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=10240
	FailureMessage *string `json:"failureMessage,omitempty"`

	// updatedReplicas is how many machines match the spec.
	// +optional
	UpdatedReplicas int32 `json:"updatedReplicas"`

	// readyReplicas is how many machines have a Node that is ready.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas"`

	// unavailableReplicas is how many machines have no Node that is ready.
	// +optional
	UnavailableReplicas int32 `json:"unavailableReplicas"`
}

// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=kubeadmcontrolplanes,shortName=kcp,scope=Namespaced,categories=cluster-api
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1beta2"
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']",description="Cluster that the control plane belongs to"
// +kubebuilder:printcolumn:name="Available",type="string",JSONPath=`.status.conditions[?(@.type=="Available")].status`,description="Whether the control plane serves the Kubernetes API"
// +kubebuilder:printcolumn:name="Desired",type="integer",JSONPath=".spec.replicas",description="Machines wanted"
// +kubebuilder:printcolumn:name="Current",type="integer",JSONPath=".status.replicas",description="Machines that exist"
// +kubebuilder:printcolumn:name="Ready",type="integer",JSONPath=".status.readyReplicas",description="Machines that are Ready"
// +kubebuilder:printcolumn:name="Available",type="integer",JSONPath=".status.availableReplicas",description="Machines that are Available"
// +kubebuilder:printcolumn:name="Up-to-date",type="integer",JSONPath=".status.upToDateReplicas",description="Machines that match the spec"
// +kubebuilder:printcolumn:name="Paused",type="string",JSONPath=`.status.conditions[?(@.type=="Paused")].status`,description="Whether reconciliation is paused",priority=10
// +kubebuilder:printcolumn:name="Initialized",type="boolean",JSONPath=".status.initialization.controlPlaneInitialized",description="Whether the first machine has come up"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since the KubeadmControlPlane was created"
// +kubebuilder:printcolumn:name="Version",type="string",JSONPath=".spec.version",description="Kubernetes version wanted"

// KubeadmControlPlane is the control plane of a cluster, made of machines that kubeadm sets up.
type KubeadmControlPlane struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what the control plane shall be.
	// +required
	Spec KubeadmControlPlaneSpec `json:"spec,omitempty,omitzero"`

	// status is what has been observed; only the controller writes it.
	// +optional
	Status KubeadmControlPlaneStatus `json:"status,omitempty,omitzero"`
}

// +kubebuilder:object:root=true

// KubeadmControlPlaneList is a list of KubeadmControlPlanes.
type KubeadmControlPlaneList struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty,omitzero"`

	// items are the KubeadmControlPlanes.
	Items []KubeadmControlPlane `json:"items"`
}
