package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ClusterClassSpec describes Clusters of one shape: the templates that they are made of, and how variables change them.
type ClusterClassSpec struct {
	// availabilityGates lists further conditions that a Cluster of this class needs to be Available. A Cluster with a
	// list of its own uses that instead.
	// +optional
	// +listType=map
	// +listMapKey=conditionType
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	AvailabilityGates []ClusterAvailabilityGate `json:"availabilityGates,omitempty"`

	// infrastructure describes the infrastructure that all machines of a Cluster share.
	// +required
	Infrastructure InfrastructureClass `json:"infrastructure,omitempty,omitzero"`

	// controlPlane describes the control plane of a Cluster.
	// +required
	ControlPlane ControlPlaneClass `json:"controlPlane,omitempty,omitzero"`

	// workers describes the groups of workers that a Cluster may have. When unset, Clusters of this class have none.
	// +optional
	Workers WorkersClass `json:"workers,omitempty,omitzero"`

	// variables lists what a Cluster may or must say about itself. When unset, only the variables that extensions define
	// are there.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1000
	Variables []ClusterClassVariable `json:"variables,omitempty"`

	// patches lists the changes that are made to the templates for one Cluster, in this order.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1000
	Patches []ClusterClassPatch `json:"patches,omitempty"`

	// upgrade says how the way from one Kubernetes version to another is found.
	// +optional
	Upgrade ClusterClassUpgrade `json:"upgrade,omitempty,omitzero"`

	// kubernetesVersions lists the versions that Clusters may have, in ascending order, each at most one minor version
	// above the one before. An upgrade over several minor versions goes through them. When unset, any version is
	// allowed, and an upgrade goes at most one minor version at a time.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	KubernetesVersions []string `json:"kubernetesVersions,omitempty"`
}

// InfrastructureClass describes the infrastructure that all machines of a Cluster share.
type InfrastructureClass struct {
	// templateRef names the template of the infrastructure cluster object.
	// +required
	TemplateRef TemplateReference `json:"templateRef,omitempty,omitzero"`

	// naming says how the infrastructure cluster object is named.
	// +optional
	Naming InfrastructureClassNaming `json:"naming,omitempty,omitzero"`
}

// InfrastructureClassNaming says how the infrastructure cluster object is named.
// +kubebuilder:validation:MinProperties=1
type InfrastructureClassNaming struct {
	// template is a Go template that gives the name, from .cluster.name and .random (five random characters). Unset
	// means "{{ .cluster.name }}-{{ .random }}". A name that is too long is shortened and ends with random characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Template string `json:"template,omitempty"`
}

// ControlPlaneClass describes the control plane of a Cluster.
type ControlPlaneClass struct {
	// metadata holds labels and annotations for the control plane object and its Machines.
	// +optional
	Metadata ObjectMeta `json:"metadata,omitempty,omitzero"`

	// templateRef names the template of the control plane object.
	// +required
	TemplateRef TemplateReference `json:"templateRef,omitempty,omitzero"`

	// machineInfrastructure describes the machines of control planes that are made of machines. Leave it unset for
	// others, as hosted ones.
	// +optional
	MachineInfrastructure ControlPlaneClassMachineInfrastructure `json:"machineInfrastructure,omitempty,omitzero"`

	// healthCheck says how broken control plane machines are found and repaired. It needs machineInfrastructure. When
	// unset, they are not looked for unless the Cluster says so.
	// +optional
	HealthCheck ControlPlaneClassHealthCheck `json:"healthCheck,omitempty,omitzero"`

	// naming says how the control plane object is named.
	// +optional
	Naming ControlPlaneClassNaming `json:"naming,omitempty,omitzero"`

	// deletion bounds the steps of deleting a control plane machine.
	// +optional
	Deletion MachineDeletionSpec `json:"deletion,omitempty,omitzero"`

	// taints are set on the Nodes of the control plane. It needs machineInfrastructure.
	// +optional
	// +listType=map
	// +listMapKey=key
	// +listMapKey=effect
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Taints []MachineTaint `json:"taints,omitempty"`

	// readinessGates lists further conditions that a control plane Machine needs to be Ready.
	// +optional
	// +listType=map
	// +listMapKey=conditionType
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	ReadinessGates []MachineReadinessGate `json:"readinessGates,omitempty"`
}

