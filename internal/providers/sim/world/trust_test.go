package world

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
	"slipway.dev/slipway/internal/kubeadm/certs"
	"slipway.dev/slipway/internal/kubeadm/cloudinit"
	"slipway.dev/slipway/internal/kubeadm/config"
)

// refused fails the test unless a machine does not come up with the bootstrap data, for a reason with the words.
func (f *fleet) refused(name, words string, data []byte) {
	f.t.Helper()
	_, err := f.cluster().Boot(machineNamed("bad"), data, false)
	if _, ok := errors.AsType[*BootstrapError](err); !ok || !strings.Contains(err.Error(), words) {
		f.t.Errorf("%s: %v, want a BootstrapError with %q", name, err, words)
	}
}

func TestBoot_RefusesAControlPlaneWithAnotherAuthority(t *testing.T) {
	t.Parallel()
	f, other := newFleet(t, t.TempDir()), newFleet(t, t.TempDir())
	f.boot("cp0", f.initData(bootstrapv1.KubeadmConfigSpec{}))
	own := f.cas
	for _, p := range certs.Required(certs.ExternalEtcd{}) {
		words := p.Files("", certs.ExternalEtcd{}).Cert + " is not the cluster's"
		if p == certs.ClusterCA {
			words = "none of those pinned"
		}
		tok := f.newToken(time.Hour)
		f.cas = maps.Clone(own)
		f.cas[p] = other.cas[p]
		data := f.joinData(config.ControlPlane, tok)
		f.cas = own
		f.refused(string(p), words, data)
	}
	f.boot("cp1", f.joinData(config.ControlPlane, f.newToken(time.Hour)))
}

func TestBoot_FindsTheClusterByADiscoveryFile(t *testing.T) {
	t.Parallel()
	f, other := newFleet(t, t.TempDir()), newFleet(t, t.TempDir())
	f.boot("cp0", f.initData(bootstrapv1.KubeadmConfigSpec{}))
	const path = "/etc/kubernetes/discovery.conf"
	join := func(text, tlsBootstrapToken string) []byte {
		spec := bootstrapv1.KubeadmConfigSpec{}
		spec.JoinConfiguration.Discovery.File.KubeConfigPath = path
		spec.JoinConfiguration.Discovery.TLSBootstrapToken = tlsBootstrapToken
		var files []bootstrapv1.File
		if text != "" {
			files = []bootstrapv1.File{{Path: path, Content: text}}
		}
		docs, err := config.ForJoin(&spec, config.Worker, config.Trust{Endpoint: f.place.address()})
		if err != nil {
			t.Fatal(err)
		}
		return f.write(cloudinit.Join, docs, files, spec)
	}
	file := func(change func(*clientcmdapi.Cluster, *clientcmdapi.AuthInfo)) string {
		cluster := &clientcmdapi.Cluster{Server: "https://" + f.place.address(), CertificateAuthorityData: f.cas[certs.ClusterCA].Cert}
		user := &clientcmdapi.AuthInfo{Token: f.newToken(time.Hour)}
		change(cluster, user)
		text, err := clientcmd.Write(clientcmdapi.Config{
			Clusters: map[string]*clientcmdapi.Cluster{"c": cluster}, AuthInfos: map[string]*clientcmdapi.AuthInfo{"u": user},
			Contexts: map[string]*clientcmdapi.Context{"x": {Cluster: "c", AuthInfo: "u"}}, CurrentContext: "x",
		})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	clientOf := func(f *fleet) []byte {
		ca, err := certs.NewAuthority(f.cas[certs.ClusterCA])
		if err != nil {
			t.Fatal(err)
		}
		pair, err := ca.Issue(certs.Request{CommonName: "system:bootstrapper", Now: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		return pair.Cert
	}
	anonymous := func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) { *u = clientcmdapi.AuthInfo{} }
	certified := func(f *fleet) func(*clientcmdapi.Cluster, *clientcmdapi.AuthInfo) {
		return func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			*u = clientcmdapi.AuthInfo{ClientCertificateData: clientOf(f), ClientKeyData: []byte("key")}
		}
	}
	for name, data := range map[string][]byte{
		"token":       join(file(func(*clientcmdapi.Cluster, *clientcmdapi.AuthInfo) {}), ""),
		"other-token": join(file(anonymous), f.newToken(time.Hour)),
		"certificate": join(file(certified(f)), ""),
		"command": join(file(func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			*u = clientcmdapi.AuthInfo{Exec: &clientcmdapi.ExecConfig{Command: "get-token", APIVersion: "client.authentication.k8s.io/v1"}}
		}), ""),
	} {
		f.boot(name, data)
	}
	for name, row := range map[string]struct {
		words string
		data  []byte
	}{
		"no file":      {"is missing", join("", "")},
		"no cluster":   {"names no cluster", join("apiVersion: v1\nkind: Config\n", "")},
		"no user":      {"no credentials", join(file(anonymous), "")},
		"nobody's own": {"unknown authority", join(file(certified(other)), "")},
		"another CA": {"its certificate-authority-data is not the cluster's CA", join(file(func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
			c.CertificateAuthorityData = other.cas[certs.ClusterCA].Cert
		}), "")},
		"no CA":        {"unknown authority", join(file(func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) { c.CertificateAuthorityData = nil }), "")},
		"another port": {"points at", join(file(func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) { c.Server += "0" }), "")},
		"a lost token": {"invalid for this cluster", join(file(func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) { u.Token = "abcdef.0123456789abcdef" }), "")},
	} {
		f.refused(name, row.words, row.data)
	}
}
