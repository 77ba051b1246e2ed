package plan

import (
	"cmp"
	"slices"
	"strings"
)

// FailureDomain is one failure domain that the infrastructure of a Cluster offers.
type FailureDomain struct {
	// Name is its name.
	Name string
	// ControlPlane says that control-plane Machines may be placed there.
	ControlPlane bool
}

// PlacedMachine is a Machine as far as its place is concerned.
type PlacedMachine struct {
	// Name is that of the Machine.
	Name string
	// FailureDomain is where it is; empty when it was placed without one.
	FailureDomain string
	// UpToDate says that it need not be replaced.
	UpToDate bool
	// Deleting says that it is on its way out, and does not count.
	Deleting bool
}

// ControlPlaneDomains returns the names of the failure domains for control-plane Machines, sorted.
func ControlPlaneDomains(domains []FailureDomain) []string {
	var names []string
	for _, d := range domains {
		if d.ControlPlane {
			names = append(names, d.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// DomainForNew returns the failure domain for the next Machine: the one with the fewest Machines that stay, among these
// the one with the fewest at all, then the first by name; empty when there are none. Machines about to be replaced do not
// count at first, or a rolling replacement would end crowded.
func DomainForNew(domains []string, machines []PlacedMachine) string {
	staying, all := countPlaced(machines)
	best := ""
	for _, d := range slices.Sorted(slices.Values(domains)) {
		if best == "" || cmp.Or(cmp.Compare(staying[d], staying[best]), cmp.Compare(all[d], all[best])) < 0 {
			best = d
		}
	}
	return best
}

// DomainToShrink returns the failure domain from which the next Machine should go: of those that hold a candidate the one
// with the most Machines, then the first by name. A domain that is not (or no longer) offered comes before all others; its
// Machines are out of place. The result may be the empty name, for Machines without a domain.
func DomainToShrink(domains []string, machines []PlacedMachine, candidates []string) string {
	_, all := countPlaced(machines)
	var held []string
	for _, m := range machines {
		if slices.Contains(candidates, m.Name) {
			held = append(held, m.FailureDomain)
		}
	}
	if len(held) == 0 {
		return ""
	}
	return slices.MinFunc(held, func(a, b string) int {
		return cmp.Or(
			compareBool(slices.Contains(domains, a), slices.Contains(domains, b)),
			cmp.Compare(all[b], all[a]),
			strings.Compare(a, b))
	})
}

// countPlaced counts per domain the Machines that stay and all that are not being deleted.
func countPlaced(machines []PlacedMachine) (staying, all map[string]int) {
	staying, all = map[string]int{}, map[string]int{}
	for _, m := range machines {
		if m.Deleting {
			continue
		}
		all[m.FailureDomain]++
		if m.UpToDate {
			staying[m.FailureDomain]++
		}
	}
	return staying, all
}
