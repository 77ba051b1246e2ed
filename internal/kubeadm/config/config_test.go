package config_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/blang/semver/v4"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"

	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
	"slipway.dev/slipway/internal/kubeadm/config"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-golden +got):\n%s", name, diff)
	}
}

// full says something in every part of a KubeadmConfig that kubeadm reads.
func full() *bootstrapv1.KubeadmConfigSpec {
	node := bootstrapv1.NodeRegistrationOptions{
		Name: "{{ ds.meta_data.local_hostname }}", CRISocket: "unix:///run/containerd/containerd.sock",
		KubeletExtraArgs: []bootstrapv1.Arg{{Name: "v", Value: new("2")}, {Name: "cloud-provider", Value: new("external")}},
		ImagePullPolicy:  corev1.PullIfNotPresent, ImagePullSerial: new(false), IgnorePreflightErrors: []string{"Swap"},
	}
	times := bootstrapv1.Timeouts{ControlPlaneComponentHealthCheckSeconds: new(int32(240)), TLSBootstrapSeconds: new(int32(300))}
	spec := &bootstrapv1.KubeadmConfigSpec{
		ClusterConfiguration: bootstrapv1.ClusterConfiguration{
			APIServer: bootstrapv1.APIServer{
				ExtraArgs: []bootstrapv1.Arg{{Name: "audit-log-path", Value: new("/var/log/a b#c.log")}},
				ExtraVolumes: []bootstrapv1.HostPathMount{{
					Name: "audit", HostPath: "/var/log", MountPath: "/var/log", ReadOnly: new(true), PathType: corev1.HostPathDirectory,
				}},
				ExtraEnvs: []bootstrapv1.EnvVar{{EnvVar: corev1.EnvVar{Name: "GODEBUG", Value: "x=1"}}},
				CertSANs:  []string{"api.example.com"},
			},
			Etcd:         bootstrapv1.Etcd{Local: bootstrapv1.LocalEtcd{DataDir: "/data/etcd", ExtraArgs: []bootstrapv1.Arg{{Name: "quota-backend-bytes", Value: new("8589934592")}}}},
			DNS:          bootstrapv1.DNS{ImageTag: "v1.14.6"},
			FeatureGates: map[string]bool{"RootlessControlPlane": false}, EncryptionAlgorithm: bootstrapv1.EncryptionAlgorithmECDSAP256,
			CertificateValidityPeriodDays: 90, ImageRepository: "mirror.example.com/k8s",
		},
		InitConfiguration: bootstrapv1.InitConfiguration{
			BootstrapTokens:  []bootstrapv1.BootstrapToken{{Token: "abcdef.0123456789abcdef", TTLSeconds: new(int32(0))}},
			NodeRegistration: node, LocalAPIEndpoint: bootstrapv1.APIEndpoint{AdvertiseAddress: "10.0.0.5", BindPort: 6443},
			SkipPhases: []string{"addon/kube-proxy"}, Patches: bootstrapv1.Patches{Directory: "/etc/patches"}, Timeouts: times,
		},
		JoinConfiguration: bootstrapv1.JoinConfiguration{NodeRegistration: node, Timeouts: times},
	}
	return spec
}

func cluster(version string) config.Cluster {
	return config.Cluster{
		Name: "demo", KubernetesVersion: semver.MustParse(version), Endpoint: "[fd00::10]:6443",
		PodCIDRs: []string{"10.244.0.0/16", "fd01::/48"}, ServiceCIDRs: []string{"10.96.0.0/12"}, DNSDomain: "cluster.local",
	}
}

func trust() config.Trust {
	return config.Trust{Endpoint: "[fd00::10]:6443", Token: "abcdef.0123456789abcdef", CACertHashes: []string{"sha256:00"}}
}

