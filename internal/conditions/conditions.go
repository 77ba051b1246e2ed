// Package conditions builds, compares and merges status conditions. A controller computes the conditions that it owns,
// stamps them against the observed object and applies only them; everyone else's stay as they are.
package conditions

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
)

const (
	// maxMessage bounds a message in bytes. The wire allows 32 KiB; what a foreign provider writes must neither fill
	// our caches nor be copied upwards whole.
	maxMessage = 4096

	// NoReasonReported is the reason of a condition whose source gave none.
	NoReasonReported = "NoReasonReported"
	// NotYetReported is the reason of a condition that its owner has not written yet.
	NotYetReported = "NotYetReported"
	// InvalidConditionReported is the reason given where a condition of a foreign object cannot be understood.
	InvalidConditionReported = "InvalidConditionReported"
)

// True returns a condition with status True. An empty reason becomes the condition's type.
func True(conditionType, reason, message string) metav1.Condition {
	return condition(conditionType, metav1.ConditionTrue, reason, message)
}

// False returns a condition with status False. An empty reason becomes "Not" and the condition's type.
func False(conditionType, reason, message string) metav1.Condition {
	return condition(conditionType, metav1.ConditionFalse, reason, message)
}

// Unknown returns a condition with status Unknown. An empty reason becomes the condition's type and "Unknown".
func Unknown(conditionType, reason, message string) metav1.Condition {
	return condition(conditionType, metav1.ConditionUnknown, reason, message)
}

func condition(conditionType string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	if reason == "" {
		reason = defaultReason(conditionType, status)
	}
	return metav1.Condition{Type: conditionType, Status: status, Reason: reason, Message: message}
}

func defaultReason(conditionType string, status metav1.ConditionStatus) string {
	name := conditionType[strings.LastIndex(conditionType, "/")+1:]
	switch status {
	case metav1.ConditionTrue:
		return name
	case metav1.ConditionFalse:
		return "Not" + name
	default:
		return name + "Unknown"
	}
}

// Find returns a copy of the condition of that type, or nil.
func Find(conds []metav1.Condition, conditionType string) *metav1.Condition {
	for i := range conds {
		if conds[i].Type == conditionType {
			c := conds[i]
			return &c
		}
	}
	return nil
}

// Has reports whether there is a condition of that type, whatever its status.
func Has(conds []metav1.Condition, conditionType string) bool {
	return Find(conds, conditionType) != nil
}

// IsTrue reports whether the condition is there and True.
func IsTrue(conds []metav1.Condition, conditionType string) bool {
	return hasStatus(conds, conditionType, metav1.ConditionTrue)
}

// IsFalse reports whether the condition is there and False.
func IsFalse(conds []metav1.Condition, conditionType string) bool {
	return hasStatus(conds, conditionType, metav1.ConditionFalse)
}

// Reason returns the condition's reason, or "" when it is absent.
func Reason(conds []metav1.Condition, conditionType string) string {
	if c := Find(conds, conditionType); c != nil {
		return c.Reason
	}
	return ""
}

// Message returns the condition's message, or "" when it is absent.
func Message(conds []metav1.Condition, conditionType string) string {
	if c := Find(conds, conditionType); c != nil {
		return c.Message
	}
	return ""
}

// TrueSince returns since when the condition is True; false when it is not.
func TrueSince(conds []metav1.Condition, conditionType string) (time.Time, bool) {
	c := Find(conds, conditionType)
	if c == nil || c.Status != metav1.ConditionTrue {
		return time.Time{}, false
	}
	return c.LastTransitionTime.Time, true
}

func hasStatus(conds []metav1.Condition, conditionType string, status metav1.ConditionStatus) bool {
	c := Find(conds, conditionType)
	return c != nil && c.Status == status
}

// Set puts c among the conditions in memory, in canonical order. lastTransitionTime is kept unless status changes; then
// it is c's, or now where c has none.
func Set(conds *[]metav1.Condition, c metav1.Condition, generation int64, now time.Time) {
	done := stamped(*conds, c, generation, now)
	*conds = Sorted(append(Without(*conds, c.Type), done))
}

// Without returns the conditions less those of the given types. The argument is left alone.
func Without(conds []metav1.Condition, conditionTypes ...string) []metav1.Condition {
	return slices.DeleteFunc(slices.Clone(conds), func(c metav1.Condition) bool {
		return slices.Contains(conditionTypes, c.Type)
	})
}

