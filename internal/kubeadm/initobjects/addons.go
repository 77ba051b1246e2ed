package initobjects

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/blang/semver/v4"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"slipway.dev/slipway/internal/kubeadm/config"
	"slipway.dev/slipway/internal/kubeadm/token"
)

// DefaultImageRepository is where Kubernetes' images come from unless the user says otherwise.
const DefaultImageRepository = "registry.k8s.io"

// release is what kubeadm of a minor version brings along.
type release struct{ etcd, coreDNS string }

// releaseOf returns the versions that kubeadm of a Kubernetes version installs; for one that is not in the table,
// those of the nearest that is.
func releaseOf(v semver.Version) release {
	switch {
	case v.Minor <= 30:
		return release{etcd: "3.5.15-0", coreDNS: "v1.11.3"}
	case v.Minor == 31:
		return release{etcd: "3.5.15-0", coreDNS: "v1.11.3"}
	case v.Minor == 32:
		return release{etcd: "3.5.16-0", coreDNS: "v1.11.3"}
	case v.Minor == 33:
		return release{etcd: "3.5.21-0", coreDNS: "v1.12.0"}
	case v.Minor == 34:
		return release{etcd: "3.6.5-0", coreDNS: "v1.12.1"}
	case v.Minor == 35:
		return release{etcd: "3.6.6-0", coreDNS: "v1.13.1"}
	case v.Minor == 36:
		return release{etcd: "3.6.8-0", coreDNS: "v1.14.2"}
	default:
		return release{etcd: "3.7.0-0", coreDNS: "v1.14.6"}
	}
}

// Images are the images of a control plane.
type Images struct {
	APIServer, ControllerManager, Scheduler, Proxy, Etcd, CoreDNS string
}

// ImagesOf returns the images that kubeadm would use.
func ImagesOf(c config.ClusterConfiguration, v semver.Version) Images {
	repository := or(c.ImageRepository, DefaultImageRepository)
	r := releaseOf(v)
	component := func(name string) string { return repository + "/" + name + ":v" + v.String() }
	etcdRepository, etcdTag := repository, r.etcd
	if l := c.Etcd.Local; l != nil {
		etcdRepository, etcdTag = or(l.ImageRepository, repository), or(l.ImageTag, r.etcd)
	}
	// In the default repository CoreDNS's image lies one level deeper.
	dnsRepository := or(c.DNS.ImageRepository, repository)
	if dnsRepository == DefaultImageRepository {
		dnsRepository += "/coredns"
	}
	return Images{
		APIServer: component("kube-apiserver"), ControllerManager: component("kube-controller-manager"),
		Scheduler: component("kube-scheduler"), Proxy: component("kube-proxy"),
		Etcd:    etcdRepository + "/etcd:" + etcdTag,
		CoreDNS: dnsRepository + "/coredns:" + or(c.DNS.ImageTag, r.coreDNS),
	}
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// dnsAddress is the tenth address of the services' range, where the cluster's DNS listens.
func dnsAddress(serviceSubnets string) (string, error) {
	first, _, _ := strings.Cut(serviceSubnets, ",")
	prefix, err := netip.ParsePrefix(first)
	if err != nil {
		return "", fmt.Errorf("read service subnet: %w", err)
	}
	address := prefix.Masked().Addr()
	for range 10 {
		address = address.Next()
	}
	if !prefix.Contains(address) {
		return "", fmt.Errorf("service subnet %s has no tenth address for DNS", first)
	}
	return address.String(), nil
}

const (
	proxyName = "kube-proxy"
	dnsName   = "coredns"
)

// proxyConfiguration is the part of kube-proxy's configuration that kubeadm decides.
type proxyConfiguration struct {
	metav1.TypeMeta `json:",inline"`

	ClusterCIDR string `json:"clusterCIDR"`
}

func proxyAddon(p Params) ([]runtime.Object, error) {
	if p.Cluster.Proxy.Disabled {
		return nil, nil
	}
	labels := map[string]string{"k8s-app": proxyName}
	settings, err := yaml.Marshal(proxyConfiguration{
		TypeMeta:    metav1.TypeMeta{APIVersion: "kubeproxy.config.k8s.io/v1alpha1", Kind: "KubeProxyConfiguration"},
		ClusterCIDR: p.Cluster.Networking.PodSubnet,
	})
	if err != nil {
		return nil, fmt.Errorf("make configmap kube-proxy: %w", err)
	}
	config := configMap(metav1.NamespaceSystem, proxyName, map[string]string{"config.conf": string(settings)})
	config.Labels = map[string]string{"app": proxyName}
	return []runtime.Object{
		serviceAccount(proxyName),
		config,
		clusterRoleBinding("kubeadm:node-proxier", "system:node-proxier", account(proxyName)),
		role(metav1.NamespaceSystem, proxyName, rule([]string{"get"}, "", []string{"configmaps"}, proxyName)),
		roleBinding(metav1.NamespaceSystem, proxyName, group(token.DefaultGroup)),
		&appsv1.DaemonSet{
			TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSet"},
			ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: proxyName, Labels: labels},
			Spec: appsv1.DaemonSetSpec{
				Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: labels},
					Spec: corev1.PodSpec{
						PriorityClassName: "system-node-critical", ServiceAccountName: proxyName, HostNetwork: true,
						Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
						Containers: []corev1.Container{{
							Name: proxyName, Image: ImagesOf(p.Cluster, p.KubernetesVersion).Proxy,
							Command: []string{"/usr/local/bin/kube-proxy", "--config=/var/lib/kube-proxy/config.conf"},
						}},
					},
				},
			},
		},
	}, nil
}

