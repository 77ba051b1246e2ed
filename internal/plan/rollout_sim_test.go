package plan

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
)

// fleet is a model of one MachineDeployment with its MachineSets and Machines, in which every actor takes its step when it
// likes. It stands for the API server, the other controllers and the real world.
type fleet struct {
	replicas           int32
	surge, unavailable int32
	strategy           clusterv1.MachineDeploymentRolloutStrategyType
	order              clusterv1.MachineSetDeletionOrder
	template           int // the generation of the deployment's template
	broken             map[int]bool
	held               bool
	paused             bool
	sets               []*fleetSet
	clock              int
	serial             int
}

type fleetSet struct {
	name     string
	created  int
	template int
	replicas int32
	desired  int32
	revision int64
	disabled bool
	pending  bool
	status   int32 // status.replicas
	machines []*fleetMachine
}

type fleetMachine struct {
	ScaleMachine
	template int
}

func (f *fleet) now() time.Time { f.clock++; return at(f.clock) }

func (f *fleet) name(prefix string) string {
	f.serial++
	return fmt.Sprintf("%s-%d", prefix, f.serial)
}

// view is what a cache shows of a set's Machines.
func (s *fleetSet) view() []ScaleMachine {
	var list []ScaleMachine
	for _, m := range s.machines {
		list = append(list, m.ScaleMachine)
	}
	return list
}

func (f *fleet) views() map[string][]ScaleMachine {
	all := map[string][]ScaleMachine{}
	for _, s := range f.sets {
		all[s.name] = s.view()
	}
	return all
}

// facts are those of the deployment, with its Machines as the given views show them.
func (f *fleet) facts(views map[string][]ScaleMachine, now time.Time) RolloutFacts {
	up, down := intstr.FromInt32(f.surge), intstr.FromInt32(f.unavailable)
	facts := RolloutFacts{Replicas: f.replicas, Strategy: f.strategy, MaxSurge: &up, MaxUnavailable: &down, Paused: f.paused}
	if f.held {
		facts.Held = []string{"Held by preflight"}
	}
	for _, s := range f.sets {
		desired := s.desired
		set := RolloutSet{Name: s.name, Created: at(s.created), Replicas: s.replicas, Current: s.template == f.template,
			Pending: s.pending, Revision: s.revision, Desired: &desired, UnavailableFirst: UnavailableFirst(views[s.name], f.order, now)}
		for _, m := range views[s.name] {
			set.Machines++
			set.Deleting += one(m.Deleting)
			set.Available += one(m.Available && !m.Deleting)
		}
		set.Machines = max(set.Machines, s.status)
		facts.Sets = append(facts.Sets, set)
	}
	return facts
}

// apply writes the plan, and dies after that many writes.
func (f *fleet) apply(p RolloutPlan, writes int) {
	step := func() bool { writes--; return writes >= 0 }
	if p.Create != nil {
		if !step() {
			return
		}
		f.sets = append(f.sets, &fleetSet{name: f.name("set"), created: f.clock, template: f.template, replicas: p.Create.Replicas,
			desired: f.replicas, revision: p.Create.Revision, pending: true})
	}
	for _, s := range p.Sets {
		if !step() {
			return
		}
		set := f.set(s.Name)
		set.pending = set.pending || set.replicas != s.Replicas
		set.replicas, set.desired, set.revision, set.disabled = s.Replicas, s.Desired, s.Revision, s.DisableCreate
	}
	for _, name := range p.Delete {
		if !step() {
			return
		}
		f.sets = slices.DeleteFunc(f.sets, func(s *fleetSet) bool { return s.name == name })
	}
}

func (f *fleet) set(name string) *fleetSet {
	return f.sets[slices.IndexFunc(f.sets, func(s *fleetSet) bool { return s.name == name })]
}

func (f *fleet) reconcileDeployment(t *rapid.T, views map[string][]ScaleMachine, writes int) {
	now := f.now()
	p, err := Rollout(f.facts(views, now), now)
	if err != nil {
		t.Fatalf("plan: %v", err)
	}
	f.apply(p, writes)
}

