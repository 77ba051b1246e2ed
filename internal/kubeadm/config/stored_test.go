package config_test

import (
	"strings"
	"testing"

	"github.com/blang/semver/v4"
	"github.com/google/go-cmp/cmp"

	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
	"slipway.dev/slipway/internal/kubeadm/config"
)

const stored = `apiServer: {}
apiVersion: kubeadm.k8s.io/v1beta4
caCertificateValidityPeriod: 87600h0m0s
certificateValidityPeriod: 8760h0m0s
certificatesDir: /etc/kubernetes/pki
clusterName: demo
controlPlaneEndpoint: 10.0.0.1:6443
controllerManager: {}
dns:
  imageTag: v1.12.0
encryptionAlgorithm: RSA-2048
etcd:
  local:
    dataDir: /var/lib/etcd
fieldOfATimeToCome: kept
imageRepository: registry.k8s.io
kind: ClusterConfiguration
kubernetesVersion: v1.36.1
networking:
  dnsDomain: cluster.local
  podSubnet: 10.244.0.0/16
  serviceSubnet: 10.96.0.0/12
proxy: {}
scheduler: {}
`

func TestUpdateStored_FollowsTheControlPlaneAndKeepsTheRest(t *testing.T) {
	t.Parallel()
	spec := bootstrapv1.ClusterConfiguration{
		APIServer:       bootstrapv1.APIServer{ExtraArgs: []bootstrapv1.Arg{{Name: "v", Value: new("4")}}},
		Etcd:            bootstrapv1.Etcd{Local: bootstrapv1.LocalEtcd{ImageTag: "3.7.0-0"}},
		DNS:             bootstrapv1.DNS{ImageTag: "v9"},
		ImageRepository: "mirror",
	}
	got, changed, err := config.UpdateStored(stored, semver.MustParse("1.37.2"), spec)
	if err != nil || !changed {
		t.Fatal(changed, err)
	}
	want := strings.NewReplacer(
		"apiServer: {}", "apiServer:\n  extraArgs:\n  - name: v\n    value: \"4\"",
		"controllerManager: {}\n", "", "scheduler: {}\n", "",
		"    dataDir: /var/lib/etcd", "    dataDir: /var/lib/etcd\n    imageTag: 3.7.0-0",
		"registry.k8s.io", "mirror", "v1.36.1", "v1.37.2",
	).Replace(stored)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	again, changed, err := config.UpdateStored(got, semver.MustParse("1.37.2"), spec)
	if err != nil || changed || again != got {
		t.Errorf("a second time: changed %t, %v", changed, err)
	}
}

func TestUpdateStored_ChangesNothingWhereOnlyKubeadmsDefaultsStand(t *testing.T) {
	t.Parallel()
	got, changed, err := config.UpdateStored(stored, semver.MustParse("1.36.1"), bootstrapv1.ClusterConfiguration{})
	if err != nil || changed || got != stored {
		t.Errorf("changed %t, %v", changed, err)
	}
}

func TestUpdateStored_MovesToTheVersionThatTheNewKubeadmReads(t *testing.T) {
	t.Parallel()
	old := strings.NewReplacer("v1beta4", "v1beta3", "apiServer: {}", "apiServer:\n  extraArgs:\n    v: \"2\"\n  timeoutForControlPlane: 4m0s",
		"proxy: {}\n", "", "fieldOfATimeToCome: kept\n", "", "v1.36.1", "v1.30.4", "encryptionAlgorithm: RSA-2048\n", "",
		"caCertificateValidityPeriod: 87600h0m0s\n", "", "certificateValidityPeriod: 8760h0m0s\n", "").Replace(stored)
	spec := bootstrapv1.ClusterConfiguration{APIServer: bootstrapv1.APIServer{ExtraArgs: []bootstrapv1.Arg{{Name: "v", Value: new("2")}}}}
	if _, changed, err := config.UpdateStored(old, semver.MustParse("1.30.4"), spec); err != nil || changed {
		t.Errorf("within 1.30: changed %t, %v", changed, err)
	}
	got, changed, err := config.UpdateStored(old, semver.MustParse("1.31.0"), spec)
	if err != nil || !changed {
		t.Fatal(changed, err)
	}
	docs, err := config.Parse([]byte(got))
	if err != nil {
		t.Fatal(err)
	}
	c := docs.Cluster
	if !strings.Contains(got, "kubeadm.k8s.io/v1beta4") || c.KubernetesVersion != "v1.31.0" || c.ClusterName != "demo" ||
		c.Networking.PodSubnet != "10.244.0.0/16" || len(c.APIServer.ExtraArgs) != 1 || !c.FeatureGates["ControlPlaneKubeletLocalMode"] {
		t.Errorf("moved to:\n%s", got)
	}
	if _, _, err := config.UpdateStored(strings.Replace(old, "dns:", "unknownField: 1\ndns:", 1), semver.MustParse("1.31.0"), spec); err == nil || !strings.Contains(err.Error(), "unknownField") {
		t.Errorf("a field that cannot be moved: %v", err)
	}
}

func TestParseStored_SaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	if _, err := config.ParseStored(nil); err == nil || !strings.Contains(err.Error(), "ClusterConfiguration is missing") {
		t.Errorf("error %v", err)
	}
	if _, err := config.ParseStored(map[string]string{"ClusterConfiguration": "apiVersion: x/v1\n"}); err == nil {
		t.Error("another API was read")
	}
	got, err := config.ParseStored(map[string]string{"ClusterConfiguration": stored})
	if err != nil || got.KubernetesVersion != "v1.36.1" {
		t.Errorf("%+v, %v", got, err)
	}
}
