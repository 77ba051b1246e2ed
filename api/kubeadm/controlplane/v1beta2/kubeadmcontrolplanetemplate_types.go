package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
)

// KubeadmControlPlaneTemplateSpec holds the KubeadmControlPlane to be cloned.
type KubeadmControlPlaneTemplateSpec struct {
	// template is cloned into the KubeadmControlPlane of each cluster. Its spec cannot be changed; make a new template
	// instead.
	// +required
	Template KubeadmControlPlaneTemplateResource `json:"template,omitempty,omitzero"`
}

// KubeadmControlPlaneTemplateResource is the part of a KubeadmControlPlane that clones take over.
// +kubebuilder:validation:MinProperties=1
type KubeadmControlPlaneTemplateResource struct {
	// metadata holds labels and annotations that each clone gets. When unset, clones get only those of their cluster.
	// +optional
	ObjectMeta clusterv1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec is copied into each clone. When unset, clones have the defaults.
	// +optional
	Spec KubeadmControlPlaneTemplateResourceSpec `json:"spec,omitempty,omitzero"`
}

// KubeadmControlPlaneTemplateResourceSpec is a KubeadmControlPlaneSpec without what each cluster says for itself:
// replicas, version and the infrastructure of machines.
// +kubebuilder:validation:MinProperties=1
type KubeadmControlPlaneTemplateResourceSpec struct {
	// machineTemplate says what the control-plane machines are made from. When unset, their class and cluster decide.
	// +optional
	MachineTemplate KubeadmControlPlaneTemplateMachineTemplate `json:"machineTemplate,omitempty,omitzero"`

	// kubeadmConfigSpec says how machines become control-plane nodes through kubeadm.
	// When unset, everything is left to the controller and to kubeadm.
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

// KubeadmControlPlaneTemplateMachineTemplate says what the control-plane machines are made from.
// +kubebuilder:validation:MinProperties=1
type KubeadmControlPlaneTemplateMachineTemplate struct {
	// metadata holds labels and annotations that each Machine, with its infrastructure and bootstrap objects, gets.
	// When unset, they get only what the controller needs.
	// +optional
	ObjectMeta clusterv1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec is the part of a Machine's spec that all control-plane machines share. When unset, the defaults hold.
	// +optional
	Spec KubeadmControlPlaneTemplateMachineTemplateSpec `json:"spec,omitempty,omitzero"`
}

// KubeadmControlPlaneTemplateMachineTemplateSpec is the part of a Machine's spec that all control-plane machines share.
// +kubebuilder:validation:MinProperties=1
type KubeadmControlPlaneTemplateMachineTemplateSpec struct {
	// deletion bounds the steps of deleting a Machine. When unset, the defaults of its fields hold.
	// +optional
	Deletion clusterv1.MachineDeletionSpec `json:"deletion,omitempty,omitzero"`

	// taints are put on each Node by its Machine. When unset, only kubeadm's taints are there.
	// +optional
	// +listType=map
	// +listMapKey=key
	// +listMapKey=effect
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Taints []clusterv1.MachineTaint `json:"taints,omitempty"`
}

// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=kubeadmcontrolplanetemplates,scope=Namespaced,categories=cluster-api
// +kubebuilder:storageversion
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1beta2"
// +kubebuilder:printcolumn:name="ClusterClass",type="string",JSONPath=`.metadata.ownerReferences[?(@.kind=="ClusterClass")].name`,description="ClusterClass that owns the template"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since the KubeadmControlPlaneTemplate was created"

// KubeadmControlPlaneTemplate is the mould from which a ClusterClass casts the KubeadmControlPlanes of its clusters.
type KubeadmControlPlaneTemplate struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec holds the KubeadmControlPlane to be cloned.
	// +optional
	Spec KubeadmControlPlaneTemplateSpec `json:"spec,omitempty,omitzero"`
}

// +kubebuilder:object:root=true

// KubeadmControlPlaneTemplateList is a list of KubeadmControlPlaneTemplates.
type KubeadmControlPlaneTemplateList struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty,omitzero"`

	// items are the KubeadmControlPlaneTemplates.
	Items []KubeadmControlPlaneTemplate `json:"items"`
}
