package plan

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// ensemble is a model of one control plane: Machines, the etcd members on them, and the world that moves them on.
type ensemble struct {
	replicas, surge int32
	version         int
	domains         []FailureDomain
	machines        []*ensembleMachine
	members         []Member
	clock           int
	blind           bool // etcd cannot be asked for the moment
	fatal           func(...any)
}

type ensembleMachine struct {
	name     string
	created  int
	domain   string
	version  int
	up       bool
	deleting bool
	blink    bool // its health cannot be read for the moment
	dead     bool // its member and its Pods do not run
}

func (e *ensemble) facts() ControlPlaneFacts {
	f := ControlPlaneFacts{Replicas: e.replicas, MaxSurge: e.surge, Domains: e.domains, InfrastructureReady: true, CertificatesReady: true,
		EndpointReady: true, EtcdManaged: true, Etcd: e.etcd()}
	for _, m := range e.machines {
		f.Initialized = f.Initialized || m.up
		health := TriOf(m.up && !m.dead)
		if m.blink {
			health = Unknown
		}
		c := ControlPlaneMachine{Name: m.name, Created: at(m.created), FailureDomain: m.domain, Deleting: m.deleting, HasNode: m.up,
			APIServer: health, ControllerManager: health, Scheduler: health, EtcdPod: health, EtcdMember: health}
		if !slices.ContainsFunc(e.members, func(member Member) bool { return member.Machine == m.name }) {
			c.EtcdMember = False
		}
		if m.version != e.version {
			c.Outdated = []string{"Version"}
		}
		f.Machines = append(f.Machines, c)
	}
	return f
}

func (e *ensemble) etcd() EtcdFacts {
	if e.blind {
		return EtcdFacts{}
	}
	return EtcdFacts{Known: True, Members: slices.Clone(e.members)}
}

// reconcile does the next step of the control plane.
func (e *ensemble) reconcile(t *rapid.T) {
	e.clock++
	a := ControlPlane(e.facts())
	switch a.Kind {
	case InitAction, ScaleUpAction:
		if slices.ContainsFunc(e.machines, func(m *ensembleMachine) bool { return m.deleting || !m.up || m.dead }) {
			t.Fatalf("%s while another comes or goes: %s", a.Kind, e)
		}
		e.machines = append(e.machines, &ensembleMachine{name: fmt.Sprintf("cp-%d", e.clock), created: e.clock, domain: a.FailureDomain, version: e.version})
	case ScaleDownAction:
		if slices.ContainsFunc(e.machines, func(m *ensembleMachine) bool { return m.deleting }) {
			t.Fatalf("a second Machine is deleted: %s", e)
		}
		e.machine(a.Machine).deleting = true
	case NoAction, WaitAction:
	}
}

func (e *ensemble) machine(name string) *ensembleMachine {
	return e.machines[slices.IndexFunc(e.machines, func(m *ensembleMachine) bool { return m.name == name })]
}

// advance moves a Machine on: it joins as a learner, votes, comes up; or it leaves etcd step by step and is gone.
func (e *ensemble) advance(m *ensembleMachine) {
	i := slices.IndexFunc(e.members, func(member Member) bool { return member.Machine == m.name })
	switch {
	case m.deleting:
		e.leave(m)
	case m.up || m.dead:
	case i < 0:
		e.members = append(e.members, Member{ID: uint64(m.created), Name: m.name, Machine: m.name, Healthy: True, Learner: len(e.members) > 0, Leader: len(e.members) == 0})
	case e.members[i].Learner:
		e.members[i].Learner = false
	default:
		m.up = true
	}
}

func (e *ensemble) leave(m *ensembleMachine) {
	f := LeaveFacts{Machine: m.name, EtcdManaged: true, Etcd: e.etcd()}
	for _, o := range e.machines {
		if o != m {
			f.Others = append(f.Others, LeaveMachine{Name: o.name, Created: at(o.created), Deleting: o.deleting})
		}
	}
	p := LeaveEtcd(f)
	switch p.Step {
	case LeaveMoveLeader:
		for i := range e.members {
			e.members[i].Leader = e.members[i].ID == p.To
		}
	case LeaveRemoveMember:
		before := countVoters(e.members, 0).quorate()
		e.members = slices.DeleteFunc(e.members, func(member Member) bool { return member.ID == p.Member })
		if before && !countVoters(e.members, 0).quorate() {
			e.fatal("quorum given up: " + e.String())
		}
	case LeaveDone:
		e.machines = slices.DeleteFunc(e.machines, func(o *ensembleMachine) bool { return o == m })
		for i := range e.members {
			if e.members[i].Machine == m.name {
				e.members[i].Healthy = False
			}
		}
	case LeaveRefused, LeaveWaitHooks:
	}
}

// check holds at every moment.
func (e *ensemble) check(t *rapid.T, most int32) {
	if v := countVoters(e.members, 0); len(e.members) > 0 && !v.quorate() {
		t.Fatalf("quorum lost (%s): %s", v, e)
	}
	leaders := 0
	for _, m := range e.members {
		if m.Leader {
			leaders++
		}
	}
	if len(e.members) > 0 && leaders != 1 {
		t.Fatalf("%d leaders: %s", leaders, e)
	}
	if int32(len(e.machines)) > most+1 {
		t.Fatalf("too many Machines: %s", e)
	}
}

func (e *ensemble) settled() bool {
	if len(e.machines) != int(e.replicas) || len(e.members) != int(e.replicas) {
		return false
	}
	return !slices.ContainsFunc(e.machines, func(m *ensembleMachine) bool { return m.version != e.version || !m.up || m.deleting })
}

