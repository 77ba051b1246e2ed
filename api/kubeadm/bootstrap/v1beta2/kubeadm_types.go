package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EncryptionAlgorithmType names the kind and size of the keys that kubeadm makes.
// +kubebuilder:validation:Enum=ECDSA-P256;ECDSA-P384;RSA-2048;RSA-3072;RSA-4096
type EncryptionAlgorithmType string

const (
	// EncryptionAlgorithmECDSAP256 is ECDSA over the curve P-256.
	EncryptionAlgorithmECDSAP256 EncryptionAlgorithmType = "ECDSA-P256"

	// EncryptionAlgorithmECDSAP384 is ECDSA over the curve P-384.
	EncryptionAlgorithmECDSAP384 EncryptionAlgorithmType = "ECDSA-P384"

	// EncryptionAlgorithmRSA2048 is RSA with 2048 bits.
	EncryptionAlgorithmRSA2048 EncryptionAlgorithmType = "RSA-2048"

	// EncryptionAlgorithmRSA3072 is RSA with 3072 bits.
	EncryptionAlgorithmRSA3072 EncryptionAlgorithmType = "RSA-3072"

	// EncryptionAlgorithmRSA4096 is RSA with 4096 bits.
	EncryptionAlgorithmRSA4096 EncryptionAlgorithmType = "RSA-4096"
)

// ClusterConfiguration holds what kubeadm applies to the whole cluster.
// The cluster's name, its networks and the Kubernetes version are missing on purpose: they come from the Cluster and
// the Machine.
// +kubebuilder:validation:MinProperties=1
type ClusterConfiguration struct {
	// controlPlaneEndpoint is the stable address of the control plane: a host name or IP address, with an optional
	// port. When unset, the Cluster's endpoint is taken.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	ControlPlaneEndpoint string `json:"controlPlaneEndpoint,omitempty"`

	// apiServer adds settings to the API server. When unset, kubeadm's own settings hold.
	// +optional
	APIServer APIServer `json:"apiServer,omitempty,omitzero"`

	// controllerManager adds settings to the controller manager. When unset, kubeadm's own settings hold.
	// +optional
	ControllerManager ControllerManager `json:"controllerManager,omitempty,omitzero"`

	// scheduler adds settings to the scheduler. When unset, kubeadm's own settings hold.
	// +optional
	Scheduler Scheduler `json:"scheduler,omitempty,omitzero"`

	// dns says which image the cluster's DNS add-on runs. When unset, kubeadm's own choice holds.
	// +optional
	DNS DNS `json:"dns,omitempty,omitzero"`

	// certificatesDir is the directory on control-plane machines that holds the cluster's certificates.
	// When unset, it is /etc/kubernetes/pki.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	CertificatesDir string `json:"certificatesDir,omitempty"`

	// imageRepository is the registry that control-plane images are pulled from. When unset, it is registry.k8s.io.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	ImageRepository string `json:"imageRepository,omitempty"`

	// featureGates turns kubeadm's own features on or off, by name. When unset, kubeadm's defaults hold.
	// +optional
	FeatureGates map[string]bool `json:"featureGates,omitempty"`

	// etcd says where the cluster's data is kept: in members on the control-plane machines (local) or in an etcd that
	// somebody else runs (external). When unset, it is local.
	// +optional
	Etcd Etcd `json:"etcd,omitempty,omitzero"`

	// certificateValidityPeriodDays is how many days the certificates that kubeadm issues are valid, from 1 to 1095.
	// When unset, kubeadm takes 365 days. kubeadm knows it from Kubernetes 1.31 on.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1095
	CertificateValidityPeriodDays int32 `json:"certificateValidityPeriodDays,omitempty"`

	// caCertificateValidityPeriodDays is how many days newly made certificate authorities are valid, from 1 to 36500.
	// When unset, they are valid for 3650 days. Authorities supplied by the user keep their own dates.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=36500
	CACertificateValidityPeriodDays int32 `json:"caCertificateValidityPeriodDays,omitempty"`

	// encryptionAlgorithm is the kind of keys made for certificates and authorities: ECDSA-P256, ECDSA-P384, RSA-2048,
	// RSA-3072 or RSA-4096. When unset, it is RSA-2048. kubeadm knows it from Kubernetes 1.31 on.
	// +optional
	EncryptionAlgorithm EncryptionAlgorithmType `json:"encryptionAlgorithm,omitempty"`
}

