package kubeadmcontrolplane

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
	"slipway.dev/slipway/internal/conditions"
	"slipway.dev/slipway/internal/outcome"
	"slipway.dev/slipway/internal/plan"
	"slipway.dev/slipway/internal/replicas"
)

const (
	etcdCondition       = controlplanev1.KubeadmControlPlaneEtcdClusterHealthyCondition
	componentsCondition = controlplanev1.KubeadmControlPlaneControlPlaneComponentsHealthyCondition
	healthUnknown       = controlplanev1.KubeadmControlPlaneControlPlaneComponentsHealthUnknownReason
)

// conditions are those of the control plane.
func (s *scene) conditions() []metav1.Condition {
	machines := s.all()
	upToDate, after := replicas.MachinesUpToDate(machines, s.now)
	_, stale := replicas.Stale(machines, s.now)
	s.after = outcome.Sooner(s.after, outcome.Sooner(after, stale))
	scale := replicas.Scale{Desired: new(replicasOf(s.kcp)), Machines: machines, Deleting: s.deleting, Obstacles: s.obstacles(), Now: s.now}
	conds := []metav1.Condition{
		s.initializedCondition(), s.certificatesCondition(),
		replicas.MachinesReady(machines), upToDate, s.rollingOut(), scale.Up(), s.scalingDown(scale), replicas.Remediating(),
		s.deletingCondition(), replicas.Paused(s.cluster, s.kcp),
	}
	if s.deleting {
		// Nothing is looked at any more in a cluster that goes away; what was seen last stays.
		for _, t := range []string{etcdCondition, componentsCondition} {
			if c := conditions.Find(s.kcp.Status.Conditions, t); c != nil {
				conds = append(conds, *c)
			}
		}
		return append(conds, s.available())
	}
	conds = append(conds, s.merged(componentsCondition, podTypes(s.etcdManaged())))
	if s.etcdManaged() {
		conds = append(conds, s.etcdHealthy())
	}
	return append(conds, s.available())
}

func (s *scene) initializedCondition() metav1.Condition {
	const t = controlplanev1.KubeadmControlPlaneInitializedCondition
	if s.inside.initialized || isTrue(s.kcp.Status.Initialization.ControlPlaneInitialized) {
		return conditions.True(t, controlplanev1.KubeadmControlPlaneInitializedReason, "")
	}
	return conditions.False(t, controlplanev1.KubeadmControlPlaneNotInitializedReason, "")
}

func (s *scene) certificatesCondition() metav1.Condition {
	const t = controlplanev1.KubeadmControlPlaneCertificatesAvailableCondition
	if s.deleting {
		if c := conditions.Find(s.kcp.Status.Conditions, t); c != nil {
			return *c
		}
		return conditions.Unknown(t, clusterv1.InternalErrorReason, "Not looked at while the control plane is being deleted")
	}
	if message := s.certificatesMessage(); message != "" {
		return conditions.False(t, clusterv1.NotAvailableReason, message)
	}
	return conditions.True(t, clusterv1.AvailableReason, "")
}

// obstacles are what keeps the control plane from growing, a sentence each.
func (s *scene) obstacles() []string {
	if s.deleting {
		return nil
	}
	var out []string
	if text := s.template.Obstacle(); text != "" {
		out = append(out, text)
	}
	if s.refused != nil {
		out = append(out, s.refused.Error())
	}
	if s.step.Kind == plan.WaitAction && s.step.Machine == "" && len(s.machines) < int(replicasOf(s.kcp)) {
		out = append(out, s.step.Reason)
	}
	return out
}

// scalingDown adds to the condition what keeps the control plane from shrinking.
func (s *scene) scalingDown(scale replicas.Scale) metav1.Condition {
	c := scale.Down()
	if c.Status != metav1.ConditionTrue || s.deleting {
		return c
	}
	details := slices.Clone(s.held)
	if s.step.Kind == plan.WaitAction && s.step.Machine != "" {
		details = append(details, s.step.Reason)
	}
	for _, d := range details {
		c.Message += "\n* " + d
	}
	return c
}

