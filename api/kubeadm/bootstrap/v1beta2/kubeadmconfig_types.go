package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
)

// Format names the language in which bootstrap data is written for a machine.
// +kubebuilder:validation:Enum=cloud-config;ignition
type Format string

const (
	// CloudConfig is the format that cloud-init reads.
	CloudConfig Format = "cloud-config"

	// Ignition is the format that Flatcar and Fedora CoreOS read at first boot.
	Ignition Format = "ignition"
)

// KubeadmConfigSpec says how one machine turns into a Kubernetes node by means of kubeadm.
// A machine either starts a control plane (initConfiguration with clusterConfiguration) or joins one
// (joinConfiguration); when all are present the controller picks what the machine needs.
// +kubebuilder:validation:MinProperties=1
type KubeadmConfigSpec struct {
	// clusterConfiguration holds what kubeadm init applies to the whole cluster. Machines that join do not read it,
	// except for what the controller derives from it, such as the certificates directory.
	// When unset, kubeadm's own defaults hold.
	// +optional
	ClusterConfiguration ClusterConfiguration `json:"clusterConfiguration,omitempty,omitzero"`

	// initConfiguration holds what kubeadm init applies to the first control-plane machine only.
	// When unset, kubeadm's own defaults hold.
	// +optional
	InitConfiguration InitConfiguration `json:"initConfiguration,omitempty,omitzero"`

	// joinConfiguration holds what kubeadm join applies to a machine that enters an existing cluster.
	// When unset, the controller fills in what is needed to join and leaves the rest to kubeadm.
	// +optional
	JoinConfiguration JoinConfiguration `json:"joinConfiguration,omitempty,omitzero"`

	// files are written to the machine's disk before kubeadm runs; each path may appear once.
	// When unset, only the files that kubeadm itself needs are written.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=200
	Files []File `json:"files,omitempty"`

	// diskSetup partitions disks and makes filesystems before anything else uses them.
	// When unset, disks are left as the image has them.
	// +optional
	DiskSetup DiskSetup `json:"diskSetup,omitempty,omitzero"`

	// mounts lists what to mount, each entry holding the columns of one fstab line: device, mount point and, if
	// wanted, type, options, dump and pass. When unset, nothing more is mounted.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	Mounts []MountPoints `json:"mounts,omitempty"`

	// bootCommands run early at every boot, before networking and before users and files exist.
	// Each is one shell command line. When unset, none run. Ignition has no such stage and refuses them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=10240
	BootCommands []string `json:"bootCommands,omitempty"`

	// preKubeadmCommands run in order, once, just before kubeadm. Each is one shell command line.
	// When unset, none run.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=10240
	PreKubeadmCommands []string `json:"preKubeadmCommands,omitempty"`

	// postKubeadmCommands run in order, once, after kubeadm has succeeded. Each is one shell command line.
	// When unset, none run.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=10240
	PostKubeadmCommands []string `json:"postKubeadmCommands,omitempty"`

	// users are accounts that are created on the machine. When unset, only the image's accounts exist.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	Users []User `json:"users,omitempty"`

	// ntp sets up time synchronisation. When unset, the image's own settings stay.
	// +optional
	NTP NTP `json:"ntp,omitempty,omitzero"`

	// format is the language of the bootstrap data: cloud-config or ignition. When unset, cloud-config is written.
	// +optional
	Format Format `json:"format,omitempty"`

	// verbosity is the log level given to kubeadm as its -v flag. When unset, the flag is not given.
	// +optional
	Verbosity *int32 `json:"verbosity,omitempty"`

	// ignition holds settings that only matter when format is ignition. When unset, Ignition's defaults hold.
	// +optional
	Ignition IgnitionSpec `json:"ignition,omitempty,omitzero"`
}

// IgnitionSpec holds settings that only matter for Ignition bootstrap data.
// +kubebuilder:validation:MinProperties=1
type IgnitionSpec struct {
	// containerLinuxConfig holds what is merged into the generated Container Linux Config.
	// When unset, nothing is merged.
	// +optional
	ContainerLinuxConfig ContainerLinuxConfig `json:"containerLinuxConfig,omitempty,omitzero"`
}

