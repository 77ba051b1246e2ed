package plan

import (
	"fmt"
	"time"
)

// setState is a MachineSet while a rollout is being planned: what was observed, and the size it is to have.
type setState struct {
	RolloutSet
	to      int32
	reason  string
	waiting bool // a change of size is put off, and the annotations must not say that it was made
}

// live is the number of Machines that nobody has asked to go.
func (s *setState) live() int32 { return max(0, s.Machines-s.Deleting) }

// footprint is the number of Machines that the set has or may have: what counts against the surge. The size it had until
// this plan counts too, since the set may be filling it this very moment.
func (s *setState) footprint() int32 { return max(s.to, s.Replicas, s.Machines) }

// safeAvailable is the number of available Machines left once the set has come down to size, in the worst case. Deletions
// that were asked for and not yet seen are counted as done, so two plans in a row never spend the same Machine twice.
func (s *setState) safeAvailable(size int32) int32 {
	if s.Pending {
		return 0
	}
	leaving := max(0, s.live()-size)
	return max(0, s.Available-max(0, leaving-s.UnavailableFirst))
}

// cost is how many available Machines it may cost to go from that size to one less: none while only Machines go that are
// known not to be available. Of the others each may be available by now.
func (s *setState) cost(size int32) int32 {
	return one(s.live()-(size-1) > s.UnavailableFirst)
}

func (s *setState) resize(to int32, format string, args ...any) {
	if to == s.to {
		return
	}
	s.to = to
	s.reason = fmt.Sprintf(format, args...)
}

// rollout is one planning run over the sets of a deployment.
type rollout struct {
	RolloutFacts
	surge, unavailable int32
	all                []*setState
	old                []*setState // oldest first
	current            *setState   // nil only while paused without a matching set
	create             bool
}

func newRollout(f RolloutFacts, surge, unavailable int32, now time.Time) *rollout {
	r := &rollout{RolloutFacts: f, surge: surge, unavailable: unavailable}
	current := findCurrent(f, now)
	for i, s := range f.Sets {
		state := &setState{RolloutSet: s, to: s.Replicas}
		r.all = append(r.all, state)
		if i == current {
			r.current = state
			continue
		}
		r.old = append(r.old, state)
	}
	oldestFirst(r.old)
	if r.current == nil && !f.Paused {
		r.create = true
		r.current = &setState{RolloutSet: RolloutSet{Created: now, Current: true}}
	}
	return r
}

// everySet returns all sets, the one to be created included.
func (r *rollout) everySet() []*setState {
	if r.create {
		return append(append([]*setState(nil), r.all...), r.current)
	}
	return r.all
}

// rollingUpdate grows the current set as far as the surge allows, then shrinks the old ones as far as availability allows.
func (r *rollout) rollingUpdate() {
	r.growCurrent(r.Replicas + r.surge)
	count, available := r.budgets()
	count, available = r.shrinkOld(count, available, 0)
	r.shrinkOld(count, available, 1)
	r.breakDeadlock()
}

func (r *rollout) growCurrent(limit int32) {
	c := r.current
	if c.to >= r.Replicas {
		c.resize(r.Replicas, "scale down from %d to %d: the deployment asks for %d", c.Replicas, r.Replicas, r.Replicas)
		return
	}
	room := limit - r.footprint()
	if room <= 0 || r.pending() != "" {
		return
	}
	to := min(r.Replicas, c.to+room)
	c.resize(to, "scale up from %d to %d: %d Machines of at most %d exist", c.Replicas, to, limit-room, limit)
}

// pending names a set that has not acted on its size yet; while there is one, nobody knows how many Machines exist.
func (r *rollout) pending() string {
	for _, s := range r.all {
		if s.Pending {
			return s.Name
		}
	}
	return ""
}

func (r *rollout) footprint() int32 {
	var n int32
	for _, s := range r.everySet() {
		n += s.footprint()
	}
	return n
}