func (s *scene) rollingOut() metav1.Condition {
	const t = clusterv1.RollingOutCondition
	count, reasons := 0, []string(nil)
	for _, m := range s.machines {
		if len(m.outdated) == 0 {
			continue
		}
		count++
		for _, reason := range m.outdated {
			if !slices.Contains(reasons, reason) {
				reasons = append(reasons, reason)
			}
		}
	}
	if count == 0 || s.deleting {
		return conditions.False(t, clusterv1.NotRollingOutReason, "")
	}
	slices.Sort(reasons)
	message := fmt.Sprintf("Rolling out %s that %s not up to date", conditions.Count(count, "Machine"), isOrAre(count))
	for _, reason := range reasons {
		message += "\n* " + reason
	}
	if s.step.Kind == plan.WaitAction {
		message += "\n* " + s.step.Reason
	}
	return conditions.True(t, clusterv1.RollingOutReason, message)
}

func isOrAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

func (s *scene) deletingCondition() metav1.Condition {
	const t = clusterv1.DeletingCondition
	if !s.deleting {
		return conditions.False(t, clusterv1.NotDeletingReason, "")
	}
	p := plan.ControlPlaneDeletion(s.workers, s.workersRead, s.machineFacts())
	message := p.Message
	stale, _ := replicas.Stale(s.all(), s.now)
	for _, line := range stale {
		message += "\n* " + line
	}
	return conditions.True(t, p.Reason, message)
}

func podTypes(etcdManaged bool) []string {
	var types []string
	for _, p := range podConditions(etcdManaged) {
		types = append(types, p.conditionType)
	}
	return types
}

// merged tells how all Machines fare by some of their conditions.
func (s *scene) merged(target string, types []string) metav1.Condition {
	if !s.inside.initialized {
		return conditions.Unknown(target, clusterv1.InspectionFailedReason, "Waiting for the control plane to be initialized")
	}
	if !s.connected() && !s.keepsQuiet() {
		return conditions.Unknown(target, clusterv1.ConnectionDownReason, connectionDown(s.inside.status))
	}
	if !s.connected() {
		if c := conditions.Find(s.kcp.Status.Conditions, target); c != nil {
			return *c
		}
	}
	var members []conditions.Member
	for _, m := range s.staying() {
		sum := conditions.Summary{Type: target, For: types}.Of(m.conditions)
		members = append(members, conditions.Member{Kind: "Machine", Name: m.Name, ControlPlane: true, Conditions: []metav1.Condition{sum}})
	}
	if len(members) == 0 {
		return conditions.Unknown(target, healthUnknown, "There is no Machine")
	}
	return conditions.Aggregate{Type: target, Of: target, Reasons: conditions.Reasons{
		Issue:   controlplanev1.KubeadmControlPlaneControlPlaneComponentsNotHealthyReason,
		Unknown: healthUnknown,
		Info:    controlplanev1.KubeadmControlPlaneControlPlaneComponentsHealthyReason,
	}}.Over(members)
}

// etcdHealthy tells how etcd fares: by its Pods, its members, and members that no Machine has.
func (s *scene) etcdHealthy() metav1.Condition {
	c := s.merged(etcdCondition, []string{controlplanev1.KubeadmControlPlaneMachineEtcdPodHealthyCondition, memberCondition})
	strangers := s.strangers()
	if len(strangers) == 0 || !s.inside.initialized {
		return c
	}
	line := "* " + strangersMessage(strangers)
	if c.Message != "" {
		line = c.Message + "\n" + line
	}
	return conditions.False(etcdCondition, controlplanev1.KubeadmControlPlaneEtcdClusterNotHealthyReason, line)
}

// strangers are etcd members that run on no Machine. A member that has not started may be that of a Machine that joins.
func (s *scene) strangers() []string {
	var list []string
	for _, m := range s.etcd.members {
		if s.machineOf(m) == "" && m.Name != "" {
			list = append(list, m.Name)
		}
	}
	return list
}