// reconcileSet lets a MachineSet create and delete; it dies after that many writes.
func (f *fleet) reconcileSet(s *fleetSet, writes int) {
	now := f.now()
	facts := SetScaleFacts{Replicas: s.replicas, Machines: s.view(), Order: f.order, CreateDisabled: s.disabled}
	if f.held && s.template == f.template {
		facts.Held = []string{"Held by preflight"}
	}
	p := ScaleSet(facts, now)
	for range min(int(p.Create), writes) {
		s.machines = append(s.machines, &fleetMachine{ScaleMachine: ScaleMachine{Name: f.name("machine"), Created: now}, template: s.template})
	}
	for _, v := range p.Delete[:min(len(p.Delete), writes)] {
		s.machines[slices.IndexFunc(s.machines, func(m *fleetMachine) bool { return m.Name == v.Name })].Deleting = true
	}
	if int(p.Create)+len(p.Delete) <= writes {
		s.pending, s.status = false, int32(len(s.machines))
	}
}

// advance moves one Machine one step on: it gets a Node, becomes available, or is gone.
func (f *fleet) advance(s *fleetSet, i int) {
	m := s.machines[i]
	switch {
	case m.Deleting:
		s.machines = slices.Delete(s.machines, i, i+1)
	case f.broken[m.template]:
	case !m.HasNode:
		m.HasNode, m.NodeHealthy = true, True
	default:
		m.Available, m.NodeHealthy = true, True
	}
}

func (f *fleet) total() int32 {
	var n int32
	for _, s := range f.sets {
		n += int32(len(s.machines))
	}
	return n
}

func (f *fleet) available() int32 {
	var n int32
	for _, s := range f.sets {
		for _, m := range s.machines {
			n += one(m.Available && !m.Deleting)
		}
	}
	return n
}

// settle lets everybody work fairly until the deployment is what it should be; false if it never is.
func (f *fleet) settle(t *rapid.T, check func()) bool {
	for range 40 * (int(f.replicas) + int(f.total()) + 5) {
		f.reconcileDeployment(t, f.views(), 1000)
		check()
		for _, s := range f.sets {
			f.reconcileSet(s, 1000)
			check()
		}
		for _, s := range f.sets {
			for i := len(s.machines) - 1; i >= 0; i-- {
				f.advance(s, i)
				check()
			}
		}
		if f.done() {
			return true
		}
	}
	return false
}

func (f *fleet) done() bool {
	return len(f.sets) == 1 && f.sets[0].template == f.template && f.sets[0].replicas == f.replicas &&
		f.total() == f.replicas && f.available() == f.replicas
}

func (f *fleet) String() string {
	text := fmt.Sprintf("replicas %d surge %d unavailable %d template %d, %d of %d available", f.replicas, f.surge, f.unavailable, f.template, f.available(), f.total())
	for _, s := range f.sets {
		text += fmt.Sprintf("; %s template %d spec %d has %d", s.name, s.template, s.replicas, len(s.machines))
	}
	return text
}

func drawFleet(t *rapid.T) *fleet {
	f := &fleet{
		replicas: rapid.Int32Range(1, 6).Draw(t, "replicas"),
		surge:    rapid.Int32Range(0, 3).Draw(t, "surge"),
		order:    rapid.SampledFrom([]clusterv1.MachineSetDeletionOrder{"Random", "Newest", "Oldest"}).Draw(t, "order"),
		template: 1,
		broken:   map[int]bool{},
	}
	f.unavailable = rapid.Int32Range(0, f.replicas).Draw(t, "unavailable")
	if f.surge+f.unavailable == 0 {
		f.surge = 1
	}
	return f
}

// someSet draws a set; nil when there is none.
func (f *fleet) someSet(t *rapid.T) *fleetSet {
	if len(f.sets) == 0 {
		return nil
	}
	return f.sets[rapid.IntRange(0, len(f.sets)-1).Draw(t, "set")]
}

