package config_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
	"slipway.dev/slipway/internal/kubeadm/config"
)

// asInit and asJoin are the KubeadmConfigs that a control plane makes of what it is asked for.
func asInit(spec *bootstrapv1.KubeadmConfigSpec) *bootstrapv1.KubeadmConfigSpec {
	out := spec.DeepCopy()
	out.JoinConfiguration = bootstrapv1.JoinConfiguration{}
	return out
}

func asJoin(spec *bootstrapv1.KubeadmConfigSpec) *bootstrapv1.KubeadmConfigSpec {
	out := spec.DeepCopy()
	out.InitConfiguration = bootstrapv1.InitConfiguration{}
	if out.JoinConfiguration.ControlPlane == nil {
		out.JoinConfiguration.ControlPlane = &bootstrapv1.JoinControlPlane{}
	}
	return out
}

type specChange = func(*bootstrapv1.KubeadmConfigSpec)

func TestDiff_IgnoresWhatNeedsNoNewMachine(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]specChange{
		"nothing":      func(*bootstrapv1.KubeadmConfigSpec) {},
		"the endpoint": func(s *bootstrapv1.KubeadmConfigSpec) { s.ClusterConfiguration.ControlPlaneEndpoint = "x:6443" },
		"DNS":          func(s *bootstrapv1.KubeadmConfigSpec) { s.ClusterConfiguration.DNS.ImageTag = "v9" },
		"what the bootstrap controller fills in": func(s *bootstrapv1.KubeadmConfigSpec) {
			s.JoinConfiguration.Discovery.BootstrapToken = bootstrapv1.BootstrapTokenDiscovery{Token: "t", APIServerEndpoint: "x"}
		},
		"the wait for components": func(s *bootstrapv1.KubeadmConfigSpec) {
			s.InitConfiguration.Timeouts.ControlPlaneComponentHealthCheckSeconds = new(int32(1))
			s.JoinConfiguration.Timeouts.ControlPlaneComponentHealthCheckSeconds = new(int32(1))
		},
		"the order of arguments": func(s *bootstrapv1.KubeadmConfigSpec) {
			slices.Reverse(s.InitConfiguration.NodeRegistration.KubeletExtraArgs)
			slices.Reverse(s.JoinConfiguration.NodeRegistration.KubeletExtraArgs)
		},
		"a format that is the default":           func(s *bootstrapv1.KubeadmConfigSpec) { s.Format = bootstrapv1.CloudConfig },
		"a pull policy that is the default":      func(s *bootstrapv1.KubeadmConfigSpec) { s.JoinConfiguration.NodeRegistration.ImagePullPolicy = "" },
		"a certificate directory of the default": func(s *bootstrapv1.KubeadmConfigSpec) { s.ClusterConfiguration.CertificatesDir = "/etc/kubernetes/pki" },
		"empty instead of unset": func(s *bootstrapv1.KubeadmConfigSpec) {
			s.Files = []bootstrapv1.File{}
			s.ClusterConfiguration.Etcd.Local.PeerCertSANs = []string{}
			s.NTP.Servers = []string{}
		},
		"false instead of unset": func(s *bootstrapv1.KubeadmConfigSpec) {
			s.Users = append(s.Users[:0:0], s.Users...)
			s.Users[0].Inactive = new(false)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			have := full()
			have.Users = []bootstrapv1.User{{Name: "u"}}
			want := have.DeepCopy()
			change(want)
			for form, current := range map[string]*bootstrapv1.KubeadmConfigSpec{"init": asInit(have), "join": asJoin(have)} {
				if got := config.Diff(want, current); len(got) > 0 {
					t.Errorf("%s machine would be replaced for %v", form, got)
				}
			}
		})
	}
}