func strangersMessage(strangers []string) string {
	return "etcd has members without a Machine: " + plan.NameList(strangers) + "; once their machines are gone for good, remove them with etcdctl member remove"
}

// available tells whether the cluster can be used.
func (s *scene) available() metav1.Condition {
	const t = clusterv1.AvailableCondition
	if s.deleting {
		return conditions.False(t, clusterv1.NotAvailableReason, "The control plane is being deleted")
	}
	if !s.inside.initialized {
		return conditions.False(t, clusterv1.NotAvailableReason, "Control plane not yet initialized")
	}
	if !s.connected() {
		if c := conditions.Find(s.kcp.Status.Conditions, t); c != nil && s.keepsQuiet() {
			return *c
		}
		return conditions.Unknown(t, clusterv1.InspectionFailedReason, connectionDown(s.inside.status))
	}
	if s.etcdManaged() && !s.etcd.known && !s.young() {
		return conditions.Unknown(t, clusterv1.InspectionFailedReason, etcdUnread(s.etcd.err))
	}
	if bad := s.lacking(); len(bad) > 0 {
		return conditions.False(t, clusterv1.NotAvailableReason, strings.Join(bad, "\n"))
	}
	return conditions.True(t, clusterv1.AvailableReason, s.partial())
}

// young reports whether the control plane has been initialized so recently that etcd need not answer yet.
func (s *scene) young() bool {
	since, ok := conditions.TrueSince(s.kcp.Status.Conditions, controlplanev1.KubeadmControlPlaneInitializedCondition)
	return !ok || s.now.Sub(since) < 2*time.Minute
}

// lacking tells what keeps the cluster from being usable, as bullets.
func (s *scene) lacking() []string {
	var bad []string
	if message := s.certificatesMessage(); message != "" {
		bad = append(bad, "* "+message)
	}
	if s.etcdManaged() {
		if text := s.etcdLacking(); text != "" {
			bad = append(bad, "* "+text)
		}
	}
	working := 0
	for _, m := range s.machines {
		if s.works(m) {
			working++
		}
	}
	if working == 0 {
		bad = append(bad, "* No Machine has a healthy control plane: at least one is required")
	}
	return bad
}

// works reports whether all that a control plane needs runs on the Machine. One that is being deleted is not looked at.
func (s *scene) works(m *machine) bool {
	for _, t := range gateTypes(s.etcdManaged()) {
		if t != nodeCondition && !conditions.IsTrue(m.conditions, t) {
			return false
		}
	}
	return true
}

func (s *scene) etcdLacking() string {
	if !s.etcd.known {
		return etcdUnread(s.etcd.err)
	}
	voting, healthy := 0, 0
	for _, m := range s.etcd.members {
		if m.Learner || m.Name == "" {
			continue // A join under way; it does not vote yet.
		}
		voting++
		if memberHealth(m) == plan.True {
			healthy++
		}
	}
	if strangers := s.strangers(); len(strangers) > 0 {
		return strangersMessage(strangers)
	}
	if healthy < plan.Majority(voting) {
		return fmt.Sprintf("%d of %d etcd members are healthy, at least %d required for etcd quorum", healthy, voting, plan.Majority(voting))
	}
	return ""
}

// partial tells what is not well although the cluster can be used, once that has lasted.
func (s *scene) partial() string {
	ailing := 0
	for _, m := range s.staying() {
		if s.works(m) {
			continue
		}
		for _, t := range gateTypes(s.etcdManaged()) {
			c := conditions.Find(m.Status.Conditions, t)
			if c != nil && c.Status == metav1.ConditionFalse && s.now.Sub(c.LastTransitionTime.Time) >= firstReport {
				ailing++
				break
			}
		}
	}
	if ailing == 0 {
		return ""
	}
	return fmt.Sprintf("* %d of %d Machines have a healthy control plane, at least 1 required", len(s.machines)-ailing, len(s.machines))
}
