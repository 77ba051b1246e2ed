// Package certs makes and checks the certificates of a kubeadm cluster: its CAs, its service account key pair, and
// what they sign. It keeps them in the Secrets that the Cluster API names, and knows where kubeadm wants them on disk.
package certs

import (
	"path"
	"slices"
)

// Purpose says what a key pair of a cluster is for. Its value is the suffix of the Secret's name.
type Purpose string

// The purposes that have a Secret of their own.
const (
	// ClusterCA signs the API server's and every client's certificate.
	ClusterCA Purpose = "ca"
	// EtcdCA signs etcd's certificates. With an external etcd it is the user's, and only its certificate is known.
	EtcdCA Purpose = "etcd"
	// FrontProxyCA signs the aggregation layer's client certificate.
	FrontProxyCA Purpose = "proxy"
	// ServiceAccount is the key pair that signs service account tokens; it is no certificate.
	ServiceAccount Purpose = "sa"
	// APIServerEtcdClient is the client certificate for an external etcd; the user supplies it.
	APIServerEtcdClient Purpose = "apiserver-etcd-client"
)

// DefaultDir is where kubeadm keeps certificates unless told otherwise.
const DefaultDir = "/etc/kubernetes/pki"

// Generated returns the purposes whose key pairs are made when absent, in a fixed order.
func Generated(externalEtcd ExternalEtcd) []Purpose {
	if externalEtcd.InUse() {
		return []Purpose{ClusterCA, FrontProxyCA, ServiceAccount}
	}
	return []Purpose{ClusterCA, EtcdCA, FrontProxyCA, ServiceAccount}
}

// Supplied returns the purposes whose key pairs only the user can give: those of an external etcd.
func Supplied(externalEtcd ExternalEtcd) []Purpose {
	if externalEtcd.InUse() {
		return []Purpose{EtcdCA, APIServerEtcdClient}
	}
	return nil
}

// Required returns every purpose a control plane machine needs: generated ones, then supplied ones.
func Required(externalEtcd ExternalEtcd) []Purpose {
	return slices.Concat(Generated(externalEtcd), Supplied(externalEtcd))
}

// ExternalEtcd names the files, on the machine, of an etcd that kubeadm does not run. The zero value means that
// kubeadm runs etcd.
type ExternalEtcd struct {
	CAFile, CertFile, KeyFile string
}

// InUse tells whether etcd is external.
func (e ExternalEtcd) InUse() bool { return e != ExternalEtcd{} }

// SecretName returns the name of the Secret that holds the key pair in the namespace of the Cluster.
func (p Purpose) SecretName(cluster string) string { return cluster + "-" + string(p) }

// commonName is what kubeadm itself calls each CA, so that a cluster looks the same whoever made its certificates.
func (p Purpose) commonName() string {
	switch p {
	case ClusterCA:
		return "kubernetes"
	case EtcdCA:
		return "etcd-ca"
	case FrontProxyCA:
		return "front-proxy-ca"
	case ServiceAccount, APIServerEtcdClient:
		return ""
	}
	return ""
}

// Files are the paths of a key pair on a machine. An empty path is not written.
type Files struct {
	Cert, Key string
}

// Files returns where kubeadm looks for the key pair below dir (empty: DefaultDir).
func (p Purpose) Files(dir string, externalEtcd ExternalEtcd) Files {
	if dir == "" {
		dir = DefaultDir
	}
	if externalEtcd.InUse() {
		switch p {
		case EtcdCA:
			return Files{Cert: externalEtcd.CAFile}
		case APIServerEtcdClient:
			return Files{Cert: externalEtcd.CertFile, Key: externalEtcd.KeyFile}
		case ClusterCA, FrontProxyCA, ServiceAccount:
		}
	}
	names := map[Purpose]Files{
		ClusterCA:           {Cert: "ca.crt", Key: "ca.key"},
		EtcdCA:              {Cert: "etcd/ca.crt", Key: "etcd/ca.key"},
		FrontProxyCA:        {Cert: "front-proxy-ca.crt", Key: "front-proxy-ca.key"},
		ServiceAccount:      {Cert: "sa.pub", Key: "sa.key"},
		APIServerEtcdClient: {Cert: "apiserver-etcd-client.crt", Key: "apiserver-etcd-client.key"},
	}[p]
	return Files{Cert: path.Join(dir, names.Cert), Key: path.Join(dir, names.Key)}
}
