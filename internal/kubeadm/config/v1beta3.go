package config

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The types of this file are those of kubeadm.k8s.io/v1beta3 that differ from v1beta4: arguments are maps, and two
// timeouts stand in other places. What v1beta3 has no word for is dropped, and named.

type clusterV1Beta3 struct {
	metav1.TypeMeta `json:",inline"`

	ClusterName          string           `json:"clusterName,omitempty"`
	KubernetesVersion    string           `json:"kubernetesVersion,omitempty"`
	ControlPlaneEndpoint string           `json:"controlPlaneEndpoint,omitempty"`
	Networking           Networking       `json:"networking,omitzero"`
	APIServer            apiServerV1Beta3 `json:"apiServer,omitzero"`
	ControllerManager    componentV1Beta3 `json:"controllerManager,omitzero"`
	Scheduler            componentV1Beta3 `json:"scheduler,omitzero"`
	Etcd                 etcdV1Beta3      `json:"etcd,omitzero"`
	DNS                  ImageMeta        `json:"dns,omitzero"`
	CertificatesDir      string           `json:"certificatesDir,omitempty"`
	ImageRepository      string           `json:"imageRepository,omitempty"`
	FeatureGates         map[string]bool  `json:"featureGates,omitempty"`
}

type componentV1Beta3 struct {
	ExtraArgs    map[string]string `json:"extraArgs,omitempty"`
	ExtraVolumes []HostPathMount   `json:"extraVolumes,omitempty"`
}

type apiServerV1Beta3 struct {
	componentV1Beta3 `json:",inline"`

	CertSANs               []string         `json:"certSANs,omitempty"`
	TimeoutForControlPlane *metav1.Duration `json:"timeoutForControlPlane,omitempty"`
}

type etcdV1Beta3 struct {
	Local    *localEtcdV1Beta3    `json:"local,omitempty"`
	External *externalEtcdV1Beta3 `json:"external,omitempty"`
}

type localEtcdV1Beta3 struct {
	ImageMeta `json:",inline"`

	DataDir        string            `json:"dataDir,omitempty"`
	ExtraArgs      map[string]string `json:"extraArgs,omitempty"`
	ServerCertSANs []string          `json:"serverCertSANs,omitempty"`
	PeerCertSANs   []string          `json:"peerCertSANs,omitempty"`
}

type externalEtcdV1Beta3 struct {
	Endpoints []string `json:"endpoints"`
	CAFile    string   `json:"caFile"`
	CertFile  string   `json:"certFile"`
	KeyFile   string   `json:"keyFile"`
}

type nodeRegistrationV1Beta3 struct {
	Name                  string            `json:"name,omitempty"`
	CRISocket             string            `json:"criSocket,omitempty"`
	Taints                *[]corev1.Taint   `json:"taints,omitempty"`
	KubeletExtraArgs      map[string]string `json:"kubeletExtraArgs,omitempty"`
	IgnorePreflightErrors []string          `json:"ignorePreflightErrors,omitempty"`
	ImagePullPolicy       corev1.PullPolicy `json:"imagePullPolicy,omitempty"`
}

type initV1Beta3 struct {
	metav1.TypeMeta `json:",inline"`

	BootstrapTokens  []BootstrapToken        `json:"bootstrapTokens,omitempty"`
	NodeRegistration nodeRegistrationV1Beta3 `json:"nodeRegistration,omitzero"`
	LocalAPIEndpoint APIEndpoint             `json:"localAPIEndpoint,omitzero"`
	CertificateKey   string                  `json:"certificateKey,omitempty"`
	SkipPhases       []string                `json:"skipPhases,omitempty"`
	Patches          *Patches                `json:"patches,omitempty"`
}

type joinV1Beta3 struct {
	metav1.TypeMeta `json:",inline"`

	NodeRegistration nodeRegistrationV1Beta3 `json:"nodeRegistration,omitzero"`
	CACertPath       string                  `json:"caCertPath,omitempty"`
	Discovery        discoveryV1Beta3        `json:"discovery"`
	ControlPlane     *JoinControlPlane       `json:"controlPlane,omitempty"`
	SkipPhases       []string                `json:"skipPhases,omitempty"`
	Patches          *Patches                `json:"patches,omitempty"`
}

type discoveryV1Beta3 struct {
	Discovery `json:",inline"`

	Timeout *metav1.Duration `json:"timeout,omitempty"`
}

