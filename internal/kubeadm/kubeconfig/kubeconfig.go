// Package kubeconfig makes kubeconfigs for a cluster from its CA: the administrator's, which is kept in the Secret
// <cluster>-kubeconfig and renewed in time, and short-lived ones for people.
package kubeconfig

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/kubeadm/certs"
)

const (
	// SecretKey is the key of the Secret under which the kubeconfig stands.
	SecretKey = "value"
	// AdminGroup is the group whose members may do everything, whatever RBAC says.
	AdminGroup = "system:masters"

	// AdminValidity is how long the administrator's certificate is valid.
	AdminValidity = 365 * 24 * time.Hour
	// RotateBelow is the remaining validity below which the administrator's certificate is replaced.
	RotateBelow = AdminValidity / 2
)

// SecretName returns the name of the Secret that keeps the administrator's kubeconfig.
func SecretName(cluster string) string { return cluster + "-kubeconfig" }

// Request describes a kubeconfig with a client certificate.
type Request struct {
	// Cluster is the name of the cluster; the context is called <user>@<cluster>.
	Cluster string
	// Server is the URL of the API server.
	Server string
	// User is the name in the kubeconfig, and the certificate's common name unless CommonName is set.
	User string
	// CommonName is who the API server takes the bearer for; empty means User.
	CommonName string
	// Groups are the bearer's groups.
	Groups []string
	// TTL of the certificate; zero means AdminValidity.
	TTL time.Duration
	// Algorithm of the client's key; empty means the CA's own.
	Algorithm certs.Algorithm
	Now       time.Time
}

// Admin returns the request for the administrator's kubeconfig of a cluster.
func Admin(cluster, server string, now time.Time) Request {
	return Request{
		Cluster: cluster, Server: server, User: cluster + "-admin", CommonName: "kubernetes-admin",
		Groups: []string{AdminGroup}, TTL: AdminValidity, Now: now,
	}
}

// New issues the client certificate and writes the kubeconfig.
func New(ca *certs.Authority, r Request) ([]byte, error) {
	pair, err := ca.Issue(certs.Request{
		CommonName: orElse(r.CommonName, r.User), Organizations: r.Groups, TTL: r.TTL, Algorithm: r.Algorithm, Now: r.Now,
	})
	if err != nil {
		return nil, fmt.Errorf("make kubeconfig of cluster %s: %w", r.Cluster, err)
	}
	context := r.User + "@" + r.Cluster
	out, err := clientcmd.Write(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{
			r.Cluster: {Server: r.Server, CertificateAuthorityData: ca.PEM},
		},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{
			r.User: {ClientCertificateData: pair.Cert, ClientKeyData: pair.Key},
		},
		Contexts:       map[string]*clientcmdapi.Context{context: {Cluster: r.Cluster, AuthInfo: r.User}},
		CurrentContext: context,
	})
	if err != nil {
		return nil, fmt.Errorf("write kubeconfig of cluster %s: %w", r.Cluster, err)
	}
	return out, nil
}

func orElse(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

// NewSecret returns the Secret that keeps the administrator's kubeconfig. Owner references are the caller's.
func NewSecret(cluster types.NamespacedName, kubeconfig []byte) *corev1.Secret {
	return &corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: cluster.Namespace,
			Name:      SecretName(cluster.Name),
			Labels:    map[string]string{clusterv1.ClusterNameLabel: cluster.Name},
		},
		Type: clusterv1.ClusterSecretType,
		Data: map[string][]byte{SecretKey: kubeconfig},
	}
}

// Facts are what a kubeconfig says, as far as its renewal asks.
type Facts struct {
	Server string
	CA     []byte
	// Expires is the end of the client certificate.
	Expires time.Time
}

// Read reads the current context of a kubeconfig with an embedded client certificate.
func Read(kubeconfig []byte) (Facts, error) {
	c, err := clientcmd.Load(kubeconfig)
	if err != nil {
		return Facts{}, fmt.Errorf("parse kubeconfig: %w", err)
	}
	context := c.Contexts[c.CurrentContext]
	if context == nil {
		return Facts{}, fmt.Errorf("kubeconfig: context %q is missing", c.CurrentContext)
	}
	cluster, user := c.Clusters[context.Cluster], c.AuthInfos[context.AuthInfo]
	if cluster == nil || user == nil {
		return Facts{}, fmt.Errorf("kubeconfig: cluster %q or user %q is missing", context.Cluster, context.AuthInfo)
	}
	if len(user.ClientCertificateData) == 0 {
		return Facts{}, errors.New("kubeconfig: no client certificate is embedded")
	}
	expires, err := certs.Expiry(user.ClientCertificateData)
	if err != nil {
		return Facts{}, fmt.Errorf("kubeconfig: client certificate: %w", err)
	}
	return Facts{Server: cluster.Server, CA: cluster.CertificateAuthorityData, Expires: expires}, nil
}

// Outdated tells why a kubeconfig that we made has to be made again for a server and CA; empty when it need not be.
// A kubeconfig that cannot be read is outdated too. Ask only about Secrets that we own: a user's own is theirs.
func Outdated(kubeconfig []byte, server string, caPEM []byte, now time.Time) string {
	f, err := Read(kubeconfig)
	switch {
	case err != nil:
		return err.Error()
	case f.Server != server:
		return fmt.Sprintf("it names the server %s instead of %s", f.Server, server)
	case !bytes.Equal(bytes.TrimSpace(f.CA), bytes.TrimSpace(caPEM)):
		return "it trusts another CA"
	case f.Expires.Sub(now) < RotateBelow && !endsWith(caPEM, f.Expires):
		return fmt.Sprintf("its client certificate ends on %s", f.Expires.UTC().Format(time.RFC3339))
	}
	return ""
}

// endsWith tells whether the CA ends no later than a certificate of its own: another one would end then as well, and
// making it would go on for ever.
func endsWith(caPEM []byte, certificate time.Time) bool {
	end, err := certs.Expiry(caPEM)
	return err == nil && !end.After(certificate)
}
