package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
)

// SimMachineTemplateSpec holds the SimMachine to be cloned.
type SimMachineTemplateSpec struct {
	// template is cloned into a SimMachine for each new machine. Its spec cannot be changed; make a new template instead.
	// +required
	// +kubebuilder:validation:XValidation:rule="has(self.spec.faults) == has(oldSelf.spec.faults) && (!has(self.spec.faults) || self.spec.faults.size() == oldSelf.spec.faults.size() && self.spec.faults.all(f, oldSelf.spec.faults.exists(o, f.type == o.type && has(f.duration) == has(o.duration) && (!has(f.duration) || duration(f.duration) == duration(o.duration)))))",message="the faults of a template cannot be changed; create a new template, or change the faults of single SimMachines"
	Template SimMachineTemplateResource `json:"template,omitempty,omitzero"`
}

// SimMachineTemplateResource is the part of a SimMachine that clones take over.
// +kubebuilder:validation:XValidation:rule="!has(self.spec.providerID)",message="every machine has a provider ID of its own; leave providerID out of the template"
type SimMachineTemplateResource struct {
	// metadata holds labels and annotations that each clone gets. When unset, clones get only those of their machine.
	// +optional
	ObjectMeta clusterv1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec is copied into each clone; it names no providerID. Faults in it befall every clone.
	// +required
	Spec SimMachineSpec `json:"spec"`
}

// SimMachineTemplateStatus is what is known of machines that will be cloned from a template.
// +kubebuilder:validation:MinProperties=1
type SimMachineTemplateStatus struct {
	// capacity is what the Node of each clone will offer to pods, by resource: cpu and memory. The cluster autoscaler
	// reads it to grow a group of machines from none.
	// +optional
	Capacity corev1.ResourceList `json:"capacity,omitempty"`
}

// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=simmachinetemplates,scope=Namespaced,categories=cluster-api
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1alpha1"
// +kubebuilder:printcolumn:name="ClusterClass",type="string",JSONPath=`.metadata.ownerReferences[?(@.kind=="ClusterClass")].name`,description="ClusterClass that owns the template"
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=`.metadata.ownerReferences[?(@.kind=="Cluster")].name`,description="Cluster that owns the template"
// +kubebuilder:printcolumn:name="CPU",type="string",JSONPath=".status.capacity.cpu",description="CPUs of each machine",priority=10
// +kubebuilder:printcolumn:name="Memory",type="string",JSONPath=".status.capacity.memory",description="Memory of each machine",priority=10
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since the SimMachineTemplate was created"

// SimMachineTemplate is the mould from which control planes and MachineSets cast SimMachines.
type SimMachineTemplate struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec holds the SimMachine to be cloned.
	// +required
	Spec SimMachineTemplateSpec `json:"spec,omitempty,omitzero"`

	// status is what is known of machines that will be cloned; only the controller writes it.
	// +optional
	Status SimMachineTemplateStatus `json:"status,omitempty,omitzero"`
}

// +kubebuilder:object:root=true

// SimMachineTemplateList is a list of SimMachineTemplates.
type SimMachineTemplateList struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty,omitzero"`

	// items are the SimMachineTemplates.
	Items []SimMachineTemplate `json:"items"`
}
