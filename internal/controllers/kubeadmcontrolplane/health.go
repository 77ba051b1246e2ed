package kubeadmcontrolplane

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
	"slipway.dev/slipway/internal/conditions"
	"slipway.dev/slipway/internal/kubeadm/config"
	"slipway.dev/slipway/internal/outcome"
	"slipway.dev/slipway/internal/remote"
)

const (
	memberCondition = controlplanev1.KubeadmControlPlaneMachineEtcdMemberHealthyCondition
	nodeCondition   = controlplanev1.KubeadmControlPlaneMachineNodeKubeadmLabelsAndTaintsSetCondition
)

// podCondition is the condition of a Machine for one of its static Pods.
type podCondition struct {
	conditionType string
	component     remote.Component
}

func podConditions(etcdManaged bool) []podCondition {
	list := []podCondition{
		{controlplanev1.KubeadmControlPlaneMachineAPIServerPodHealthyCondition, remote.APIServer},
		{controlplanev1.KubeadmControlPlaneMachineControllerManagerPodHealthyCondition, remote.ControllerManager},
		{controlplanev1.KubeadmControlPlaneMachineSchedulerPodHealthyCondition, remote.Scheduler},
	}
	if etcdManaged {
		list = append(list, podCondition{controlplanev1.KubeadmControlPlaneMachineEtcdPodHealthyCondition, remote.EtcdServer})
	}
	return list
}

// gateTypes are the conditions that have to be True for a control-plane Machine to be Ready.
func gateTypes(etcdManaged bool) []string {
	types := make([]string, 0, 6)
	for _, p := range podConditions(etcdManaged) {
		types = append(types, p.conditionType)
	}
	if etcdManaged {
		types = append(types, memberCondition)
	}
	return append(types, nodeCondition)
}

// machineTypes are all conditions of Machines that this controller writes.
func machineTypes() []string { return append(gateTypes(true), clusterv1.MachineUpToDateCondition) }

// health returns the gate conditions of a Machine as they are seen now.
func (s *scene) health(m *machine) []metav1.Condition {
	if why, reason := s.unseen(m); why != "" {
		return s.allUnknown(reason, why)
	}
	view := s.inside.nodes[m.Name]
	conds := make([]metav1.Condition, 0, 6)
	for _, p := range podConditions(s.etcdManaged()) {
		conds = append(conds, podHealth(p.conditionType, view.pods.Component(p.component)))
	}
	if s.etcdManaged() {
		conds = append(conds, s.memberHealthy(m))
	}
	return append(conds, nodeMarked(m, view.node))
}

// unseen tells why nothing is known of what runs on a Machine, with the reason; empty when something is.
func (s *scene) unseen(m *machine) (why, reason string) {
	view, looked := s.inside.nodes[m.Name]
	switch {
	case m.deleting():
		return "The Machine is being deleted", clusterv1.DeletingReason
	case !s.inside.initialized:
		return "Waiting for the control plane to be initialized", clusterv1.InspectionFailedReason
	case !s.connected():
		return connectionDown(s.inside.status), clusterv1.ConnectionDownReason
	case !m.Status.NodeRef.IsDefined() || !looked:
		return "Waiting for the Node of the Machine", clusterv1.InspectionFailedReason
	case errors.Is(view.err, remote.ErrNodeNotFound):
		return fmt.Sprintf("Node %s does not exist", m.Status.NodeRef.Name), clusterv1.InspectionFailedReason
	case view.err != nil:
		return "The Pods of the control plane could not be read: " + view.err.Error(), clusterv1.InspectionFailedReason
	}
	return "", ""
}

func connectionDown(st remote.Status) string {
	message := "The cluster does not answer"
	if !st.EverConnected() {
		message = "Not connected to the cluster yet"
	}
	if st.LastError != "" {
		message += ": " + st.LastError
	}
	return message
}

func (s *scene) allUnknown(reason, message string) []metav1.Condition {
	types := gateTypes(s.etcdManaged())
	conds := make([]metav1.Condition, 0, len(types))
	for _, t := range types {
		conds = append(conds, conditions.Unknown(t, reason, message))
	}
	return conds
}

func podHealth(conditionType string, p remote.StaticPod) metav1.Condition {
	if p.Health == remote.PodRunning {
		return conditions.True(conditionType, string(p.Health), "")
	}
	return conditions.False(conditionType, string(p.Health), p.Message)
}

