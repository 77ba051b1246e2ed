package plan

import (
	"fmt"
	"strings"
	"testing"
)

// master returns a healthy, up-to-date control-plane Machine; its number gives its name and age (the lower the older).
func master(n int, domain string, changes ...func(*ControlPlaneMachine)) ControlPlaneMachine {
	m := ControlPlaneMachine{Name: fmt.Sprintf("cp-%d", n), Created: at(n), FailureDomain: domain, HasNode: true,
		APIServer: True, ControllerManager: True, Scheduler: True, EtcdPod: True, EtcdMember: True}
	for _, change := range changes {
		change(&m)
	}
	return m
}

func stale(m *ControlPlaneMachine)        { m.Outdated = []string{"Version v1.36.0, v1.37.0 required"} }
func leaving(m *ControlPlaneMachine)      { m.Deleting = true }
func markedMaster(m *ControlPlaneMachine) { m.DeleteAnnotated = true }
func noEtcd(m *ControlPlaneMachine)       { m.EtcdPod, m.EtcdMember = False, False }
func silent(m *ControlPlaneMachine)       { m.APIServer = Unknown }
func nodeless(m *ControlPlaneMachine)     { m.HasNode = false }

// controlPlane returns facts of a running control plane with healthy etcd members on its Machines.
func controlPlane(replicas int32, machines ...ControlPlaneMachine) ControlPlaneFacts {
	f := ControlPlaneFacts{Replicas: replicas, MaxSurge: 1, Machines: machines, Initialized: true, InfrastructureReady: true,
		CertificatesReady: true, EndpointReady: true, EtcdManaged: true, Etcd: EtcdFacts{Known: True}}
	for i, m := range machines {
		f.Etcd.Members = append(f.Etcd.Members, Member{ID: uint64(i + 1), Name: m.Name, Machine: m.Name, Healthy: True, Leader: i == 0})
	}
	for _, d := range []string{"a", "b", "c"} {
		f.Domains = append(f.Domains, FailureDomain{Name: d, ControlPlane: true})
	}
	f.Domains = append(f.Domains, FailureDomain{Name: "workers-only"})
	return f
}

