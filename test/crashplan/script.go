// Package crashplan decides what happens to clusters in a crash test, and after which writes the plane is killed.
package crashplan

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"slipway.dev/slipway/test/fleet"
)

// Operation is what a user does to a cluster.
type Operation string

// The operations of a script.
const (
	Create  Operation = "create"
	Scale   Operation = "scale"
	Upgrade Operation = "upgrade"
	Delete  Operation = "delete"
)

// Operations are all of them.
func Operations() []Operation { return []Operation{Create, Scale, Upgrade, Delete} }

// Versions that clusters are created with, and upgraded to.
const (
	OldVersion = "v1.37.0"
	NewVersion = "v1.37.2"
)

// Step is one operation on one cluster.
type Step struct {
	Operation Operation
	// Spec is what the cluster shall be from now on; of a deleted one, what it was.
	Spec fleet.Spec
	// Hasty steps are followed by the next without waiting for the end of what they began.
	Hasty bool
}

// String tells the step.
func (s Step) String() string { return fmt.Sprintf("%s %s", s.Operation, s.Spec.Name) }

// order is the operations over and over: each round leaves one cluster behind.
var order = []Operation{Create, Scale, Create, Upgrade, Delete}

// Script makes steps, of which each operation has its share. Every cluster has a namespace of its own. An upgrade never
// follows a hasty step on the same cluster, for what it leaves behind depends on how far the cluster had come.
func Script(dice *rand.Rand, steps int) []Step {
	s := &script{dice: dice, alive: map[string]fleet.Spec{}, hurried: map[string]bool{}}
	for i := range steps {
		s.add(order[i%len(order)])
	}
	return s.steps
}

type script struct {
	dice    *rand.Rand
	alive   map[string]fleet.Spec
	hurried map[string]bool
	made    int
	steps   []Step
}

func (s *script) add(op Operation) {
	if op == Create {
		s.made++
		name := fmt.Sprintf("c%d", s.made)
		s.step(op, fleet.Spec{Namespace: name, Name: name, Version: OldVersion, ControlPlane: 1, Workers: 1, ECDSA: true})
		return
	}
	spec, ok := s.choose(op)
	if !ok {
		op = Scale
		spec, _ = s.choose(op)
	}
	switch op {
	case Upgrade:
		spec.Version = NewVersion
	case Scale:
		if s.dice.IntN(3) == 0 {
			spec.ControlPlane = 4 - spec.ControlPlane
		} else {
			spec.Workers = 1 + (spec.Workers+s.dice.Int32N(2))%3
		}
	case Create, Delete: // A creation is made above, and a deletion changes nothing in the spec.
	}
	s.step(op, spec)
}

// choose finds a cluster for an operation. The last one is never deleted.
func (s *script) choose(op Operation) (fleet.Spec, bool) {
	var fit []fleet.Spec
	for _, name := range slices.Sorted(maps.Keys(s.alive)) {
		spec := s.alive[name]
		if op == Upgrade && (spec.Version == NewVersion || s.hurried[name]) || op == Delete && len(s.alive) == 1 {
			continue
		}
		fit = append(fit, spec)
	}
	if len(fit) == 0 {
		return fleet.Spec{}, false
	}
	return fit[s.dice.IntN(len(fit))], true
}

func (s *script) step(op Operation, spec fleet.Spec) {
	hasty := op != Upgrade && s.dice.IntN(4) == 0
	s.steps = append(s.steps, Step{op, spec, hasty})
	s.alive[spec.Name], s.hurried[spec.Name] = spec, hasty
	if op == Delete {
		delete(s.alive, spec.Name)
	}
}

// Survivors are the clusters that there shall be after the steps, and the names of those that shall be gone.
func Survivors(steps []Step) (alive map[string]fleet.Spec, gone []string) {
	alive = map[string]fleet.Spec{}
	for _, s := range steps {
		if s.Operation == Delete {
			delete(alive, s.Spec.Name)
			gone = append(gone, s.Spec.Name)
		} else {
			alive[s.Spec.Name] = s.Spec
		}
	}
	return alive, gone
}
