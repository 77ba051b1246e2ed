// Package faults tells which of the faults that a user asked for are at work.
package faults

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "slipway.dev/slipway/api/infrastructure/v1alpha1"
)

// Fault is one fault of a spec.
type Fault struct {
	// Name is what it is called in messages, such as NodeLost, or ZoneDown of zone a. It is unique among an object's faults.
	Name string
	// Duration is how long it lasts; nil means until it is removed.
	Duration *metav1.Duration
}

// Names are what the faults are called.
func Names(list []Fault) []string {
	names := make([]string, 0, len(list))
	for _, f := range list {
		names = append(names, f.Name)
	}
	return names
}

// Active are the faults at work. Its zero value is none, and says that nobody looked; see At.
type Active struct {
	names map[string]struct{}
	// Next is when the first of them ends by itself; zero when none does.
	Next time.Time
}

// Has tells whether a fault is at work.
func (a Active) Has(name string) bool {
	_, ok := a.names[name]
	return ok
}

// At returns which of an object's faults are at work now. Starts are when each began, by its name; a fault without a start
// has yet to begin.
func At(list []Fault, starts map[string]time.Time, now time.Time) Active {
	active := Active{names: map[string]struct{}{}}
	for _, f := range list {
		since, begun := starts[f.Name]
		if !begun {
			continue
		}
		if f.Duration == nil {
			active.names[f.Name] = struct{}{}
			continue
		}
		if end := since.Add(f.Duration.Duration); now.Before(end) {
			active.names[f.Name] = struct{}{}
			if active.Next.IsZero() || end.Before(active.Next) {
				active.Next = end
			}
		}
	}
	return active
}

// Condition is the FaultFree condition for the faults at work, in the order of the spec.
func Condition(list []Fault, active Active) metav1.Condition {
	var names []string
	for _, f := range list {
		if active.Has(f.Name) {
			names = append(names, f.Name)
		}
	}
	if len(names) == 0 {
		return metav1.Condition{Type: infrav1.FaultFreeCondition, Status: metav1.ConditionTrue, Reason: infrav1.NoFaultsReason}
	}
	return metav1.Condition{
		Type: infrav1.FaultFreeCondition, Status: metav1.ConditionFalse, Reason: infrav1.FaultsActiveReason,
		Message: "At work: " + strings.Join(names, ", ") + ". Remove them from spec.faults to end them",
	}
}

// Report is the FaultFree condition to write. Where nobody could look at the faults, as with an object that is paused, what was
// reported before stays.
func Report(list []Fault, active Active, reported *metav1.Condition) metav1.Condition {
	if active.names == nil && reported != nil {
		return metav1.Condition{Type: reported.Type, Status: reported.Status, Reason: reported.Reason, Message: reported.Message}
	}
	return Condition(list, active)
}
