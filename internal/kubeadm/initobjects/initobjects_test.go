package initobjects_test

import (
	"testing"
	"time"

	"github.com/blang/semver/v4"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/cluster-bootstrap/token/jws"

	"slipway.dev/slipway/internal/kubeadm/certs"
	"slipway.dev/slipway/internal/kubeadm/config"
	"slipway.dev/slipway/internal/kubeadm/initobjects"
	"slipway.dev/slipway/internal/kubeadm/token"
)

var version = semver.MustParse("1.37.2")

func newCA(t *testing.T) certs.KeyPair {
	t.Helper()
	ca, err := certs.Generate(certs.ClusterCA, certs.Options{Algorithm: certs.ECDSAP256, Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

func TestObjects_HaveKindNamesAndNoDuplicates(t *testing.T) {
	t.Parallel()
	objects, err := initobjects.Objects(initobjects.Params{
		Cluster: config.ClusterConfiguration{ClusterName: "c"}, KubernetesVersion: version, Server: "https://10.0.0.1:6443", CAPEM: newCA(t).Cert,
	})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, o := range append(objects, initobjects.BootstrapPolicy()...) {
		kind := o.GetObjectKind().GroupVersionKind()
		accessor, err := meta.Accessor(o)
		if err != nil {
			t.Fatal(err)
		}
		key := kind.String() + " " + accessor.GetNamespace() + "/" + accessor.GetName()
		if kind.Kind == "" || kind.Version == "" || accessor.GetName() == "" || seen[key] {
			t.Errorf("%s: unnamed, untyped or there twice", key)
		}
		seen[key] = true
	}
	for _, key := range []string{
		"/v1, Kind=ConfigMap kube-system/kubeadm-config", "/v1, Kind=ConfigMap kube-system/kubelet-config", "/v1, Kind=ConfigMap kube-public/cluster-info",
		"rbac.authorization.k8s.io/v1, Kind=Role kube-system/kubeadm:nodes-kubeadm-config",
		"rbac.authorization.k8s.io/v1, Kind=ClusterRoleBinding /kubeadm:get-nodes",
	} {
		if !seen[key] {
			t.Errorf("%s is missing", key)
		}
	}
}

func TestKubeadmConfigMap_IsReadBack(t *testing.T) {
	t.Parallel()
	cm, err := initobjects.KubeadmConfigMap(config.ClusterConfiguration{ClusterName: "c", KubernetesVersion: "v1.37.2"}, version)
	if err != nil {
		t.Fatal(err)
	}
	got, err := config.ParseStored(cm.Data)
	if err != nil {
		t.Fatal(err)
	}
	if got.ClusterName != "c" || got.Etcd.Local.DataDir != "/var/lib/etcd" || got.ImageRepository != "registry.k8s.io" {
		t.Errorf("read back: %+v", got)
	}
}

func TestSigned_IsWhatKubernetesSigns(t *testing.T) {
	t.Parallel()
	info, err := initobjects.ClusterInfo("https://10.0.0.1:6443", newCA(t).Cert)
	if err != nil {
		t.Fatal(err)
	}
	tok := token.Token{ID: "abcdef", Secret: "0123456789abcdef"}
	want, err := jws.ComputeDetachedSignature(info.Data["kubeconfig"], tok.ID, tok.Secret)
	if err != nil {
		t.Fatal(err)
	}
	if got := initobjects.Signed(info, tok).Data["jws-kubeconfig-abcdef"]; got != want {
		t.Errorf("signature %q, Kubernetes makes %q", got, want)
	}
}

func TestDiscover_TrustsOnlyWhatIsSignedAndPinned(t *testing.T) {
	t.Parallel()
	ca := newCA(t)
	pins, err := certs.Hashes(ca.Cert)
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := certs.Hashes(newCA(t).Cert)
	if err != nil {
		t.Fatal(err)
	}
	info, err := initobjects.ClusterInfo("https://10.0.0.1:6443", ca.Cert)
	if err != nil {
		t.Fatal(err)
	}
	good := token.Token{ID: "abcdef", Secret: "0123456789abcdef"}
	signed := initobjects.Signed(info, good)
	tampered := signed.DeepCopy()
	tampered.Data["kubeconfig"] += "\n# changed"
	for _, tc := range []struct {
		name  string
		info  *corev1.ConfigMap
		token token.Token
		pins  []string
		ok    bool
	}{
		{"the right token and pin", signed, good, pins, true},
		{"no pin is no check", signed, good, nil, true},
		{"another CA is pinned", signed, good, foreign, false},
		{"one of two pins is enough", signed, good, append(foreign, pins...), true},
		{"the token is not known", signed, token.Token{ID: "zzzzzz", Secret: good.Secret}, pins, false},
		{"the token's secret is wrong", signed, token.Token{ID: good.ID, Secret: "ffffffffffffffff"}, pins, false},
		{"the content was changed", tampered, good, pins, false},
		{"it is not signed", info, good, pins, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := initobjects.Discover(tc.info, tc.token, tc.pins)
			if (err == nil) != tc.ok {
				t.Fatalf("error %v, want success %t", err, tc.ok)
			}
			if tc.ok && got.Server != "https://10.0.0.1:6443" {
				t.Errorf("server %q", got.Server)
			}
		})
	}
}

func TestImagesOf_FollowRepositoriesAndTags(t *testing.T) {
	t.Parallel()
	got := initobjects.ImagesOf(config.ClusterConfiguration{}, version)
	if got.APIServer != "registry.k8s.io/kube-apiserver:v1.37.2" || got.CoreDNS != "registry.k8s.io/coredns/coredns:v1.14.6" || got.Etcd != "registry.k8s.io/etcd:3.7.0-0" {
		t.Errorf("defaults: %+v", got)
	}
	got = initobjects.ImagesOf(config.ClusterConfiguration{
		ImageRepository: "mirror/k8s",
		DNS:             config.DNS{ImageMeta: config.ImageMeta{ImageTag: "v9"}},
		Etcd:            config.Etcd{Local: &config.LocalEtcd{ImageMeta: config.ImageMeta{ImageRepository: "mirror/etcd", ImageTag: "3.9"}}},
	}, version)
	if got.Scheduler != "mirror/k8s/kube-scheduler:v1.37.2" || got.CoreDNS != "mirror/k8s/coredns:v9" || got.Etcd != "mirror/etcd/etcd:3.9" {
		t.Errorf("overridden: %+v", got)
	}
}