// act lets one actor, drawn at random, take one step. Reconciles may die after any write.
func (f *fleet) act(t *rapid.T, views map[string][]ScaleMachine) {
	writes := rapid.SampledFrom([]int{0, 1, 2, 1000, 1000, 1000}).Draw(t, "writes")
	switch s := f.someSet(t); rapid.SampledFrom([]string{"deployment", "set", "machine", "machine"}).Draw(t, "actor") {
	case "deployment":
		f.reconcileDeployment(t, views, writes)
	case "set":
		if s != nil {
			f.reconcileSet(s, writes)
		}
	case "machine":
		if s != nil && len(s.machines) > 0 {
			f.advance(s, rapid.IntRange(0, len(s.machines)-1).Draw(t, "machine"))
		}
	}
}

// Safety: whatever the interleaving, however late the cache, wherever a controller dies: the number of available Machines
// stays at or above replicas - maxUnavailable, and the number of Machines at or below replicas + maxSurge.
func TestRollout_NeverLeavesItsBounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := drawFleet(t)
		if !f.settle(t, func() {}) {
			t.Fatalf("never comes up: %s", f)
		}
		check := func() {
			if f.available() < f.replicas-f.unavailable {
				t.Fatalf("too few available: %s", f)
			}
			if f.total() > f.replicas+f.surge {
				t.Fatalf("too many Machines: %s", f)
			}
		}
		views := f.views()
		for range rapid.IntRange(20, 120).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"act", "act", "act", "act", "act", "act", "cache", "cache", "template", "preflight"}).Draw(t, "event") {
			case "act":
				f.act(t, views)
			case "cache":
				views = f.views()
			case "template":
				f.template++
				f.broken[f.template] = rapid.IntRange(0, 3).Draw(t, "broken") == 0
				views = f.views()
			case "preflight":
				f.held = !f.held
			}
			check()
		}
		f.held = false
		f.template++
		if !f.settle(t, check) {
			t.Fatalf("never ends: %s", f)
		}
	})
}

// Safety and liveness in a rough world: Machines fail, recover and are deleted by hand, the size, the strategy and the
// pause change. A plan never costs availability that the bound protects, and once the world calms down the rollout ends.
func TestRollout_ConvergesAfterTrouble(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := drawFleet(t)
		largest := f.replicas
		for range rapid.IntRange(20, 120).Draw(t, "steps") {
			f.trouble(t)
			largest = max(largest, f.replicas)
			if f.total() > largest+f.surge {
				t.Fatalf("more Machines than ever asked for: %s", f)
			}
		}
		f.held, f.paused, f.strategy = false, false, clusterv1.RollingUpdateMachineDeploymentStrategyType
		f.template++
		if !f.settle(t, func() {}) {
			t.Fatalf("never ends: %s", f)
		}
	})
}

func (f *fleet) trouble(t *rapid.T) {
	s := f.someSet(t)
	var m *fleetMachine
	if s != nil && len(s.machines) > 0 {
		m = s.machines[rapid.IntRange(0, len(s.machines)-1).Draw(t, "machine")]
	}
	event := rapid.SampledFrom([]string{"act", "act", "act", "act", "act", "fail", "delete", "mark", "template", "scale", "strategy", "pause", "hold"}).Draw(t, "event")
	switch {
	case event == "fail" && m != nil:
		m.Available, m.NodeHealthy = false, False
	case event == "delete" && m != nil:
		m.Deleting = true
	case event == "mark" && m != nil:
		m.DeleteAnnotated = true
	case event == "template":
		f.template++
		f.broken[f.template] = rapid.Bool().Draw(t, "broken")
	case event == "scale":
		f.replicas = rapid.Int32Range(1, 6).Draw(t, "replicas")
		f.unavailable = min(f.unavailable, f.replicas)
	case event == "strategy":
		f.strategy = rapid.SampledFrom([]clusterv1.MachineDeploymentRolloutStrategyType{"RollingUpdate", "OnDelete"}).Draw(t, "strategy")
	case event == "pause":
		f.paused = !f.paused
	case event == "hold":
		f.held = !f.held
	default:
		f.act(t, f.views())
	}
}

