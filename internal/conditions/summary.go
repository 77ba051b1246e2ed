package conditions

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Summary merges several conditions of one object into one.
type Summary struct {
	// Type of the resulting condition. It is Positive.
	Type string
	// For lists the conditions that count, in the order in which the message tells them.
	For []string
	// Polarity of conditions that PolarityOf does not know, such as those of readiness gates.
	Polarity map[string]Polarity
	// IgnoreIfAbsent lists those that count only once they are reported. Others count as Unknown while absent.
	IgnoreIfAbsent []string
	// Overrides replace observed conditions of the same type, for this summary only.
	Overrides []metav1.Condition
	// Priority gives a condition another priority than its status has; ok is false to leave it as it is. May be nil.
	Priority func(metav1.Condition) (p Priority, ok bool)
	// Collapse puts conditions that say the same under one label.
	Collapse []Collapse
	// Reasons of the resulting condition.
	Reasons Reasons
}

// Collapse names a group of conditions that are told in one line where all reported ones say the same.
type Collapse struct {
	// Label stands for the conditions' types, for example "Control plane components".
	Label string
	// Types are the conditions of the group.
	Types []string
}

type weighed struct {
	metav1.Condition
	priority Priority
}

// Of returns the summary of the conditions. The message has a bullet for each condition that is not in its good state;
// where all are, for each that has something to tell.
func (s Summary) Of(conds []metav1.Condition) metav1.Condition {
	all := s.weigh(conds)
	top := Info
	for _, w := range all {
		top = min(top, w.priority)
	}
	shown := slices.DeleteFunc(all, func(w weighed) bool {
		if top == Info {
			return w.Message == ""
		}
		return w.priority == Info
	})
	return merged(s.Type, Positive, top, s.Reasons, Bounded(strings.Join(s.bullets(shown), "\n")))
}

func (s Summary) weigh(conds []metav1.Condition) []weighed {
	all := make([]weighed, 0, len(s.For))
	for _, t := range s.For {
		c := Find(s.Overrides, t)
		if c == nil {
			c = Find(conds, t)
		}
		if c == nil {
			if slices.Contains(s.IgnoreIfAbsent, t) {
				continue
			}
			absent := missing(t)
			c = &absent
		}
		all = append(all, weighed{*c, s.priority(*c)})
	}
	return all
}

func (s Summary) priority(c metav1.Condition) Priority {
	if s.Priority != nil {
		if p, ok := s.Priority(c); ok {
			return p
		}
	}
	polarity, ok := s.Polarity[c.Type]
	if !ok {
		polarity = PolarityOf(c.Type)
	}
	return PriorityOf(c, polarity)
}

func (s Summary) bullets(shown []weighed) []string {
	var lines []string
	told := map[string]bool{}
	for _, w := range shown {
		if told[w.Type] {
			continue
		}
		label := w.Type
		if c, ok := s.collapsed(shown, w); ok {
			label = c.Label
			for _, t := range c.Types {
				told[t] = true
			}
		}
		lines = append(lines, Bullet(label, detail(w.Condition)))
	}
	return lines
}

// collapsed returns the group that can stand for w: two or more of its types are shown, and all shown ones say the same.
func (s Summary) collapsed(shown []weighed, w weighed) (Collapse, bool) {
	for _, c := range s.Collapse {
		if !slices.Contains(c.Types, w.Type) {
			continue
		}
		count, same := 0, true
		for _, other := range shown {
			if !slices.Contains(c.Types, other.Type) {
				continue
			}
			count++
			same = same && other.priority == w.priority && detail(other.Condition) == detail(w.Condition)
		}
		return c, same && count > 1
	}
	return Collapse{}, false
}
