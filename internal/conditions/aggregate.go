package conditions

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	maxGroups = 3
	maxNames  = 3
)

// Member is one object whose condition is aggregated.
type Member struct {
	// Kind and Name of the object.
	Kind, Name string
	// ControlPlane puts the object before others: when it is a machine of the control plane.
	ControlPlane bool
	// Conditions of the object.
	Conditions []metav1.Condition
}

// Aggregate merges the same condition of many objects into one.
type Aggregate struct {
	// Type of the resulting condition.
	Type string
	// Of is the type of the condition that is merged.
	Of string
	// Polarity of the merged condition where PolarityOf does not know it.
	Polarity Polarity
	// IgnoreIfAbsent skips objects that do not report the condition. Otherwise they count as Unknown.
	IgnoreIfAbsent bool
	// Priority gives a condition another priority than its status has; ok is false to leave it as it is. May be nil.
	Priority func(metav1.Condition) (p Priority, ok bool)
	// Reasons of the resulting condition.
	Reasons Reasons
}

type group struct {
	message      string
	priority     Priority
	kind         string
	controlPlane bool
	members      []Member
}

// Over returns the aggregate over the members, whose order does not matter. The result has the polarity that its type
// has. Objects that say the same share a bullet; three bullets at most are told, the most urgent first. Without members
// all is good, which callers usually tell apart before.
func (a Aggregate) Over(members []Member) metav1.Condition {
	groups := a.groups(members)
	top := Info
	for _, g := range groups {
		top = min(top, g.priority)
	}
	shown := slices.DeleteFunc(groups, func(g group) bool {
		if top == Info {
			return g.message == ""
		}
		return g.priority == Info
	})
	return merged(a.Type, PolarityOf(a.Type), top, a.Reasons, Bounded(strings.Join(bullets(shown), "\n")))
}

func (a Aggregate) groups(members []Member) []group {
	type key struct {
		priority      Priority
		kind, message string
	}
	byKey := map[key]*group{}
	var order []*group
	for _, m := range members {
		w, ok := a.weigh(m)
		if !ok {
			continue
		}
		k := key{w.priority, m.Kind, w.text()}
		g := byKey[k]
		if g == nil {
			g = &group{message: k.message, priority: k.priority, kind: m.Kind}
			byKey[k] = g
			order = append(order, g)
		}
		g.members = append(g.members, m)
		g.controlPlane = g.controlPlane || m.ControlPlane
	}
	out := make([]group, 0, len(order))
	for _, g := range order {
		slices.SortFunc(g.members, compareMembers)
		out = append(out, *g)
	}
	slices.SortFunc(out, compareGroups)
	return out
}

// text is what an object has to tell: objects in their good state without a message say nothing.
func (w weighed) text() string {
	if w.priority == Info {
		return w.Message
	}
	return detail(w.Condition)
}

func (a Aggregate) weigh(m Member) (weighed, bool) {
	c := Find(m.Conditions, a.Of)
	if c == nil {
		if a.IgnoreIfAbsent {
			return weighed{}, false
		}
		absent := missing(a.Of)
		c = &absent
	}
	if a.Priority != nil {
		if p, ok := a.Priority(*c); ok {
			return weighed{*c, p}, true
		}
	}
	return weighed{*c, PriorityOf(*c, max(a.Polarity, PolarityOf(a.Of)))}, true
}

func compareMembers(a, b Member) int {
	return cmp.Or(first(a.ControlPlane, b.ControlPlane), cmp.Compare(a.Name, b.Name))
}

// compareGroups puts the urgent first, then control plane machines, then what most objects say.
func compareGroups(a, b group) int {
	return cmp.Or(
		cmp.Compare(a.priority, b.priority),
		first(a.controlPlane, b.controlPlane),
		cmp.Compare(len(b.members), len(a.members)),
		cmp.Compare(a.kind, b.kind),
		cmp.Compare(a.message, b.message),
	)
}

func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	default:
		return 1
	}
}

func bullets(groups []group) []string {
	var lines []string
	for _, g := range groups[:min(maxGroups, len(groups))] {
		lines = append(lines, Bullet(subject(g), g.message))
	}
	if len(groups) <= maxGroups {
		return lines
	}
	return append(lines, remainder(groups[maxGroups:])...)
}

// remainder counts what the limit left out, a line for each priority and kind.
func remainder(groups []group) []string {
	type key struct {
		priority Priority
		kind     string
	}
	counts := map[key]int{}
	var order []key
	for _, g := range groups {
		k := key{g.priority, g.kind}
		if counts[k] == 0 {
			order = append(order, k)
		}
		counts[k] += len(g.members)
	}
	slices.SortFunc(order, func(a, b key) int {
		return cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(a.kind, b.kind))
	})
	lines := make([]string, 0, len(order))
	for _, k := range order {
		lines = append(lines, fmt.Sprintf("And %s with %s", Count(counts[k], k.kind), leftOut(k.priority)))
	}
	return lines
}

func leftOut(p Priority) string {
	switch p {
	case Issue:
		return "other issues"
	case NotKnown:
		return "status unknown"
	default:
		return "additional info"
	}
}

func subject(g group) string {
	names := make([]string, 0, len(g.members))
	for _, m := range g.members {
		names = append(names, m.Name)
	}
	if len(names) == 1 {
		return g.kind + " " + names[0]
	}
	return plural(g.kind) + " " + listed(names, maxNames)
}

// Count returns a number with its noun: "1 Machine", "3 Machines".
func Count(n int, kind string) string {
	if n == 1 {
		return "1 " + kind
	}
	return fmt.Sprintf("%d %s", n, plural(kind))
}

// Names returns the names sorted and joined, three at most and then how many more there are. The argument is left
// alone.
func Names(names []string) string {
	return listed(slices.Sorted(slices.Values(names)), maxNames)
}

func listed(names []string, limit int) string {
	if len(names) <= limit {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s, ... (%d more)", strings.Join(names[:limit], ", "), len(names)-limit)
}

func plural(kind string) string {
	if strings.HasSuffix(kind, "s") || strings.HasSuffix(kind, "x") || strings.HasSuffix(kind, "ch") {
		return kind + "es"
	}
	return kind + "s"
}