// APIServer adds settings to the API server.
// +kubebuilder:validation:MinProperties=1
type APIServer struct {
	// extraArgs are command-line flags, without leading dashes; each name may appear once.
	// When unset, only kubeadm's own flags are given.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +listMapKey=value
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.exists_one(y, x.name == y.name))",message="name each argument once"
	ExtraArgs []Arg `json:"extraArgs,omitempty"`

	// extraVolumes are paths of the machine that are mounted into the API server's pod. When unset, none are added.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	ExtraVolumes []HostPathMount `json:"extraVolumes,omitempty"`

	// extraEnvs are environment variables of the API server. When unset, none are added.
	// kubeadm knows them from Kubernetes 1.31 on.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	ExtraEnvs []EnvVar `json:"extraEnvs,omitempty"`

	// certSANs are further names and addresses in the API server's certificate. When unset, none are added.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	CertSANs []string `json:"certSANs,omitempty"`
}

// ControllerManager adds settings to the controller manager.
// +kubebuilder:validation:MinProperties=1
type ControllerManager struct {
	// extraArgs are command-line flags, without leading dashes; each name may appear once.
	// When unset, only kubeadm's own flags are given.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +listMapKey=value
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.exists_one(y, x.name == y.name))",message="name each argument once"
	ExtraArgs []Arg `json:"extraArgs,omitempty"`

	// extraVolumes are paths of the machine that are mounted into the controller manager's pod.
	// When unset, none are added.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	ExtraVolumes []HostPathMount `json:"extraVolumes,omitempty"`

	// extraEnvs are environment variables of the controller manager. When unset, none are added.
	// kubeadm knows them from Kubernetes 1.31 on.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	ExtraEnvs []EnvVar `json:"extraEnvs,omitempty"`
}

// Scheduler adds settings to the scheduler.
// +kubebuilder:validation:MinProperties=1
type Scheduler struct {
	// extraArgs are command-line flags, without leading dashes; each name may appear once.
	// When unset, only kubeadm's own flags are given.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +listMapKey=value
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.exists_one(y, x.name == y.name))",message="name each argument once"
	ExtraArgs []Arg `json:"extraArgs,omitempty"`

	// extraVolumes are paths of the machine that are mounted into the scheduler's pod. When unset, none are added.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	ExtraVolumes []HostPathMount `json:"extraVolumes,omitempty"`

	// extraEnvs are environment variables of the scheduler. When unset, none are added.
	// kubeadm knows them from Kubernetes 1.31 on.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	ExtraEnvs []EnvVar `json:"extraEnvs,omitempty"`
}

// DNS says which image the cluster's DNS add-on runs.
// +kubebuilder:validation:MinProperties=1
type DNS struct {
	// imageRepository is the registry that the image is pulled from. When unset, it is that of the control plane, with
	// kubeadm's own sub-path.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	ImageRepository string `json:"imageRepository,omitempty"`

	// imageTag is the image's tag. When unset, it is the one that kubeadm chooses for the Kubernetes version.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	ImageTag string `json:"imageTag,omitempty"`
}

// Etcd says where the cluster's data is kept; only one of its fields may be set.
// +kubebuilder:validation:MinProperties=1
type Etcd struct {
	// local adds settings to the etcd members that run on the control-plane machines.
	// When local and external are both unset, etcd is local with kubeadm's own settings.
	// +optional
	Local LocalEtcd `json:"local,omitempty,omitzero"`

	// external names an etcd cluster that somebody else runs. When unset, etcd is local.
	// +optional
	External ExternalEtcd `json:"external,omitempty,omitzero"`
}

// LocalEtcd adds settings to the etcd members that run on the control-plane machines.
// +kubebuilder:validation:MinProperties=1
type LocalEtcd struct {
	// imageRepository is the registry that etcd's image is pulled from. When unset, it is that of the control plane.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	ImageRepository string `json:"imageRepository,omitempty"`

	// imageTag is the image's tag. When unset, it is the one that kubeadm chooses for the Kubernetes version.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	ImageTag string `json:"imageTag,omitempty"`

	// dataDir is the directory on the machine that holds etcd's data. When unset, it is /var/lib/etcd.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	DataDir string `json:"dataDir,omitempty"`

	// extraArgs are command-line flags, without leading dashes; each name may appear once.
	// When unset, only kubeadm's own flags are given.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +listMapKey=value
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.exists_one(y, x.name == y.name))",message="name each argument once"
	ExtraArgs []Arg `json:"extraArgs,omitempty"`

	// extraEnvs are environment variables of etcd. When unset, none are added.
	// kubeadm knows them from Kubernetes 1.31 on.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	ExtraEnvs []EnvVar `json:"extraEnvs,omitempty"`

	// serverCertSANs are further names and addresses in the certificate that etcd shows to clients.
	// When unset, none are added.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	ServerCertSANs []string `json:"serverCertSANs,omitempty"`

	// peerCertSANs are further names and addresses in the certificate that etcd shows to other members.
	// When unset, none are added.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	PeerCertSANs []string `json:"peerCertSANs,omitempty"`
}

