package v1beta2

// WorkersClass describes the groups of workers that a Cluster may have.
// +kubebuilder:validation:MinProperties=1
type WorkersClass struct {
	// machineDeployments describes groups of workers that are MachineDeployments, one entry a class. A Cluster may have
	// any number of groups of a class.
	// +optional
	// +listType=map
	// +listMapKey=class
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	MachineDeployments []MachineDeploymentClass `json:"machineDeployments,omitempty"`

	// machinePools describes groups of workers that are MachinePools, one entry a class. A Cluster may have any number
	// of groups of a class.
	// +optional
	// +listType=map
	// +listMapKey=class
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	MachinePools []MachinePoolClass `json:"machinePools,omitempty"`
}

// MachineDeploymentClass describes groups of workers that are MachineDeployments.
type MachineDeploymentClass struct {
	// metadata holds labels and annotations for the MachineDeployments of this class and their Machines.
	// +optional
	Metadata ObjectMeta `json:"metadata,omitempty,omitzero"`

	// class is the name by which a Cluster asks for a group of this class.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Class string `json:"class,omitempty"`

	// bootstrap describes how a machine becomes a Node.
	// +required
	Bootstrap WorkerClassBootstrap `json:"bootstrap,omitempty,omitzero"`

	// infrastructure describes the machines themselves.
	// +required
	Infrastructure WorkerClassInfrastructure `json:"infrastructure,omitempty,omitzero"`

	// healthCheck says how broken machines are found and repaired. When unset, they are not looked for unless the Cluster
	// says so.
	// +optional
	HealthCheck MachineDeploymentClassHealthCheck `json:"healthCheck,omitempty,omitzero"`

	// failureDomain is where machines are placed. When unset, the provider chooses.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	FailureDomain string `json:"failureDomain,omitempty"`

	// naming says how MachineDeployments of this class are named.
	// +optional
	Naming MachineDeploymentClassNaming `json:"naming,omitempty,omitzero"`

	// deletion says which machines go first when a group shrinks and bounds the steps of deleting one.
	// +optional
	Deletion WorkerDeletionSpec `json:"deletion,omitempty,omitzero"`

	// taints are set on the Nodes of this class.
	// +optional
	// +listType=map
	// +listMapKey=key
	// +listMapKey=effect
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Taints []MachineTaint `json:"taints,omitempty"`

	// minReadySeconds is the number of seconds that a machine must have been Ready to count as Available. Unset means 0:
	// Available as soon as Ready.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MinReadySeconds *int32 `json:"minReadySeconds,omitempty"`

	// readinessGates lists further conditions that a Machine of this class needs to be Ready.
	// +optional
	// +listType=map
	// +listMapKey=conditionType
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	ReadinessGates []MachineReadinessGate `json:"readinessGates,omitempty"`

	// rollout says how machines are replaced. When unset, the defaults of MachineDeployment apply.
	// +optional
	Rollout MachineDeploymentClassRollout `json:"rollout,omitempty,omitzero"`
}

// MachineDeploymentClassRollout says how machines are replaced.
// +kubebuilder:validation:MinProperties=1
type MachineDeploymentClassRollout struct {
	// strategy says whether machines are replaced step by step or as someone deletes them.
	// +optional
	Strategy MachineDeploymentRolloutStrategy `json:"strategy,omitempty,omitzero"`
}

// MachineDeploymentClassHealthCheck says how broken machines of a class are found and repaired.
// +kubebuilder:validation:MinProperties=1
type MachineDeploymentClassHealthCheck struct {
	// checks says which machines are unhealthy.
	// +optional
	Checks MachineHealthCheckChecks `json:"checks,omitempty,omitzero"`

	// remediation says when and how unhealthy machines are repaired, and how many at a time. When unset, they always
	// are, by replacement, without a limit.
	// +optional
	Remediation WorkerHealthCheckRemediation `json:"remediation,omitempty,omitzero"`
}

// IsDefined reports whether anything of the health check is set.
func (h *MachineDeploymentClassHealthCheck) IsDefined() bool {
	return h.Checks.IsDefined() || h.Remediation.IsDefined()
}

// MachineDeploymentClassNaming says how MachineDeployments of a class are named.
// +kubebuilder:validation:MinProperties=1
type MachineDeploymentClassNaming struct {
	// template is a Go template that gives the name, from .cluster.name, .machineDeployment.topologyName and .random
	// (five random characters). Unset means "{{ .cluster.name }}-{{ .machineDeployment.topologyName }}-{{ .random }}". A
	// name that is too long is shortened and ends with random characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Template string `json:"template,omitempty"`
}

// MachinePoolClass describes groups of workers that are MachinePools.
type MachinePoolClass struct {
	// metadata holds labels and annotations for the MachinePools of this class.
	// +optional
	Metadata ObjectMeta `json:"metadata,omitempty,omitzero"`

	// class is the name by which a Cluster asks for a group of this class.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Class string `json:"class,omitempty"`

	// bootstrap describes how a machine becomes a Node.
	// +required
	Bootstrap WorkerClassBootstrap `json:"bootstrap,omitempty,omitzero"`

	// infrastructure describes the pool itself.
	// +required
	Infrastructure WorkerClassInfrastructure `json:"infrastructure,omitempty,omitzero"`

	// failureDomains lists where a pool may place its machines. When unset, the provider chooses.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	FailureDomains []string `json:"failureDomains,omitempty"`

	// naming says how MachinePools of this class are named.
	// +optional
	Naming MachinePoolClassNaming `json:"naming,omitempty,omitzero"`

	// deletion bounds the steps of deleting a machine.
	// +optional
	Deletion MachineDeletionSpec `json:"deletion,omitempty,omitzero"`

	// taints is kept for providers that set taints by themselves. MachinePools do not propagate it.
	// +optional
	// +listType=map
	// +listMapKey=key
	// +listMapKey=effect
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Taints []MachineTaint `json:"taints,omitempty"`

	// minReadySeconds is the number of seconds that a machine must have been Ready to count as Available. Unset means 0:
	// Available as soon as Ready.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MinReadySeconds *int32 `json:"minReadySeconds,omitempty"`
}

// MachinePoolClassNaming says how MachinePools of a class are named.
// +kubebuilder:validation:MinProperties=1
type MachinePoolClassNaming struct {
	// template is a Go template that gives the name, from .cluster.name, .machinePool.topologyName and .random (five
	// random characters). Unset means "{{ .cluster.name }}-{{ .machinePool.topologyName }}-{{ .random }}". A name that is
	// too long is shortened and ends with random characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Template string `json:"template,omitempty"`
}

// WorkerClassBootstrap describes how a machine of a class becomes a Node.
type WorkerClassBootstrap struct {
	// templateRef names the template of the bootstrap configuration.
	// +required
	TemplateRef TemplateReference `json:"templateRef,omitempty,omitzero"`
}

// WorkerClassInfrastructure describes the infrastructure of machines of a class.
type WorkerClassInfrastructure struct {
	// templateRef names the template of the infrastructure machine or machine pool object.
	// +required
	TemplateRef TemplateReference `json:"templateRef,omitempty,omitzero"`
}