// Safety of planning: for any facts whatsoever, and however often it is planned before anything moves, no available Machine
// is taken below the bound, even if every deletion hits an available one where it can.
func TestRollout_PlansAreSafeForAnyFacts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := drawFacts(t)
		start := slices.Clone(f.Sets)
		for range 3 {
			p, err := Rollout(f, epoch)
			if err != nil {
				t.Fatal(err)
			}
			checkSafety(t, f, p, start)
			for i := range f.Sets {
				f.Sets[i].Replicas = p.Sets[i].Replicas
			}
		}
	})
}

func drawFacts(t *rapid.T) RolloutFacts {
	f := RolloutFacts{Replicas: rapid.Int32Range(0, 10).Draw(t, "replicas")}
	up, down := rapid.IntRange(0, 4).Draw(t, "surge"), rapid.IntRange(0, 4).Draw(t, "unavailable")
	if up+down == 0 {
		up = 1
	}
	f.MaxSurge, f.MaxUnavailable = number(up), number(down)
	for i := range rapid.IntRange(1, 4).Draw(t, "sets") {
		s := RolloutSet{Name: fmt.Sprintf("set-%d", i), Created: at(i), Replicas: rapid.Int32Range(0, 8).Draw(t, "spec"), Current: i == 0}
		s.Machines = rapid.Int32Range(0, 8).Draw(t, "machines")
		s.Deleting = rapid.Int32Range(0, s.Machines).Draw(t, "deleting")
		s.Available = rapid.Int32Range(0, s.Machines-s.Deleting).Draw(t, "available")
		s.UnavailableFirst = rapid.Int32Range(0, s.Machines-s.Deleting-s.Available).Draw(t, "first")
		f.Sets = append(f.Sets, s)
	}
	return f
}

// checkSafety compares a plan with the slow count. What a smaller spec.replicas costs the current set is not the rollout's.
func checkSafety(t *rapid.T, f RolloutFacts, p RolloutPlan, start []RolloutSet) {
	var total, before, after int32
	for i, s := range f.Sets {
		size := p.Sets[i].Replicas
		if i == 0 && size < s.Replicas {
			size = s.Replicas
		}
		before += worstAvailable(start[i], s.Replicas)
		after += worstAvailable(start[i], size)
		total += max(p.Sets[i].Replicas, s.Machines)
	}
	if bound := min(before, f.Replicas-p.MaxUnavailable); after < bound && !brokeDeadlock(f, p) {
		t.Fatalf("plan leaves %d available in the worst case, %d before, bound %d: %+v", after, before, bound, p.Sets)
	}
	if p.Sets[0].Replicas > f.Sets[0].Replicas && total > f.Replicas+p.MaxSurge {
		t.Fatalf("the current set grows although %d Machines of %d exist", total, f.Replicas+p.MaxSurge)
	}
}

// worstAvailable is the slow and obvious count: delete one by one, free ones first, then available ones, then the rest.
func worstAvailable(s RolloutSet, size int32) int32 {
	free, available, rest := s.UnavailableFirst, s.Available, s.Machines-s.Deleting-s.Available-s.UnavailableFirst
	for free+available+rest > size {
		switch {
		case free > 0:
			free--
		case available > 0:
			available--
		default:
			rest--
		}
	}
	return available
}

// brokeDeadlock reports whether the plan is the one exception: a single Machine off a single set, when all had settled.
func brokeDeadlock(f RolloutFacts, p RolloutPlan) bool {
	changed := 0
	for i, s := range f.Sets {
		if s.Machines != s.Replicas || s.Deleting != 0 {
			return false
		}
		if p.Sets[i].Replicas != s.Replicas {
			changed++
			if p.Sets[i].Replicas != s.Replicas-1 {
				return false
			}
		}
	}
	return changed == 1 && f.Sets[0].Available == f.Sets[0].Replicas
}