func TestDiff_NamesWhatDiffers(t *testing.T) {
	t.Parallel()
	none := []corev1.Taint{}
	for _, tc := range []struct {
		name       string
		change     specChange
		init, join []string
	}{
		{
			"an argument", func(s *bootstrapv1.KubeadmConfigSpec) { s.ClusterConfiguration.APIServer.ExtraArgs[0].Value = new("x") },
			[]string{"clusterConfiguration.apiServer"}, []string{"clusterConfiguration.apiServer"},
		},
		{
			"taints: [] is not the default", func(s *bootstrapv1.KubeadmConfigSpec) {
				s.InitConfiguration.NodeRegistration.Taints, s.JoinConfiguration.NodeRegistration.Taints = &none, &none
			},
			[]string{"initConfiguration.nodeRegistration"}, []string{"joinConfiguration.nodeRegistration"},
		},
		{
			"what only joining machines read", func(s *bootstrapv1.KubeadmConfigSpec) { s.JoinConfiguration.CACertPath = "/x" },
			nil, []string{"joinConfiguration.caCertPath"},
		},
		{
			"what only the first machine reads", func(s *bootstrapv1.KubeadmConfigSpec) { s.InitConfiguration.SkipPhases = nil },
			[]string{"initConfiguration.skipPhases"}, nil,
		},
		{
			"several, sorted", func(s *bootstrapv1.KubeadmConfigSpec) {
				s.Verbosity = new(int32(5))
				s.PreKubeadmCommands = []string{"x"}
				s.ClusterConfiguration.ImageRepository = ""
			},
			[]string{"clusterConfiguration.imageRepository", "preKubeadmCommands", "verbosity"},
			[]string{"clusterConfiguration.imageRepository", "preKubeadmCommands", "verbosity"},
		},
		{
			"the order of files", func(s *bootstrapv1.KubeadmConfigSpec) { slices.Reverse(s.Files) },
			[]string{"files"}, []string{"files"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			have := full()
			have.Files = []bootstrapv1.File{{Path: "/a", Content: "a"}, {Path: "/b", Content: "b"}}
			want := have.DeepCopy()
			tc.change(want)
			if diff := cmp.Diff(tc.init, config.Diff(want, asInit(have)), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("init machine:\n%s", diff)
			}
			if diff := cmp.Diff(tc.join, config.Diff(want, asJoin(have)), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("joined machine:\n%s", diff)
			}
		})
	}
}

// A spec that went to the API server and back is the same spec, and comparing changes nothing.
func TestDiff_IsEmptyForASpecAndItsStoredForm(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		spec := drawSpec(t)
		text, err := json.Marshal(spec)
		if err != nil {
			t.Fatal(err)
		}
		var stored bootstrapv1.KubeadmConfigSpec
		if err := json.Unmarshal(text, &stored); err != nil {
			t.Fatal(err)
		}
		before := spec.DeepCopy()
		for _, current := range []*bootstrapv1.KubeadmConfigSpec{asInit(&stored), asJoin(&stored)} {
			if got := config.Diff(spec, current); len(got) > 0 {
				t.Fatalf("differs in %v: %s", got, text)
			}
		}
		if diff := cmp.Diff(before, spec); diff != "" {
			t.Fatalf("the input was changed:\n%s", diff)
		}
	})
}

func drawSpec(t *rapid.T) *bootstrapv1.KubeadmConfigSpec {
	spec := full()
	word := rapid.SampledFrom([]string{"", "a", "b c", "#"})
	for _, args := range []*[]bootstrapv1.Arg{
		&spec.ClusterConfiguration.Scheduler.ExtraArgs, &spec.ClusterConfiguration.Etcd.Local.ExtraArgs, &spec.JoinConfiguration.NodeRegistration.KubeletExtraArgs,
	} {
		*args = nil
		for _, name := range rapid.SliceOfDistinct(rapid.StringMatching("[a-z]{1,3}"), rapid.ID[string]).Draw(t, "names") {
			*args = append(*args, bootstrapv1.Arg{Name: name, Value: new(word.Draw(t, "value"))})
		}
	}
	if rapid.Bool().Draw(t, "tainted") {
		taints := make([]corev1.Taint, rapid.IntRange(0, 2).Draw(t, "taints"))
		spec.JoinConfiguration.NodeRegistration.Taints = &taints
	}
	spec.PreKubeadmCommands = rapid.SliceOfN(word, 0, 2).Draw(t, "pre")
	spec.Files = []bootstrapv1.File{{Path: "/a", Content: word.Draw(t, "content"), Append: rapid.Ptr(rapid.Bool(), true).Draw(t, "append")}}
	return spec
}