// losses collects the names of what v1beta3 cannot say.
type losses []string

func (l *losses) when(lost bool, field string) {
	if lost {
		*l = append(*l, field)
	}
}

func argMap(args []Arg) map[string]string {
	if len(args) == 0 {
		return nil
	}
	out := make(map[string]string, len(args))
	for _, a := range args {
		out[a.Name] = a.Value
	}
	return out
}

func argList(args map[string]string) []Arg {
	var out []Arg
	for _, name := range slices.Sorted(maps.Keys(args)) {
		out = append(out, Arg{Name: name, Value: args[name]})
	}
	return out
}

func (l *losses) component(c ControlPlaneComponent, field string) componentV1Beta3 {
	l.when(len(c.ExtraEnvs) > 0, field+".extraEnvs")
	return componentV1Beta3{ExtraArgs: argMap(c.ExtraArgs), ExtraVolumes: c.ExtraVolumes}
}

func (c componentV1Beta3) latest() ControlPlaneComponent {
	return ControlPlaneComponent{ExtraArgs: argList(c.ExtraArgs), ExtraVolumes: c.ExtraVolumes}
}

// cluster needs the init configuration too, because v1beta3 keeps the wait for the control plane with the API server.
func (l *losses) cluster(c *ClusterConfiguration, timeouts *Timeouts) *clusterV1Beta3 {
	l.when(c.DNS.Disabled, "dns.disabled")
	l.when(c.Proxy.Disabled, "proxy.disabled")
	l.when(c.EncryptionAlgorithm != "", "encryptionAlgorithm")
	l.when(c.CertificateValidityPeriod != nil, "certificateValidityPeriod")
	l.when(c.CACertificateValidityPeriod != nil, "caCertificateValidityPeriod")
	out := &clusterV1Beta3{
		TypeMeta:             typeMeta(V1Beta3, kindCluster),
		ClusterName:          c.ClusterName,
		KubernetesVersion:    c.KubernetesVersion,
		ControlPlaneEndpoint: c.ControlPlaneEndpoint,
		Networking:           c.Networking,
		APIServer: apiServerV1Beta3{
			componentV1Beta3: l.component(c.APIServer.ControlPlaneComponent, "apiServer"),
			CertSANs:         c.APIServer.CertSANs,
		},
		ControllerManager: l.component(c.ControllerManager, "controllerManager"),
		Scheduler:         l.component(c.Scheduler, "scheduler"),
		DNS:               c.DNS.ImageMeta,
		CertificatesDir:   c.CertificatesDir,
		ImageRepository:   c.ImageRepository,
		FeatureGates:      c.FeatureGates,
	}
	if timeouts != nil {
		out.APIServer.TimeoutForControlPlane = timeouts.ControlPlaneComponentHealthCheck
	}
	if e := c.Etcd.Local; e != nil {
		l.when(len(e.ExtraEnvs) > 0, "etcd.local.extraEnvs")
		out.Etcd.Local = &localEtcdV1Beta3{
			ImageMeta: e.ImageMeta, DataDir: e.DataDir, ExtraArgs: argMap(e.ExtraArgs),
			ServerCertSANs: e.ServerCertSANs, PeerCertSANs: e.PeerCertSANs,
		}
	}
	if e := c.Etcd.External; e != nil {
		l.when(len(e.HTTPEndpoints) > 0, "etcd.external.httpEndpoints")
		out.Etcd.External = &externalEtcdV1Beta3{Endpoints: e.Endpoints, CAFile: e.CAFile, CertFile: e.CertFile, KeyFile: e.KeyFile}
	}
	return out
}

func (c *clusterV1Beta3) latest() *ClusterConfiguration {
	out := &ClusterConfiguration{
		ClusterName:          c.ClusterName,
		KubernetesVersion:    c.KubernetesVersion,
		ControlPlaneEndpoint: c.ControlPlaneEndpoint,
		Networking:           c.Networking,
		APIServer:            APIServer{ControlPlaneComponent: c.APIServer.latest(), CertSANs: c.APIServer.CertSANs},
		ControllerManager:    c.ControllerManager.latest(),
		Scheduler:            c.Scheduler.latest(),
		DNS:                  DNS{ImageMeta: c.DNS},
		CertificatesDir:      c.CertificatesDir,
		ImageRepository:      c.ImageRepository,
		FeatureGates:         c.FeatureGates,
	}
	if e := c.Etcd.Local; e != nil {
		out.Etcd.Local = &LocalEtcd{
			ImageMeta: e.ImageMeta, DataDir: e.DataDir, ExtraArgs: argList(e.ExtraArgs),
			ServerCertSANs: e.ServerCertSANs, PeerCertSANs: e.PeerCertSANs,
		}
	}
	if e := c.Etcd.External; e != nil {
		out.Etcd.External = &ExternalEtcd{Endpoints: e.Endpoints, CAFile: e.CAFile, CertFile: e.CertFile, KeyFile: e.KeyFile}
	}
	return out
}