func (e *ensemble) settle(t *rapid.T, most int32) {
	e.blind = false
	for _, m := range e.machines {
		m.blink = false
	}
	for range 200 {
		e.reconcile(t)
		e.check(t, most)
		for _, m := range slices.Clone(e.machines) {
			e.advance(m)
			e.check(t, most)
		}
		if e.settled() {
			return
		}
	}
	t.Fatalf("never ends: %s; next step %+v", e, ControlPlane(e.facts()))
}

// fail has a Machine's member and Pods stop, or run again. Who is left elects a leader, if they can.
func (e *ensemble) fail(m *ensembleMachine) {
	m.dead = !m.dead
	for i := range e.members {
		if e.members[i].Machine == m.name {
			e.members[i].Healthy = TriOf(!m.dead)
		}
	}
	e.elect()
}

func (e *ensemble) elect() {
	quorate := countVoters(e.members, 0).quorate()
	leads := func(m Member) bool { return m.Leader && m.Healthy == True }
	if quorate && slices.ContainsFunc(e.members, leads) {
		return
	}
	for i := range e.members {
		m := &e.members[i]
		m.Leader = quorate && m.Healthy == True && !m.Learner && !slices.ContainsFunc(e.members[:i], leads)
	}
}

// spread is the difference between the most and the least crowded failure domain.
func (e *ensemble) spread() int {
	counts := map[string]int{}
	for _, m := range e.machines {
		counts[m.domain]++
	}
	least, most := len(e.machines), 0
	for _, d := range ControlPlaneDomains(e.domains) {
		least, most = min(least, counts[d]), max(most, counts[d])
	}
	return most - least
}

func (e *ensemble) String() string {
	text := fmt.Sprintf("%d replicas, surge %d, version %d", e.replicas, e.surge, e.version)
	for _, m := range e.machines {
		text += fmt.Sprintf("; %s in %s version %d up %v dead %v deleting %v", m.name, m.domain, m.version, m.up, m.dead, m.deleting)
	}
	for _, m := range e.members {
		text += fmt.Sprintf("; member of %q learner %v leader %v healthy %v", m.Machine, m.Learner, m.Leader, m.Healthy)
	}
	return text
}

func TestControlPlane_KeepsQuorumAndConverges(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SampledFrom([]int32{1, 3, 5})
		e := &ensemble{replicas: sizes.Draw(t, "replicas"), version: 1, fatal: t.Fatal}
		for i := range rapid.IntRange(1, 4).Draw(t, "domains") {
			e.domains = append(e.domains, FailureDomain{Name: string(rune('a' + i)), ControlPlane: true})
		}
		draw := func() {
			e.surge = 1
			if e.replicas >= 3 {
				e.surge = rapid.Int32Range(0, 1).Draw(t, "surge")
			}
		}
		draw()
		most := e.replicas
		e.settle(t, most)
		for range rapid.IntRange(0, 150).Draw(t, "steps") {
			m := e.machines[rapid.IntRange(0, len(e.machines)-1).Draw(t, "machine")]
			switch rapid.SampledFrom([]string{"reconcile", "reconcile", "reconcile", "advance", "advance", "advance", "blink", "blind", "version", "scale"}).Draw(t, "event") {
			case "reconcile":
				e.reconcile(t)
			case "advance":
				e.advance(m)
			case "blink":
				m.blink = !m.blink
			case "blind":
				e.blind = !e.blind
			case "version":
				e.version++
			case "scale":
				e.replicas = sizes.Draw(t, "replicas")
				draw()
			}
			most = max(most, e.replicas)
			e.check(t, most)
			if len(e.machines) == 0 {
				t.Fatal("no Machine is left")
			}
		}
		e.version++
		e.settle(t, most)
		if e.spread() > 1 {
			t.Fatalf("the Machines end crowded: %s", e)
		}
	})
}

// Members die and come back and users delete Machines, so that quorum can be lost; but never by what the control plane does.
func TestControlPlane_GivesUpNoQuorumWhateverFails(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e := &ensemble{replicas: rapid.SampledFrom([]int32{1, 3, 5}).Draw(t, "replicas"), surge: 1, version: 1, fatal: t.Fatal}
		e.domains = []FailureDomain{{Name: "a", ControlPlane: true}, {Name: "b", ControlPlane: true}}
		most := e.replicas
		e.settle(t, most)
		for range rapid.IntRange(0, 150).Draw(t, "steps") {
			m := e.machines[rapid.IntRange(0, len(e.machines)-1).Draw(t, "machine")]
			switch rapid.SampledFrom([]string{"reconcile", "reconcile", "reconcile", "advance", "advance", "advance", "fail", "delete", "blink", "version", "scale"}).Draw(t, "event") {
			case "reconcile":
				e.reconcile(t)
			case "advance":
				e.advance(m)
				e.elect()
			case "fail":
				e.fail(m)
			case "delete":
				m.deleting = m.deleting || slices.ContainsFunc(e.machines, func(o *ensembleMachine) bool { return o != m && o.up && !o.deleting })
			case "blink":
				m.blink = !m.blink
			case "version":
				e.version++
			case "scale":
				e.replicas = rapid.SampledFrom([]int32{1, 3, 5}).Draw(t, "replicas")
				most = max(most, e.replicas)
			}
			if int32(len(e.machines)) > most+1 {
				t.Fatalf("too many Machines: %s", e)
			}
		}
		for _, m := range e.machines {
			if m.dead {
				e.fail(m)
			}
		}
		e.settle(t, most)
	})
}
