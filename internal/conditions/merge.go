package conditions

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Priority orders conditions by how much a reader should care. The lower, the more urgent.
type Priority int

const (
	// Issue is a condition in its bad state.
	Issue Priority = iota
	// NotKnown is a condition whose state cannot be told.
	NotKnown
	// Info is a condition in its good state.
	Info
)

// Polarity says which status is the good one.
type Polarity int

const (
	// Positive conditions are good when True.
	Positive Polarity = iota
	// Negative conditions are good when False.
	Negative
)

// PolarityOf returns the polarity of a condition of the Cluster API by its type; unknown types are Positive.
func PolarityOf(conditionType string) Polarity {
	switch conditionType {
	case "Deleting", "Paused", "RollingOut", "ScalingUp", "ScalingDown", "Remediating", "Updating":
		return Negative
	default:
		return Positive
	}
}

// PriorityOf returns how urgent a condition is. A status that is neither True, False nor Unknown counts as NotKnown.
func PriorityOf(c metav1.Condition, polarity Polarity) Priority {
	good, bad := metav1.ConditionTrue, metav1.ConditionFalse
	if polarity == Negative {
		good, bad = bad, good
	}
	switch c.Status {
	case good:
		return Info
	case bad:
		return Issue
	default:
		return NotKnown
	}
}

// Reasons are the reasons of a merged condition. Empty ones are derived from the condition's type: Ready, NotReady and
// ReadyUnknown for a Positive Ready.
type Reasons struct {
	// Issue is the reason when something is in its bad state.
	Issue string
	// Unknown is the reason when nothing is bad and something is not known.
	Unknown string
	// Info is the reason when all is good.
	Info string
}

func merged(conditionType string, polarity Polarity, top Priority, reasons Reasons, message string) metav1.Condition {
	good, bad := True, False
	if polarity == Negative {
		good, bad = False, True
	}
	switch top {
	case Issue:
		return bad(conditionType, reasons.Issue, message)
	case NotKnown:
		return Unknown(conditionType, reasons.Unknown, message)
	default:
		return good(conditionType, reasons.Info, message)
	}
}

// Bullet returns one line of a merged message. A detail of several lines, or one that is a list itself, goes below the
// label, indented.
func Bullet(label, detail string) string {
	detail = strings.TrimRight(detail, "\n")
	if !strings.Contains(detail, "\n") && !strings.HasPrefix(detail, "* ") {
		return "* " + label + ": " + detail
	}
	lines := strings.Split(detail, "\n")
	for i, line := range lines {
		lines[i] = "  " + line
	}
	return "* " + label + ":\n" + strings.Join(lines, "\n")
}

func detail(c metav1.Condition) string {
	if c.Message != "" {
		return c.Message
	}
	return c.Reason
}

// missing is what a condition counts as until its owner writes it.
func missing(conditionType string) metav1.Condition {
	return Unknown(conditionType, NotYetReported, "Condition "+conditionType+" not yet reported")
}