func TestMarshal_WritesWhatEachKubeadmReads(t *testing.T) {
	t.Parallel()
	join, err := config.ForJoin(full(), config.ControlPlane, trust())
	if err != nil {
		t.Fatal(err)
	}
	worker, err := config.ForJoin(full(), config.Worker, trust())
	if err != nil {
		t.Fatal(err)
	}
	lost := []string{
		"encryptionAlgorithm", "certificateValidityPeriod", "apiServer.extraEnvs", "nodeRegistration.imagePullSerial",
	}
	for _, tc := range []struct {
		golden  string
		docs    config.Documents
		version config.Version
		dropped []string
	}{
		{"init-v1beta4.yaml", config.ForInit(full(), cluster("1.37.2")), config.V1Beta4, nil},
		{"init-v1beta3.yaml", config.ForInit(full(), cluster("1.30.4")), config.V1Beta3, lost},
		{"join-v1beta4.yaml", join, config.V1Beta4, nil},
		{"join-v1beta3.yaml", join, config.V1Beta3, lost[3:]},
		{"worker-v1beta4.yaml", worker, config.V1Beta4, nil},
	} {
		t.Run(tc.golden, func(t *testing.T) {
			t.Parallel()
			text, dropped, err := tc.docs.Marshal(tc.version)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, tc.golden, text)
			if diff := cmp.Diff(tc.dropped, dropped, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("dropped (-want +got):\n%s", diff)
			}
			back, err := config.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			if tc.version != config.V1Beta4 {
				return
			}
			if diff := cmp.Diff(tc.docs, back, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("read back (-written +read):\n%s", diff)
			}
		})
	}
}

func TestVersionFor_FollowsTheMachine(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]config.Version{
		"1.21.0": "", "1.22.0": config.V1Beta3, "1.30.9": config.V1Beta3, "1.31.0-alpha.1": config.V1Beta4, "1.31.0": config.V1Beta4, "1.40.0": config.V1Beta4, "2.0.0": config.V1Beta4,
	} {
		got, err := config.VersionFor(semver.MustParse(version))
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", version, got, err)
		}
	}
}

func TestTaints_UnsetAndEmptyStayApart(t *testing.T) {
	t.Parallel()
	some := []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}
	for _, tc := range []struct {
		name   string
		taints *[]corev1.Taint
	}{{"unset", nil}, {"empty", &[]corev1.Taint{}}, {"some", &some}} {
		for _, version := range []config.Version{config.V1Beta3, config.V1Beta4} {
			t.Run(tc.name+" "+string(version), func(t *testing.T) {
				t.Parallel()
				spec := &bootstrapv1.KubeadmConfigSpec{}
				spec.InitConfiguration.NodeRegistration.Taints = tc.taints
				text, _, err := config.ForInit(spec, cluster("1.37.2")).Marshal(version)
				if err != nil {
					t.Fatal(err)
				}
				got, err := config.Parse(text)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tc.taints, got.Init.NodeRegistration.Taints); diff != "" {
					t.Errorf("%s\n%s", diff, text)
				}
			})
		}
	}
}

func TestForJoin_TaintsWorkersAndLeavesControlPlanesToKubeadm(t *testing.T) {
	t.Parallel()
	uninitialized := config.UninitializedTaint()
	own := corev1.Taint{Key: "own", Effect: corev1.TaintEffectNoExecute}
	for _, tc := range []struct {
		name  string
		role  config.Role
		given *[]corev1.Taint
		want  *[]corev1.Taint
	}{
		{"a control plane keeps kubeadm's default", config.ControlPlane, nil, nil},
		{"a control plane without taints stays so", config.ControlPlane, &[]corev1.Taint{}, &[]corev1.Taint{}},
		{"a worker", config.Worker, nil, &[]corev1.Taint{uninitialized}},
		{"a worker with its own", config.Worker, &[]corev1.Taint{own}, &[]corev1.Taint{own, uninitialized}},
		{"a worker that has it already", config.Worker, &[]corev1.Taint{uninitialized}, &[]corev1.Taint{uninitialized}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			spec := &bootstrapv1.KubeadmConfigSpec{}
			spec.JoinConfiguration.NodeRegistration.Taints = tc.given
			before := spec.DeepCopy()
			got, err := config.ForJoin(spec, tc.role, trust())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got.Join.NodeRegistration.Taints); diff != "" {
				t.Error(diff)
			}
			if (got.Join.ControlPlane != nil) != (tc.role == config.ControlPlane) {
				t.Errorf("controlPlane is %v", got.Join.ControlPlane)
			}
			if diff := cmp.Diff(before, spec); diff != "" {
				t.Errorf("the input was changed:\n%s", diff)
			}
		})
	}
}

