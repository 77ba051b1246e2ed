package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
)

// The order in which a MachineSet gives up Machines: the higher goes first. Age moves a healthy Machine between 0 and 50,
// so that no healthy Machine ever goes before a broken one.
const (
	priorityDeleting  = 100.0
	priorityAnnotated = 80.0
	priorityUpdating  = 75.0
	priorityUnhealthy = 50.0
	priorityRandom    = 20.0
	ageScaleSeconds   = 864000.0 // ten days: the age at which the order by age has gone most of its way
)

// ScaleMachine is one Machine as its MachineSet sees it when it chooses whom to delete.
type ScaleMachine struct {
	// Name and Created are those of the Machine.
	Name    string
	Created time.Time
	// Deleting says that it has a deletion timestamp.
	Deleting bool
	// DeleteAnnotated says that it carries the delete-machine annotation.
	DeleteAnnotated bool
	// Updating says that it is being updated in place.
	Updating bool
	// HasNode says that status.nodeRef is set.
	HasNode bool
	// NodeHealthy and HealthCheckSucceeded are the conditions of these names; an absent one is Unknown.
	NodeHealthy, HealthCheckSucceeded Tri
	// Available says that its Available condition is True.
	Available bool
}

// DeletionPriority returns how urgently a MachineSet wants to delete the Machine (higher goes first), and why.
func DeletionPriority(m ScaleMachine, order clusterv1.MachineSetDeletionOrder, now time.Time) (float64, string) {
	switch {
	case m.Deleting:
		return priorityDeleting, "it is already being deleted"
	case m.DeleteAnnotated:
		return priorityAnnotated, "it is marked for deletion by annotation"
	case m.Updating:
		return priorityUpdating, "it is being updated in place"
	case !m.HasNode:
		return priorityUnhealthy, "it has no Node"
	case m.NodeHealthy == False:
		return priorityUnhealthy, "its Node is not healthy"
	case m.HealthCheckSucceeded == False:
		return priorityUnhealthy, "its health check failed"
	}
	age := max(0, now.Sub(m.Created).Seconds())
	// After a year the exponential rounds to 1, which would put a healthy Machine among the broken ones.
	old := min(priorityUnhealthy*(1-math.Exp(-age/ageScaleSeconds)), math.Nextafter(priorityUnhealthy, 0))
	switch order {
	case clusterv1.OldestMachineSetDeletionOrder:
		return old, "the oldest goes first"
	case clusterv1.NewestMachineSetDeletionOrder:
		return priorityUnhealthy - old, "the newest goes first"
	case clusterv1.RandomMachineSetDeletionOrder:
	}
	return priorityRandom, "any may go"
}

// RankForDeletion returns the Machines in the order in which a MachineSet deletes them. Of the healthy ones those that are
// not available go first, whatever their age: a MachineDeployment counts on that when it lets a set shrink without loss.
// Then comes the deletion order, then the name.
func RankForDeletion(machines []ScaleMachine, order clusterv1.MachineSetDeletionOrder, now time.Time) []ScaleMachine {
	ranked := slices.Clone(machines)
	slices.SortStableFunc(ranked, func(a, b ScaleMachine) int {
		pa, _ := DeletionPriority(a, order, now)
		pb, _ := DeletionPriority(b, order, now)
		return cmp.Or(
			cmp.Compare(urgency(pb), urgency(pa)),
			compareBool(a.Available, b.Available),
			cmp.Compare(pb, pa), compareAge(a, b, order), strings.Compare(a.Name, b.Name))
	})
	return ranked
}

// urgency is the priority of a Machine that goes before all healthy ones, and 0 for the healthy.
func urgency(priority float64) float64 {
	if priority < priorityUnhealthy {
		return 0
	}
	return priority
}

func compareAge(a, b ScaleMachine, order clusterv1.MachineSetDeletionOrder) int {
	switch order {
	case clusterv1.OldestMachineSetDeletionOrder:
		return a.Created.Compare(b.Created)
	case clusterv1.NewestMachineSetDeletionOrder:
		return b.Created.Compare(a.Created)
	case clusterv1.RandomMachineSetDeletionOrder:
	}
	return 0
}

// compareBool orders false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}

// UnavailableFirst counts the Machines, not being deleted, that are not available and stand before the first available one
// in the deletion order: how many the set can lose without losing an available Machine. It feeds RolloutSet.
func UnavailableFirst(machines []ScaleMachine, order clusterv1.MachineSetDeletionOrder, now time.Time) int32 {
	var n int32
	for _, m := range RankForDeletion(machines, order, now) {
		switch {
		case m.Deleting:
			continue
		case m.Available:
			return n
		}
		n++
	}
	return n
}

// SetScaleFacts is everything that decides how many Machines a MachineSet creates and which it deletes.
type SetScaleFacts struct {
	// Replicas is spec.replicas.
	Replicas int32
	// Machines are all Machines the set controls, those being deleted included.
	Machines []ScaleMachine
	// Order is spec.deletion.order; anything but Newest and Oldest is Random.
	Order clusterv1.MachineSetDeletionOrder
	// CreateDisabled says that the set carries the annotation disable-machine-create: "true".
	CreateDisabled bool
	// Held are the messages of failed preflight checks; a set that is held creates nothing, but still deletes.
	Held []string
}

// SetScalePlan is what a MachineSet does about its size now.
type SetScalePlan struct {
	// Create is the number of Machines to create.
	Create int32
	// Delete are the Machines to delete, in order.
	Delete []Victim
	// Reason says what is done or what holds it back; empty when the size is right.
	Reason string
}

// Victim is a Machine chosen for deletion.
type Victim struct {
	// Name is that of the Machine.
	Name string
	// Reason says why this one.
	Reason string
}

// ScaleSet decides how many Machines a MachineSet creates and which it deletes. Machines being deleted are the first to be
// counted as deleted, so that asking twice never costs a second Machine.
func ScaleSet(f SetScaleFacts, now time.Time) SetScalePlan {
	diff := int(f.Replicas) - len(f.Machines)
	switch {
	case diff > 0:
		return growSet(f, int32(diff))
	case diff < 0:
		return shrinkSet(f, -diff, now)
	default:
		return SetScalePlan{}
	}
}

func growSet(f SetScaleFacts, missing int32) SetScalePlan {
	p := SetScalePlan{}
	switch {
	case f.CreateDisabled:
		p.Reason = "The owner does not let this MachineSet create Machines"
	case len(f.Held) > 0:
		p.Reason = strings.Join(f.Held, "; ")
	default:
		p.Create = missing
		p.Reason = fmt.Sprintf("Scaling up from %d to %d replicas", len(f.Machines), f.Replicas)
	}
	return p
}

func shrinkSet(f SetScaleFacts, surplus int, now time.Time) SetScalePlan {
	p := SetScalePlan{Reason: fmt.Sprintf("Scaling down from %d to %d replicas", len(f.Machines), f.Replicas)}
	for _, m := range RankForDeletion(f.Machines, f.Order, now)[:surplus] {
		if m.Deleting {
			continue
		}
		_, reason := DeletionPriority(m, f.Order, now)
		p.Delete = append(p.Delete, Victim{Name: m.Name, Reason: reason})
	}
	return p
}
