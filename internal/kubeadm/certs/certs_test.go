package certs_test

import (
	"crypto/x509"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"slipway.dev/slipway/internal/kubeadm/certs"
)

var now = time.Date(2026, 12, 2, 8, 0, 0, 0, time.UTC)

func generate(t *testing.T, p certs.Purpose, o certs.Options) certs.KeyPair {
	t.Helper()
	if o.Algorithm == "" {
		o.Algorithm = certs.ECDSAP256
	}
	if o.Now.IsZero() {
		o.Now = now
	}
	pair, err := certs.Generate(p, o)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

func authority(t *testing.T) *certs.Authority {
	t.Helper()
	ca, err := certs.NewAuthority(generate(t, certs.ClusterCA, certs.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

func TestGenerate_MakesWhatCheckAccepts(t *testing.T) {
	t.Parallel()
	for _, algorithm := range []certs.Algorithm{"", certs.RSA2048, certs.RSA3072, certs.ECDSAP256, certs.ECDSAP384} {
		t.Run(string(algorithm), func(t *testing.T) {
			t.Parallel()
			for _, p := range certs.Generated(certs.ExternalEtcd{}) {
				pair, err := certs.Generate(p, certs.Options{Algorithm: algorithm, Now: now})
				if err != nil {
					t.Fatal(err)
				}
				if err := pair.Check(p, certs.ExternalEtcd{}, now); err != nil {
					t.Errorf("%s: %v", p, err)
				}
				key, err := certs.ParseKey(pair.Key)
				if err != nil {
					t.Fatal(err)
				}
				want := algorithm
				if want == "" {
					want = certs.RSA2048
				}
				if got := certs.AlgorithmOf(key.Public()); got != want {
					t.Errorf("%s: key is %s, want %s", p, got, want)
				}
			}
		})
	}
}

func TestGenerate_CAIsValidForTenYearsUnlessToldOtherwise(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name     string
		validity time.Duration
		want     time.Duration
	}{{"by default", 0, 3650 * 24 * time.Hour}, {"as told", 48 * time.Hour, 48 * time.Hour}} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			end, err := certs.Expiry(generate(t, certs.EtcdCA, certs.Options{Validity: tc.validity}).Cert)
			if err != nil || !end.Equal(now.Add(tc.want)) {
				t.Errorf("ends %s (%v), want %s", end, err, now.Add(tc.want))
			}
		})
	}
}

func TestGenerate_RefusesUnknownAlgorithm(t *testing.T) {
	t.Parallel()
	if _, err := certs.Generate(certs.ClusterCA, certs.Options{Algorithm: "DSA", Now: now}); err == nil || !strings.Contains(err.Error(), "RSA-2048") {
		t.Errorf("error %v does not name what may be used", err)
	}
}

func TestGenerateMissing_LeavesWhatIsThere(t *testing.T) {
	t.Parallel()
	have := certs.Set{certs.ClusterCA: {}, certs.ServiceAccount: {}}
	got, err := certs.GenerateMissing(have, certs.ExternalEtcd{}, certs.Options{Algorithm: certs.ECDSAP256, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := got[certs.EtcdCA]; !ok || len(got) != 2 {
		t.Errorf("generated %d pairs", len(got))
	}
	got, err = certs.GenerateMissing(have, certs.ExternalEtcd{CAFile: "/x"}, certs.Options{Algorithm: certs.ECDSAP256, Now: now})
	if err != nil || len(got) != 1 {
		t.Errorf("with an external etcd: %d pairs, %v", len(got), err)
	}
}

func TestFromSecret_SaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	ca, other := generate(t, certs.ClusterCA, certs.Options{}), generate(t, certs.ClusterCA, certs.Options{})
	issuer, err := certs.NewAuthority(ca)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := issuer.Issue(certs.Request{CommonName: "x", Now: now})
	if err != nil {
		t.Fatal(err)
	}
	expired := generate(t, certs.ClusterCA, certs.Options{Now: now.Add(-48 * time.Hour), Validity: time.Hour})
	early := generate(t, certs.ClusterCA, certs.Options{Now: now.Add(48 * time.Hour)})
	external := certs.ExternalEtcd{CAFile: "/a", CertFile: "/b", KeyFile: "/c"}
	for _, tc := range []struct {
		name    string
		purpose certs.Purpose
		pair    certs.KeyPair
		etcd    certs.ExternalEtcd
		want    string // empty: accepted
	}{
		{"a good CA", certs.ClusterCA, ca, certs.ExternalEtcd{}, ""},
		{"no certificate", certs.ClusterCA, certs.KeyPair{Key: ca.Key}, certs.ExternalEtcd{}, "key tls.crt is missing"},
		{"no key", certs.ClusterCA, certs.KeyPair{Cert: ca.Cert}, certs.ExternalEtcd{}, "key tls.key is missing"},
		{"no PEM", certs.ClusterCA, certs.KeyPair{Cert: []byte("x"), Key: ca.Key}, certs.ExternalEtcd{}, "no certificate in PEM form"},
		{"another's key", certs.ClusterCA, certs.KeyPair{Cert: ca.Cert, Key: other.Key}, certs.ExternalEtcd{}, "do not belong together"},
		{"no CA", certs.ClusterCA, leaf, certs.ExternalEtcd{}, "is not a CA"},
		{"expired", certs.ClusterCA, expired, certs.ExternalEtcd{}, "expired on"},
		{"not yet valid", certs.ClusterCA, early, certs.ExternalEtcd{}, "not valid before"},
		{"the CA of an external etcd has no key", certs.EtcdCA, certs.KeyPair{Cert: ca.Cert}, external, ""},
		{"a client certificate for an external etcd is no CA", certs.APIServerEtcdClient, leaf, external, ""},
		{"service account keys", certs.ServiceAccount, generate(t, certs.ServiceAccount, certs.Options{}), certs.ExternalEtcd{}, ""},
		{"service account keys as a certificate", certs.ServiceAccount, leaf, certs.ExternalEtcd{}, ""},
		{"service account keys of two", certs.ServiceAccount, certs.KeyPair{Cert: leaf.Cert, Key: ca.Key}, certs.ExternalEtcd{}, "do not belong together"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := certs.NewSecret(types.NamespacedName{Namespace: "ns", Name: "c"}, tc.purpose, tc.pair)
			s.Type = corev1.SecretTypeTLS
			got, err := certs.FromSecret(s, tc.purpose, tc.etcd, now)
			switch {
			case tc.want == "" && (err != nil || !got.Equal(tc.pair)):
				t.Errorf("refused: %v", err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "secret ns/c-")):
				t.Errorf("error %v, want one that says %q and names the secret", err, tc.want)
			}
		})
	}
}