func dnsAddon(p Params) []runtime.Object {
	if p.Cluster.DNS.Disabled {
		return nil
	}
	labels := map[string]string{"k8s-app": "kube-dns"}
	replicas := int32(2)
	listAndWatch := []string{"list", "watch"}
	return []runtime.Object{
		serviceAccount(dnsName),
		configMap(metav1.NamespaceSystem, dnsName, map[string]string{"Corefile": corefile(or(p.Cluster.Networking.DNSDomain, "cluster.local"))}),
		clusterRole("system:coredns",
			rule(listAndWatch, "", []string{"endpoints", "services", "pods", "namespaces"}),
			rule(listAndWatch, "discovery.k8s.io", []string{"endpointslices"})),
		clusterRoleBinding("system:coredns", "system:coredns", account(dnsName)),
		&appsv1.Deployment{
			TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
			ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: dnsName, Labels: labels},
			Spec: appsv1.DeploymentSpec{
				Replicas: &replicas,
				Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: labels},
					Spec: corev1.PodSpec{
						PriorityClassName: "system-cluster-critical", ServiceAccountName: dnsName,
						Tolerations: []corev1.Toleration{
							{Key: "CriticalAddonsOnly", Operator: corev1.TolerationOpExists},
							{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule},
						},
						Containers: []corev1.Container{{
							Name: dnsName, Image: ImagesOf(p.Cluster, p.KubernetesVersion).CoreDNS, Args: []string{"-conf", "/etc/coredns/Corefile"},
						}},
					},
				},
			},
		},
	}
}

// corefile resolves the cluster's domain from the API and everything else as the host does.
func corefile(domain string) string {
	return strings.Join([]string{
		".:53 {", "    errors", "    health", "    ready",
		"    kubernetes " + domain + " in-addr.arpa ip6.arpa {", "        pods insecure", "        fallthrough in-addr.arpa ip6.arpa", "        ttl 30", "    }",
		"    prometheus :9153", "    forward . /etc/resolv.conf", "    cache 30", "    loop", "    reload", "    loadbalance", "}", "",
	}, "\n")
}
