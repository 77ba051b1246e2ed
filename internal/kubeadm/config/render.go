package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
)

// Cluster is what kubeadm has to know about a cluster that a KubeadmConfig does not say.
type Cluster struct {
	Name string
	// KubernetesVersion of the machine.
	KubernetesVersion semver.Version
	// Endpoint is host:port of the API server, used where the KubeadmConfig names none.
	Endpoint string
	// PodCIDRs and ServiceCIDRs; empty leaves them to kubeadm.
	PodCIDRs, ServiceCIDRs []string
	// DNSDomain of services; empty leaves it to kubeadm (cluster.local).
	DNSDomain string
}

// ForInit returns what "kubeadm init" has to read on the first control plane machine.
func ForInit(spec *bootstrapv1.KubeadmConfigSpec, c Cluster) Documents {
	cluster := clusterConfiguration(spec.ClusterConfiguration)
	cluster.ClusterName = c.Name
	cluster.KubernetesVersion = "v" + c.KubernetesVersion.String()
	if cluster.ControlPlaneEndpoint == "" {
		cluster.ControlPlaneEndpoint = c.Endpoint
	}
	cluster.Networking = Networking{
		PodSubnet: strings.Join(c.PodCIDRs, ","), ServiceSubnet: strings.Join(c.ServiceCIDRs, ","), DNSDomain: c.DNSDomain,
	}
	cluster.FeatureGates = featureGates(cluster.FeatureGates, c.KubernetesVersion)
	i := spec.InitConfiguration
	return Documents{
		Cluster: cluster,
		Init: &InitConfiguration{
			BootstrapTokens: bootstrapTokens(i.BootstrapTokens), NodeRegistration: registration(i.NodeRegistration),
			LocalAPIEndpoint: endpoint(i.LocalAPIEndpoint), SkipPhases: i.SkipPhases, Patches: patches(i.Patches), Timeouts: timeouts(i.Timeouts),
		},
	}
}

const localModeGate = "ControlPlaneKubeletLocalMode"

// featureGates turns on, unless the user decided otherwise, the gate by which a control plane kubelet talks to its own
// API server. Without it a kubelet of a new minor version may meet an API server of the old one during an upgrade,
// which is outside the version skew policy. It exists from 1.31 and is on by itself from 1.33.
func featureGates(given map[string]bool, v semver.Version) map[string]bool {
	out := maps.Clone(given)
	if _, decided := out[localModeGate]; decided || v.Major != 1 || v.Minor < 31 || v.Minor > 32 {
		return out
	}
	if out == nil {
		out = map[string]bool{}
	}
	out[localModeGate] = true
	return out
}

// Role is what a machine becomes.
type Role string

// The roles.
const (
	ControlPlane Role = "ControlPlane"
	Worker       Role = "Worker"
)

// Trust is what a joining machine needs to find the API server and to believe it.
type Trust struct {
	// Endpoint is host:port of the API server.
	Endpoint string
	// Token is a bootstrap token.
	Token string
	// CACertHashes are the pins of the cluster's CA.
	CACertHashes []string
}

// UninitializedTaint keeps pods away from a worker until the labels of its Machine have reached the Node.
func UninitializedTaint() corev1.Taint {
	return corev1.Taint{Key: "node.cluster.x-k8s.io/uninitialized", Effect: corev1.TaintEffectNoSchedule}
}

// NeedsToken tells whether a bootstrap token has to be made for a joining machine: neither does its KubeadmConfig name
// one, nor does it discover the cluster by a file.
func NeedsToken(spec *bootstrapv1.KubeadmConfigSpec) bool {
	d := spec.JoinConfiguration.Discovery
	return d.File.KubeConfigPath == "" && d.BootstrapToken.Token == ""
}

