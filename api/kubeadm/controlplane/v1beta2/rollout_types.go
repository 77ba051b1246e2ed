package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// KubeadmControlPlaneRolloutStrategyType names a way of replacing machines.
// +kubebuilder:validation:Enum=RollingUpdate
type KubeadmControlPlaneRolloutStrategyType string

// RollingUpdateStrategyType replaces machines one by one.
const RollingUpdateStrategyType KubeadmControlPlaneRolloutStrategyType = "RollingUpdate"

// KubeadmControlPlaneRolloutSpec says when and how machines are replaced.
// +kubebuilder:validation:MinProperties=1
type KubeadmControlPlaneRolloutSpec struct {
	// before replaces machines ahead of an event. When unset, no event is awaited.
	// +optional
	Before KubeadmControlPlaneRolloutBeforeSpec `json:"before,omitempty,omitzero"`

	// after replaces every machine that was created before this moment, once it has come.
	// When unset, no machine is replaced for its age.
	// +optional
	After metav1.Time `json:"after,omitempty,omitzero"`

	// strategy says how machines are replaced. When unset, admission sets RollingUpdate with a maxSurge of 1.
	// +optional
	Strategy KubeadmControlPlaneRolloutStrategy `json:"strategy,omitempty,omitzero"`
}

// KubeadmControlPlaneRolloutBeforeSpec names the events ahead of which machines are replaced.
// +kubebuilder:validation:MinProperties=1
type KubeadmControlPlaneRolloutBeforeSpec struct {
	// certificatesExpiryDays replaces a machine when fewer than this many days are left until its certificates expire;
	// 7 or more. When unset, expiry replaces nothing.
	// +optional
	// +kubebuilder:validation:Minimum=7
	CertificatesExpiryDays int32 `json:"certificatesExpiryDays,omitempty"`
}

// KubeadmControlPlaneRolloutStrategy says how machines are replaced.
// +kubebuilder:validation:MinProperties=1
type KubeadmControlPlaneRolloutStrategy struct {
	// type is the way of replacing: RollingUpdate is the only one.
	// +required
	Type KubeadmControlPlaneRolloutStrategyType `json:"type,omitempty"`

	// rollingUpdate holds the settings of RollingUpdate. When unset, its defaults hold.
	// +optional
	RollingUpdate KubeadmControlPlaneRolloutStrategyRollingUpdate `json:"rollingUpdate,omitempty,omitzero"`
}

// KubeadmControlPlaneRolloutStrategyRollingUpdate holds the settings of RollingUpdate.
// +kubebuilder:validation:MinProperties=1
type KubeadmControlPlaneRolloutStrategyRollingUpdate struct {
	// maxSurge is how many machines there may be beyond replicas while machines are replaced: 1 makes the new machine
	// first, 0 deletes the old one first and needs 3 replicas or more. When unset, 1.
	// +optional
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty"`
}

// KubeadmControlPlaneRemediationSpec bounds the replacement of unhealthy machines.
// +kubebuilder:validation:MinProperties=1
type KubeadmControlPlaneRemediationSpec struct {
	// maxRetry is how many times in a row the replacement of an unhealthy machine may itself be replaced; 0 means
	// never. When unset, there is no limit.
	// +optional
	MaxRetry *int32 `json:"maxRetry,omitempty"`

	// retryPeriodSeconds is how many seconds pass between one replacement and the next in a row.
	// When unset, 0: the next one follows at once.
	// +optional
	// +kubebuilder:validation:Minimum=0
	RetryPeriodSeconds *int32 `json:"retryPeriodSeconds,omitempty"`

	// minHealthyPeriodSeconds is how many seconds a replacement must stay healthy to end the row: a failure after that
	// counts as a first one. When unset, 3600.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MinHealthyPeriodSeconds *int32 `json:"minHealthyPeriodSeconds,omitempty"`
}

// MachineNamingSpec says how new machines are named.
// +kubebuilder:validation:MinProperties=1
type MachineNamingSpec struct {
	// template is a Go template of the name. It knows .cluster.name, .kubeadmControlPlane.name and .random, five random
	// characters, which it must use so that names differ. Names longer than 63 characters are cut.
	// When unset, it is "{{ .kubeadmControlPlane.name }}-{{ .random }}".
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Template string `json:"template,omitempty"`
}