// ExternalEtcd names an etcd cluster that somebody else runs.
type ExternalEtcd struct {
	// endpoints are the URLs of the members; between 1 and 50.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=512
	Endpoints []string `json:"endpoints,omitempty"`

	// caFile is the path, on the machine, of the authority that signed etcd's certificates.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	CAFile string `json:"caFile,omitempty"`

	// certFile is the path, on the machine, of the client certificate.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	CertFile string `json:"certFile,omitempty"`

	// keyFile is the path, on the machine, of the client certificate's key.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	KeyFile string `json:"keyFile,omitempty"`
}

// HostPathMount mounts a path of the machine into a control-plane pod.
type HostPathMount struct {
	// name is the volume's name in the pod.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Name string `json:"name,omitempty"`

	// hostPath is the path on the machine.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	HostPath string `json:"hostPath,omitempty"`

	// mountPath is the path in the pod.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	MountPath string `json:"mountPath,omitempty"`

	// readOnly forbids writing through the mount. When unset, writing is allowed.
	// +optional
	ReadOnly *bool `json:"readOnly,omitempty"`

	// pathType is what hostPath must be, as in a pod's hostPath volume. When unset, nothing is checked.
	// +optional
	PathType corev1.HostPathType `json:"pathType,omitempty"`
}

// Arg is one command-line flag.
type Arg struct {
	// name is the flag's name without leading dashes.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name,omitempty"`

	// value is the flag's value; it may be empty.
	// +required
	// +kubebuilder:validation:MinLength=0
	// +kubebuilder:validation:MaxLength=1024
	Value *string `json:"value,omitempty"`
}

// EnvVar is one environment variable of a control-plane component, written as in a pod's container.
type EnvVar struct {
	corev1.EnvVar `json:",inline"`
}

// NodeRegistrationOptions says how the machine registers itself as a Node and how its kubelet runs.
// +kubebuilder:validation:MinProperties=1
type NodeRegistrationOptions struct {
	// name is the Node's name. When unset, it is the machine's host name.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// criSocket is the container runtime's socket. When unset, kubeadm looks for it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	CRISocket string `json:"criSocket,omitempty"`

	// taints are set on the Node when it registers. When unset, kubeadm taints control-plane machines and no others;
	// an empty list means no taints at all, also on control-plane machines.
	// +optional
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=100
	Taints *[]corev1.Taint `json:"taints,omitempty"`

	// kubeletExtraArgs are command-line flags of the kubelet, without leading dashes; each name may appear once.
	// When unset, only kubeadm's own flags are given.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +listMapKey=value
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.exists_one(y, x.name == y.name))",message="name each argument once"
	KubeletExtraArgs []Arg `json:"kubeletExtraArgs,omitempty"`

	// ignorePreflightErrors are the names of kubeadm's preflight checks whose errors become warnings; "all" stands for
	// every check. When unset, each error stops kubeadm.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=512
	IgnorePreflightErrors []string `json:"ignorePreflightErrors,omitempty"`

	// imagePullPolicy tells kubeadm when to pull images: Always, IfNotPresent or Never.
	// When unset, kubeadm takes IfNotPresent.
	// +optional
	// +kubebuilder:validation:Enum=Always;IfNotPresent;Never
	ImagePullPolicy corev1.PullPolicy `json:"imagePullPolicy,omitempty"`

	// imagePullSerial true pulls images one after the other, false all at once. When unset, kubeadm takes true.
	// kubeadm knows it from Kubernetes 1.31 on.
	// +optional
	ImagePullSerial *bool `json:"imagePullSerial,omitempty"`
}

// APIEndpoint is the address at which one machine's API server listens.
// +kubebuilder:validation:MinProperties=1
type APIEndpoint struct {
	// advertiseAddress is the IP address that the API server announces. When unset, it is that of the interface with
	// the default route.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=39
	AdvertiseAddress string `json:"advertiseAddress,omitempty"`

	// bindPort is the port that the API server listens on, from 1. When unset, the controller takes the Cluster's
	// apiServerPort, else 6443.
	// +optional
	// +kubebuilder:validation:Minimum=1
	BindPort int32 `json:"bindPort,omitempty"`
}

