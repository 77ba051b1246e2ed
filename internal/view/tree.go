package view

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
)

// Node is one line of a tree.
type Node struct {
	// Kind and Name identify the object; a group of objects has a name alone.
	Kind string `json:"kind,omitempty"`
	Name string `json:"name"`
	// Status is absent for a group.
	Status *Status `json:"status,omitempty"`
	// Facts are what else is worth reading, such as the version and the zone.
	Facts []string `json:"facts,omitempty"`
	// Folded is how many healthy machines are not shown one by one.
	Folded int `json:"folded,omitempty"`
	// FirstCause marks the object that explains why the cluster is not Ready.
	FirstCause bool               `json:"firstCause,omitempty"`
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	Children   []*Node            `json:"children,omitempty"`
}

// TreeOptions say how much a tree shows.
type TreeOptions struct {
	// All shows every object: nothing is folded, and machine sets and the machines' own objects are shown.
	All bool
	// Conditions shows the conditions of each object.
	Conditions bool
}

// Tree returns the tree of a cluster.
func (s *Snapshot) Tree(opts TreeOptions, now time.Time) *Node {
	b := builder{s: s, opts: opts, now: now}
	status := s.Cluster.Status(now)
	root := b.node("Cluster", s.Object.Name, status, s.Object.Status.Conditions)
	if o := s.Infrastructure; o != nil {
		root.add(b.object(o))
	}
	root.add(b.controlPlane())
	root.add(b.workers())
	markFirstCause(root)
	return root
}

type builder struct {
	s    *Snapshot
	opts TreeOptions
	now  time.Time
}

func (n *Node) add(children ...*Node) {
	for _, c := range children {
		if c != nil {
			n.Children = append(n.Children, c)
		}
	}
}

func (b *builder) node(kind, name string, status Status, conditions []metav1.Condition) *Node {
	n := &Node{Kind: kind, Name: name, Status: &status}
	if b.opts.Conditions {
		n.Conditions = conditions
	}
	return n
}

func (b *builder) object(o *Object) *Node {
	return b.node(o.Kind, o.Name, OfObject(o, b.now), o.Status.Conditions)
}

func (b *builder) controlPlane() *Node {
	var n *Node
	switch cp := b.s.ControlPlane; {
	case cp != nil:
		n = b.node("KubeadmControlPlane", cp.Name, b.s.OfControlPlane(b.now), cp.Status.Conditions)
	case b.s.OtherControlPlane != nil:
		n = b.object(b.s.OtherControlPlane)
	default:
		n = &Node{Name: "Control plane"}
	}
	for i := range b.s.Machines {
		if m := &b.s.Machines[i]; isControlPlane(m) {
			n.add(b.machine(m))
		}
	}
	if n.Status == nil && len(n.Children) == 0 {
		return nil
	}
	return n
}

func (b *builder) machine(m *clusterv1.Machine) *Node {
	n := b.node("Machine", m.Name, OfMachine(m, b.now), m.Status.Conditions)
	if m.Spec.Version != "" {
		n.Facts = append(n.Facts, m.Spec.Version)
	}
	if zone := firstText(m.Status.FailureDomain, m.Spec.FailureDomain); zone != "" {
		n.Facts = append(n.Facts, "zone "+zone)
	}
	for _, o := range b.s.MachineObjects[m.Name] {
		n.add(b.object(o))
	}
	return n
}

// workers groups the machine deployments, the machine sets without one, and the machines without either.
func (b *builder) workers() *Node {
	group := &Node{Name: "Workers"}
	for i := range b.s.Deployments {
		md := &b.s.Deployments[i]
		n := b.node("MachineDeployment", md.Name, b.s.OfMachineDeployment(md, b.now), md.Status.Conditions)
		if b.opts.All {
			n.add(b.sets(md.Name)...)
		} else {
			b.fold(n, b.machinesOf(clusterv1.MachineDeploymentNameLabel, md.Name))
		}
		group.add(n)
	}
	group.add(b.sets("")...)
	for i := range b.s.Machines {
		if m := &b.s.Machines[i]; isAlone(m) {
			group.add(b.machine(m))
		}
	}
	if len(group.Children) == 0 {
		return nil
	}
	return group
}

// sets returns the machine sets of a deployment, or those of none.
func (b *builder) sets(deployment string) []*Node {
	var nodes []*Node
	for i := range b.s.Sets {
		ms := &b.s.Sets[i]
		if ms.Labels[clusterv1.MachineDeploymentNameLabel] != deployment {
			continue
		}
		n := b.node("MachineSet", ms.Name, b.s.OfMachineSet(ms, b.now), ms.Status.Conditions)
		machines := b.machinesOf(clusterv1.MachineSetNameLabel, ms.Name)
		if b.opts.All {
			n.add(machines...)
		} else {
			b.fold(n, machines)
		}
		nodes = append(nodes, n)
	}
	return nodes
}

func (b *builder) machinesOf(label, name string) []*Node {
	owned := ownedBy(label, name)
	var nodes []*Node
	for i := range b.s.Machines {
		if m := &b.s.Machines[i]; owned(m) {
			nodes = append(nodes, b.machine(m))
		}
	}
	return nodes
}

// maxUnfolded bounds the machines that are shown one by one below a parent.
const maxUnfolded = 25

// fold shows the machines that are not Ready and counts the others. Of too many, the worst are shown.
func (b *builder) fold(parent *Node, machines []*Node) {
	shown := slices.DeleteFunc(slices.Clone(machines), func(m *Node) bool { return m.Status.State == Ready })
	if len(shown) > maxUnfolded {
		slices.SortStableFunc(shown, func(a, b *Node) int { return cmp.Compare(b.Status.State.severity(), a.Status.State.severity()) })
		shown = shown[:maxUnfolded]
	}
	parent.Folded += len(machines) - len(shown)
	parent.add(shown...)
}

// FoldedText says what is folded.
func (n *Node) FoldedText() string {
	switch n.Folded {
	case 0:
		return ""
	case 1:
		return "(1 machine folded; --all shows it)"
	default:
		return fmt.Sprintf("(%d machines folded; --all shows them)", n.Folded)
	}
}

// markFirstCause marks the deepest object in the worst state that needs somebody; of several, the one that began first.
func markFirstCause(root *Node) {
	if root.Status.State == Ready || root.Status.State == Paused {
		return
	}
	var cause *Node
	var walk func(n *Node, depth int)
	walk = func(n *Node, depth int) {
		if depth > 0 && n.Status != nil && n.Status.State.NeedsHuman() && worse(n, cause) {
			cause = n
		}
		for _, c := range n.Children {
			walk(c, depth+1)
		}
	}
	walk(root, 0)
	if cause != nil {
		cause.FirstCause = true
	}
}

// worse tells whether a node explains more than the cause so far. Children come after their parents and explain them, so
// that an equal one wins unless it began later than a sibling.
func worse(n, cause *Node) bool {
	if cause == nil {
		return true
	}
	if a, b := n.Status.State.severity(), cause.Status.State.severity(); a != b {
		return a > b
	}
	if cause.Kind == "Machine" && n.Kind == "Machine" {
		return n.Status.Since.Before(cause.Status.Since)
	}
	return cause.Kind != "Machine"
}

// Cause returns the marked node, or nil.
func (n *Node) Cause() *Node {
	if n.FirstCause {
		return n
	}
	for _, c := range n.Children {
		if found := c.Cause(); found != nil {
			return found
		}
	}
	return nil
}
