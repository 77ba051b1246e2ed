package v1beta2

// VariableDefinitionFromInline is the source named in a ClusterClass's status for variables that its spec defines.
const VariableDefinitionFromInline = "inline"

// FieldValueErrorReason is a machine-readable reason why the value of a variable is refused.
// +kubebuilder:validation:Enum=FieldValueInvalid;FieldValueForbidden;FieldValueRequired;FieldValueDuplicate
type FieldValueErrorReason string

const (
	// FieldValueRequired means that a value is missing.
	FieldValueRequired FieldValueErrorReason = "FieldValueRequired"

	// FieldValueDuplicate means that a value stands twice where it may stand only once.
	FieldValueDuplicate FieldValueErrorReason = "FieldValueDuplicate"

	// FieldValueInvalid means that a value is not one of those allowed.
	FieldValueInvalid FieldValueErrorReason = "FieldValueInvalid"

	// FieldValueForbidden means that a value would be valid but is not allowed here and now.
	FieldValueForbidden FieldValueErrorReason = "FieldValueForbidden"
)

// ClusterClassVariable defines one variable of a ClusterClass.
type ClusterClassVariable struct {
	// name is the name of the variable.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name,omitempty"`

	// required says whether every Cluster must have a value for the variable. It concerns the variable as a whole; for
	// fields within it, its schema says the same.
	// +required
	Required *bool `json:"required,omitempty"`

	// deprecatedV1Beta1Metadata holds labels and annotations of the variable from version v1beta1. Use x-metadata of the
	// schema instead.
	// +optional
	DeprecatedV1Beta1Metadata ClusterClassVariableMetadata `json:"deprecatedV1Beta1Metadata,omitempty,omitzero"`

	// schema says which values the variable may take.
	// +required
	Schema VariableSchema `json:"schema,omitempty,omitzero"`
}

// ClusterClassVariableMetadata holds labels and annotations of a variable.
// +kubebuilder:validation:MinProperties=1
type ClusterClassVariableMetadata struct {
	// labels is a map of keys and values by which variables can be grouped.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// annotations is a map of keys and values in which tools keep what they like about a variable.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// VariableSchema says which values a variable may take.
type VariableSchema struct {
	// openAPIV3Schema is a structural OpenAPI schema of the value.
	// +required
	OpenAPIV3Schema JSONSchemaProps `json:"openAPIV3Schema,omitempty,omitzero"`
}

// ClusterClassStatusVariable is one variable that a Cluster may set, with all its definitions.
type ClusterClassStatusVariable struct {
	// name is the name of the variable.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name,omitempty"`

	// definitionsConflict is true if the definitions differ. Such a variable cannot be set.
	// +optional
	DefinitionsConflict *bool `json:"definitionsConflict,omitempty"`

	// definitions lists who defines the variable, and how.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	Definitions []ClusterClassStatusVariableDefinition `json:"definitions,omitempty"`
}

// ClusterClassStatusVariableDefinition is one definition of a variable.
type ClusterClassStatusVariableDefinition struct {
	// from is where the variable is defined: "inline" for the spec of the ClusterClass, else the name of the patch whose
	// extension defines it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	From string `json:"from,omitempty"`

	// required says whether every Cluster must have a value for the variable.
	// +required
	Required *bool `json:"required,omitempty"`

	// deprecatedV1Beta1Metadata holds labels and annotations of the variable from version v1beta1. Use x-metadata of the
	// schema instead.
	// +optional
	DeprecatedV1Beta1Metadata ClusterClassVariableMetadata `json:"deprecatedV1Beta1Metadata,omitempty,omitzero"`

	// schema says which values the variable may take.
	// +required
	Schema VariableSchema `json:"schema,omitempty,omitzero"`
}