// Patches names where kubeadm finds patches for the manifests that it writes.
// +kubebuilder:validation:MinProperties=1
type Patches struct {
	// directory is the path, on the machine, of files named like "kube-apiserver+merge.yaml".
	// When unset, nothing is patched.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Directory string `json:"directory,omitempty"`
}

// Timeouts says how long kubeadm waits, in seconds. When a field is unset, kubeadm's own value holds.
// +kubebuilder:validation:MinProperties=1
type Timeouts struct {
	// controlPlaneComponentHealthCheckSeconds is how long a control-plane component may take to become healthy.
	// When unset, kubeadm takes 240 seconds. It must be the same in initConfiguration and joinConfiguration.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ControlPlaneComponentHealthCheckSeconds *int32 `json:"controlPlaneComponentHealthCheckSeconds,omitempty"`

	// kubeletHealthCheckSeconds is how long the kubelet may take to become healthy.
	// When unset, kubeadm takes 240 seconds.
	// +optional
	// +kubebuilder:validation:Minimum=0
	KubeletHealthCheckSeconds *int32 `json:"kubeletHealthCheckSeconds,omitempty"`

	// kubernetesAPICallSeconds is how long a call of the Kubernetes API may take.
	// When unset, kubeadm takes 60 seconds.
	// +optional
	// +kubebuilder:validation:Minimum=0
	KubernetesAPICallSeconds *int32 `json:"kubernetesAPICallSeconds,omitempty"`

	// etcdAPICallSeconds is how long a call of etcd may take. When unset, kubeadm takes 120 seconds.
	// +optional
	// +kubebuilder:validation:Minimum=0
	EtcdAPICallSeconds *int32 `json:"etcdAPICallSeconds,omitempty"`

	// tlsBootstrapSeconds is how long the kubelet may take to obtain its certificate.
	// When unset, kubeadm takes 300 seconds.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TLSBootstrapSeconds *int32 `json:"tlsBootstrapSeconds,omitempty"`

	// discoverySeconds is how long a joining machine may take to find and trust the cluster.
	// When unset, kubeadm takes 300 seconds.
	// +optional
	// +kubebuilder:validation:Minimum=0
	DiscoverySeconds *int32 `json:"discoverySeconds,omitempty"`
}

// InitConfiguration holds what kubeadm init applies to the first control-plane machine only.
// +kubebuilder:validation:MinProperties=1
type InitConfiguration struct {
	// bootstrapTokens are tokens that kubeadm init makes for machines that join later.
	// When unset, none are made: the controller makes one for each machine that joins.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	BootstrapTokens []BootstrapToken `json:"bootstrapTokens,omitempty"`

	// nodeRegistration says how the machine registers itself as a Node. When unset, kubeadm's own settings hold.
	// +optional
	NodeRegistration NodeRegistrationOptions `json:"nodeRegistration,omitempty,omitzero"`

	// localAPIEndpoint is the address at which this machine's API server listens.
	// When unset, kubeadm chooses the address and the controller the port.
	// +optional
	LocalAPIEndpoint APIEndpoint `json:"localAPIEndpoint,omitempty,omitzero"`

	// skipPhases are the names of phases of kubeadm init that are left out. When unset, all run.
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

// BootstrapToken is a token with which machines join the cluster.
type BootstrapToken struct {
	// token is the token itself: six characters, a dot, sixteen characters, all of a-z and 0-9.
	// It is kept as plain text, so that a malformed token spoils its own machine and never the reading of others.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=23
	Token string `json:"token,omitempty"`

	// description is a sentence for people. When unset, there is none.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Description string `json:"description,omitempty"`

	// ttlSeconds is how many seconds the token lives; 0 means for ever. When ttlSeconds and expires are both unset,
	// kubeadm takes 86400 seconds.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TTLSeconds *int32 `json:"ttlSeconds,omitempty"`

	// expires is the moment at which the token dies. When unset, ttlSeconds decides.
	// +optional
	Expires metav1.Time `json:"expires,omitempty,omitzero"`

	// usages says what the token is good for: signing, authentication or both. When unset, both.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Usages []string `json:"usages,omitempty"`

	// groups are the groups that a client with this token is in.
	// When unset, it is system:bootstrappers:kubeadm:default-node-token.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Groups []string `json:"groups,omitempty"`
}
