package v1beta2

// MachineSlipwayStatus is what Slipway alone reports about a Machine. Only Slipway's controllers write it; they rebuild
// it from what they observe and never need it to be there.
type MachineSlipwayStatus struct {
	// versions are the versions that were seen to run on the machine.
	// +optional
	Versions MachineVersions `json:"versions,omitempty,omitzero"`
}

// MachineVersions are the versions of the components of one machine. A component that the machine does not run, or that
// cannot be observed, is unset.
type MachineVersions struct {
	// kubelet is the kubelet's version.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Kubelet string `json:"kubelet,omitempty"`

	// containerRuntime is the container runtime's name and version, such as containerd://2.2.0.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	ContainerRuntime string `json:"containerRuntime,omitempty"`

	// apiServer is the version of the machine's own kube-apiserver. Unset on workers.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	APIServer string `json:"apiServer,omitempty"`

	// controllerManager is the version of the machine's own kube-controller-manager. Unset on workers.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	ControllerManager string `json:"controllerManager,omitempty"`

	// scheduler is the version of the machine's own kube-scheduler. Unset on workers.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Scheduler string `json:"scheduler,omitempty"`

	// etcd is the version of the machine's own etcd member. Unset on workers and where etcd is external.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Etcd string `json:"etcd,omitempty"`

	// bootstrapTool is the version of the tool that joined the machine to its cluster, such as kubeadm.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	BootstrapTool string `json:"bootstrapTool,omitempty"`
}

// VersionsMatchCondition tells whether the components seen on a Machine run the version that its spec asks for.
const VersionsMatchCondition = "slipway.dev/VersionsMatch"

const (
	// VersionsMatchReason says that every component that was seen runs the version that is wanted.
	VersionsMatchReason = "VersionsMatch"

	// VersionsDifferReason says that some component runs another version; the message names it.
	VersionsDifferReason = "VersionsDiffer"

	// VersionsNotObservableReason says that no version could be read, for instance because the Node is unreachable.
	VersionsNotObservableReason = "NotObservable"
)
