package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// MachineDeploymentPhase is a one-word summary of a MachineDeployment, for people to read. Decisions rest on
// conditions, never on a phase.
type MachineDeploymentPhase string

const (
	// MachineDeploymentPhaseScalingUp is a MachineDeployment with fewer Machines than wanted.
	MachineDeploymentPhaseScalingUp MachineDeploymentPhase = "ScalingUp"

	// MachineDeploymentPhaseScalingDown is a MachineDeployment with more Machines than wanted.
	MachineDeploymentPhaseScalingDown MachineDeploymentPhase = "ScalingDown"

	// MachineDeploymentPhaseRunning is a MachineDeployment with as many Machines as wanted.
	MachineDeploymentPhaseRunning MachineDeploymentPhase = "Running"

	// MachineDeploymentPhaseFailed belongs to older versions of the API; it is never set.
	MachineDeploymentPhaseFailed MachineDeploymentPhase = "Failed"

	// MachineDeploymentPhaseUnknown is a MachineDeployment whose phase cannot be told.
	MachineDeploymentPhaseUnknown MachineDeploymentPhase = "Unknown"
)

// MachineDeploymentRolloutStrategyType says how old Machines give way to new ones.
type MachineDeploymentRolloutStrategyType string

const (
	// RollingUpdateMachineDeploymentStrategyType replaces Machines a few at a time.
	RollingUpdateMachineDeploymentStrategyType MachineDeploymentRolloutStrategyType = "RollingUpdate"

	// OnDeleteMachineDeploymentStrategyType replaces a Machine only when somebody deletes it.
	OnDeleteMachineDeploymentStrategyType MachineDeploymentRolloutStrategyType = "OnDelete"
)

// MachineDeploymentSpec says what a MachineDeployment should be.
type MachineDeploymentSpec struct {
	// clusterName is the name of the Cluster that the MachineDeployment belongs to, in the same namespace. It cannot
	// change.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	ClusterName string `json:"clusterName,omitempty"`

	// replicas is the number of Machines that are wanted. Unset is filled in at admission: within the bounds of the
	// autoscaler's annotations if both are there, else 1.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// rollout says when and how old Machines give way to new ones.
	// +optional
	Rollout MachineDeploymentRolloutSpec `json:"rollout,omitempty,omitzero"`

	// selector picks the MachineDeployment's MachineSets and Machines by their labels. It must match the template's
	// labels.
	// +required
	Selector metav1.LabelSelector `json:"selector,omitempty,omitzero"`

	// template is what Machines are made from. Changing its metadata, readinessGates, minReadySeconds, deletion or
	// taints changes Machines in place; any other change replaces them.
	// +required
	Template MachineTemplateSpec `json:"template,omitempty,omitzero"`

	// machineNaming says how Machines are named.
	// +optional
	MachineNaming MachineNamingSpec `json:"machineNaming,omitempty,omitzero"`

	// remediation says how unhealthy Machines are replaced.
	// +optional
	Remediation MachineDeploymentRemediationSpec `json:"remediation,omitempty,omitzero"`

	// deletion says which Machines go first.
	// +optional
	Deletion MachineDeploymentDeletionSpec `json:"deletion,omitempty,omitzero"`

	// paused stops work on the MachineDeployment. Unset means false.
	// +optional
	Paused *bool `json:"paused,omitempty"`
}

// MachineDeploymentRolloutSpec says when and how old Machines give way to new ones.
// +kubebuilder:validation:MinProperties=1
type MachineDeploymentRolloutSpec struct {
	// after is a time from which on Machines created before it are replaced, though nothing else has changed. A time
	// in the future does nothing until it comes. Unset means that age alone replaces nothing.
	// +optional
	After metav1.Time `json:"after,omitempty,omitzero"`

	// strategy says how Machines are replaced.
	// +optional
	Strategy MachineDeploymentRolloutStrategy `json:"strategy,omitempty,omitzero"`
}

// MachineDeploymentRolloutStrategy says how Machines are replaced.
// +kubebuilder:validation:MinProperties=1
type MachineDeploymentRolloutStrategy struct {
	// type of the strategy. Where strategy is unset, admission makes it RollingUpdate.
	// +required
	// +kubebuilder:validation:Enum=RollingUpdate;OnDelete
	Type MachineDeploymentRolloutStrategyType `json:"type,omitempty"`

	// rollingUpdate bounds a rolling update. It may be set with type RollingUpdate only.
	// +optional
	RollingUpdate MachineDeploymentRolloutStrategyRollingUpdate `json:"rollingUpdate,omitempty,omitzero"`
}

// MachineDeploymentRolloutStrategyRollingUpdate bounds a rolling update. Its two bounds cannot both be 0, since nothing
// could then move.
// +kubebuilder:validation:MinProperties=1
type MachineDeploymentRolloutStrategyRollingUpdate struct {
	// maxUnavailable is how many of the wanted Machines may be missing during the update: a number, or a percentage of
	// replicas, rounded down. Unset means 0.
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// maxSurge is how many Machines there may be above replicas during the update: a number, or a percentage of
	// replicas, rounded up. Unset means 1.
	// +optional
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty"`
}

