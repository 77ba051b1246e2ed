package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
)

// RolloutFacts is everything that decides what a MachineDeployment does with its MachineSets.
type RolloutFacts struct {
	// Replicas is spec.replicas.
	Replicas int32
	// Strategy is spec.rollout.strategy.type; anything but OnDelete rolls.
	Strategy clusterv1.MachineDeploymentRolloutStrategyType
	// MaxSurge and MaxUnavailable are as in the spec; nil takes the default (1 and 0). OnDelete ignores both.
	MaxSurge, MaxUnavailable *intstr.IntOrString
	// Paused is spec.paused: sizes still follow spec.replicas, but nothing is rolled out.
	Paused bool
	// RolloutAfter is spec.rollout.after; zero when unset.
	RolloutAfter time.Time
	// Sets are the MachineSets of the deployment that are not being deleted, in any order.
	Sets []RolloutSet
	// Held are the reasons for which the current MachineSet would not be allowed to create a Machine now (the messages of
	// Preflight); empty when it would.
	Held []string
}

// RolloutSet is one MachineSet as its MachineDeployment sees it. The counts are of Machine objects that the set controls.
type RolloutSet struct {
	// Name and Created are those of the MachineSet.
	Name    string
	Created time.Time
	// Replicas is its spec.replicas.
	Replicas int32
	// Machines counts all its Machines, those being deleted included. A cache that lags lists too few, so before a plan that
	// grows is followed, the API server has to be asked whether there are others.
	Machines int32
	// Pending says that the set has not acted on its spec yet (status.observedGeneration is behind metadata.generation). It
	// may have Machines that do not show, created just before it was told to have fewer, and choose any of them: while this
	// is said, none of its Machines is relied on and nothing grows. Say it for a bounded time, since a set that cannot act
	// must not hold the rollout for ever.
	Pending bool
	// Deleting counts its Machines that are being deleted.
	Deleting int32
	// Available counts its Machines that are listed as available and not being deleted. Deletions that the set was asked for
	// and that do not show are subtracted here; a Machine that failed a moment ago still counts until the list says so.
	Available int32
	// UnavailableFirst counts the Machines, not being deleted, that are not available and that the set would delete before
	// any available one (see UnavailableFirst): removing that many costs nothing. Zero is always safe.
	UnavailableFirst int32
	// Current says that the set's template equals the deployment's in every field that needs a new Machine.
	Current bool
	// Revision is its revision annotation; 0 when absent.
	Revision int64
	// Desired is its desired-replicas annotation; nil when absent.
	Desired *int32
}

// RolloutPlan is what a MachineDeployment does next. Applying it twice, or applying half of it and planning again, ends in
// the same place.
type RolloutPlan struct {
	// New is the name of the MachineSet with the current template; empty when there is none.
	New string
	// Create is the MachineSet to create; nil when none is needed or allowed.
	Create *NewSet
	// Sets holds, for every MachineSet in the facts and in their order, what its spec and annotations have to be.
	Sets []SetPlan
	// Delete names the MachineSets that are used up and can go.
	Delete []string
	// Revision is the revision of the current MachineSet, for the deployment's own annotation; 0 when there is none.
	Revision int64
	// MaxSurge and MaxUnavailable are the bounds in Machines, percentages resolved.
	MaxSurge, MaxUnavailable int32
	// Complete says that every Machine is of the current template, none is missing and all are available.
	Complete bool
	// RollingOut says that Machines of an older template remain.
	RollingOut bool
	// Held says that the rollout does not remove capacity because new Machines would not be created; Reason says why.
	Held bool
	// Reason says what is happening or what is waited for, in a sentence fit for a condition.
	Reason string
	// CheckAt is when the decision changes by time alone (RolloutAfter comes due); zero when it does not.
	CheckAt time.Time
}

// NewSet is a MachineSet to be created from the deployment's template.
type NewSet struct {
	// Replicas is the size to create it with.
	Replicas int32
	// Revision is its revision annotation.
	Revision int64
	// Reason says why a new set is needed.
	Reason string
}

// SetPlan is what the spec and the annotations of one MachineSet have to be.
type SetPlan struct {
	// Name is that of the MachineSet.
	Name string
	// Replicas is its spec.replicas.
	Replicas int32
	// Desired and Max are the annotations desired-replicas and max-replicas.
	Desired, Max int32
	// Revision is the revision annotation.
	Revision int64
	// DisableCreate says whether it carries the annotation that forbids it to create Machines.
	DisableCreate bool
	// Reason says why its size changes; empty when it does not.
	Reason string
}

