package v1beta2

// JSONSchemaProps is a structural OpenAPI v3 schema: the part of JSON Schema that CustomResourceDefinitions know too,
// and x-metadata. A field that is unset puts no bound on the value.
// +kubebuilder:validation:MinProperties=1
type JSONSchemaProps struct {
	// description explains the value to people.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Description string `json:"description,omitempty"`

	// example is a value that fits the schema, for people.
	// +optional
	Example *JSON `json:"example,omitempty"`

	// type is the JSON type of the value. It is required, except where the value may be a number or a string, or is
	// bound by a combination of schemas.
	// +optional
	// +kubebuilder:validation:Enum=object;array;string;integer;number;boolean
	Type string `json:"type,omitempty"`

	// properties gives the schema of each field of an object. It excludes additionalProperties.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Properties map[string]JSONSchemaProps `json:"properties,omitempty"`

	// additionalProperties gives the schema of all values of a map. It excludes properties.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	AdditionalProperties *JSONSchemaProps `json:"additionalProperties,omitempty"`

	// maxProperties is the greatest number of fields or entries of an object.
	// +optional
	MaxProperties *int64 `json:"maxProperties,omitempty"`

	// minProperties is the least number of fields or entries of an object.
	// +optional
	MinProperties *int64 `json:"minProperties,omitempty"`

	// required lists the fields that an object must have.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Required []string `json:"required,omitempty"`

	// items gives the schema of the elements of a list.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Items *JSONSchemaProps `json:"items,omitempty"`

	// maxItems is the greatest number of elements of a list.
	// +optional
	MaxItems *int64 `json:"maxItems,omitempty"`

	// minItems is the least number of elements of a list.
	// +optional
	MinItems *int64 `json:"minItems,omitempty"`

	// uniqueItems says that the elements of a list must differ.
	// +optional
	UniqueItems *bool `json:"uniqueItems,omitempty"`

	// format is the form of a string or number, as "date-time" or "ipv4".
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	Format string `json:"format,omitempty"`

	// maxLength is the greatest number of characters of a string.
	// +optional
	MaxLength *int64 `json:"maxLength,omitempty"`

	// minLength is the least number of characters of a string.
	// +optional
	MinLength *int64 `json:"minLength,omitempty"`

	// pattern is a regular expression that a string must match.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Pattern string `json:"pattern,omitempty"`

	// maximum is the greatest number allowed, or the least one that is not if exclusiveMaximum is true.
	// +optional
	Maximum *int64 `json:"maximum,omitempty"`

	// exclusiveMaximum says that the value must lie below maximum, not at it.
	// +optional
	ExclusiveMaximum *bool `json:"exclusiveMaximum,omitempty"`

	// minimum is the least number allowed, or the greatest one that is not if exclusiveMinimum is true.
	// +optional
	Minimum *int64 `json:"minimum,omitempty"`

	// exclusiveMinimum says that the value must lie above minimum, not at it.
	// +optional
	ExclusiveMinimum *bool `json:"exclusiveMinimum,omitempty"`

	// x-kubernetes-preserve-unknown-fields keeps fields of an object that the schema does not know. When unset, they are
	// refused.
	// +optional
	XPreserveUnknownFields *bool `json:"x-kubernetes-preserve-unknown-fields,omitempty"`

	// enum lists the values allowed.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	Enum []JSON `json:"enum,omitempty"`

	// default is the value that is set where none is given. Where a variable is an object, defaults of its fields apply
	// only if the object is there.
	// +optional
	Default *JSON `json:"default,omitempty"`

	// x-kubernetes-validations lists rules in the Common Expression Language that the value must keep, one entry a rule.
	// +optional
	// +listType=map
	// +listMapKey=rule
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	XValidations []ValidationRule `json:"x-kubernetes-validations,omitempty"`

	// x-metadata holds labels and annotations of the variable or of a field within it.
	// +optional
	XMetadata VariableSchemaMetadata `json:"x-metadata,omitempty,omitzero"`

	// x-kubernetes-int-or-string says that the value is a number or a string. It excludes type.
	// +optional
	XIntOrString *bool `json:"x-kubernetes-int-or-string,omitempty"`

	// allOf lists schemas all of which the value must fit.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	AllOf []JSONSchemaProps `json:"allOf,omitempty"`

	// oneOf lists schemas exactly one of which the value must fit.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	OneOf []JSONSchemaProps `json:"oneOf,omitempty"`

	// anyOf lists schemas at least one of which the value must fit.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	AnyOf []JSONSchemaProps `json:"anyOf,omitempty"`

	// not is a schema that the value must not fit.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Not *JSONSchemaProps `json:"not,omitempty"`
}

// VariableSchemaMetadata holds labels and annotations of a variable or of a field within it.
// +kubebuilder:validation:MinProperties=1
type VariableSchemaMetadata struct {
	// labels is a map of keys and values by which variables can be grouped.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// annotations is a map of keys and values in which tools keep what they like about a variable.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// ValidationRule is a rule in the Common Expression Language that the value of a variable must keep.
type ValidationRule struct {
	// rule is the expression. It gives true for a value that is allowed; "self" is the value, "oldSelf" the one before
	// the change.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Rule string `json:"rule,omitempty"`

	// message is shown when the rule is broken. When unset, the rule itself is shown.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`

	// messageExpression is an expression that gives the message. It wins over message unless it fails.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	MessageExpression string `json:"messageExpression,omitempty"`

	// reason is the machine-readable reason given when the rule is broken.
	// +optional
	// +kubebuilder:default=FieldValueInvalid
	Reason FieldValueErrorReason `json:"reason,omitempty"`

	// fieldPath names the field to blame when the rule is broken, as a path from the value, as in ".foo.bar". When
	// unset, the value as a whole is blamed.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	FieldPath string `json:"fieldPath,omitempty"`
}
