package config

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The types of this file are kubeadm's own configuration in the form of kubeadm.k8s.io/v1beta4, with kubeadm's JSON
// names. They are written from and read into whatever version a kubeadm speaks; what differs in v1beta3 is in
// v1beta3.go.

// ClusterConfiguration is what holds for the whole cluster; kubeadm stores it in the ConfigMap kubeadm-config.
type ClusterConfiguration struct {
	metav1.TypeMeta `json:",inline"`

	ClusterName                 string                `json:"clusterName,omitempty"`
	KubernetesVersion           string                `json:"kubernetesVersion,omitempty"`
	ControlPlaneEndpoint        string                `json:"controlPlaneEndpoint,omitempty"`
	Networking                  Networking            `json:"networking,omitzero"`
	APIServer                   APIServer             `json:"apiServer,omitzero"`
	ControllerManager           ControlPlaneComponent `json:"controllerManager,omitzero"`
	Scheduler                   ControlPlaneComponent `json:"scheduler,omitzero"`
	Etcd                        Etcd                  `json:"etcd,omitzero"`
	DNS                         DNS                   `json:"dns,omitzero"`
	Proxy                       Proxy                 `json:"proxy,omitzero"`
	CertificatesDir             string                `json:"certificatesDir,omitempty"`
	ImageRepository             string                `json:"imageRepository,omitempty"`
	FeatureGates                map[string]bool       `json:"featureGates,omitempty"`
	EncryptionAlgorithm         string                `json:"encryptionAlgorithm,omitempty"`
	CertificateValidityPeriod   *metav1.Duration      `json:"certificateValidityPeriod,omitempty"`
	CACertificateValidityPeriod *metav1.Duration      `json:"caCertificateValidityPeriod,omitempty"`
}

// Networking holds the cluster's address ranges and DNS domain. Dual-stack ranges are joined by commas.
type Networking struct {
	ServiceSubnet string `json:"serviceSubnet,omitempty"`
	PodSubnet     string `json:"podSubnet,omitempty"`
	DNSDomain     string `json:"dnsDomain,omitempty"`
}

// ControlPlaneComponent is what can be said about any control plane component.
type ControlPlaneComponent struct {
	ExtraArgs    []Arg           `json:"extraArgs,omitempty"`
	ExtraVolumes []HostPathMount `json:"extraVolumes,omitempty"`
	ExtraEnvs    []corev1.EnvVar `json:"extraEnvs,omitempty"`
}

// APIServer is what can be said about the API server.
type APIServer struct {
	ControlPlaneComponent `json:",inline"`

	CertSANs []string `json:"certSANs,omitempty"`
}

// Arg is a command line argument. Names may repeat where the program allows it.
type Arg struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// HostPathMount mounts a path of the host into a component's pod.
type HostPathMount struct {
	Name      string              `json:"name"`
	HostPath  string              `json:"hostPath"`
	MountPath string              `json:"mountPath"`
	ReadOnly  bool                `json:"readOnly,omitempty"`
	PathType  corev1.HostPathType `json:"pathType,omitempty"`
}

// ImageMeta overrides where an image comes from.
type ImageMeta struct {
	ImageRepository string `json:"imageRepository,omitempty"`
	ImageTag        string `json:"imageTag,omitempty"`
}

// DNS is about the cluster's DNS add-on.
type DNS struct {
	ImageMeta `json:",inline"`

	Disabled bool `json:"disabled,omitempty"`
}

// Proxy is about kube-proxy.
type Proxy struct {
	Disabled bool `json:"disabled,omitempty"`
}

// Etcd is either local (run by kubeadm; also when both are nil) or external.
type Etcd struct {
	Local    *LocalEtcd    `json:"local,omitempty"`
	External *ExternalEtcd `json:"external,omitempty"`
}

// LocalEtcd is an etcd member on each control plane machine.
type LocalEtcd struct {
	ImageMeta `json:",inline"`

	DataDir        string          `json:"dataDir,omitempty"`
	ExtraArgs      []Arg           `json:"extraArgs,omitempty"`
	ExtraEnvs      []corev1.EnvVar `json:"extraEnvs,omitempty"`
	ServerCertSANs []string        `json:"serverCertSANs,omitempty"`
	PeerCertSANs   []string        `json:"peerCertSANs,omitempty"`
}

// ExternalEtcd is an etcd that kubeadm does not run. The files are paths on the machine.
type ExternalEtcd struct {
	Endpoints     []string `json:"endpoints"`
	HTTPEndpoints []string `json:"httpEndpoints,omitempty"`
	CAFile        string   `json:"caFile"`
	CertFile      string   `json:"certFile"`
	KeyFile       string   `json:"keyFile"`
}

