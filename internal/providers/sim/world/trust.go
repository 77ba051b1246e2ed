package world

import (
	"crypto/x509"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"slipway.dev/slipway/internal/kubeadm/certs"
	"slipway.dev/slipway/internal/kubeadm/config"
	"slipway.dev/slipway/internal/kubeadm/initobjects"
	"slipway.dev/slipway/internal/kubeadm/token"
	"slipway.dev/slipway/internal/providers/sim/workload"
)

// checkTrust checks the token and the pins, or the discovery file.
func (c *Cluster) checkTrust(b *boot, cfg config.JoinConfiguration) error {
	if cfg.Discovery.File != nil {
		return c.checkDiscoveryFile(b, cfg.Discovery)
	}
	d := cfg.Discovery.BootstrapToken
	if d == nil {
		return b.fail("discovery names neither a token nor a file")
	}
	if d.APIServerEndpoint != c.place.address() {
		return b.fail("the API server %s does not answer; the cluster's is %s", d.APIServerEndpoint, c.place.address())
	}
	if !d.UnsafeSkipCAVerification {
		if err := initobjects.CheckPins(c.pki[certs.ClusterCA].Cert, d.CACertHashes); err != nil {
			return b.fail("%w", err)
		}
	}
	return c.checkToken(b, d.Token)
}

// fail is an error of the machine's kubeadm.
func (b *boot) fail(format string, args ...any) error {
	return &BootstrapError{b.step(), fmt.Errorf(format, args...)}
}

// checkDiscoveryFile checks where a discovery file leads, whether what answers there is trusted, and who asks. What a command or an
// authentication provider would answer is not simulated, and taken for right.
func (c *Cluster) checkDiscoveryFile(b *boot, d config.Discovery) error {
	path := d.File.KubeConfigPath
	text, ok := b.data.Content(path)
	if !ok {
		return b.fail("discovery file %s is missing", path)
	}
	file, err := clientcmd.Load(text)
	if err != nil {
		return b.fail("discovery file %s: %w", path, err)
	}
	at := file.Contexts[file.CurrentContext]
	if at == nil || file.Clusters[at.Cluster] == nil {
		return b.fail("discovery file %s names no cluster in its current context %q", path, file.CurrentContext)
	}
	cluster := file.Clusters[at.Cluster]
	if want := "https://" + c.place.address(); cluster.Server != want {
		return b.fail("discovery file %s points at %s; the cluster's API server is %s", path, cluster.Server, want)
	}
	if err := c.checkServer(b, path, cluster); err != nil {
		return err
	}
	return c.checkUser(b, d, file.AuthInfos[at.AuthInfo])
}

// checkServer checks that a discovery file trusts the cluster's API server.
func (c *Cluster) checkServer(b *boot, path string, cluster *clientcmdapi.Cluster) error {
	if cluster.InsecureSkipTLSVerify {
		return nil
	}
	ca := cluster.CertificateAuthorityData
	if len(ca) == 0 {
		ca, _ = b.data.Content(cluster.CertificateAuthority)
	}
	own, err := certs.Hashes(c.pki[certs.ClusterCA].Cert)
	if err != nil {
		return fmt.Errorf("read the cluster's CA: %w", err)
	}
	trusted, err := certs.Hashes(ca)
	if err != nil || !slices.ContainsFunc(trusted, func(h string) bool { return slices.Contains(own, h) }) {
		return b.fail("discovery file %s: tls: failed to verify certificate: x509: certificate signed by unknown authority: its certificate-authority-data is not the cluster's CA", path)
	}
	return nil
}

// checkUser checks the credentials of a discovery file, or without any the token for TLS bootstrap.
func (c *Cluster) checkUser(b *boot, d config.Discovery, user *clientcmdapi.AuthInfo) error {
	switch {
	case user != nil && (user.Exec != nil || user.AuthProvider != nil):
		return nil
	case user != nil && user.Token != "":
		return c.checkToken(b, user.Token)
	case user != nil && len(user.ClientCertificateData) > 0:
		if err := c.signed(user.ClientCertificateData); err != nil {
			return b.fail("discovery file %s: Unauthorized: its client certificate: %w", d.File.KubeConfigPath, err)
		}
		return nil
	case d.TLSBootstrapToken != "":
		return c.checkToken(b, d.TLSBootstrapToken)
	}
	return b.fail("discovery file %s has no credentials, and discovery.tlsBootstrapToken is not set", d.File.KubeConfigPath)
}

// signed returns nil for a client certificate of the cluster's CA.
func (c *Cluster) signed(cert []byte) error {
	chain, err := certs.ParseCertificates(cert)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(c.pki[certs.ClusterCA].Cert)
	_, err = chain[0].Verify(x509.VerifyOptions{Roots: roots, CurrentTime: c.world.opts.Now(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	return err
}

// checkAuthorities checks that a machine which joins the control plane has the authorities of the others: with others its API server
// and its etcd member would not be trusted, nor trust them.
func (c *Cluster) checkAuthorities(b *boot, pki certs.Set, dir string, external certs.ExternalEtcd) error {
	for _, p := range certs.Required(external) {
		if !pki[p].Equal(c.pki[p]) {
			return b.fail("%s is not the cluster's", p.Files(dir, external).Cert)
		}
	}
	return nil
}

func (c *Cluster) checkToken(b *boot, text string) error {
	parsed, err := token.Parse(text)
	if err != nil {
		return &BootstrapError{b.step(), err}
	}
	secret, err := workload.Read[*corev1.Secret](c.api.Store(), types.NamespacedName{Namespace: metav1.NamespaceSystem, Name: token.SecretName(parsed.ID)})
	if err != nil {
		return &BootstrapError{b.step(), fmt.Errorf("token id %q is invalid for this cluster or it has expired", parsed.ID)}
	}
	record, err := token.FromSecret(secret)
	if err != nil || record.Token != parsed || record.Expired(b.now) {
		return &BootstrapError{b.step(), fmt.Errorf("token id %q is invalid for this cluster or it has expired", parsed.ID)}
	}
	return nil
}
