package plan

import (
	"fmt"
	"strings"
	"time"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
)

// plan turns the run into its result.
func (r *rollout) plan(now time.Time) RolloutPlan {
	p := RolloutPlan{
		MaxSurge:       r.surge,
		MaxUnavailable: r.unavailable,
		Complete:       r.complete(),
		RollingOut:     r.rollingOut(),
	}
	if r.current != nil {
		p.New = r.current.Name
		p.Revision = r.revision()
		p.Held = !r.Paused && r.Strategy != clusterv1.OnDeleteMachineDeploymentStrategyType && r.held() && p.RollingOut
	}
	for _, s := range r.all {
		p.Sets = append(p.Sets, r.setPlan(s, p.Revision))
	}
	if r.create {
		p.Create = &NewSet{Replicas: r.current.to, Revision: p.Revision, Reason: r.createReason()}
	}
	if p.Complete && !r.Paused {
		p.Delete = r.usedUp()
	}
	if r.RolloutAfter.After(now) {
		p.CheckAt = r.RolloutAfter
	}
	p.Reason = r.reason(p)
	return p
}

func (r *rollout) setPlan(s *setState, revision int64) SetPlan {
	set := SetPlan{
		Name:          s.Name,
		Replicas:      s.to,
		Desired:       r.Replicas,
		Max:           r.Replicas + r.surge,
		Revision:      s.Revision,
		DisableCreate: r.Strategy == clusterv1.OnDeleteMachineDeploymentStrategyType && s != r.current && r.current != nil,
		Reason:        s.reason,
	}
	if s == r.current {
		set.Revision = revision
	}
	if s.waiting && s.Desired != nil {
		set.Desired = *s.Desired
	}
	return set
}

// revision numbers the current set above every other; going back to an older set renumbers it.
func (r *rollout) revision() int64 {
	var highest int64
	for _, s := range r.old {
		highest = max(highest, s.Revision)
	}
	if r.current.Revision > highest {
		return r.current.Revision
	}
	return highest + 1
}

// complete reports whether all Machines are of the current set, all there and all available.
func (r *rollout) complete() bool {
	if r.current == nil || r.create {
		return false
	}
	for _, s := range r.old {
		if s.Machines != 0 || s.Replicas != 0 || s.to != 0 {
			return false
		}
	}
	c := r.current
	return c.Replicas == r.Replicas && c.to == r.Replicas && c.Machines == r.Replicas && c.Available == r.Replicas
}

func (r *rollout) rollingOut() bool {
	for _, s := range r.old {
		if s.Machines > 0 {
			return true
		}
	}
	return false
}

func (r *rollout) usedUp() []string {
	var names []string
	for _, s := range r.old {
		names = append(names, s.Name)
	}
	return names
}

func (r *rollout) createReason() string {
	for _, s := range r.old {
		if s.Current {
			return fmt.Sprintf("No MachineSet was created since spec.rollout.after (%s)", r.RolloutAfter.UTC().Format(time.RFC3339))
		}
	}
	return "No MachineSet has the current template"
}

func (r *rollout) reason(p RolloutPlan) string {
	old := r.outdatedMachines()
	switch {
	case r.current == nil:
		return "Paused: no MachineSet has the current template, and none is created until spec.paused is removed"
	case r.Paused && old > 0:
		return fmt.Sprintf("Paused with %s not up to date; remove spec.paused to continue", counted(old, "Machine"))
	case p.Held:
		return fmt.Sprintf("Rolling out %s is held, since new Machines would not be created: %s", counted(old, "Machine"), strings.Join(r.Held, "; "))
	case old > 0 && r.Strategy == clusterv1.OnDeleteMachineDeploymentStrategyType:
		return fmt.Sprintf("Waiting for %s to be deleted by its owner (strategy OnDelete)", counted(old, "outdated Machine"))
	case old > 0:
		return fmt.Sprintf("Rolling out %s not up to date", counted(old, "Machine")) + r.waitingFor()
	case p.Complete:
		return fmt.Sprintf("All %d Machines are up to date and available", r.Replicas)
	default:
		return fmt.Sprintf("All Machines are up to date; %d of %d are available", r.current.Available, r.Replicas)
	}
}

// waitingFor names what has to happen before the next step, when this plan takes none.
func (r *rollout) waitingFor() string {
	for _, s := range r.all {
		if s.to != s.Replicas {
			return ""
		}
	}
	var deleting int32
	for _, s := range r.old {
		deleting += max(s.Deleting, s.Machines-s.Replicas)
	}
	switch {
	case r.create:
		return ""
	case r.pending() != "":
		return fmt.Sprintf("; waiting for MachineSet %s to act on its size", r.pending())
	case r.current.Available < r.current.Replicas:
		return fmt.Sprintf("; waiting for %s of MachineSet %s to become available", counted(r.current.Replicas-r.current.Available, "Machine"), r.current.Name)
	case deleting > 0:
		return fmt.Sprintf("; waiting for %s to be gone", counted(deleting, "Machine"))
	default:
		return fmt.Sprintf("; waiting until %d of %d Machines are available", r.Replicas-r.unavailable, r.Replicas)
	}
}

func (r *rollout) outdatedMachines() int32 {
	var n int32
	for _, s := range r.old {
		n += s.Machines
	}
	return n
}