// memberHealthy tells how a Machine's etcd member does.
func (s *scene) memberHealthy(m *machine) metav1.Condition {
	if !s.etcd.known {
		return conditions.Unknown(memberCondition, clusterv1.InspectionFailedReason, etcdUnread(s.etcd.err))
	}
	i := slices.IndexFunc(s.etcd.members, func(e remote.Member) bool { return s.machineOf(e) == m.Name })
	if i < 0 {
		return conditions.False(memberCondition, controlplanev1.KubeadmControlPlaneMachineEtcdMemberNotHealthyReason,
			fmt.Sprintf("etcd has no member for Node %s", m.Status.NodeRef.Name))
	}
	member := s.etcd.members[i]
	switch {
	case member.Health == remote.MemberUnknown:
		return conditions.Unknown(memberCondition, clusterv1.InspectionFailedReason, member.Message)
	case member.Health != remote.MemberHealthy:
		return conditions.False(memberCondition, controlplanev1.KubeadmControlPlaneMachineEtcdMemberNotHealthyReason, member.Message)
	case member.Learner:
		return conditions.False(memberCondition, controlplanev1.KubeadmControlPlaneMachineEtcdMemberNotHealthyReason, "The member is a learner and does not vote yet")
	}
	return conditions.True(memberCondition, controlplanev1.KubeadmControlPlaneMachineEtcdMemberHealthyReason, "")
}

func etcdUnread(err error) string {
	switch {
	case err == nil:
		return "The etcd members have not been read yet"
	case errors.Is(err, remote.ErrNoEtcdMember):
		return "No etcd member answers"
	case errors.Is(err, remote.ErrNotConnected):
		return "Not connected to the cluster"
	}
	return "The etcd members could not be read: " + err.Error()
}

// nodeMarked tells whether kubeadm has marked the Node as one of the control plane, which it does last. Once it has, people
// may change labels and taints as they like.
func nodeMarked(m *machine, node *corev1.Node) metav1.Condition {
	set := conditions.True(nodeCondition, controlplanev1.KubeadmControlPlaneMachineNodeKubeadmLabelsAndTaintsSetReason, "")
	if conditions.IsTrue(m.Status.Conditions, nodeCondition) || marksNothing(m.config) {
		return set
	}
	var missing []string
	if _, ok := node.Labels[controlPlaneRole]; !ok {
		missing = append(missing, "label "+controlPlaneRole)
	}
	for _, t := range wantedTaints(m.config) {
		if !slices.ContainsFunc(node.Spec.Taints, func(have corev1.Taint) bool { return have.MatchTaint(&t) }) {
			missing = append(missing, "taint "+t.Key)
		}
	}
	if len(missing) == 0 {
		return set
	}
	return conditions.False(nodeCondition, controlplanev1.KubeadmControlPlaneMachineNodeKubeadmLabelsAndTaintsNotSetReason,
		fmt.Sprintf("Node %s has no %s", node.Name, strings.Join(missing, ", ")))
}

// marksNothing reports whether kubeadm was told not to mark the Node.
func marksNothing(c *bootstrapv1.KubeadmConfig) bool {
	if c == nil {
		return true
	}
	skipped := c.Spec.InitConfiguration.SkipPhases
	if config.Joins(&c.Spec) {
		skipped = c.Spec.JoinConfiguration.SkipPhases
	}
	return slices.ContainsFunc(skipped, func(p string) bool { return strings.HasSuffix(p, "mark-control-plane") })
}

// wantedTaints are those that kubeadm gives to the Node.
func wantedTaints(c *bootstrapv1.KubeadmConfig) []corev1.Taint {
	registration := c.Spec.InitConfiguration.NodeRegistration
	if config.Joins(&c.Spec) {
		registration = c.Spec.JoinConfiguration.NodeRegistration
	}
	if registration.Taints != nil {
		return *registration.Taints
	}
	return []corev1.Taint{{Key: controlPlaneRole, Effect: corev1.TaintEffectNoSchedule}}
}

// assess decides what our conditions of each Machine have to be. While a cluster does not answer, what was known stays for
// a while, and a new process that has not been connected yet knows less than what stands there.
func (s *scene) assess() {
	for _, m := range s.machines {
		gates := s.health(m)
		if s.keepsQuiet() && !m.deleting() && conditions.Has(m.Status.Conditions, gates[0].Type) {
			gates = nil
			for _, t := range gateTypes(s.etcdManaged()) {
				if c := conditions.Find(m.Status.Conditions, t); c != nil {
					gates = append(gates, *c)
				}
			}
		}
		m.conditions = append(gates, upToDate(m))
	}
}

// keepsQuiet reports whether a lost connection is too new to be told.
func (s *scene) keepsQuiet() bool {
	if s.connected() || !s.inside.initialized {
		return false
	}
	failing := s.inside.status.FailingFor(s.now)
	if !s.inside.status.EverConnected() {
		return s.inside.status.ConsecutiveFailures < firstFailures
	}
	if failing < connectionGrace {
		s.after = outcome.Sooner(s.after, connectionGrace-failing)
		return true
	}
	return false
}

// firstFailures is how many attempts to connect may fail after a start before it is told.
const firstFailures = 5

func upToDate(m *machine) metav1.Condition {
	const t = clusterv1.MachineUpToDateCondition
	if len(m.outdated) == 0 {
		return conditions.True(t, clusterv1.MachineUpToDateReason, "")
	}
	lines := make([]string, 0, len(m.outdated))
	for _, reason := range m.outdated {
		lines = append(lines, "* "+reason)
	}
	return conditions.False(t, clusterv1.MachineNotUpToDateReason, strings.Join(lines, "\n"))
}
