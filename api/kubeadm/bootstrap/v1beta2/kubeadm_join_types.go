package v1beta2

// JoinConfiguration holds what kubeadm join applies to a machine that enters an existing cluster.
// +kubebuilder:validation:MinProperties=1
type JoinConfiguration struct {
	// nodeRegistration says how the machine registers itself as a Node. When unset, kubeadm's own settings hold.
	// +optional
	NodeRegistration NodeRegistrationOptions `json:"nodeRegistration,omitempty,omitzero"`

	// caCertPath is the path, on the machine, of the cluster's certificate authority.
	// When unset, it is /etc/kubernetes/pki/ca.crt.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	CACertPath string `json:"caCertPath,omitempty"`

	// discovery says how the machine finds the cluster and comes to trust it.
	// When unset, the controller makes a bootstrap token and fills in endpoint and hash of the authority.
	// +optional
	Discovery Discovery `json:"discovery,omitempty,omitzero"`

	// controlPlane makes the machine join as a control-plane machine. When unset, the controller sets it for
	// control-plane machines, and others join as workers.
	// +optional
	ControlPlane *JoinControlPlane `json:"controlPlane,omitempty"`

	// skipPhases are the names of phases of kubeadm join that are left out. When unset, all run.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	SkipPhases []string `json:"skipPhases,omitempty"`

	// patches names where kubeadm finds patches for the manifests that it writes. When unset, nothing is patched.
	// +optional
	Patches Patches `json:"patches,omitempty,omitzero"`

	// timeouts says how long kubeadm waits. When unset, kubeadm's own values hold.
	// kubeadm knows most of them from Kubernetes 1.31 on.
	// +optional
	Timeouts Timeouts `json:"timeouts,omitempty,omitzero"`
}

// JoinControlPlane holds what matters to machines that join as control-plane machines; it may be empty.
type JoinControlPlane struct {
	// localAPIEndpoint is the address at which this machine's API server listens.
	// When unset, kubeadm chooses the address and the controller the port.
	// +optional
	LocalAPIEndpoint APIEndpoint `json:"localAPIEndpoint,omitempty,omitzero"`
}

// Discovery says how a joining machine finds the cluster and comes to trust it, by token or by file.
// +kubebuilder:validation:MinProperties=1
type Discovery struct {
	// bootstrapToken lets the machine find and trust the cluster by a bootstrap token.
	// When bootstrapToken and file are both unset, the controller fills in bootstrapToken.
	// +optional
	BootstrapToken BootstrapTokenDiscovery `json:"bootstrapToken,omitempty,omitzero"`

	// file lets the machine find and trust the cluster by a kubeconfig on its disk.
	// When unset, a token is used.
	// +optional
	File FileDiscovery `json:"file,omitempty,omitzero"`

	// tlsBootstrapToken is the token with which the kubelet asks for its certificate.
	// When unset, it is the token of bootstrapToken; with file, the file's own credentials are used.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	TLSBootstrapToken string `json:"tlsBootstrapToken,omitempty"`
}

// BootstrapTokenDiscovery lets a machine find and trust the cluster by a bootstrap token.
// +kubebuilder:validation:MinProperties=1
type BootstrapTokenDiscovery struct {
	// token is the bootstrap token. When unset, the controller makes one and renews it until the machine has joined.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Token string `json:"token,omitempty"`

	// apiServerEndpoint is the address and port of the API server. When unset, it is the Cluster's endpoint.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	APIServerEndpoint string `json:"apiServerEndpoint,omitempty"`

	// caCertHashes are hashes of the public keys of the authorities to trust: for example "sha256:...".
	// When unset, the controller fills in the hash of the cluster's authority, unless unsafeSkipCAVerification is true.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=512
	CACertHashes []string `json:"caCertHashes,omitempty"`

	// unsafeSkipCAVerification trusts whatever authority the token leads to, without its hash. When unset, it is false.
	// +optional
	UnsafeSkipCAVerification *bool `json:"unsafeSkipCAVerification,omitempty"`
}

