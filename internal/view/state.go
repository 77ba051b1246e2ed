// Package view turns API objects into what people read: one of eight state words with a message, and the tree of a cluster.
// Lists, trees and waiting all ask it, so that they never disagree.
package view

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// State is the word for how an object fares.
type State string

// The states, from the best to the one that needs a human most.
const (
	// Ready means that the object is as it was asked for.
	Ready State = "Ready"
	// Paused means that nothing is done to it, on purpose.
	Paused State = "Paused"
	// Deleting means that it is on its way out.
	Deleting State = "Deleting"
	// Waiting means that something with a name must happen first.
	Waiting State = "Waiting"
	// Working means that it is being changed, within the time that takes.
	Working State = "Working"
	// Unknown means that it cannot be seen.
	Unknown State = "Unknown"
	// Stuck means that it takes longer than it should, or needs a human.
	Stuck State = "Stuck"
	// Failed means that it will not get there by itself.
	Failed State = "Failed"
)

// severity orders the states; the worst child explains its parent.
func (s State) severity() int { return slices.Index(States(), s) }

// NeedsHuman tells whether the object will not become Ready by itself, as far as can be seen.
func (s State) NeedsHuman() bool { return s == Failed || s == Stuck || s == Unknown }

// Status is a state with what is behind it.
type Status struct {
	State State `json:"state"`
	// Message says what is happening, to what. It may be empty.
	Message string `json:"message,omitempty"`
	// Since is when it began; zero when nobody knows.
	Since time.Time `json:"since,omitzero"`
}

// The times within which things are expected to be done. What takes longer is Stuck.
const (
	// expectedReady bounds a machine's way to a ready Node, a scaling step and the loss of readiness.
	expectedReady = 10 * time.Minute
	// expectedRollout bounds a rolling replacement in which no condition has moved.
	expectedRollout = 30 * time.Minute
	// expectedDeletion bounds a deletion.
	expectedDeletion = 15 * time.Minute
)

// find returns a condition, or an Unknown one without a reason.
func find(conditions []metav1.Condition, kind string) metav1.Condition {
	for _, c := range conditions {
		if c.Type == kind {
			return c
		}
	}
	return metav1.Condition{Type: kind, Status: metav1.ConditionUnknown}
}

func isTrue(conditions []metav1.Condition, kind string) bool {
	return find(conditions, kind).Status == metav1.ConditionTrue
}

// gaveUp tells whether a condition says that its maker has given up, by the reasons that providers use for that: BootFailed,
// CreationFailed and the like.
func gaveUp(c metav1.Condition) bool {
	return c.Status == metav1.ConditionFalse && strings.HasSuffix(c.Reason, "Failed")
}

// since is when a condition took its status, or the fallback when it never did.
func since(c metav1.Condition, fallback time.Time) time.Time {
	if c.LastTransitionTime.IsZero() {
		return fallback
	}
	return c.LastTransitionTime.Time
}

// Flatten makes a message one line: conditions list their causes in lines that begin with a star.
func Flatten(message string) string {
	var parts []string
	for line := range strings.Lines(message) {
		if text := strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "*")); text != "" {
			parts = append(parts, text)
		}
	}
	var b strings.Builder
	for i, part := range parts {
		switch {
		case i == 0:
		case strings.HasSuffix(parts[i-1], ":"):
			b.WriteString(" ")
		default:
			b.WriteString("; ")
		}
		b.WriteString(part)
	}
	return b.String()
}

// late makes a Working status Stuck when it is older than its bound.
func late(s Status, bound time.Duration, now time.Time) Status {
	if s.State == Working && !s.Since.IsZero() && now.Sub(s.Since) > bound {
		s.State = Stuck
	}
	return s
}

// firstText returns the first text that is not empty.
func firstText(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

func value(p *int32) int32 {
	if p == nil {
		return 0
	}
	return *p
}

// States are all states, from the best to the one that needs a human most.
func States() []State {
	return []State{Ready, Paused, Deleting, Waiting, Working, Unknown, Stuck, Failed}
}

// Worse returns the one of two states that needs a human more.
func Worse(a, b State) State {
	if b.severity() > a.severity() {
		return b
	}
	return a
}
