package conditions

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
)

const (
	maxV1Beta1Message = 1024
	maxV1Beta1Reason  = 256
)

// V1Beta1True returns a condition of the old style with status True.
func V1Beta1True(t clusterv1.ConditionType) clusterv1.Condition {
	return clusterv1.Condition{Type: t, Status: corev1.ConditionTrue}
}

// V1Beta1False returns a condition of the old style with status False.
func V1Beta1False(t clusterv1.ConditionType, reason string, severity clusterv1.ConditionSeverity, message string) clusterv1.Condition {
	return clusterv1.Condition{Type: t, Status: corev1.ConditionFalse, Severity: severity, Reason: reason, Message: message}
}

// V1Beta1Unknown returns a condition of the old style with status Unknown.
func V1Beta1Unknown(t clusterv1.ConditionType, reason, message string) clusterv1.Condition {
	return clusterv1.Condition{Type: t, Status: corev1.ConditionUnknown, Reason: reason, Message: message}
}

// V1Beta1From returns the old-style condition that says what c says; severity is used when c is in its bad state. Old
// conditions are all Positive, so a Negative one is turned round.
func V1Beta1From(t clusterv1.ConditionType, c metav1.Condition, severity clusterv1.ConditionSeverity) clusterv1.Condition {
	switch PriorityOf(c, PolarityOf(c.Type)) {
	case Info:
		return V1Beta1True(t)
	case Issue:
		return V1Beta1False(t, c.Reason, severity, c.Message)
	default:
		return V1Beta1Unknown(t, c.Reason, c.Message)
	}
}

// V1Beta1Ready returns the old-style Ready: False with the first and most severe False condition's reason and message,
// True when all are True, Unknown otherwise. Those that are absent from conds are not counted.
func V1Beta1Ready(conds clusterv1.Conditions) clusterv1.Condition {
	ready := V1Beta1True("Ready")
	for _, c := range conds {
		if c.Type != "Ready" && weight(c) > weight(ready) {
			ready = c
		}
	}
	ready.Type = "Ready"
	ready.LastTransitionTime = metav1.Time{}
	return ready
}

func weight(c clusterv1.Condition) int {
	if c.Status == corev1.ConditionTrue {
		return 0
	}
	if c.Status != corev1.ConditionFalse {
		return 1
	}
	switch c.Severity {
	case clusterv1.ConditionSeverityError:
		return 4
	case clusterv1.ConditionSeverityWarning:
		return 3
	default:
		return 2
	}
}

// StampV1Beta1 completes old-style conditions against those observed: lastTransitionTime changes only with status,
// reason, severity and message bounds are kept to, Ready comes first and the others by name. On the wire the list has
// no keys, so one controller writes all of it.
func StampV1Beta1(observed, desired clusterv1.Conditions, now time.Time) clusterv1.Conditions {
	out := make(clusterv1.Conditions, 0, len(desired))
	for _, c := range desired {
		c.Message, c.Reason = cut(c.Message, maxV1Beta1Message), cut(c.Reason, maxV1Beta1Reason)
		if c.Status != corev1.ConditionFalse {
			c.Severity = clusterv1.ConditionSeverityNone
		}
		old := FindV1Beta1(observed, c.Type)
		switch {
		case old != nil && old.Status == c.Status && !old.LastTransitionTime.IsZero():
			c.LastTransitionTime = old.LastTransitionTime
		case c.LastTransitionTime.IsZero():
			c.LastTransitionTime = metav1.NewTime(now.Truncate(time.Second))
		}
		out = append(out, c)
	}
	slices.SortStableFunc(out, func(a, b clusterv1.Condition) int {
		return cmp.Or(first(a.Type == "Ready", b.Type == "Ready"), cmp.Compare(a.Type, b.Type))
	})
	return out
}

// FindV1Beta1 returns a copy of the old-style condition of that type, or nil.
func FindV1Beta1(conds clusterv1.Conditions, t clusterv1.ConditionType) *clusterv1.Condition {
	for i := range conds {
		if conds[i].Type == t {
			c := conds[i]
			return &c
		}
	}
	return nil
}

// EqualV1Beta1 reports whether two lists say the same, whatever the order and the times.
func EqualV1Beta1(a, b clusterv1.Conditions) bool {
	if len(a) != len(b) {
		return false
	}
	for _, c := range a {
		other := FindV1Beta1(b, c.Type)
		if other == nil {
			return false
		}
		c.LastTransitionTime = other.LastTransitionTime
		if c != *other {
			return false
		}
	}
	return true
}