// FileDiscovery lets a machine find and trust the cluster by a kubeconfig on its disk.
type FileDiscovery struct {
	// kubeConfigPath is the path, on the machine, or the URL of the kubeconfig.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	KubeConfigPath string `json:"kubeConfigPath,omitempty"`

	// kubeConfig is a kubeconfig that the controller writes to kubeConfigPath on the machine.
	// When unset, the file must come from elsewhere.
	// +optional
	KubeConfig FileDiscoveryKubeConfig `json:"kubeConfig,omitempty,omitzero"`
}

// FileDiscoveryKubeConfig is a kubeconfig with one cluster and one user.
type FileDiscoveryKubeConfig struct {
	// cluster says where the cluster is and whom to trust.
	// When unset, the controller fills in the Cluster's endpoint and authority.
	// +optional
	Cluster KubeConfigCluster `json:"cluster,omitempty,omitzero"`

	// user says how the machine proves who it is.
	// +required
	User KubeConfigUser `json:"user,omitempty,omitzero"`
}

// KubeConfigCluster says where the cluster is and whom to trust.
// +kubebuilder:validation:MinProperties=1
type KubeConfigCluster struct {
	// server is the URL of the API server: for example "https://example.org:6443".
	// When unset, it is made from the Cluster's endpoint.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Server string `json:"server,omitempty"`

	// tlsServerName is the name that the API server's certificate must bear. When unset, it is the host of server.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	TLSServerName string `json:"tlsServerName,omitempty"`

	// insecureSkipTLSVerify true accepts any certificate of the API server. When unset, it is false.
	// +optional
	InsecureSkipTLSVerify *bool `json:"insecureSkipTLSVerify,omitempty"`

	// certificateAuthorityData holds the authorities to trust, in PEM. At most 51200 bytes.
	// When unset, the cluster's authority is filled in.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=51200
	CertificateAuthorityData []byte `json:"certificateAuthorityData,omitempty"`

	// proxyURL is a proxy for requests to the API server: http, https or socks5. When unset, the environment decides.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	ProxyURL string `json:"proxyURL,omitempty"`
}

// KubeConfigUser says how the machine proves who it is; one of its fields must be set.
// +kubebuilder:validation:MinProperties=1
type KubeConfigUser struct {
	// authProvider names a plugin built into the client. Only one of authProvider and exec may be set.
	// +optional
	AuthProvider KubeConfigAuthProvider `json:"authProvider,omitempty,omitzero"`

	// exec names a command that prints credentials. Only one of authProvider and exec may be set.
	// +optional
	Exec KubeConfigAuthExec `json:"exec,omitempty,omitzero"`
}

// KubeConfigAuthProvider names a plugin built into the client.
type KubeConfigAuthProvider struct {
	// name is the plugin's name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name,omitempty"`

	// config holds the plugin's settings. When unset, it has none.
	// +optional
	Config map[string]string `json:"config,omitempty"`
}

// KubeConfigAuthExec names a command that prints credentials.
type KubeConfigAuthExec struct {
	// command is the command to run.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Command string `json:"command,omitempty"`

	// args are the command's arguments. When unset, it gets none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=512
	Args []string `json:"args,omitempty"`

	// env adds to the command's environment. When unset, nothing is added.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	Env []KubeConfigAuthExecEnv `json:"env,omitempty"`

	// apiVersion is the version of the protocol between client and command.
	// When unset, it is client.authentication.k8s.io/v1.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	APIVersion string `json:"apiVersion,omitempty"`

	// provideClusterInfo true tells the command about the cluster, through KUBERNETES_EXEC_INFO.
	// When unset, it is false.
	// +optional
	ProvideClusterInfo *bool `json:"provideClusterInfo,omitempty"`
}

// KubeConfigAuthExecEnv is one environment variable of a command that prints credentials.
type KubeConfigAuthExecEnv struct {
	// name is the variable's name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Name string `json:"name,omitempty"`

	// value is the variable's value.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Value string `json:"value,omitempty"`
}
