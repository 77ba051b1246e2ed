package v1beta2

import "k8s.io/apimachinery/pkg/runtime/schema"

// TemplateReference points to a template object in the namespace of the object that holds the reference.
// Unlike ContractVersionedObjectReference it names the API version, because the template is read and patched in
// exactly that version.
type TemplateReference struct {
	// kind is the kind of the template, with its Template suffix.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$`
	Kind string `json:"kind,omitempty"`

	// name is the name of the template.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Name string `json:"name,omitempty"`

	// apiVersion is the group and version of the template, written as group/version.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/[a-z]([-a-z0-9]*[a-z0-9])?$`
	APIVersion string `json:"apiVersion,omitempty"`
}

// GroupVersionKind returns the group, version and kind that the reference names. An apiVersion that does not parse
// gives an empty group and version.
func (r TemplateReference) GroupVersionKind() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(r.APIVersion, r.Kind)
}

// IsDefined reports whether the reference points to anything.
func (r TemplateReference) IsDefined() bool {
	return r != TemplateReference{}
}