// Only returns the conditions of the given types. The argument is left alone.
func Only(conds []metav1.Condition, conditionTypes ...string) []metav1.Condition {
	return slices.DeleteFunc(slices.Clone(conds), func(c metav1.Condition) bool {
		return !slices.Contains(conditionTypes, c.Type)
	})
}

// Stamp completes the conditions that a controller wants against those observed: the generation is set,
// lastTransitionTime is kept where the status is the same, messages are bounded, and the order is canonical. The
// arguments are left alone.
func Stamp(observed, desired []metav1.Condition, generation int64, now time.Time) []metav1.Condition {
	out := make([]metav1.Condition, 0, len(desired))
	for _, c := range desired {
		out = append(out, stamped(observed, c, generation, now))
	}
	return Sorted(out)
}

func stamped(observed []metav1.Condition, c metav1.Condition, generation int64, now time.Time) metav1.Condition {
	c.Message = Bounded(c.Message)
	c.ObservedGeneration = generation
	if c.Reason == "" {
		c.Reason = NoReasonReported
	}
	old := Find(observed, c.Type)
	switch {
	case old != nil && old.Status == c.Status && !old.LastTransitionTime.IsZero():
		c.LastTransitionTime = old.LastTransitionTime
	case c.LastTransitionTime.IsZero():
		// The wire carries whole seconds; a fraction would make what we hold differ from what we read back.
		c.LastTransitionTime = metav1.NewTime(now.Truncate(time.Second))
	}
	return c
}

// EqualOwned reports whether writing desired would change nothing that this controller owns: each desired condition is
// observed with the same status, reason, message and generation, and no owned type that is not desired any more is
// observed. Conditions of other owners and lastTransitionTime do not count.
func EqualOwned(observed, desired []metav1.Condition, owned ...string) bool {
	for i := range desired {
		old := Find(observed, desired[i].Type)
		if old == nil || !sameState(*old, desired[i]) {
			return false
		}
	}
	for _, t := range owned {
		if Find(observed, t) != nil && Find(desired, t) == nil {
			return false
		}
	}
	return true
}

func sameState(a, b metav1.Condition) bool {
	a.LastTransitionTime, b.LastTransitionTime = metav1.Time{}, metav1.Time{}
	return a == b
}

// ApplyConfigurations turns stamped conditions into the list for a server-side apply. What is not in the list and was
// applied before by the same field manager is removed by the API server.
func ApplyConfigurations(conds []metav1.Condition) []*metav1ac.ConditionApplyConfiguration {
	out := make([]*metav1ac.ConditionApplyConfiguration, 0, len(conds))
	for i := range conds {
		c := &conds[i]
		out = append(out, metav1ac.Condition().
			WithType(c.Type).
			WithStatus(c.Status).
			WithObservedGeneration(c.ObservedGeneration).
			WithLastTransitionTime(c.LastTransitionTime).
			WithReason(c.Reason).
			WithMessage(c.Message))
	}
	return out
}

// Sorted returns the conditions in canonical order: Available and Ready first, Deleting and Paused last, the others by
// name. The argument is left alone.
func Sorted(conds []metav1.Condition) []metav1.Condition {
	out := slices.Clone(conds)
	slices.SortStableFunc(out, func(a, b metav1.Condition) int {
		return cmp.Or(cmp.Compare(place(a.Type), place(b.Type)), cmp.Compare(a.Type, b.Type))
	})
	return out
}

func place(conditionType string) int {
	switch conditionType {
	case "Available":
		return 0
	case "Ready":
		return 1
	case "Deleting":
		return 3
	case "Paused":
		return 4
	default:
		return 2
	}
}

// Bounded returns the message cut to the size that we keep, at a rune's border and with a mark where it was cut.
func Bounded(message string) string { return cut(message, maxMessage) }

func cut(message string, limit int) string {
	const mark = "..."
	if len(message) <= limit {
		return message
	}
	end := limit - len(mark)
	for end > 0 && !utf8.RuneStart(message[end]) {
		end--
	}
	return message[:end] + mark
}

// WithoutMessages returns the conditions with empty messages, to tell a change of state from one of words. The argument
// is left alone.
func WithoutMessages(conds []metav1.Condition) []metav1.Condition {
	out := slices.Clone(conds)
	for i := range out {
		out[i].Message = ""
	}
	return out
}