// ContainerLinuxConfig is what a user adds to the generated Container Linux Config.
// +kubebuilder:validation:MinProperties=1
type ContainerLinuxConfig struct {
	// additionalConfig is a Container Linux Config document in YAML that is merged over the generated one.
	// At most 32768 characters. When unset, nothing is merged.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32768
	AdditionalConfig string `json:"additionalConfig,omitempty"`

	// strict turns warnings found while parsing additionalConfig into errors. When unset, warnings are tolerated.
	// +optional
	Strict *bool `json:"strict,omitempty"`
}

// KubeadmConfigStatus is what has been observed of a KubeadmConfig.
// +kubebuilder:validation:MinProperties=1
type KubeadmConfigStatus struct {
	// conditions tell how far the bootstrap data is: Ready sums up DataSecretAvailable and CertificatesAvailable,
	// Paused tells whether anything is done at all.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// initialization is the provider contract's account of the first completion of the bootstrap data.
	// +optional
	Initialization KubeadmConfigInitializationStatus `json:"initialization,omitempty,omitzero"`

	// dataSecretName is the name of the Secret, in the same namespace, that holds the bootstrap data.
	// Unset until that Secret exists.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	DataSecretName string `json:"dataSecretName,omitempty"`

	// observedGeneration is the metadata.generation that the controller last acted on.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// deprecated holds what older clients still read; it goes away together with v1beta1.
	// +optional
	Deprecated *KubeadmConfigDeprecatedStatus `json:"deprecated,omitempty"`
}

// KubeadmConfigInitializationStatus tells which first steps are done; a step, once done, stays done.
// +kubebuilder:validation:MinProperties=1
type KubeadmConfigInitializationStatus struct {
	// dataSecretCreated is true once the Secret with the bootstrap data exists.
	// The Machine waits for it before it asks for infrastructure. Unset means not yet.
	// +optional
	DataSecretCreated *bool `json:"dataSecretCreated,omitempty"`
}

// KubeadmConfigDeprecatedStatus groups status that is kept for clients of older API versions.
type KubeadmConfigDeprecatedStatus struct {
	// v1beta1 holds status as v1beta1 knew it.
	// +optional
	V1Beta1 *KubeadmConfigV1Beta1DeprecatedStatus `json:"v1beta1,omitempty"`
}

// KubeadmConfigV1Beta1DeprecatedStatus is the status that v1beta1 clients still read.
type KubeadmConfigV1Beta1DeprecatedStatus struct {
	// conditions are the old style of conditions, with a severity.
	// +optional
	Conditions clusterv1.Conditions `json:"conditions,omitempty"`

	// failureReason is a short word for a failure that was deemed final. Nothing sets it any more.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	FailureReason string `json:"failureReason,omitempty"`

	// failureMessage is a sentence on a failure that was deemed final. Nothing sets it any more.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=10240
	FailureMessage string `json:"failureMessage,omitempty"`
}

// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=kubeadmconfigs,scope=Namespaced,categories=cluster-api
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1beta2"
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']",description="Cluster that the machine belongs to"
// +kubebuilder:printcolumn:name="Paused",type="string",JSONPath=`.status.conditions[?(@.type=="Paused")].status`,description="Whether reconciliation is paused",priority=10
// +kubebuilder:printcolumn:name="Data secret created",type="string",JSONPath=".status.initialization.dataSecretCreated",description="Whether the Secret with the bootstrap data exists"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since the KubeadmConfig was created"

// KubeadmConfig describes how one machine becomes a Kubernetes node through kubeadm; its controller turns it into
// bootstrap data in a Secret.
type KubeadmConfig struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what the machine shall be. When unset, everything is left to the controller and to kubeadm.
	// +optional
	Spec KubeadmConfigSpec `json:"spec,omitempty,omitzero"`

	// status is what has been observed; only the controller writes it.
	// +optional
	Status KubeadmConfigStatus `json:"status,omitempty,omitzero"`
}

// +kubebuilder:object:root=true

// KubeadmConfigList is a list of KubeadmConfigs.
type KubeadmConfigList struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty,omitzero"`

	// items are the KubeadmConfigs.
	Items []KubeadmConfig `json:"items"`
}
