// Package initobjects holds, as values, what "kubeadm init" leaves in a cluster: its ConfigMaps, the RBAC rules by
// which machines join, and the add-ons. The simulated provider presents them, so that its clusters look like real ones.
package initobjects

import (
	"fmt"
	"slices"

	"github.com/blang/semver/v4"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"slipway.dev/slipway/internal/kubeadm/config"
)

// Params are what the objects depend on.
type Params struct {
	// Cluster is the configuration that kubeadm init was given.
	Cluster config.ClusterConfiguration
	// KubernetesVersion of the machine that ran kubeadm init.
	KubernetesVersion semver.Version
	// Server is the URL of the API server as joining machines see it.
	Server string
	// CAPEM is the certificate of the cluster's CA.
	CAPEM []byte
}

// Objects returns everything that kubeadm init creates, in the order in which it does, each with its apiVersion and kind
// set. Nodes, static pods and bootstrap tokens are not among them.
func Objects(p Params) ([]runtime.Object, error) {
	kubeadmConfig, err := KubeadmConfigMap(p.Cluster, p.KubernetesVersion)
	if err != nil {
		return nil, err
	}
	kubeletConfig, err := KubeletConfigMap(p.Cluster)
	if err != nil {
		return nil, err
	}
	clusterInfo, err := ClusterInfo(p.Server, p.CAPEM)
	if err != nil {
		return nil, err
	}
	proxy, err := proxyAddon(p)
	if err != nil {
		return nil, err
	}
	return slices.Concat(
		[]runtime.Object{kubeadmConfig, kubeletConfig, clusterInfo},
		joinRules(),
		proxy,
		dnsAddon(p),
	), nil
}

// KubeadmConfigMap returns the ConfigMap in which kubeadm keeps its ClusterConfiguration, defaults spelt out.
func KubeadmConfigMap(c config.ClusterConfiguration, kubernetes semver.Version) (*corev1.ConfigMap, error) {
	v, err := config.VersionFor(kubernetes)
	if err != nil {
		return nil, fmt.Errorf("make configmap kubeadm-config: %w", err)
	}
	c = withDefaults(c)
	text, _, err := config.Documents{Cluster: &c}.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("make configmap kubeadm-config: %w", err)
	}
	return configMap(metav1.NamespaceSystem, config.ConfigMapName, map[string]string{config.ConfigMapKey: string(text)}), nil
}

// withDefaults fills in what kubeadm would.
func withDefaults(c config.ClusterConfiguration) config.ClusterConfiguration {
	set := func(s *string, value string) {
		if *s == "" {
			*s = value
		}
	}
	set(&c.CertificatesDir, "/etc/kubernetes/pki")
	set(&c.ImageRepository, DefaultImageRepository)
	set(&c.ClusterName, "kubernetes")
	set(&c.Networking.DNSDomain, "cluster.local")
	set(&c.Networking.ServiceSubnet, "10.96.0.0/12")
	if c.Etcd.External == nil {
		local := config.LocalEtcd{}
		if c.Etcd.Local != nil {
			local = *c.Etcd.Local
		}
		set(&local.DataDir, "/var/lib/etcd")
		c.Etcd.Local = &local
	}
	return c
}

// kubeletConfiguration is the part of a kubelet's configuration that kubeadm decides.
type kubeletConfiguration struct {
	metav1.TypeMeta `json:",inline"`

	Authentication struct {
		Anonymous struct {
			Enabled bool `json:"enabled"`
		} `json:"anonymous"`
		Webhook struct {
			Enabled bool `json:"enabled"`
		} `json:"webhook"`
		X509 struct {
			ClientCAFile string `json:"clientCAFile"`
		} `json:"x509"`
	} `json:"authentication"`
	Authorization struct {
		Mode string `json:"mode"`
	} `json:"authorization"`
	CgroupDriver       string   `json:"cgroupDriver"`
	ClusterDNS         []string `json:"clusterDNS"`
	ClusterDomain      string   `json:"clusterDomain"`
	HealthzBindAddress string   `json:"healthzBindAddress"`
	HealthzPort        int32    `json:"healthzPort"`
	RotateCertificates bool     `json:"rotateCertificates"`
	StaticPodPath      string   `json:"staticPodPath"`
}

// KubeletConfigMap returns the ConfigMap that holds the configuration of every kubelet.
func KubeletConfigMap(c config.ClusterConfiguration) (*corev1.ConfigMap, error) {
	c = withDefaults(c)
	dns, err := dnsAddress(c.Networking.ServiceSubnet)
	if err != nil {
		return nil, fmt.Errorf("make configmap kubelet-config: %w", err)
	}
	k := kubeletConfiguration{
		TypeMeta:     metav1.TypeMeta{APIVersion: "kubelet.config.k8s.io/v1beta1", Kind: "KubeletConfiguration"},
		CgroupDriver: "systemd", ClusterDNS: []string{dns}, ClusterDomain: c.Networking.DNSDomain,
		HealthzBindAddress: "127.0.0.1", HealthzPort: 10248, RotateCertificates: true, StaticPodPath: "/etc/kubernetes/manifests",
	}
	k.Authentication.Webhook.Enabled = true
	k.Authentication.X509.ClientCAFile = c.CertificatesDir + "/ca.crt"
	k.Authorization.Mode = "Webhook"
	text, err := yaml.Marshal(k)
	if err != nil {
		return nil, fmt.Errorf("make configmap kubelet-config: %w", err)
	}
	return configMap(metav1.NamespaceSystem, "kubelet-config", map[string]string{"kubelet": string(text)}), nil
}

func configMap(namespace, name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Data:       data,
	}
}

func serviceAccount(name string) *corev1.ServiceAccount {
	return &corev1.ServiceAccount{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: name},
	}
}

func rule(verbs []string, group string, resources []string, names ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: verbs, APIGroups: []string{group}, Resources: resources, ResourceNames: names}
}