func TestForJoin_KeepsWhatTheUserSaysAboutDiscovery(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		given bootstrapv1.Discovery
		want  config.Discovery
		needs bool
	}{
		{"nothing", bootstrapv1.Discovery{}, config.Discovery{BootstrapToken: &config.BootstrapTokenDiscovery{
			Token: trust().Token, APIServerEndpoint: trust().Endpoint, CACertHashes: trust().CACertHashes,
		}}, true},
		{
			"a token and no check of the CA",
			bootstrapv1.Discovery{BootstrapToken: bootstrapv1.BootstrapTokenDiscovery{Token: "zzzzzz.0123456789abcdef", UnsafeSkipCAVerification: new(true)}},
			config.Discovery{BootstrapToken: &config.BootstrapTokenDiscovery{
				Token: "zzzzzz.0123456789abcdef", APIServerEndpoint: trust().Endpoint, UnsafeSkipCAVerification: true,
			}}, false,
		},
		{
			"a file", bootstrapv1.Discovery{File: bootstrapv1.FileDiscovery{KubeConfigPath: "/run/k"}},
			config.Discovery{File: &config.FileDiscovery{KubeConfigPath: "/run/k"}}, false,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			spec := &bootstrapv1.KubeadmConfigSpec{}
			spec.JoinConfiguration.Discovery = tc.given
			got, err := config.ForJoin(spec, config.Worker, trust())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got.Join.Discovery); diff != "" {
				t.Error(diff)
			}
			if got := config.NeedsToken(spec); got != tc.needs {
				t.Errorf("needs a token: %t", got)
			}
		})
	}
}

func TestForJoin_RefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	spec := &bootstrapv1.KubeadmConfigSpec{}
	if _, err := config.ForJoin(spec, config.Worker, config.Trust{Endpoint: "x:6443", Token: "t"}); err == nil || !strings.Contains(err.Error(), "CA is not known") {
		t.Errorf("without a CA: %v", err)
	}
	spec.JoinConfiguration.ControlPlane = &bootstrapv1.JoinControlPlane{}
	if _, err := config.ForJoin(spec, config.Worker, trust()); err == nil || !strings.Contains(err.Error(), "is a worker") {
		t.Errorf("a worker with controlPlane: %v", err)
	}
}

func TestDiscoveryKubeconfig_DefaultsToTheCluster(t *testing.T) {
	t.Parallel()
	f := bootstrapv1.FileDiscovery{KubeConfigPath: "/run/k"}
	if got, err := config.DiscoveryKubeconfig(f, "https://x:6443", []byte("CA")); err != nil || got != nil {
		t.Errorf("nothing to write, but got %q, %v", got, err)
	}
	f.KubeConfig.User.Exec = bootstrapv1.KubeConfigAuthExec{Command: "aws-iam-authenticator", Args: []string{"token"}, Env: []bootstrapv1.KubeConfigAuthExecEnv{{Name: "A", Value: "b"}}}
	got, err := config.DiscoveryKubeconfig(f, "https://x:6443", []byte("CA"))
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "discovery-kubeconfig.yaml", got)
}

func TestParse_NamesWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	head := "apiVersion: kubeadm.k8s.io/v1beta4\nkind: InitConfiguration\n"
	for _, tc := range []struct{ name, text, want string }{
		{"a field", head + "nodeRegistration:\n  nmae: x\n", `InitConfiguration: error unmarshaling JSON: while decoding JSON: json: unknown field "nmae"`},
		{"a field twice", head + "skipPhases: []\nskipPhases: []\n", "skipPhases"},
		{"a kind", "apiVersion: kubeadm.k8s.io/v1beta4\nkind: Foo\n", `kind "Foo"`},
		{"a version", "apiVersion: kubeadm.k8s.io/v1beta1\nkind: InitConfiguration\n", `"kubeadm.k8s.io/v1beta1"`},
		{"a document twice", head + "---\n" + head, "is there twice"},
		{"arguments of another version", head + "nodeRegistration:\n  kubeletExtraArgs:\n    v: '2'\n", "kubeletExtraArgs"},
		{"nothing", "# empty\n", "no document"},
		{"no YAML", "{", "yaml"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := config.Parse([]byte(tc.text))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one that says %s", err, tc.want)
			}
		})
	}
}

func TestForInit_KeepsControlPlaneKubeletsLocalWhereThatIsNotTheDefault(t *testing.T) {
	t.Parallel()
	const gate = "ControlPlaneKubeletLocalMode"
	for _, tc := range []struct {
		version   string
		given     map[string]bool
		on, there bool
	}{
		{"1.30.0", nil, false, false}, {"1.31.0", nil, true, true}, {"1.32.1", nil, true, true}, {"1.33.0", nil, false, false},
		{"1.31.0", map[string]bool{gate: false}, false, true},
	} {
		spec := &bootstrapv1.KubeadmConfigSpec{}
		spec.ClusterConfiguration.FeatureGates = tc.given
		on, there := config.ForInit(spec, cluster(tc.version)).Cluster.FeatureGates[gate]
		if on != tc.on || there != tc.there {
			t.Errorf("%s given %v: %t, %t", tc.version, tc.given, on, there)
		}
	}
}
