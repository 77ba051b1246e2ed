package cli

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"slipway.dev/slipway/internal/terminal"
	"slipway.dev/slipway/internal/view"
)

// stateWidth is the width of the column of state words.
const stateWidth = len("Deleting")

// symbolWidth is the width of a symbol with the blanks around it.
const symbolWidth = len("  ! ")

// branch is one node with the lines that lead to it.
type branch struct {
	lead string
	node *view.Node
}

// treeLines draws a tree: a line a node, the state words in one column. Where that column has no room, the symbols stand
// before the names: what is cut off on the right is never how an object fares. Columns 0 is no bound.
func treeLines(root *view.Node, now time.Time, columns int) []terminal.Line {
	branches := flattenTree(root)
	width := 0
	for _, b := range branches {
		if b.node.Status != nil {
			width = max(width, utf8.RuneCountInString(b.lead)+utf8.RuneCountInString(title(b.node)))
		}
	}
	narrow := columns > 0 && width+symbolWidth+stateWidth > columns
	if narrow {
		width = 0
	}
	var lines []terminal.Line
	for _, b := range branches {
		lines = append(lines, treeLine(b, width, now, narrow))
		lines = append(lines, conditionLines(b, width)...)
	}
	return lines
}

func flattenTree(root *view.Node) []branch {
	var all []branch
	var walk func(n *view.Node, lead, below string)
	walk = func(n *view.Node, lead, below string) {
		all = append(all, branch{lead: lead, node: n})
		for i, c := range n.Children {
			if i == len(n.Children)-1 {
				walk(c, below+"└─ ", below+"   ")
			} else {
				walk(c, below+"├─ ", below+"│  ")
			}
		}
	}
	walk(root, "", "")
	return all
}

func title(n *view.Node) string {
	if n.Kind == "" {
		return n.Name
	}
	return n.Kind + "/" + n.Name
}

func treeLine(b branch, width int, now time.Time, narrow bool) terminal.Line {
	n := b.node
	if n.Status == nil {
		return terminal.Line{}.Add(terminal.Plain, b.lead+title(n))
	}
	name := terminal.Pad(title(n), width-utf8.RuneCountInString(b.lead))
	style, symbol := styleOf(n.Status.State), symbolOf(n.Status.State)+" "
	line := terminal.Line{}.Add(terminal.Dim, b.lead)
	if narrow {
		line = line.Add(style, symbol).Add(nameStyle(n), name).Add(terminal.Plain, "  ").Add(style, string(n.Status.State))
	} else {
		line = line.Add(nameStyle(n), name).Add(terminal.Plain, "  ").Add(style, symbol+terminal.Pad(string(n.Status.State), stateWidth))
	}
	if text := detail(n, now); text != "" {
		line = line.Add(terminal.Plain, "  "+text)
	}
	if n.FirstCause {
		line = append(line, terminal.Cell{Text: "   ← first cause", Style: terminal.Bold, Keep: !narrow})
	}
	return line
}

func nameStyle(n *view.Node) terminal.Style {
	if n.FirstCause || n.Kind == "Cluster" {
		return terminal.Bold
	}
	return terminal.Plain
}

// detail is what stands after the state word: facts, what is happening, and since when if that is long ago.
func detail(n *view.Node, now time.Time) string {
	parts := append([]string{}, n.Facts...)
	if n.Status.Message != "" {
		message := n.Status.Message
		if age := now.Sub(n.Status.Since); n.Status.State != view.Ready && !n.Status.Since.IsZero() && age >= quietAge {
			message += " (" + duration.HumanDuration(age) + ")"
		}
		parts = append(parts, message)
	}
	if folded := n.FoldedText(); folded != "" {
		if n.Status.Message != "" {
			parts[len(parts)-1] += " " + folded
		} else {
			parts = append(parts, folded)
		}
	}
	return strings.Join(parts, "   ")
}

// quietAge is how long a state may last before its age is worth reading.
const quietAge = 5 * time.Second

func conditionLines(b branch, width int) []terminal.Line {
	lead := below(b)
	var lines []terminal.Line
	for _, c := range b.node.Conditions {
		text := fmt.Sprintf("%s=%s", c.Type, c.Status)
		if c.Reason != "" && c.Reason != c.Type {
			text += " " + c.Reason
		}
		line := terminal.Line{}.Add(terminal.Dim, terminal.Pad(lead, max(width+2, utf8.RuneCountInString(lead)+1))).Add(conditionStyle(c), text)
		if c.Message != "" {
			line = line.Add(terminal.Dim, "  "+view.Flatten(c.Message))
		}
		lines = append(lines, line)
	}
	return lines
}

func conditionStyle(c metav1.Condition) terminal.Style {
	if c.Status == metav1.ConditionUnknown {
		return terminal.Magenta
	}
	return terminal.Plain
}

// below is the lead of a line under a node: the branches that go on.
func below(b branch) string {
	lead := strings.NewReplacer("├─ ", "│  ", "└─ ", "   ").Replace(b.lead)
	if len(b.node.Children) > 0 {
		lead += "│"
	}
	return lead
}

// treeDot draws the tree for graphviz.
func treeDot(root *view.Node) string {
	var b strings.Builder
	b.WriteString("digraph cluster {\n  rankdir=LR;\n  node [shape=box];\n")
	number := 0
	var walk func(n *view.Node) int
	walk = func(n *view.Node) int {
		id := number
		number++
		label := title(n)
		if n.Status != nil {
			label += "\n" + string(n.Status.State)
		}
		fmt.Fprintf(&b, "  n%d [label=%q];\n", id, label)
		for _, c := range n.Children {
			fmt.Fprintf(&b, "  n%d -> n%d;\n", id, walk(c))
		}
		return id
	}
	walk(root)
	b.WriteString("}\n")
	return b.String()
}
