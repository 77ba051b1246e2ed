package crashplan

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"slipway.dev/slipway/internal/manager"
)

// Controllers are the names of all that write.
func Controllers() []string {
	return []string{"cluster", "kubeadmconfig", "kubeadmcontrolplane", "machine", "machinedeployment", "machineset", "simcluster", "simmachine"}
}

// Controller is which of them a write's field manager belongs to; empty when it is none of theirs, as with deletions by the
// garbage collector.
func Controller(fieldManager string) string {
	if name := manager.ControllerOf(fieldManager); slices.Contains(Controllers(), name) {
		return name
	}
	return ""
}

// Site is a place in a script's course where a controller writes: all writes that are alike but for the object.
type Site struct {
	Operation               Operation
	Manager, Verb, Resource string
}

// SiteOf is the site of a write that came from an operation.
func SiteOf(op Operation, w manager.Write) Site { return Site{op, w.Manager, w.Verb, w.Resource} }

// String tells the site.
func (s Site) String() string {
	return fmt.Sprintf("%s: %s %s %s", s.Operation, cmp.Or(s.Manager, "(a deletion)"), s.Verb, s.Resource)
}

// Point is after which write of which step the plane is killed.
type Point struct {
	Step int
	Site Site
	// Skip is how many writes of the site are let pass before.
	Skip int
}

// spot is a site in a step of an undisturbed run.
type spot struct {
	step, first, count int
	site               Site
}

// Points chooses where to kill from what was written in each step of an undisturbed run: always there where the fewest kills
// are so far, by controller in an operation, then by site, then by step; dice decide between equals. The points of a step are
// in the order of the run.
func Points(dice *rand.Rand, kills int, writes [][]Site) [][]Point {
	spots := find(writes)
	chosen := make([][]Point, len(writes))
	hits, taken := map[any]int{}, map[spot]bool{}
	type role struct {
		op         Operation
		controller string
	}
	weigh := func(s spot) []int {
		controller := Controller(s.site.Manager)
		again := 0
		if taken[s] {
			again = 1
		}
		return []int{again, hits[role{s.site.Operation, controller}], hits[s.site], hits[controller], hits[s.step], hits[s.site.Operation]}
	}
	for range kills {
		if len(spots) == 0 {
			break
		}
		dice.Shuffle(len(spots), func(i, j int) { spots[i], spots[j] = spots[j], spots[i] })
		s := slices.MinFunc(spots, func(a, b spot) int { return slices.Compare(weigh(a), weigh(b)) })
		controller := Controller(s.site.Manager)
		for _, key := range []any{role{s.site.Operation, controller}, s.site, controller, s.step, s.site.Operation} {
			hits[key]++
		}
		taken[s] = true
		// Not the last ones: how often a status is written depends on how the events come.
		chosen[s.step] = append(chosen[s.step], Point{s.step, s.site, dice.IntN(1 + s.count/2)})
	}
	for _, points := range chosen {
		inOrder(points, spots)
	}
	return chosen
}

// find lists the sites of each step. Writes that are no controller's nor a deletion are left out.
func find(writes [][]Site) []spot {
	var spots []spot
	for step, sites := range writes {
		index := map[Site]int{}
		for i, site := range sites {
			if Controller(site.Manager) == "" && site.Verb != "delete" {
				continue
			}
			at, ok := index[site]
			if !ok {
				at = len(spots)
				index[site] = at
				spots = append(spots, spot{step: step, first: i, site: site})
			}
			spots[at].count++
		}
	}
	return spots
}

func inOrder(points []Point, spots []spot) {
	first := map[Point]int{}
	for _, s := range spots {
		first[Point{Step: s.step, Site: s.site}] = s.first
	}
	slices.SortStableFunc(points, func(a, b Point) int {
		return cmp.Compare(first[Point{Step: a.Step, Site: a.Site}], first[Point{Step: b.Step, Site: b.Site}])
	})
}

// Coverage counts kills by the write that they followed.
type Coverage map[Site]int

// Lacking names each controller and operation with fewer kills than wanted.
func (c Coverage) Lacking(want int) []string {
	controllers, operations := map[string]int{}, map[Operation]int{}
	for site, n := range c {
		controllers[Controller(site.Manager)] += n
		operations[site.Operation] += n
	}
	var out []string
	for _, name := range Controllers() {
		if n := controllers[name]; n < want {
			out = append(out, fmt.Sprintf("controller %s: %d", name, n))
		}
	}
	for _, op := range Operations() {
		if n := operations[op]; n < want {
			out = append(out, fmt.Sprintf("operation %s: %d", op, n))
		}
	}
	return out
}
