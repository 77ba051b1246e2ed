package conditions

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Mirror copies a condition of another object under a name of our own.
type Mirror struct {
	// Type of the resulting condition.
	Type string
	// Of is the type of the condition that is copied.
	Of string
	// Fallback stands in while the other object does not report the condition. Its Type is not used. Without a Fallback
	// the result is Unknown then.
	Fallback *metav1.Condition
}

// From returns the copy. A condition that is there but cannot be understood becomes Unknown with the reason
// InvalidConditionReported; one that gives no reason gets the source type's name when it is True.
func (m Mirror) From(conds []metav1.Condition) metav1.Condition {
	c := Find(conds, m.Of)
	switch {
	case c == nil && m.Fallback == nil:
		return Unknown(m.Type, NotYetReported, "Condition "+m.Of+" not yet reported")
	case c == nil:
		out := *m.Fallback
		out.Type = m.Type
		return out
	case !known(c.Status):
		return Unknown(m.Type, InvalidConditionReported,
			fmt.Sprintf("Condition %s has the status %q, which is none of True, False and Unknown", m.Of, cut(string(c.Status), 32)))
	}
	reason := c.Reason
	if (reason == "" || reason == NoReasonReported) && c.Status == metav1.ConditionTrue {
		reason = m.Of
	}
	if reason == "" {
		reason = NoReasonReported
	}
	return metav1.Condition{
		Type:               m.Type,
		Status:             c.Status,
		Reason:             wellFormed(reason),
		Message:            Bounded(c.Message),
		LastTransitionTime: c.LastTransitionTime,
	}
}

// maxReason is the wire's bound on a reason.
const maxReason = 1024

// wellFormed returns the reason as the wire accepts it: a letter, then letters, digits and _ , : with none of the last
// two at its end. Providers of the older contract are held to no such rule, and one reason that is refused would keep
// the whole status from being written. Other characters become underscores.
func wellFormed(reason string) string {
	clean := strings.Map(func(r rune) rune {
		if r == ',' || r == ':' || letter(r) || '0' <= r && r <= '9' {
			return r
		}
		return '_'
	}, reason[:min(len(reason), maxReason)])
	clean = strings.TrimRight(strings.TrimLeftFunc(clean, func(r rune) bool { return !letter(r) }), ",:")
	if clean == "" {
		return NoReasonReported
	}
	return clean
}

func letter(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' }

func known(status metav1.ConditionStatus) bool {
	switch status {
	case metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown:
		return true
	default:
		return false
	}
}

// Fallback returns what to mirror while a provider reports only a boolean: True with the reason good, or False with the
// reason "Not" and good and a message that names the field.
func Fallback(value bool, good, kind, field string) *metav1.Condition {
	c := True("", good, "")
	if !value {
		c = False("", "Not"+good, fmt.Sprintf("%s %s is false", kind, field))
	}
	return &c
}