func (l *losses) registration(n NodeRegistrationOptions) nodeRegistrationV1Beta3 {
	l.when(n.ImagePullSerial != nil, "nodeRegistration.imagePullSerial")
	return nodeRegistrationV1Beta3{
		Name: n.Name, CRISocket: n.CRISocket, Taints: n.Taints, KubeletExtraArgs: argMap(n.KubeletExtraArgs),
		IgnorePreflightErrors: n.IgnorePreflightErrors, ImagePullPolicy: n.ImagePullPolicy,
	}
}

func (n nodeRegistrationV1Beta3) latest() NodeRegistrationOptions {
	return NodeRegistrationOptions{
		Name: n.Name, CRISocket: n.CRISocket, Taints: n.Taints, KubeletExtraArgs: argList(n.KubeletExtraArgs),
		IgnorePreflightErrors: n.IgnorePreflightErrors, ImagePullPolicy: n.ImagePullPolicy,
	}
}

func (l *losses) timeouts(t *Timeouts) {
	if t == nil {
		return
	}
	l.when(t.KubeletHealthCheck != nil, "timeouts.kubeletHealthCheck")
	l.when(t.KubernetesAPICall != nil, "timeouts.kubernetesAPICall")
	l.when(t.EtcdAPICall != nil, "timeouts.etcdAPICall")
	l.when(t.UpgradeManifests != nil, "timeouts.upgradeManifests")
}

func (l *losses) init(c *InitConfiguration) *initV1Beta3 {
	l.when(c.DryRun, "dryRun")
	l.timeouts(c.Timeouts)
	return &initV1Beta3{
		TypeMeta: typeMeta(V1Beta3, kindInit), BootstrapTokens: c.BootstrapTokens, NodeRegistration: l.registration(c.NodeRegistration),
		LocalAPIEndpoint: c.LocalAPIEndpoint, CertificateKey: c.CertificateKey, SkipPhases: c.SkipPhases, Patches: c.Patches,
	}
}

func (c *initV1Beta3) latest() *InitConfiguration {
	return &InitConfiguration{
		BootstrapTokens: c.BootstrapTokens, NodeRegistration: c.NodeRegistration.latest(), LocalAPIEndpoint: c.LocalAPIEndpoint,
		CertificateKey: c.CertificateKey, SkipPhases: c.SkipPhases, Patches: c.Patches,
	}
}

// join writes the bound of the TLS bootstrap as discovery.timeout, which before v1beta4 bounded both.
func (l *losses) join(c *JoinConfiguration) *joinV1Beta3 {
	l.when(c.DryRun, "dryRun")
	l.timeouts(c.Timeouts)
	out := &joinV1Beta3{
		TypeMeta: typeMeta(V1Beta3, kindJoin), NodeRegistration: l.registration(c.NodeRegistration), CACertPath: c.CACertPath,
		Discovery: discoveryV1Beta3{Discovery: c.Discovery}, ControlPlane: c.ControlPlane, SkipPhases: c.SkipPhases, Patches: c.Patches,
	}
	if t := c.Timeouts; t != nil {
		out.Discovery.Timeout = t.TLSBootstrap
		if out.Discovery.Timeout == nil {
			out.Discovery.Timeout = t.Discovery
		}
	}
	return out
}

func (c *joinV1Beta3) latest() *JoinConfiguration {
	out := &JoinConfiguration{
		NodeRegistration: c.NodeRegistration.latest(), CACertPath: c.CACertPath, Discovery: c.Discovery.Discovery,
		ControlPlane: c.ControlPlane, SkipPhases: c.SkipPhases, Patches: c.Patches,
	}
	if t := c.Discovery.Timeout; t != nil {
		out.Timeouts = &Timeouts{TLSBootstrap: t, Discovery: t}
	}
	return out
}