// InitConfiguration is what "kubeadm init" reads about the first machine.
type InitConfiguration struct {
	metav1.TypeMeta `json:",inline"`

	BootstrapTokens  []BootstrapToken        `json:"bootstrapTokens,omitempty"`
	DryRun           bool                    `json:"dryRun,omitempty"`
	NodeRegistration NodeRegistrationOptions `json:"nodeRegistration,omitzero"`
	LocalAPIEndpoint APIEndpoint             `json:"localAPIEndpoint,omitzero"`
	CertificateKey   string                  `json:"certificateKey,omitempty"`
	SkipPhases       []string                `json:"skipPhases,omitempty"`
	Patches          *Patches                `json:"patches,omitempty"`
	Timeouts         *Timeouts               `json:"timeouts,omitempty"`
}

// BootstrapToken is a token that kubeadm init makes.
type BootstrapToken struct {
	Token       string           `json:"token"`
	Description string           `json:"description,omitempty"`
	TTL         *metav1.Duration `json:"ttl,omitempty"`
	Expires     *metav1.Time     `json:"expires,omitempty"`
	Usages      []string         `json:"usages,omitempty"`
	Groups      []string         `json:"groups,omitempty"`
}

// NodeRegistrationOptions says how a machine registers itself as a node.
type NodeRegistrationOptions struct {
	Name      string `json:"name,omitempty"`
	CRISocket string `json:"criSocket,omitempty"`
	// Taints of the node. Nil leaves them to kubeadm, which taints control plane nodes; an empty list means none.
	Taints                *[]corev1.Taint   `json:"taints,omitempty"`
	KubeletExtraArgs      []Arg             `json:"kubeletExtraArgs,omitempty"`
	IgnorePreflightErrors []string          `json:"ignorePreflightErrors,omitempty"`
	ImagePullPolicy       corev1.PullPolicy `json:"imagePullPolicy,omitempty"`
	ImagePullSerial       *bool             `json:"imagePullSerial,omitempty"`
}

// APIEndpoint is where a control plane machine's own API server listens.
type APIEndpoint struct {
	AdvertiseAddress string `json:"advertiseAddress,omitempty"`
	BindPort         int32  `json:"bindPort,omitempty"`
}

// Patches names the directory of patches for the components' manifests.
type Patches struct {
	Directory string `json:"directory,omitempty"`
}

// Timeouts bound kubeadm's waits.
type Timeouts struct {
	ControlPlaneComponentHealthCheck *metav1.Duration `json:"controlPlaneComponentHealthCheck,omitempty"`
	KubeletHealthCheck               *metav1.Duration `json:"kubeletHealthCheck,omitempty"`
	KubernetesAPICall                *metav1.Duration `json:"kubernetesAPICall,omitempty"`
	EtcdAPICall                      *metav1.Duration `json:"etcdAPICall,omitempty"`
	TLSBootstrap                     *metav1.Duration `json:"tlsBootstrap,omitempty"`
	Discovery                        *metav1.Duration `json:"discovery,omitempty"`
	UpgradeManifests                 *metav1.Duration `json:"upgradeManifests,omitempty"`
}

// JoinConfiguration is what "kubeadm join" reads.
type JoinConfiguration struct {
	metav1.TypeMeta `json:",inline"`

	DryRun           bool                    `json:"dryRun,omitempty"`
	NodeRegistration NodeRegistrationOptions `json:"nodeRegistration,omitzero"`
	CACertPath       string                  `json:"caCertPath,omitempty"`
	Discovery        Discovery               `json:"discovery"`
	// ControlPlane is nil for a worker.
	ControlPlane *JoinControlPlane `json:"controlPlane,omitempty"`
	SkipPhases   []string          `json:"skipPhases,omitempty"`
	Patches      *Patches          `json:"patches,omitempty"`
	Timeouts     *Timeouts         `json:"timeouts,omitempty"`
}

// JoinControlPlane makes the joining machine a control plane machine.
type JoinControlPlane struct {
	LocalAPIEndpoint APIEndpoint `json:"localAPIEndpoint,omitzero"`
	CertificateKey   string      `json:"certificateKey,omitempty"`
}

// Discovery is how a joining machine finds the API server and comes to trust it: by a token or by a file.
type Discovery struct {
	BootstrapToken    *BootstrapTokenDiscovery `json:"bootstrapToken,omitempty"`
	File              *FileDiscovery           `json:"file,omitempty"`
	TLSBootstrapToken string                   `json:"tlsBootstrapToken,omitempty"`
}

// BootstrapTokenDiscovery reads cluster-info from the endpoint and checks it with the token and the CA's pins.
type BootstrapTokenDiscovery struct {
	Token                    string   `json:"token"`
	APIServerEndpoint        string   `json:"apiServerEndpoint,omitempty"`
	CACertHashes             []string `json:"caCertHashes,omitempty"`
	UnsafeSkipCAVerification bool     `json:"unsafeSkipCAVerification,omitempty"`
}

// FileDiscovery takes the cluster from a kubeconfig on the machine.
type FileDiscovery struct {
	KubeConfigPath string `json:"kubeConfigPath"`
}
