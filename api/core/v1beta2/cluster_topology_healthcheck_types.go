package v1beta2

import "k8s.io/apimachinery/pkg/util/intstr"

// ControlPlaneTopologyHealthCheck says how broken control plane machines are found and repaired. If checks or
// remediation is set here, both are taken from here and the class's are not looked at.
// +kubebuilder:validation:MinProperties=1
type ControlPlaneTopologyHealthCheck struct {
	// enabled turns the health check on or off. true needs a definition here or in the class; false means that there is
	// none even if one is defined. When unset, there is a health check if one is defined.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// checks says which machines are unhealthy.
	// +optional
	Checks MachineHealthCheckChecks `json:"checks,omitempty,omitzero"`

	// remediation says when and how unhealthy machines are repaired. When unset, they always are, by replacement.
	// +optional
	Remediation MachineHealthCheckRemediation `json:"remediation,omitempty,omitzero"`
}

// IsDefined reports whether anything of the health check is set.
func (h *ControlPlaneTopologyHealthCheck) IsDefined() bool {
	return h.Enabled != nil || h.Checks.IsDefined() || h.Remediation.IsDefined()
}

// MachineDeploymentTopologyHealthCheck says how broken machines of a group of workers are found and repaired. If checks
// or remediation is set here, both are taken from here and the class's are not looked at.
// +kubebuilder:validation:MinProperties=1
type MachineDeploymentTopologyHealthCheck struct {
	// enabled turns the health check on or off. true needs a definition here or in the class; false means that there is
	// none even if one is defined. When unset, there is a health check if one is defined.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// checks says which machines are unhealthy.
	// +optional
	Checks MachineHealthCheckChecks `json:"checks,omitempty,omitzero"`

	// remediation says when and how unhealthy machines are repaired, and how many at a time. When unset, they always
	// are, by replacement, without a limit.
	// +optional
	Remediation WorkerHealthCheckRemediation `json:"remediation,omitempty,omitzero"`
}

// IsDefined reports whether anything of the health check is set.
func (h *MachineDeploymentTopologyHealthCheck) IsDefined() bool {
	return h.Enabled != nil || h.Checks.IsDefined() || h.Remediation.IsDefined()
}

// WorkerHealthCheckRemediation says when, how and how many at a time unhealthy machines of a MachineDeployment are
// repaired.
// +kubebuilder:validation:MinProperties=1
type WorkerHealthCheckRemediation struct {
	// maxInFlight bounds how many machines may be under repair at one time, as a number or as a percentage of the
	// replicas, rounded up. When unset, there is no bound.
	// +optional
	MaxInFlight *intstr.IntOrString `json:"maxInFlight,omitempty"`

	// triggerIf withholds repair when too much is broken at once. When unset, repair is never withheld.
	// +optional
	TriggerIf MachineHealthCheckRemediationTrigger `json:"triggerIf,omitempty,omitzero"`

	// templateRef names a template of an external remediation, of which one object is made for each unhealthy machine.
	// When unset, the owner of the machine replaces it.
	// +optional
	TemplateRef TemplateReference `json:"templateRef,omitempty,omitzero"`
}

// IsDefined reports whether anything of the remediation is set.
func (r *WorkerHealthCheckRemediation) IsDefined() bool {
	return r.MaxInFlight != nil || r.TriggerIf.IsDefined() || r.TemplateRef.IsDefined()
}
