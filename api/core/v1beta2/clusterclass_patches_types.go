package v1beta2

// ClusterClassPatch changes templates of a ClusterClass for one Cluster. It has either definitions or external.
type ClusterClassPatch struct {
	// name tells this patch from the others of the ClusterClass. The name "inline" is taken.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name,omitempty"`

	// description explains the patch to people.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Description string `json:"description,omitempty"`

	// enabledIf is a Go template over the variables; the patch is made if it gives "true". When unset, the patch is
	// always made.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	EnabledIf string `json:"enabledIf,omitempty"`

	// definitions lists the changes, in this order.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	Definitions []PatchDefinition `json:"definitions,omitempty"`

	// external names an extension that makes the changes.
	// +optional
	External *ExternalPatchDefinition `json:"external,omitempty"`
}

// PatchDefinition is a list of changes to the templates that its selector chooses.
type PatchDefinition struct {
	// selector chooses the templates.
	// +required
	Selector PatchSelector `json:"selector,omitempty,omitzero"`

	// jsonPatches lists the changes, in this order.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	JSONPatches []JSONPatch `json:"jsonPatches,omitempty"`
}

// PatchSelector chooses templates by their kind and by what they are used for.
type PatchSelector struct {
	// apiVersion is the group and version of the templates, written as group/version.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/[a-z]([-a-z0-9]*[a-z0-9])?$`
	APIVersion string `json:"apiVersion,omitempty"`

	// kind is the kind of the templates.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$`
	Kind string `json:"kind,omitempty"`

	// matchResources says what the templates are used for. One use that matches is enough.
	// +required
	MatchResources PatchSelectorMatch `json:"matchResources,omitempty,omitzero"`
}

// PatchSelectorMatch says what a template is used for.
// +kubebuilder:validation:MinProperties=1
type PatchSelectorMatch struct {
	// controlPlane chooses the template of the control plane and that of its machines. Unset means false.
	// +optional
	ControlPlane *bool `json:"controlPlane,omitempty"`

	// infrastructureCluster chooses the template of the infrastructure cluster. Unset means false.
	// +optional
	InfrastructureCluster *bool `json:"infrastructureCluster,omitempty"`

	// machineDeploymentClass chooses the templates of MachineDeployment classes. When unset, none is chosen.
	// +optional
	MachineDeploymentClass *PatchSelectorMatchClass `json:"machineDeploymentClass,omitempty"`

	// machinePoolClass chooses the templates of MachinePool classes. When unset, none is chosen.
	// +optional
	MachinePoolClass *PatchSelectorMatchClass `json:"machinePoolClass,omitempty"`
}

// PatchSelectorMatchClass chooses classes of workers by name.
type PatchSelectorMatchClass struct {
	// names lists the classes. A name may begin or end with "*", which stands for anything. When unset, no class is
	// chosen.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Names []string `json:"names,omitempty"`
}

// JSONPatch is one change to a template, in the manner of RFC 6902.
type JSONPatch struct {
	// op is the kind of change: add, replace or remove.
	// +required
	// +kubebuilder:validation:Enum=add;replace;remove
	Op string `json:"op,omitempty"`

	// path says where the change is made. It begins with "/spec". Of a list only the places 0 and "-" can be named, to
	// add at its start or end.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Path string `json:"path,omitempty"`

	// value is what is written, for add and replace. It excludes valueFrom.
	// +optional
	Value *JSON `json:"value,omitempty"`

	// valueFrom says where what is written comes from, for add and replace. It excludes value.
	// +optional
	ValueFrom *JSONPatchValue `json:"valueFrom,omitempty"`
}

// JSONPatchValue says where the value of a change comes from. It has either variable or template.
type JSONPatchValue struct {
	// variable is the name of a variable, or the path of a field within it, whose value is written. Variables that
	// begin with "builtin" describe the Cluster and the object that is changed.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Variable string `json:"variable,omitempty"`

	// template is a Go template over the variables; what it gives is read as YAML and written.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=10240
	Template string `json:"template,omitempty"`
}

// ExternalPatchDefinition names the handlers of an extension that makes and checks changes.
type ExternalPatchDefinition struct {
	// generatePatchesExtension names the handler that makes the changes.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	GeneratePatchesExtension string `json:"generatePatchesExtension,omitempty"`

	// validateTopologyExtension names the handler that checks the outcome of all changes.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	ValidateTopologyExtension string `json:"validateTopologyExtension,omitempty"`

	// discoverVariablesExtension names the handler that says which variables the extension defines.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	DiscoverVariablesExtension string `json:"discoverVariablesExtension,omitempty"`

	// settings is handed to the extension with each call, over what the extension's registration gives.
	// +optional
	Settings map[string]string `json:"settings,omitempty"`
}
