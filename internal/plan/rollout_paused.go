package plan

import (
	"cmp"
	"math"
	"slices"
)

// scaleProportionally follows a change of spec.replicas while the deployment is paused, and nothing else. With one active
// set that set takes the size; with several (a rollout paused half-way) each keeps its share. The desired-replicas
// annotation tells a change of size from a rollout that merely stands still.
func (r *rollout) scaleProportionally() {
	active := r.activeSets()
	switch len(active) {
	case 0:
		if newest := r.newestSet(); newest != nil {
			newest.resize(r.Replicas, "scale from %d to %d while paused", newest.Replicas, r.Replicas)
		}
	case 1:
		active[0].resize(r.Replicas, "scale from %d to %d while paused", active[0].Replicas, r.Replicas)
	default:
		r.distribute(active)
	}
	r.putOffGrowth()
}

// putOffGrowth keeps sets from growing while Machines that are on their way out still take the room.
func (r *rollout) putOffGrowth() {
	if r.footprint() <= r.Replicas+r.surge && r.pending() == "" {
		return
	}
	for _, s := range r.all {
		if s.to > s.Replicas {
			s.to, s.reason, s.waiting = s.Replicas, "", true
		}
	}
}

func (r *rollout) activeSets() []*setState {
	var active []*setState
	for _, s := range r.all {
		if s.Replicas > 0 {
			active = append(active, s)
		}
	}
	return active
}

// newestSet returns the set that grows when none is active: the current one, else the youngest.
func (r *rollout) newestSet() *setState {
	if r.current != nil {
		return r.current
	}
	if len(r.old) == 0 {
		return nil
	}
	return r.old[len(r.old)-1]
}

// distribute gives every active set its size in proportion to what was asked for before, which its own annotation tells.
// A set whose annotation is the new size already has been dealt with: a plan applied half-way is continued.
func (r *rollout) distribute(active []*setState) {
	var open []*setState
	var ideal []float64
	var settled, before int32
	for _, s := range active {
		before += s.Replicas
	}
	for _, s := range active {
		desired := before
		if s.Desired != nil {
			desired = *s.Desired
		}
		if desired == r.Replicas {
			settled += s.Replicas
			continue
		}
		open = append(open, s)
		ideal = append(ideal, float64(s.Replicas)*float64(r.Replicas)/float64(max(1, desired)))
	}
	if len(open) == 0 {
		return
	}
	limit := r.Replicas + r.surge
	if r.Replicas == 0 {
		limit = 0
	}
	for i, size := range shares(max(0, limit-settled), ideal) {
		open[i].resize(size, "scale from %d to %d while paused: its share of %d", open[i].Replicas, size, r.Replicas)
	}
}

// shares rounds the ideal sizes to whole ones that add up to their sum, rounded up, or to limit if that is less. The
// largest remainders are rounded up; equal ones from the front.
func shares(limit int32, ideal []float64) []int32 {
	var sum float64
	for _, v := range ideal {
		sum += v
	}
	parts := make([]int32, len(ideal))
	total := min(limit, int32(math.Ceil(sum-1e-9)))
	if total <= 0 {
		return parts
	}
	left := total
	rest := make([]float64, len(ideal))
	order := make([]int, len(ideal))
	for i, v := range ideal {
		scaled := v * min(1, float64(total)/sum)
		parts[i] = int32(scaled + 1e-9)
		rest[i] = scaled - float64(parts[i])
		order[i] = i
		left -= parts[i]
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rest[b], rest[a]) })
	for i := range left {
		parts[order[int(i)%len(order)]]++
	}
	return parts
}
