package plan

import (
	"cmp"
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

func (r *rollout) distribute(active []*setState) {
	var total int32
	var desired *int32
	for _, s := range active {
		total += s.Replicas
		if s.Desired == nil || *s.Desired != r.Replicas {
			desired = s.Desired
			if desired == nil {
				zero := total
				desired = &zero
			}
		}
	}
	if desired == nil {
		return
	}
	target := max(0, min(total+r.Replicas-*desired, r.Replicas+r.surge))
	if r.Replicas == 0 {
		target = 0
	}
	for i, size := range shares(target, sizesOf(active)) {
		active[i].resize(size, "scale from %d to %d while paused: its share of %d", active[i].Replicas, size, target)
	}
}

func sizesOf(sets []*setState) []int32 {
	sizes := make([]int32, len(sets))
	for i, s := range sets {
		sizes[i] = s.Replicas
	}
	return sizes
}

// shares splits total in proportion to weights by largest remainder; equal remainders go to the larger, then the earlier.
// The parts add up to total exactly.
func shares(total int32, weights []int32) []int32 {
	var sum int64
	for _, w := range weights {
		sum += int64(w)
	}
	parts := make([]int32, len(weights))
	if sum == 0 || total <= 0 {
		return parts
	}
	rest := make([]int64, len(weights))
	order := make([]int, len(weights))
	left := total
	for i, w := range weights {
		product := int64(total) * int64(w)
		parts[i] = int32(product / sum)
		rest[i] = product % sum
		order[i] = i
		left -= parts[i]
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(rest[b], rest[a]), cmp.Compare(weights[b], weights[a]))
	})
	for _, i := range order[:left] {
		parts[i]++
	}
	return parts
}