// Rollout decides what a MachineDeployment does with its MachineSets. The error is a user's mistake (bounds that cannot be
// met or do not parse) and says how to mend it.
func Rollout(f RolloutFacts, now time.Time) (RolloutPlan, error) {
	surge, unavailable, err := RolloutBounds(f.Strategy, f.MaxSurge, f.MaxUnavailable, f.Replicas)
	if err != nil {
		return RolloutPlan{}, err
	}
	r := newRollout(f, surge, unavailable, now)
	switch {
	case f.Paused:
		r.scaleProportionally()
	case f.Strategy == clusterv1.OnDeleteMachineDeploymentStrategyType:
		r.onDelete()
	default:
		r.rollingUpdate()
	}
	return r.plan(now), nil
}

// RolloutBounds resolves maxSurge (rounded up) and maxUnavailable (rounded down) to Machines. Nil takes the default, 1 and
// 0; both zero is refused, since then no Machine could ever be replaced. When percentages alone round to zero twice,
// unavailability becomes 1.
func RolloutBounds(strategy clusterv1.MachineDeploymentRolloutStrategyType, maxSurge, maxUnavailable *intstr.IntOrString, replicas int32) (surge, unavailable int32, err error) {
	if strategy == clusterv1.OnDeleteMachineDeploymentStrategyType {
		return 0, 0, nil
	}
	if maxSurge == nil {
		maxSurge = &intstr.IntOrString{Type: intstr.Int, IntVal: 1}
	}
	if maxUnavailable == nil {
		maxUnavailable = &intstr.IntOrString{Type: intstr.Int, IntVal: 0}
	}
	if isZero(*maxSurge) && isZero(*maxUnavailable) {
		return 0, 0, fmt.Errorf("maxSurge and maxUnavailable are both 0, so no Machine could ever be replaced: set one of them to 1 or more")
	}
	up, err := boundOf("maxSurge", *maxSurge, replicas, true)
	if err != nil {
		return 0, 0, err
	}
	down, err := boundOf("maxUnavailable", *maxUnavailable, replicas, false)
	if err != nil {
		return 0, 0, err
	}
	down = min(down, replicas)
	if up == 0 && down == 0 && replicas > 0 {
		down = 1
	}
	return up, down, nil
}

func isZero(v intstr.IntOrString) bool {
	return v.Type == intstr.Int && v.IntVal == 0 || v.Type == intstr.String && (v.StrVal == "0" || v.StrVal == "0%")
}

func boundOf(field string, v intstr.IntOrString, replicas int32, roundUp bool) (int32, error) {
	n, err := intstr.GetScaledValueFromIntOrPercent(&v, int(replicas), roundUp)
	if err != nil {
		return 0, fmt.Errorf("%s %q is neither a number nor a percentage: write it as 1 or \"25%%\"", field, v.String())
	}
	if n < 0 {
		return 0, fmt.Errorf("%s %s is negative: write 0 or more", field, v.String())
	}
	return int32(n), nil
}

// findCurrent returns the index of the set that new Machines belong to, or -1. Of several matches the largest wins, then
// the oldest: the fewest Machines move.
func findCurrent(f RolloutFacts, now time.Time) int {
	best := -1
	for i, s := range f.Sets {
		if !s.Current || !satisfiesRolloutAfter(s.Created, f.RolloutAfter, now) {
			continue
		}
		if best < 0 || preferCurrent(s, f.Sets[best]) < 0 {
			best = i
		}
	}
	return best
}

func preferCurrent(a, b RolloutSet) int {
	return cmp.Or(cmp.Compare(b.Replicas, a.Replicas), a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name))
}

// satisfiesRolloutAfter reports whether something created then need not be replaced because of rollout.after. Creation
// times have whole seconds, so the very second of rollout.after counts as after it: otherwise a set made on time would be
// replaced again. A rollout.after in the future asks for nothing yet.
func satisfiesRolloutAfter(created, after, now time.Time) bool {
	if after.IsZero() || now.Before(after) {
		return true
	}
	return !created.Before(after.Truncate(time.Second))
}

func oldestFirst(sets []*setState) {
	slices.SortStableFunc(sets, func(a, b *setState) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name))
	})
}
