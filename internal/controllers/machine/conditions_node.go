package machine

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/conditions"
	"slipway.dev/slipway/internal/plan"
)

// failuresToGiveUp is how many attempts to connect in a row mean that a cluster is down that has not answered since this
// process started.
const failuresToGiveUp = 5

// nodeConditions are NodeReady and NodeHealthy. While the cluster is silent for a short time, both stay as they were.
func (r *Reconciler) nodeConditions(w *world) (ready, healthy metav1.Condition) {
	const readyType, healthyType = clusterv1.MachineNodeReadyCondition, clusterv1.MachineNodeHealthyCondition
	if w.node.node != nil {
		return nodeReady(w.node.node), nodeHealthy(w.node.node)
	}
	if w.node.exists == plan.Unknown && w.node.err == nil && !r.connectionDown(w) {
		lastReady, lastHealthy := conditions.Find(w.machine.Status.Conditions, readyType), conditions.Find(w.machine.Status.Conditions, healthyType)
		if lastReady != nil && lastHealthy != nil && w.machine.Status.NodeRef.IsDefined() {
			return *lastReady, *lastHealthy
		}
	}
	ready = r.withoutNode(w)
	ready.Type = readyType
	healthy = ready
	healthy.Type = healthyType
	return ready, healthy
}

// withoutNode says why there is nothing to tell of a Node.
func (r *Reconciler) withoutNode(w *world) metav1.Condition {
	switch name := w.machine.Status.NodeRef.Name; {
	case w.node.err != nil:
		return conditions.Unknown("", clusterv1.InspectionFailedReason, "Which Node is meant cannot be told: "+w.node.err.Error())
	case w.providerID() == "":
		return conditions.Unknown("", waitReason(w), "Waiting for "+w.infra.ref.Kind+" "+w.infra.ref.Name+" to report spec.providerID")
	case w.node.exists == plan.False && name != "":
		return conditions.False("", clusterv1.MachineNodeDeletedReason, "Node "+name+" has been deleted")
	case w.node.exists == plan.False:
		return conditions.Unknown("", waitReason(w), "Waiting for a Node with spec.providerID "+w.providerID()+" to exist")
	case r.connectionDown(w):
		return conditions.Unknown("", clusterv1.ConnectionDownReason, "The workload cluster does not answer")
	case w.cluster == nil:
		return conditions.Unknown("", clusterv1.InspectionFailedReason, "Cluster "+w.machine.Spec.ClusterName+" does not exist")
	case !isTrue(w.cluster.Status.Initialization.InfrastructureProvisioned):
		return conditions.Unknown("", clusterv1.InspectionFailedReason, "Waiting for the Cluster's infrastructure to be provisioned")
	case !isTrue(w.cluster.Status.Initialization.ControlPlaneInitialized):
		return conditions.Unknown("", clusterv1.InspectionFailedReason, "Waiting for the Cluster's control plane to be initialized")
	default:
		return conditions.Unknown("", clusterv1.InspectionFailedReason, "Waiting for the connection to the workload cluster")
	}
}

// waitReason tells a Node that is still to come from one that never will.
func waitReason(w *world) string {
	if w.deleting() {
		return clusterv1.MachineNodeDoesNotExistReason
	}
	return clusterv1.InspectionFailedReason
}

// connectionDown reports whether the cluster has been silent for so long that what was known of its Nodes has no worth.
func (r *Reconciler) connectionDown(w *world) bool {
	c := w.node.connection
	if c.Connected() && c.ConsecutiveFailures == 0 || w.cluster == nil || !isTrue(w.cluster.Status.Initialization.ControlPlaneInitialized) {
		return false
	}
	return c.FailingFor(w.now) > r.ConditionsGrace || !c.EverConnected() && c.ConsecutiveFailures >= failuresToGiveUp
}

// judged are the conditions of a Node that say whether it is healthy.
func judged() []corev1.NodeConditionType {
	return []corev1.NodeConditionType{corev1.NodeReady, corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure}
}

func nodeCondition(node *corev1.Node, t corev1.NodeConditionType) *corev1.NodeCondition {
	i := slices.IndexFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == t })
	if i < 0 {
		return nil
	}
	return &node.Status.Conditions[i]
}

func nodeReady(node *corev1.Node) metav1.Condition {
	const t = clusterv1.MachineNodeReadyCondition
	c := nodeCondition(node, corev1.NodeReady)
	if c == nil {
		return conditions.Unknown(t, clusterv1.MachineNodeReadyUnknownReason, "* Node.Ready: Condition not yet reported")
	}
	message := ""
	if c.Message != "" {
		message = conditions.Bullet("Node.Ready", c.Message)
	}
	switch c.Status {
	case corev1.ConditionTrue:
		return conditions.True(t, clusterv1.MachineNodeReadyReason, "")
	case corev1.ConditionFalse:
		return conditions.False(t, clusterv1.MachineNodeNotReadyReason, message)
	case corev1.ConditionUnknown:
	}
	return conditions.Unknown(t, clusterv1.MachineNodeReadyUnknownReason, message)
}

// nodeHealthy sums up what a Node says of itself: it is ready, and short of nothing.
func nodeHealthy(node *corev1.Node) metav1.Condition {
	const t = clusterv1.MachineNodeHealthyCondition
	var bad, unknown []string
	messages := map[string]bool{}
	last := ""
	for _, judge := range judged() {
		text, state := judgement(node, judge)
		if state == plan.True {
			continue
		}
		messages[text], last = true, text
		line := conditions.Bullet(fmt.Sprintf("Node.%s", judge), text)
		if state == plan.False {
			bad = append(bad, line)
		} else {
			unknown = append(unknown, line)
		}
	}
	lines := slices.Concat(bad, unknown)
	if len(lines) == len(judged()) && len(messages) == 1 {
		lines = []string{conditions.Bullet("Node.AllConditions", last)}
	}
	message := strings.Join(lines, "\n")
	switch {
	case len(bad) > 0:
		return conditions.False(t, clusterv1.MachineNodeNotHealthyReason, message)
	case len(unknown) > 0:
		return conditions.Unknown(t, clusterv1.MachineNodeHealthUnknownReason, message)
	default:
		return conditions.True(t, clusterv1.MachineNodeHealthyReason, "")
	}
}

// judgement tells whether one condition of a Node is good, and its message where it is not.
func judgement(node *corev1.Node, t corev1.NodeConditionType) (string, plan.Tri) {
	c := nodeCondition(node, t)
	if c == nil {
		return "Condition not yet reported", plan.Unknown
	}
	good := corev1.ConditionFalse
	if t == corev1.NodeReady {
		good = corev1.ConditionTrue
	}
	text := c.Message
	if text == "" {
		text = "Condition is " + string(c.Status)
	}
	switch c.Status {
	case good:
		return "", plan.True
	case corev1.ConditionUnknown:
		return text, plan.Unknown
	default:
		return text, plan.False
	}
}