func TestNewSecret_IsNamedTypedAndLabelled(t *testing.T) {
	t.Parallel()
	s := certs.NewSecret(types.NamespacedName{Namespace: "ns", Name: "c"}, certs.FrontProxyCA, certs.KeyPair{})
	if s.Name != "c-proxy" || s.Type != "cluster.x-k8s.io/secret" || s.Labels["cluster.x-k8s.io/cluster-name"] != "c" {
		t.Errorf("secret %s of type %s, labels %v", s.Name, s.Type, s.Labels)
	}
}

func TestParseKey_ReadsWhatToolsWrite(t *testing.T) {
	t.Parallel()
	pair := generate(t, certs.ClusterCA, certs.Options{})
	key, err := certs.ParseKey(pair.Key)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8 := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	// openssl ecparam -genkey puts the parameters first.
	withParameters := append([]byte("-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n"), pair.Key...)
	for _, text := range [][]byte{pkcs8, withParameters} {
		if _, err := certs.ParseKey(text); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	}
}

func TestIssue_IsTrustedForItsHostsAndEndsWithItsCA(t *testing.T) {
	t.Parallel()
	ca := authority(t)
	server, err := ca.IssueTLS(certs.Request{
		CommonName: "kube-apiserver", Hosts: []string{"fd00::10", "10.0.0.1", "kubernetes"}, Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		TTL: 100 * 365 * 24 * time.Hour, Now: now,
	})
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]bool{"[fd00::10]": true, "10.0.0.1": true, "kubernetes": true, "10.0.0.2": false} {
		_, err := server.Leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: ca.Pool(), CurrentTime: now})
		if (err == nil) != want {
			t.Errorf("host %s: %v", host, err)
		}
	}
	if server.Leaf.NotAfter.After(ca.Certificate.NotAfter) {
		t.Errorf("ends %s, after its CA", server.Leaf.NotAfter)
	}
}

func TestHashes_AreKubeadmsPins(t *testing.T) {
	t.Parallel()
	a, b := generate(t, certs.ClusterCA, certs.Options{}), generate(t, certs.ClusterCA, certs.Options{})
	got, err := certs.Hashes(append(append([]byte{}, a.Cert...), b.Cert...))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0] == got[1] || len(got[0]) != len("sha256:")+64 {
		t.Errorf("hashes %v", got)
	}
}

func TestFiles_AreWhereKubeadmLooks(t *testing.T) {
	t.Parallel()
	external := certs.ExternalEtcd{CAFile: "/e/ca.pem", CertFile: "/e/c.pem", KeyFile: "/e/k.pem"}
	for _, tc := range []struct {
		purpose certs.Purpose
		dir     string
		etcd    certs.ExternalEtcd
		want    certs.Files
	}{
		{certs.ClusterCA, "", certs.ExternalEtcd{}, certs.Files{Cert: "/etc/kubernetes/pki/ca.crt", Key: "/etc/kubernetes/pki/ca.key"}},
		{certs.EtcdCA, "/p", certs.ExternalEtcd{}, certs.Files{Cert: "/p/etcd/ca.crt", Key: "/p/etcd/ca.key"}},
		{certs.ServiceAccount, "/p", certs.ExternalEtcd{}, certs.Files{Cert: "/p/sa.pub", Key: "/p/sa.key"}},
		{certs.FrontProxyCA, "/p", external, certs.Files{Cert: "/p/front-proxy-ca.crt", Key: "/p/front-proxy-ca.key"}},
		{certs.EtcdCA, "/p", external, certs.Files{Cert: "/e/ca.pem"}},
		{certs.APIServerEtcdClient, "/p", external, certs.Files{Cert: "/e/c.pem", Key: "/e/k.pem"}},
	} {
		if got := tc.purpose.Files(tc.dir, tc.etcd); got != tc.want {
			t.Errorf("%s: %+v, want %+v", tc.purpose, got, tc.want)
		}
	}
}