// ControlPlaneClassMachineInfrastructure describes the machines of a control plane.
type ControlPlaneClassMachineInfrastructure struct {
	// templateRef names the template of the infrastructure machine objects.
	// +required
	TemplateRef TemplateReference `json:"templateRef,omitempty,omitzero"`
}

// ControlPlaneClassHealthCheck says how broken control plane machines are found and repaired.
// +kubebuilder:validation:MinProperties=1
type ControlPlaneClassHealthCheck struct {
	// checks says which machines are unhealthy.
	// +optional
	Checks MachineHealthCheckChecks `json:"checks,omitempty,omitzero"`

	// remediation says when and how unhealthy machines are repaired. When unset, they always are, by replacement.
	// +optional
	Remediation MachineHealthCheckRemediation `json:"remediation,omitempty,omitzero"`
}

// IsDefined reports whether anything of the health check is set.
func (h *ControlPlaneClassHealthCheck) IsDefined() bool {
	return h.Checks.IsDefined() || h.Remediation.IsDefined()
}

// ControlPlaneClassNaming says how the control plane object is named.
// +kubebuilder:validation:MinProperties=1
type ControlPlaneClassNaming struct {
	// template is a Go template that gives the name, from .cluster.name and .random (five random characters). Unset
	// means "{{ .cluster.name }}-{{ .random }}". A name that is too long is shortened and ends with random characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Template string `json:"template,omitempty"`
}

// ClusterClassUpgrade says how the way from one Kubernetes version to another is found.
// +kubebuilder:validation:MinProperties=1
type ClusterClassUpgrade struct {
	// external names extensions that are asked for the way. When unset, the way follows kubernetesVersions.
	// +optional
	External ClusterClassUpgradeExternal `json:"external,omitempty,omitzero"`
}

// ClusterClassUpgradeExternal names extensions that are asked for the way from one version to another.
// +kubebuilder:validation:MinProperties=1
type ClusterClassUpgradeExternal struct {
	// generateUpgradePlanExtension names the extension handler that gives the list of versions to go through.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	GenerateUpgradePlanExtension string `json:"generateUpgradePlanExtension,omitempty"`
}

// ClusterClassStatus is what was last found out about a ClusterClass.
// +kubebuilder:validation:MinProperties=1
type ClusterClassStatus struct {
	// conditions describes the state of the ClusterClass. Known types are VariablesReady, RefVersionsUpToDate and
	// Paused.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// variables lists every variable that a Cluster of this class may set, whoever defines it.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	Variables []ClusterClassStatusVariable `json:"variables,omitempty"`

	// observedGeneration is the generation of the spec that this status was made from.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// deprecated holds what older API versions reported and newer ones no longer do.
	// +optional
	Deprecated *ClusterClassDeprecatedStatus `json:"deprecated,omitempty"`
}

// ClusterClassDeprecatedStatus holds what older API versions reported.
type ClusterClassDeprecatedStatus struct {
	// v1beta1 holds what version v1beta1 reported.
	// +optional
	V1Beta1 *ClusterClassV1Beta1DeprecatedStatus `json:"v1beta1,omitempty"`
}

// ClusterClassV1Beta1DeprecatedStatus holds what version v1beta1 of ClusterClass reported.
type ClusterClassV1Beta1DeprecatedStatus struct {
	// conditions holds the conditions in the form of version v1beta1.
	// +optional
	Conditions Conditions `json:"conditions,omitempty"`
}

// ClusterClass describes Clusters of one shape, which then need only to name it.
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=clusterclasses,shortName=cc,scope=Namespaced,categories=cluster-api
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Paused",type="string",JSONPath=`.status.conditions[?(@.type=="Paused")].status`,description="Whether reconciliation is paused",priority=10
// +kubebuilder:printcolumn:name="Variables Ready",type="string",JSONPath=`.status.conditions[?(@.type=="VariablesReady")].status`,description="Whether all variables are known"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
type ClusterClass struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec describes Clusters of this class.
	// +required
	Spec ClusterClassSpec `json:"spec,omitempty,omitzero"`
	// status is what was last found out about the class.
	// +optional
	Status ClusterClassStatus `json:"status,omitempty,omitzero"`
}

// ClusterClassList is a list of ClusterClasses.
// +kubebuilder:object:root=true
type ClusterClassList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list's metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// items lists the ClusterClasses.
	Items []ClusterClass `json:"items"`
}
