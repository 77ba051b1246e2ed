package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ConditionSeverity says how bad a deprecated Condition with status False is.
type ConditionSeverity string

const (
	// ConditionSeverityError marks what needs a person: Slipway will not get past it alone.
	ConditionSeverityError ConditionSeverity = "Error"

	// ConditionSeverityWarning marks what went wrong and is being tried again.
	ConditionSeverityWarning ConditionSeverity = "Warning"

	// ConditionSeverityInfo marks what is merely not done yet.
	ConditionSeverityInfo ConditionSeverity = "Info"

	// ConditionSeverityNone is the severity of every Condition whose status is not False.
	ConditionSeverityNone ConditionSeverity = ""
)

// ConditionType names a deprecated Condition.
type ConditionType string

// Condition is a condition as v1beta1 of the API had it. It survives under status.deprecated.v1beta1 for clients that
// read nothing newer.
type Condition struct {
	// type of the condition, unique within its list.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Type ConditionType `json:"type"`

	// status of the condition: True, False or Unknown.
	// +required
	Status corev1.ConditionStatus `json:"status"`

	// severity says how bad a status of False is; it is empty for any other status.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Severity ConditionSeverity `json:"severity,omitempty"`

	// lastTransitionTime is when status last changed.
	// +required
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty"`

	// reason is one word in CamelCase for why the condition has its status.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Reason string `json:"reason,omitempty"`

	// message says more about the status to a person.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=10240
	Message string `json:"message,omitempty"`
}

// Conditions is a list of deprecated Conditions.
type Conditions []Condition