// MachineDeploymentRemediationSpec says how unhealthy Machines are replaced.
// +kubebuilder:validation:MinProperties=1
type MachineDeploymentRemediationSpec struct {
	// maxInFlight is how many unhealthy Machines may be in replacement at once: a number, or a percentage of replicas,
	// rounded up. 0 stops remediation. Unset means that there is no bound.
	// +optional
	MaxInFlight *intstr.IntOrString `json:"maxInFlight,omitempty"`
}

// MachineDeploymentDeletionSpec says which Machines go first when a MachineDeployment shrinks.
// +kubebuilder:validation:MinProperties=1
type MachineDeploymentDeletionSpec struct {
	// order in which Machines are taken. Unset means Random.
	// +optional
	// +kubebuilder:validation:Enum=Random;Newest;Oldest
	Order MachineSetDeletionOrder `json:"order,omitempty"`
}

// MachineDeploymentStatus says what was last observed of a MachineDeployment.
// +kubebuilder:validation:MinProperties=1
type MachineDeploymentStatus struct {
	// conditions describe the MachineDeployment's state; the first to read is Available.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the metadata.generation that this status was computed from.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

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

	// phase is a one-word summary for people.
	// +optional
	// +kubebuilder:validation:Enum=ScalingUp;ScalingDown;Running;Failed;Unknown
	Phase string `json:"phase,omitempty"`

	// deprecated holds what only readers of older versions of the API look at.
	// +optional
	Deprecated *MachineDeploymentDeprecatedStatus `json:"deprecated,omitempty"`
}

// MachineDeploymentDeprecatedStatus holds what only readers of older versions of the API look at.
type MachineDeploymentDeprecatedStatus struct {
	// v1beta1 holds the parts of the status that only v1beta1 has.
	// +optional
	V1Beta1 *MachineDeploymentV1Beta1DeprecatedStatus `json:"v1beta1,omitempty"`
}

// MachineDeploymentV1Beta1DeprecatedStatus holds the parts of a MachineDeployment's status that only v1beta1 has.
type MachineDeploymentV1Beta1DeprecatedStatus struct {
	// conditions are the conditions in v1beta1's form.
	// +optional
	Conditions Conditions `json:"conditions,omitempty"`

	// updatedReplicas is the number of Machines made from the template as it is now.
	// +optional
	UpdatedReplicas int32 `json:"updatedReplicas"`

	// readyReplicas is the number of Machines whose Node is ready.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas"`

	// availableReplicas is the number of Machines whose Node has been ready for minReadySeconds.
	// +optional
	AvailableReplicas int32 `json:"availableReplicas"`

	// unavailableReplicas is the number of Machines that are still missing for all wanted ones to be available.
	// +optional
	UnavailableReplicas int32 `json:"unavailableReplicas"`
}

// MachineDeployment keeps a number of like Machines and replaces them, a few at a time, when what they should be
// changes.
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=machinedeployments,shortName=md,scope=Namespaced,categories=cluster-api
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".spec.clusterName",description="Cluster that the machines belong to"
// +kubebuilder:printcolumn:name="Available",type="string",JSONPath=`.status.conditions[?(@.type=="Available")].status`,description="Whether enough machines are Available"
// +kubebuilder:printcolumn:name="Desired",type="integer",JSONPath=".spec.replicas",description="Machines wanted"
// +kubebuilder:printcolumn:name="Current",type="integer",JSONPath=".status.replicas",description="Machines that exist"
// +kubebuilder:printcolumn:name="Ready",type="integer",JSONPath=".status.readyReplicas",description="Machines that are Ready"
// +kubebuilder:printcolumn:name="Available",type="integer",JSONPath=".status.availableReplicas",description="Machines that are Available"
// +kubebuilder:printcolumn:name="Up-to-date",type="integer",JSONPath=".status.upToDateReplicas",description="Machines that match what is wanted now"
// +kubebuilder:printcolumn:name="Paused",type="string",JSONPath=`.status.conditions[?(@.type=="Paused")].status`,description="Whether work on the MachineDeployment is paused",priority=10
// +kubebuilder:printcolumn:name="Phase",type="string",JSONPath=".status.phase",description="Summary of the MachineDeployment's state"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since the MachineDeployment was created"
// +kubebuilder:printcolumn:name="Version",type="string",JSONPath=".spec.template.spec.version",description="Kubernetes version that is wanted"
type MachineDeployment struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard metadata of an object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what the MachineDeployment should be.
	// +required
	Spec MachineDeploymentSpec `json:"spec,omitempty,omitzero"`

	// status says what was last observed.
	// +optional
	Status MachineDeploymentStatus `json:"status,omitempty,omitzero"`
}

// MachineDeploymentList is a list of MachineDeployments.
// +kubebuilder:object:root=true
type MachineDeploymentList struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard metadata of a list.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty,omitzero"`

	// items are the MachineDeployments.
	Items []MachineDeployment `json:"items"`
}