// ForJoin returns what "kubeadm join" has to read. What the KubeadmConfig says about discovery is kept; the rest
// comes from trust. Workers get UninitializedTaint; control plane machines do not, since a list of taints, however
// short, would take the place of kubeadm's own control plane taint.
func ForJoin(spec *bootstrapv1.KubeadmConfigSpec, role Role, trust Trust) (Documents, error) {
	j := spec.JoinConfiguration
	if role == Worker && j.ControlPlane != nil {
		return Documents{}, errors.New("joinConfiguration.controlPlane is set, but the machine is a worker: remove it, or make the machine part of a control plane")
	}
	out := &JoinConfiguration{
		NodeRegistration: registration(j.NodeRegistration), CACertPath: j.CACertPath,
		Discovery:  discovery(j.Discovery, trust),
		SkipPhases: j.SkipPhases, Patches: patches(j.Patches), Timeouts: timeouts(j.Timeouts),
	}
	switch role {
	case ControlPlane:
		out.ControlPlane = &JoinControlPlane{}
		if j.ControlPlane != nil {
			out.ControlPlane.LocalAPIEndpoint = endpoint(j.ControlPlane.LocalAPIEndpoint)
		}
	case Worker:
		out.NodeRegistration.Taints = withTaint(out.NodeRegistration.Taints, UninitializedTaint())
	default:
		return Documents{}, fmt.Errorf("join a machine: unknown role %q", role)
	}
	if b := out.Discovery.BootstrapToken; b != nil && len(b.CACertHashes) == 0 && !b.UnsafeSkipCAVerification {
		return Documents{}, errors.New("join a machine: the cluster's CA is not known, so the machine could not recognise the API server")
	}
	return Documents{Join: out}, nil
}

func withTaint(taints *[]corev1.Taint, t corev1.Taint) *[]corev1.Taint {
	if taints == nil {
		return &[]corev1.Taint{t}
	}
	if slices.ContainsFunc(*taints, func(o corev1.Taint) bool { return o.MatchTaint(&t) }) {
		return taints
	}
	out := append(slices.Clone(*taints), t)
	return &out
}

func discovery(d bootstrapv1.Discovery, trust Trust) Discovery {
	if d.File.KubeConfigPath != "" {
		return Discovery{File: &FileDiscovery{KubeConfigPath: d.File.KubeConfigPath}, TLSBootstrapToken: d.TLSBootstrapToken}
	}
	b := &BootstrapTokenDiscovery{
		Token: d.BootstrapToken.Token, APIServerEndpoint: d.BootstrapToken.APIServerEndpoint,
		CACertHashes: d.BootstrapToken.CACertHashes, UnsafeSkipCAVerification: value(d.BootstrapToken.UnsafeSkipCAVerification),
	}
	if b.Token == "" {
		b.Token = trust.Token
	}
	if b.APIServerEndpoint == "" {
		b.APIServerEndpoint = trust.Endpoint
	}
	if len(b.CACertHashes) == 0 && !b.UnsafeSkipCAVerification {
		b.CACertHashes = trust.CACertHashes
	}
	return Discovery{BootstrapToken: b, TLSBootstrapToken: d.TLSBootstrapToken}
}

// DiscoveryKubeconfig returns the kubeconfig to write at f.KubeConfigPath, or nil when the KubeadmConfig says nothing
// about it (the file is then already on the machine). Server and CA default to the cluster's own.
func DiscoveryKubeconfig(f bootstrapv1.FileDiscovery, serverURL string, caPEM []byte) ([]byte, error) {
	user := f.KubeConfig.User
	if user.AuthProvider.Name == "" && user.Exec.Command == "" {
		return nil, nil
	}
	in := f.KubeConfig.Cluster
	cluster := &clientcmdapi.Cluster{
		Server: in.Server, TLSServerName: in.TLSServerName, InsecureSkipTLSVerify: value(in.InsecureSkipTLSVerify),
		CertificateAuthorityData: in.CertificateAuthorityData, ProxyURL: in.ProxyURL,
	}
	if cluster.Server == "" {
		cluster.Server = serverURL
	}
	if len(cluster.CertificateAuthorityData) == 0 && !cluster.InsecureSkipTLSVerify {
		cluster.CertificateAuthorityData = caPEM
	}
	auth := &clientcmdapi.AuthInfo{}
	if p := user.AuthProvider; p.Name != "" {
		auth.AuthProvider = &clientcmdapi.AuthProviderConfig{Name: p.Name, Config: p.Config}
	}
	if e := user.Exec; e.Command != "" {
		auth.Exec = &clientcmdapi.ExecConfig{
			Command: e.Command, Args: e.Args, APIVersion: e.APIVersion, ProvideClusterInfo: value(e.ProvideClusterInfo),
			InteractiveMode: clientcmdapi.NeverExecInteractiveMode,
		}
		if auth.Exec.APIVersion == "" {
			auth.Exec.APIVersion = "client.authentication.k8s.io/v1"
		}
		for _, v := range e.Env {
			auth.Exec.Env = append(auth.Exec.Env, clientcmdapi.ExecEnvVar{Name: v.Name, Value: v.Value})
		}
	}
	const name = "default"
	out, err := clientcmd.Write(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{name: cluster},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{name: auth},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
		CurrentContext: name,
	})
	if err != nil {
		return nil, fmt.Errorf("write discovery kubeconfig: %w", err)
	}
	return out, nil
}