func TestControlPlane_NextStep(t *testing.T) {
	t.Parallel()
	change := func(f ControlPlaneFacts, changes ...func(*ControlPlaneFacts)) ControlPlaneFacts {
		for _, c := range changes {
			c(&f)
		}
		return f
	}
	tests := []struct {
		name   string
		f      ControlPlaneFacts
		want   ActionKind
		target string // the Machine or the failure domain
		says   string
	}{
		{"infrastructure first", change(controlPlane(3), func(f *ControlPlaneFacts) { f.InfrastructureReady = false }), WaitAction, "", "infrastructure"},
		{"then certificates", change(controlPlane(3), func(f *ControlPlaneFacts) { f.CertificatesReady = false }), WaitAction, "", "certificates"},
		{"then the endpoint", change(controlPlane(3), func(f *ControlPlaneFacts) { f.EndpointReady = false }), WaitAction, "", "endpoint"},
		{"the first Machine", change(controlPlane(3), func(f *ControlPlaneFacts) { f.Initialized = false }), InitAction, "a", "first"},
		{"the first one comes up", change(controlPlane(3, master(1, "a")), func(f *ControlPlaneFacts) { f.Initialized = false }), WaitAction, "", "cp-1 to initialize"},
		{"all lost after init", controlPlane(3), WaitAction, "", "backup"},
		{"all lost after init, with external etcd", change(controlPlane(3), func(f *ControlPlaneFacts) { f.EtcdManaged, f.Etcd = false, EtcdFacts{} }), WaitAction, "", "external etcd"},
		{"no second control plane", change(controlPlane(3), func(f *ControlPlaneFacts) { f.Initialized, f.Hold = false, "Machine x is in the way" }), WaitAction, "", "in the way"},
		{"a join", controlPlane(3, master(1, "a")), ScaleUpAction, "b", "from 1 to 3"},
		{"no join onto a sick Machine", controlPlane(3, master(1, "a", noEtcd)), WaitAction, "", "etcd member is not healthy"},
		{"no join while nobody knows", controlPlane(3, master(1, "a", silent)), WaitAction, "", "API server's health is unknown"},
		{"no join beside a join", controlPlane(3, master(1, "a"), master(2, "b", nodeless)), WaitAction, "", "cp-2: has no Node yet"},
		{"no join while one leaves", controlPlane(3, master(1, "a"), master(2, "b", leaving)), WaitAction, "", "cp-2 to be deleted"},
		{"nothing", controlPlane(3, master(1, "a"), master(2, "b"), master(3, "c")), NoAction, "", "All 3"},
		{"a leaver is waited for", controlPlane(3, master(1, "a"), master(2, "b"), master(3, "c", leaving)), WaitAction, "", "cp-3"},
		{"a held control plane", change(controlPlane(3, master(1, "a")), func(f *ControlPlaneFacts) { f.Hold = "Waiting for v1.38.0" }), WaitAction, "", "v1.38.0"},
		{"one too many: the oldest of the crowd", controlPlane(3, master(1, "a"), master(2, "b"), master(3, "b"), master(4, "c")), ScaleDownAction, "cp-2", "from 4 to 3"},
		{"one too many: the marked one", controlPlane(3, master(1, "a"), master(2, "b"), master(3, "b"), master(4, "c", markedMaster)), ScaleDownAction, "cp-4", "annotation"},
		{"one too many: where none should be", controlPlane(3, master(1, "a"), master(2, "a"), master(3, "b"), master(4, "gone")), ScaleDownAction, "cp-4", ""},
		{"outdated: surge first", controlPlane(3, master(1, "a", stale), master(2, "b", stale), master(3, "c", stale)), ScaleUpAction, "a", "v1.37.0 required"},
		{"outdated: then one goes", controlPlane(3, master(1, "a", stale), master(2, "b", stale), master(3, "c", stale), master(4, "a")), ScaleDownAction, "cp-1", "outdated"},
		{"outdated: without surge one goes first", change(controlPlane(3, master(1, "a", stale), master(2, "b", stale), master(3, "c")), func(f *ControlPlaneFacts) { f.MaxSurge = 0 }),
			ScaleDownAction, "cp-1", "outdated"},
		{"outdated: only an outdated one goes", controlPlane(3, master(1, "a"), master(2, "a"), master(3, "b", stale), master(4, "c")), ScaleDownAction, "cp-3", ""},
		{"the half-removed victim does not stand in its own way", controlPlane(3, master(1, "a", stale), master(2, "b", stale, silent, noEtcd), master(3, "c"), master(4, "a")),
			ScaleDownAction, "cp-2", "not healthy"},
		{"a sick bystander does", controlPlane(3, master(1, "a", stale), master(2, "b", noEtcd), master(3, "c"), master(4, "a")), WaitAction, "cp-1", "cp-2"},
		{"never against quorum", change(controlPlane(3, master(1, "a", stale), master(2, "b"), master(3, "c"), master(4, "a")), func(f *ControlPlaneFacts) {
			f.Etcd.Members[1].Healthy, f.Etcd.Members[2].Healthy = False, Unknown
		}), WaitAction, "cp-1", "quorum"},
		{"never with members unread", change(controlPlane(3, master(1, "a", stale), master(2, "b"), master(3, "c"), master(4, "a")), func(f *ControlPlaneFacts) { f.Etcd.Known = Unknown }),
			WaitAction, "cp-1", "could not be read"},
		{"external etcd has no quorum of ours", change(controlPlane(3, master(1, "a", stale, noEtcd), master(2, "b", noEtcd), master(3, "c", noEtcd), master(4, "a", noEtcd)),
			func(f *ControlPlaneFacts) { f.EtcdManaged, f.Etcd = false, EtcdFacts{} }), ScaleDownAction, "cp-1", ""},
		{"the only Machine stays without surge", change(controlPlane(1, master(1, "a", stale)), func(f *ControlPlaneFacts) { f.MaxSurge = 0 }), WaitAction, "cp-1", "maxSurge to 1"},
		{"the only Machine is replaced by surge", controlPlane(1, master(1, "a", stale)), ScaleUpAction, "b", ""},
		{"and then goes", controlPlane(1, master(1, "a", stale), master(2, "b")), ScaleDownAction, "cp-1", ""},
		{"its member is gone already, the controller was killed", change(controlPlane(1, master(1, "a", stale, noEtcd, silent), master(2, "b")), func(f *ControlPlaneFacts) {
			f.Etcd.Members = f.Etcd.Members[1:]
		}), ScaleDownAction, "cp-1", ""},
		{"no failure domains", change(controlPlane(3, master(1, "")), func(f *ControlPlaneFacts) { f.Domains = nil }), ScaleUpAction, "", ""},
	}
	for _, tt := range tests {
		got := ControlPlane(tt.f)
		if got.Kind != tt.want || got.Machine+got.FailureDomain != tt.target || !strings.Contains(got.Reason, tt.says) || got.Reason == "" {
			t.Errorf("%s: %s %q%q, %q; want %s %q saying %q", tt.name, got.Kind, got.Machine, got.FailureDomain, got.Reason, tt.want, tt.target, tt.says)
		}
	}
}

func TestDomainForNew_CountsWhatStays(t *testing.T) {
	t.Parallel()
	old := func(d string) PlacedMachine { return PlacedMachine{Name: d + "-old", FailureDomain: d} }
	fresh := func(d string) PlacedMachine { return PlacedMachine{Name: d + "-new", FailureDomain: d, UpToDate: true} }
	gone := func(d string) PlacedMachine { return PlacedMachine{FailureDomain: d, UpToDate: true, Deleting: true} }
	tests := []struct {
		name     string
		domains  []string
		machines []PlacedMachine
		want     string
	}{
		{"none", nil, nil, ""},
		{"the first by name", []string{"b", "a"}, nil, "a"},
		{"outdated ones break ties only", []string{"a", "b", "c"}, []PlacedMachine{old("a"), old("b"), fresh("a")}, "c"},
		{"up-to-date ones count first", []string{"a", "b"}, []PlacedMachine{fresh("a"), old("b"), old("b")}, "b"},
		{"the leaving do not count", []string{"a", "b"}, []PlacedMachine{gone("a"), fresh("b")}, "a"},
	}
	for _, tt := range tests {
		if got := DomainForNew(tt.domains, tt.machines); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
