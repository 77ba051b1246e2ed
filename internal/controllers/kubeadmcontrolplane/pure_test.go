package kubeadmcontrolplane

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
	"slipway.dev/slipway/internal/conditions"
	"slipway.dev/slipway/internal/kubeadm/config"
	"slipway.dev/slipway/internal/plan"
	"slipway.dev/slipway/internal/remote"
)

func TestPatience_TellsOnce(t *testing.T) {
	t.Parallel()
	p, start := newPatience(), time.Unix(1000, 0)
	const owner = types.UID("a")
	if due, wait := p.lost(owner, start); due || wait != patienceFor {
		t.Errorf("at first: %v, %v", due, wait)
	}
	if due, _ := p.lost(owner, start.Add(patienceFor)); !due {
		t.Error("not due when it has lasted")
	}
	if due, wait := p.lost(owner, start.Add(2*patienceFor)); due || wait != 0 {
		t.Errorf("again: %v, %v", due, wait)
	}
	p.forget(owner)
	if due, _ := p.lost(owner, start.Add(3*patienceFor)); due {
		t.Error("due at once after it was well")
	}
}

func TestMemberLog_IsBelievedUntilSomethingHappens(t *testing.T) {
	t.Parallel()
	l, start := newMemberLog(), time.Unix(1000, 0)
	const owner = types.UID("a")
	l.remember(owner, "print", []remote.Member{{Name: "n"}}, start)
	if members, left := l.recall(owner, "print", start.Add(time.Minute)); len(members) != 1 || left != etcdInterval-time.Minute {
		t.Errorf("%v, %v", members, left)
	}
	for name, left := range map[string]func() time.Duration{
		"another print": func() time.Duration { _, left := l.recall(owner, "other", start); return left },
		"too old":       func() time.Duration { _, left := l.recall(owner, "print", start.Add(etcdInterval)); return left },
		"another owner": func() time.Duration { _, left := l.recall("b", "print", start); return left },
	} {
		if left() > 0 {
			t.Errorf("%s: believed", name)
		}
	}
}

func TestCompare_RanksWhatDiffers(t *testing.T) {
	t.Parallel()
	base := func() *controlplanev1.KubeadmControlPlaneStatus {
		return &controlplanev1.KubeadmControlPlaneStatus{
			Replicas: new(int32(1)), ObservedGeneration: 1,
			Conditions: []metav1.Condition{
				conditions.False(clusterv1.AvailableCondition, "NotAvailable", "x"), conditions.True(clusterv1.ScalingUpCondition, "ScalingUp", "y"),
			},
		}
	}
	for _, tt := range []struct {
		name   string
		change func(*controlplanev1.KubeadmControlPlaneStatus)
		want   difference
	}{
		{"nothing", func(*controlplanev1.KubeadmControlPlaneStatus) {}, same},
		{"a message", func(s *controlplanev1.KubeadmControlPlaneStatus) { s.Conditions[1].Message = "z" }, words},
		{"a counter", func(s *controlplanev1.KubeadmControlPlaneStatus) { s.Replicas = new(int32(2)) }, numbers},
		{"the generation", func(s *controlplanev1.KubeadmControlPlaneStatus) { s.ObservedGeneration = 2 }, numbers},
		{"a condition", func(s *controlplanev1.KubeadmControlPlaneStatus) { s.Conditions[1].Status = metav1.ConditionFalse }, numbers},
		{"availability", func(s *controlplanev1.KubeadmControlPlaneStatus) { s.Conditions[0].Status = metav1.ConditionTrue }, milestone},
		{"initialized", func(s *controlplanev1.KubeadmControlPlaneStatus) {
			s.Initialization.ControlPlaneInitialized = new(true)
		}, milestone},
	} {
		changed := base()
		tt.change(changed)
		if got := compare(base(), changed); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestConfigDiffers_NotForWhatOthersChanged(t *testing.T) {
	t.Parallel()
	want := &bootstrapv1.KubeadmConfigSpec{PreKubeadmCommands: []string{"echo"}}
	made := func(fingerprinted bool) *bootstrapv1.KubeadmConfig {
		c := &bootstrapv1.KubeadmConfig{Spec: *want.DeepCopy()}
		c.Spec.JoinConfiguration.ControlPlane = &bootstrapv1.JoinControlPlane{}
		c.Spec.Files = []bootstrapv1.File{{Path: "/by/admission"}}
		if fingerprinted {
			asked, err := config.Fingerprint(want, true)
			if err != nil {
				t.Fatal(err)
			}
			c.Annotations = map[string]string{fingerprintAnnotation: asked}
		}
		return c
	}
	changed := &bootstrapv1.KubeadmConfigSpec{PreKubeadmCommands: []string{"echo", "more"}}
	tolerated := want.DeepCopy()
	tolerated.ClusterConfiguration.DNS.ImageTag, tolerated.Format = "v1", bootstrapv1.CloudConfig
	for _, tt := range []struct {
		name    string
		want    *bootstrapv1.KubeadmConfigSpec
		config  *bootstrapv1.KubeadmConfig
		differs bool
	}{
		{"as it was asked for", want, made(true), false},
		{"a default spelt out, and DNS", tolerated, made(true), false},
		{"asked for something else", changed, made(true), true},
		{"nothing recorded", want, made(false), true},
		{"no KubeadmConfig", want, nil, false},
	} {
		got, err := configDiffers(tt.want, tt.config)
		if err != nil || (len(got) > 0) != tt.differs {
			t.Errorf("%s: %v, %v", tt.name, got, err)
		}
	}
}

func TestMachineOf_FindsMembersByNodeNameOrAddress(t *testing.T) {
	t.Parallel()
	named := func(name, node, address string) *machine {
		m := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: name}}
		m.Status.NodeRef.Name = node
		m.Status.Addresses = clusterv1.MachineAddresses{{Address: address}}
		return &machine{Machine: m}
	}
	s := &scene{machines: []*machine{named("m1", "node-1", "10.0.0.1"), named("m2", "", "10.0.0.2"), named("m3", "m2", "fd00::3")}}
	for _, tt := range []struct {
		member remote.Member
		want   string
	}{
		{remote.Member{Name: "node-1"}, "m1"},
		{remote.Member{Name: "m2"}, "m3"}, // A Node's name goes before a Machine's.
		{remote.Member{Name: "m1"}, ""},
		{remote.Member{PeerURLs: []string{"https://10.0.0.2:2380"}}, "m2"},
		{remote.Member{PeerURLs: []string{"https://[fd00::3]:2380"}}, "m3"},
		{remote.Member{PeerURLs: []string{"https://10.0.0.9:2380"}}, ""},
		// kubelet named the Node otherwise, and the Node is not known yet.
		{remote.Member{Name: "ip-10-0-0-2", PeerURLs: []string{"https://10.0.0.2:2380"}}, "m2"},
		// The address of a Machine that is no more went to another one.
		{remote.Member{Name: "node-0", PeerURLs: []string{"https://10.0.0.1:2380"}}, ""},
	} {
		if got := s.machineOf(tt.member); got != tt.want {
			t.Errorf("%+v is on %q, want %q", tt.member, got, tt.want)
		}
	}
	if f := s.etcdFacts(nil, false); f.Known != plan.Unknown {
		t.Error("members that were not read are known")
	}
}
