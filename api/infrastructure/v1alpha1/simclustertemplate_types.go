package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
)

// SimClusterTemplateSpec holds the SimCluster to be cloned.
type SimClusterTemplateSpec struct {
	// template is cloned into the SimCluster of each cluster. Its spec cannot be changed; make a new template instead.
	// +required
	// +kubebuilder:validation:XValidation:rule="has(self.spec.failureDomains) == has(oldSelf.spec.failureDomains) && (!has(self.spec.failureDomains) || self.spec.failureDomains == oldSelf.spec.failureDomains)",message="the failureDomains of a template cannot be changed; create a new template and refer to that one"
	// +kubebuilder:validation:XValidation:rule="has(self.spec.faults) == has(oldSelf.spec.faults) && (!has(self.spec.faults) || self.spec.faults.size() == oldSelf.spec.faults.size() && self.spec.faults.all(f, oldSelf.spec.faults.exists(o, f.type == o.type && f.zone == o.zone && has(f.duration) == has(o.duration) && (!has(f.duration) || duration(f.duration) == duration(o.duration)))))",message="the faults of a template cannot be changed; create a new template, or change the faults of single SimClusters"
	Template SimClusterTemplateResource `json:"template,omitempty,omitzero"`
}

// SimClusterTemplateResource is the part of a SimCluster that clones take over.
// +kubebuilder:validation:XValidation:rule="!has(self.spec.controlPlaneEndpoint)",message="every cluster has an endpoint of its own; leave controlPlaneEndpoint out of the template"
type SimClusterTemplateResource struct {
	// metadata holds labels and annotations that each clone gets. When unset, clones get only those of their cluster.
	// +optional
	ObjectMeta clusterv1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec is copied into each clone; it names no endpoint.
	// +required
	Spec SimClusterSpec `json:"spec"`
}

// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=simclustertemplates,scope=Namespaced,categories=cluster-api
// +kubebuilder:storageversion
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1alpha1"
// +kubebuilder:printcolumn:name="ClusterClass",type="string",JSONPath=`.metadata.ownerReferences[?(@.kind=="ClusterClass")].name`,description="ClusterClass that owns the template"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since the SimClusterTemplate was created"

// SimClusterTemplate is the mould from which a ClusterClass casts SimClusters.
type SimClusterTemplate struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec holds the SimCluster to be cloned.
	// +required
	Spec SimClusterTemplateSpec `json:"spec,omitempty,omitzero"`
}

// +kubebuilder:object:root=true

// SimClusterTemplateList is a list of SimClusterTemplates.
type SimClusterTemplateList struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty,omitzero"`

	// items are the SimClusterTemplates.
	Items []SimClusterTemplate `json:"items"`
}
