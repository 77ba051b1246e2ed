// Package faults tells which of the faults that a user asked for are at work.
package faults

import (
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"strings"

	infrav1 "slipway.dev/slipway/api/infrastructure/v1alpha1"
)

// Fault is one fault of a spec.
type Fault struct {
	// Name is what it is called in messages, such as NodeLost, or ZoneDown of zone a.
	Name string
	// Duration is how long it lasts; nil means until it is removed.
	Duration *metav1.Duration
}

// Active are the faults at work.
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

// Tracker remembers when each object's faults were first seen. It is safe for concurrent use.
type Tracker struct {
	mu    sync.Mutex // guards first
	first map[types.UID]map[string]time.Time
}

// NewTracker returns an empty Tracker.
func NewTracker() *Tracker { return &Tracker{first: map[types.UID]map[string]time.Time{}} }

// Forget drops what is known of an object.
func (t *Tracker) Forget(uid types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.first, uid)
}

// Active returns which of an object's faults are at work now. reported is the object's FaultFree condition, or nil: after
// a restart it tells since when a fault has been at work.
func (t *Tracker) Active(uid types.UID, faults []Fault, reported *metav1.Condition, now time.Time) Active {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(faults) == 0 {
		delete(t.first, uid)
		return Active{}
	}
	seen, active := map[string]time.Time{}, Active{names: map[string]struct{}{}}
	for _, f := range faults {
		since, ok := t.first[uid][f.Name]
		if !ok {
			since = sinceReported(f.Name, reported, now)
		}
		seen[f.Name] = since
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
	t.first[uid] = seen
	return active
}

func sinceReported(name string, reported *metav1.Condition, now time.Time) time.Time {
	if reported != nil && reported.Status == metav1.ConditionFalse && strings.Contains(reported.Message, name) {
		return reported.LastTransitionTime.Time
	}
	return now
}

// Condition is the FaultFree condition for the faults at work, in the order of the spec.
func Condition(faults []Fault, active Active) metav1.Condition {
	var names []string
	for _, f := range faults {
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
