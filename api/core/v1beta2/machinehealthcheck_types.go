package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// MachineHealthCheckSpec says which Machines are watched, what makes one unhealthy and what is done then.
type MachineHealthCheckSpec struct {
	// clusterName is the name of the Cluster whose Machines are watched. It cannot be changed.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	ClusterName string `json:"clusterName,omitempty"`

	// selector chooses the Machines to watch by their labels. It must not be empty.
	// +required
	Selector metav1.LabelSelector `json:"selector,omitempty,omitzero"`

	// checks says which Machines are unhealthy. One check that holds is enough. When unset, only the time that a Node
	// takes to appear is checked, with its default.
	// +optional
	Checks MachineHealthCheckChecks `json:"checks,omitempty,omitzero"`

	// remediation says when and how unhealthy Machines are repaired. When unset, they always are, by replacement.
	// +optional
	Remediation MachineHealthCheckRemediation `json:"remediation,omitempty,omitzero"`
}

// MachineHealthCheckChecks says which Machines are unhealthy.
// +kubebuilder:validation:MinProperties=1
type MachineHealthCheckChecks struct {
	// nodeStartupTimeoutSeconds is the number of seconds in which the Node of a new Machine must have appeared. Unset
	// means 600 seconds, 0 switches the check off; other values below 30 are refused on admission.
	// +optional
	// +kubebuilder:validation:Minimum=0
	NodeStartupTimeoutSeconds *int32 `json:"nodeStartupTimeoutSeconds,omitempty"`

	// unhealthyNodeConditions lists conditions of the Node, each of which makes the Machine unhealthy once it has held
	// for its time.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	UnhealthyNodeConditions []UnhealthyNodeCondition `json:"unhealthyNodeConditions,omitempty"`

	// unhealthyMachineConditions lists conditions of the Machine, each of which makes it unhealthy once it has held for
	// its time.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	UnhealthyMachineConditions []UnhealthyMachineCondition `json:"unhealthyMachineConditions,omitempty"`
}

// IsDefined reports whether any check is set.
func (c *MachineHealthCheckChecks) IsDefined() bool {
	return c.NodeStartupTimeoutSeconds != nil || len(c.UnhealthyNodeConditions) > 0 || len(c.UnhealthyMachineConditions) > 0
}

// MachineHealthCheckRemediation says when and how unhealthy Machines are repaired.
// +kubebuilder:validation:MinProperties=1
type MachineHealthCheckRemediation struct {
	// triggerIf withholds repair when too much is broken at once. When unset, repair is never withheld.
	// +optional
	TriggerIf MachineHealthCheckRemediationTrigger `json:"triggerIf,omitempty,omitzero"`

	// templateRef names a template of an external remediation, of which one object is made for each unhealthy Machine.
	// When unset, the owner of the Machine replaces it.
	// +optional
	TemplateRef TemplateReference `json:"templateRef,omitempty,omitzero"`
}

// IsDefined reports whether anything of the remediation is set.
func (r *MachineHealthCheckRemediation) IsDefined() bool {
	return r.TriggerIf.IsDefined() || r.TemplateRef.IsDefined()
}

// MachineHealthCheckRemediationTrigger bounds the number of unhealthy Machines with which repair still starts.
// +kubebuilder:validation:MinProperties=1
type MachineHealthCheckRemediationTrigger struct {
	// unhealthyLessThanOrEqualTo lets repair start while at most so many of the chosen Machines are unhealthy, as a
	// number or as a percentage, rounded down. It is not looked at when unhealthyInRange is set.
	// +optional
	UnhealthyLessThanOrEqualTo *intstr.IntOrString `json:"unhealthyLessThanOrEqualTo,omitempty"`

	// unhealthyInRange lets repair start while the number of unhealthy Machines is within the range, both ends
	// included, written as in "[3-5]".
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^\[[0-9]+-[0-9]+\]$`
	UnhealthyInRange string `json:"unhealthyInRange,omitempty"`
}

// IsDefined reports whether any bound is set.
func (t *MachineHealthCheckRemediationTrigger) IsDefined() bool {
	return t.UnhealthyLessThanOrEqualTo != nil || t.UnhealthyInRange != ""
}

// MachineHealthCheckStatus is what the controller last saw of the Machines that it watches.
// +kubebuilder:validation:MinProperties=1
type MachineHealthCheckStatus struct {
	// conditions describes the state of the MachineHealthCheck. Known types are RemediationAllowed and Paused.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// expectedMachines is the number of Machines that the selector chooses.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ExpectedMachines *int32 `json:"expectedMachines,omitempty"`

	// currentHealthy is the number of chosen Machines that are healthy.
	// +optional
	// +kubebuilder:validation:Minimum=0
	CurrentHealthy *int32 `json:"currentHealthy,omitempty"`

	// remediationsAllowed is the number of further Machines that may be repaired before triggerIf withholds repair.
	// +optional
	// +kubebuilder:validation:Minimum=0
	RemediationsAllowed *int32 `json:"remediationsAllowed,omitempty"`

	// observedGeneration is the generation of the spec that this status was made from.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// targets lists the names of the chosen Machines.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10000
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	Targets []string `json:"targets,omitempty"`

	// deprecated holds what older API versions reported and newer ones no longer do.
	// +optional
	Deprecated *MachineHealthCheckDeprecatedStatus `json:"deprecated,omitempty"`
}

// MachineHealthCheckDeprecatedStatus holds what older API versions reported.
type MachineHealthCheckDeprecatedStatus struct {
	// v1beta1 holds what version v1beta1 reported.
	// +optional
	V1Beta1 *MachineHealthCheckV1Beta1DeprecatedStatus `json:"v1beta1,omitempty"`
}

// MachineHealthCheckV1Beta1DeprecatedStatus holds what version v1beta1 of MachineHealthCheck reported.
type MachineHealthCheckV1Beta1DeprecatedStatus struct {
	// conditions holds the conditions in the form of version v1beta1.
	// +optional
	Conditions Conditions `json:"conditions,omitempty"`
}

// MachineHealthCheck watches Machines of a Cluster and has those repaired that are broken.
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=machinehealthchecks,shortName=mhc;mhcs,scope=Namespaced,categories=cluster-api
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".spec.clusterName",description="Cluster that the machines belong to"
// +kubebuilder:printcolumn:name="Replicas",type="integer",JSONPath=".status.expectedMachines",description="Number of machines watched"
// +kubebuilder:printcolumn:name="Healthy",type="integer",JSONPath=".status.currentHealthy",description="Number of machines that are healthy"
// +kubebuilder:printcolumn:name="Paused",type="string",JSONPath=`.status.conditions[?(@.type=="Paused")].status`,description="Whether reconciliation is paused",priority=10
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
type MachineHealthCheck struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says which Machines are watched and what is done about broken ones.
	// +required
	Spec MachineHealthCheckSpec `json:"spec,omitempty,omitzero"`
	// status is what was last seen of them.
	// +optional
	Status MachineHealthCheckStatus `json:"status,omitempty,omitzero"`
}

// MachineHealthCheckList is a list of MachineHealthChecks.
// +kubebuilder:object:root=true
type MachineHealthCheckList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list's metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// items lists the MachineHealthChecks.
	Items []MachineHealthCheck `json:"items"`
}
