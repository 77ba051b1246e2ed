package replicas

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/conditions"
	"slipway.dev/slipway/internal/plan"
)

const (
	// staleDeletion is how long a Machine may take to be deleted before its owner's conditions name it.
	staleDeletion = 15 * time.Minute
	// firstReport is how long after its creation a Machine is passed over while it does not report UpToDate: its
	// controller has hardly seen it.
	firstReport = 10 * time.Second
	// bullet begins each detail of a message, and further its other lines, which may begin like a bullet themselves.
	bullet  = "\n* "
	further = "\n  "
)

// MachinesReady returns the condition that merges the Ready conditions of the Machines.
func MachinesReady(machines []*clusterv1.Machine) metav1.Condition {
	if len(machines) == 0 {
		return conditions.True(clusterv1.MachinesReadyCondition, clusterv1.NoReplicasReason, "")
	}
	return conditions.Aggregate{
		Type:    clusterv1.MachinesReadyCondition,
		Of:      clusterv1.ReadyCondition,
		Reasons: conditions.Reasons{Issue: clusterv1.NotReadyReason, Unknown: clusterv1.ReadyUnknownReason, Info: clusterv1.ReadyReason},
	}.Over(members(machines))
}

// MachinesUpToDate returns the condition that merges the UpToDate conditions of the Machines, and when to look again
// because a Machine that is passed over now will not be then; zero for never.
func MachinesUpToDate(machines []*clusterv1.Machine, now time.Time) (metav1.Condition, time.Duration) {
	var reporting []*clusterv1.Machine
	var after time.Duration
	for _, m := range machines {
		left := m.CreationTimestamp.Add(firstReport).Sub(now)
		if left > 0 && !conditions.Has(m.Status.Conditions, clusterv1.MachineUpToDateCondition) {
			if after == 0 || left < after {
				after = left
			}
			continue
		}
		reporting = append(reporting, m)
	}
	if len(reporting) == 0 {
		return conditions.True(clusterv1.MachinesUpToDateCondition, clusterv1.NoReplicasReason, ""), after
	}
	return conditions.Aggregate{
		Type:    clusterv1.MachinesUpToDateCondition,
		Of:      clusterv1.MachineUpToDateCondition,
		Reasons: conditions.Reasons{Issue: clusterv1.NotUpToDateReason, Unknown: clusterv1.UpToDateUnknownReason, Info: clusterv1.UpToDateReason},
	}.Over(members(reporting)), after
}

func members(machines []*clusterv1.Machine) []conditions.Member {
	out := make([]conditions.Member, 0, len(machines))
	for _, m := range machines {
		_, controlPlane := m.Labels[clusterv1.MachineControlPlaneLabel]
		out = append(out, conditions.Member{Kind: "Machine", Name: m.Name, ControlPlane: controlPlane, Conditions: m.Status.Conditions})
	}
	return out
}

// Scale is what the conditions about an owner's size look at.
type Scale struct {
	// Desired is spec.replicas; nil when unset.
	Desired *int32
	// Machines are all Machines there are.
	Machines []*clusterv1.Machine
	// Deleting says that the owner is being deleted, and so asks for none.
	Deleting bool
	// Obstacles are what keeps the owner from creating Machines, a sentence each.
	Obstacles []string
	// Now is the time.
	Now time.Time
}

// Up returns the condition ScalingUp.
func (s Scale) Up() metav1.Condition {
	const t = clusterv1.ScalingUpCondition
	if s.Desired == nil && !s.Deleting {
		return conditions.Unknown(t, clusterv1.WaitingForReplicasSetReason, "Waiting for spec.replicas to be set")
	}
	if len(s.Machines) < s.desired() {
		return conditions.True(t, clusterv1.ScalingUpReason, withBullets(fmt.Sprintf("Scaling up from %d to %d replicas", len(s.Machines), s.desired()), s.Obstacles))
	}
	message := ""
	if len(s.Obstacles) > 0 && !s.Deleting {
		message = withBullets("Scaling up would be held", s.Obstacles)
	}
	return conditions.False(t, clusterv1.NotScalingUpReason, message)
}

// Told returns the obstacles that the condition ScalingUp of an owner tells.
func Told(conds []metav1.Condition) []string {
	parts := strings.Split(conditions.Message(conds, clusterv1.ScalingUpCondition), bullet)
	told := parts[1:]
	for i, text := range told {
		told[i] = strings.ReplaceAll(text, further, "\n")
	}
	return told
}

// Down returns the condition ScalingDown.
func (s Scale) Down() metav1.Condition {
	const t = clusterv1.ScalingDownCondition
	if s.Desired == nil && !s.Deleting {
		return conditions.Unknown(t, clusterv1.WaitingForReplicasSetReason, "Waiting for spec.replicas to be set")
	}
	if len(s.Machines) > s.desired() {
		stale, _ := Stale(s.Machines, s.Now)
		return conditions.True(t, clusterv1.ScalingDownReason, withBullets(fmt.Sprintf("Scaling down from %d to %d replicas", len(s.Machines), s.desired()), stale))
	}
	return conditions.False(t, clusterv1.NotScalingDownReason, "")
}

func (s Scale) desired() int {
	if s.Deleting {
		return 0
	}
	return int(valueOf(s.Desired))
}

// Stale returns a sentence about the Machines whose deletion takes long, if there are any, and when to look again
// because another one joins them; zero for never.
func Stale(machines []*clusterv1.Machine, now time.Time) ([]string, time.Duration) {
	var names []string
	var after time.Duration
	for _, m := range Deleting(machines) {
		left := m.DeletionTimestamp.Add(staleDeletion).Sub(now)
		if left <= 0 {
			names = append(names, m.Name)
		} else if after == 0 || left < after {
			after = left
		}
	}
	switch len(names) {
	case 0:
		return nil, after
	case 1:
		return []string{fmt.Sprintf("Machine %s has been in deletion for more than 15m; its condition Deleting says why", names[0])}, after
	default:
		return []string{fmt.Sprintf("Machines %s have been in deletion for more than 15m; their conditions Deleting say why", plan.NameList(names))}, after
	}
}

// Remediating returns the condition Remediating of an owner that replaces no unhealthy Machine.
func Remediating() metav1.Condition {
	return conditions.False(clusterv1.RemediatingCondition, clusterv1.NotRemediatingReason, "")
}

// Paused returns the condition Paused.
func Paused(cluster *clusterv1.Cluster, obj metav1.Object) metav1.Condition {
	var causes []string
	if cluster != nil && cluster.Spec.Paused != nil && *cluster.Spec.Paused {
		causes = append(causes, "Cluster spec.paused is set to true")
	}
	if _, ok := obj.GetAnnotations()[clusterv1.PausedAnnotation]; ok {
		causes = append(causes, "the object has the annotation "+clusterv1.PausedAnnotation)
	}
	if len(causes) == 0 {
		return conditions.False(clusterv1.PausedCondition, clusterv1.NotPausedReason, "")
	}
	message := strings.Join(causes, ", ")
	return conditions.True(clusterv1.PausedCondition, clusterv1.PausedReason, strings.ToUpper(message[:1])+message[1:])
}

func withBullets(head string, details []string) string {
	if len(details) == 0 {
		return head
	}
	var b strings.Builder
	b.WriteString(head)
	for _, d := range details {
		b.WriteString(bullet + strings.ReplaceAll(d, "\n", further))
	}
	return b.String()
}