// budgets returns how many replicas the old sets may lose, and how many of these may be available Machines. The first
// keeps old Machines that are down but may recover until a new one stands in for them; the second keeps the promise of
// maxUnavailable.
func (r *rollout) budgets() (count, available int32) {
	minAvailable := r.Replicas - r.unavailable
	var oldReplicas, safe int32
	for _, s := range r.old {
		oldReplicas += s.to
		safe += s.safeAvailable(s.to)
	}
	newAvailable := r.current.safeAvailable(r.current.to)
	count = oldReplicas + newAvailable - minAvailable
	available = safe + newAvailable - minAvailable
	if minAvailable <= 0 {
		available = count // nothing has to stay
	}
	if r.held() {
		// What goes would not be replaced: take only what stands above the size asked for.
		count = min(count, oldReplicas+r.current.live()-r.Replicas)
	}
	return count, available
}

// held reports whether the current set lacks Machines and would not be allowed to create them.
func (r *rollout) held() bool {
	return len(r.Held) > 0 && r.current.live() < r.Replicas
}

// shrinkOld lowers old sets one replica at a time, oldest set first, while the dearest step costs no more than maxCost
// available Machines and the budgets last. It returns what is left of them.
func (r *rollout) shrinkOld(count, available, maxCost int32) (int32, int32) {
	for _, s := range r.old {
		if s.Pending {
			continue
		}
		// What exists on paper only is free, and may be more than one would want to count down one by one.
		unborn := min(max(0, s.to-s.live()), max(0, count))
		to := s.to - unborn
		count -= unborn
		for to > 0 && count > 0 {
			cost := s.cost(to)
			if cost > maxCost || cost > 0 && cost > available {
				break
			}
			to, count, available = to-1, count-1, available-cost
		}
		s.resize(to, "scale down from %d to %d: at least %d of %d Machines stay available", s.Replicas, to, r.Replicas-r.unavailable, r.Replicas)
	}
	return count, available
}

// breakDeadlock takes one replica from an old set when nothing else can ever move: everything has settled, the current set
// is whole, and an old set holds Machines that will not become available but are not first in line to be deleted. The
// bound of maxUnavailable may be missed by one; without it the rollout would stand still for ever.
func (r *rollout) breakDeadlock() {
	if r.held() || !r.settled() {
		return
	}
	for _, s := range r.old {
		if s.to > 0 && s.Available < s.live() {
			s.resize(s.to-1, "scale down from %d to %d: nothing else can move and %d of its Machines are not available", s.Replicas, s.to-1, s.live()-s.Available)
			return
		}
	}
}

// settled reports whether nothing changes by this plan, nothing is under way, and the current set is fully available.
func (r *rollout) settled() bool {
	if r.create || r.current.Available != r.current.Replicas {
		return false
	}
	for _, s := range r.all {
		if s.to != s.Replicas || s.Machines != s.Replicas || s.Deleting != 0 || s.Pending {
			return false
		}
	}
	return true
}

// onDelete lets old sets only shrink, as Machines vanish, and gives the current set what they leave free.
func (r *rollout) onDelete() {
	total := r.current.to
	for _, s := range r.old {
		s.resize(min(s.to, s.live()), "scale down from %d to %d: its deleted Machines are replaced by newer ones", s.Replicas, min(s.to, s.live()))
		total += s.to
	}
	excess := max(0, total-r.Replicas)
	for _, s := range r.old {
		step := min(excess, s.to)
		s.resize(s.to-step, "scale down from %d to %d: the deployment asks for %d", s.Replicas, s.to-step, r.Replicas)
		excess -= step
	}
	c := r.current
	if excess > 0 {
		c.resize(c.to-excess, "scale down from %d to %d: the deployment asks for %d", c.Replicas, c.to-excess, r.Replicas)
		return
	}
	r.growCurrent(r.Replicas)
}
