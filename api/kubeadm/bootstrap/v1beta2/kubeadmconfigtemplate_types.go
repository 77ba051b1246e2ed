package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
)

// KubeadmConfigTemplateSpec holds the KubeadmConfig to be cloned.
type KubeadmConfigTemplateSpec struct {
	// template is cloned into a KubeadmConfig for each new machine. Changing it does not replace machines that exist.
	// +required
	Template KubeadmConfigTemplateResource `json:"template,omitempty,omitzero"`
}

// KubeadmConfigTemplateResource is the part of a KubeadmConfig that clones take over.
// +kubebuilder:validation:MinProperties=1
type KubeadmConfigTemplateResource struct {
	// metadata holds labels and annotations that each clone gets. When unset, clones get only those of their machine.
	// +optional
	ObjectMeta clusterv1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec is copied into each clone. When unset, clones have an empty spec.
	// +optional
	Spec KubeadmConfigSpec `json:"spec,omitempty,omitzero"`
}

// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=kubeadmconfigtemplates,scope=Namespaced,categories=cluster-api
// +kubebuilder:storageversion
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1beta2"
// +kubebuilder:printcolumn:name="ClusterClass",type="string",JSONPath=`.metadata.ownerReferences[?(@.kind=="ClusterClass")].name`,description="ClusterClass that owns the template"
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=`.metadata.ownerReferences[?(@.kind=="Cluster")].name`,description="Cluster that owns the template"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since the KubeadmConfigTemplate was created"

// KubeadmConfigTemplate is the mould from which MachineSets, MachineDeployments and ClusterClasses cast KubeadmConfigs.
type KubeadmConfigTemplate struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec holds the KubeadmConfig to be cloned.
	// +optional
	Spec KubeadmConfigTemplateSpec `json:"spec,omitempty,omitzero"`
}

// +kubebuilder:object:root=true

// KubeadmConfigTemplateList is a list of KubeadmConfigTemplates.
type KubeadmConfigTemplateList struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty,omitzero"`

	// items are the KubeadmConfigTemplates.
	Items []KubeadmConfigTemplate `json:"items"`
}
