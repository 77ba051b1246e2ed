package machine

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/conditions"
	"slipway.dev/slipway/internal/contract"
	"slipway.dev/slipway/internal/plan"
	"slipway.dev/slipway/internal/remote"
)

func node(ready, pressure corev1.ConditionStatus, message string) *corev1.Node {
	n := &corev1.Node{}
	for _, t := range judged() {
		status := pressure
		if t == corev1.NodeReady {
			status = ready
		}
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: t, Status: status, Message: message})
	}
	return n
}

func TestNodeHealthy_JudgesReadinessAndPressure(t *testing.T) {
	t.Parallel()
	const yes, no, unknown = corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown
	for _, tc := range []struct {
		name            string
		node            *corev1.Node
		status          metav1.ConditionStatus
		reason, message string
	}{
		{"all is well", node(yes, no, "fine"), metav1.ConditionTrue, clusterv1.MachineNodeHealthyReason, ""},
		{"not ready", node(no, no, "kubelet is not"), metav1.ConditionFalse, clusterv1.MachineNodeNotHealthyReason, "* Node.Ready: kubelet is not"},
		{"short of everything", node(no, yes, "broken"), metav1.ConditionFalse, clusterv1.MachineNodeNotHealthyReason, "* Node.AllConditions: broken"},
		{"silent", node(unknown, unknown, "Kubelet stopped posting node status."), metav1.ConditionUnknown, clusterv1.MachineNodeHealthUnknownReason,
			"* Node.AllConditions: Kubelet stopped posting node status."},
		{"new", &corev1.Node{}, metav1.ConditionUnknown, clusterv1.MachineNodeHealthUnknownReason, "* Node.AllConditions: Condition not yet reported"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := nodeHealthy(tc.node)
			if got.Status != tc.status || got.Reason != tc.reason || got.Message != tc.message {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestNodeConditions_OutliveAShortSilenceOfTheCluster(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	r := &Reconciler{ConditionsGrace: 5 * time.Minute}
	last := []metav1.Condition{
		{Type: clusterv1.MachineNodeReadyCondition, Status: metav1.ConditionTrue, Reason: "NodeReady"},
		{Type: clusterv1.MachineNodeHealthyCondition, Status: metav1.ConditionTrue, Reason: "NodeHealthy"},
	}
	silentFor := func(d time.Duration) remote.Status {
		return remote.Status{State: remote.Connecting, LastProbeSuccess: now.Add(-d), ConsecutiveFailures: 9}
	}
	for _, tc := range []struct {
		name       string
		connection remote.Status
		conditions []metav1.Condition
		want       string
	}{
		{"a minute changes nothing", silentFor(time.Minute), last, "NodeReady"},
		{"after the grace nothing is known", silentFor(6 * time.Minute), last, clusterv1.ConnectionDownReason},
		{"a cluster that never answered since the start is down after some attempts", remote.Status{State: remote.Connecting, ConsecutiveFailures: 5}, last, clusterv1.ConnectionDownReason},
		{"and not before", remote.Status{State: remote.Connecting, ConsecutiveFailures: 4}, last, "NodeReady"},
		{"without a last word there is none", silentFor(time.Minute), nil, clusterv1.InspectionFailedReason},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := &world{machine: &clusterv1.Machine{}, cluster: &clusterv1.Cluster{}, now: now}
			w.machine.Spec.ProviderID, w.machine.Status.NodeRef.Name, w.machine.Status.Conditions = "a://b", "b", tc.conditions
			w.cluster.Status.Initialization = clusterv1.ClusterInitializationStatus{InfrastructureProvisioned: new(true), ControlPlaneInitialized: new(true)}
			w.node.connection = tc.connection
			if ready, healthy := r.nodeConditions(w); ready.Reason != tc.want || healthy.Reason != tc.want && tc.want != "NodeReady" {
				t.Errorf("got %+v and %+v", ready, healthy)
			}
		})
	}
}

func TestUrgent_NewsThatOthersWaitForAreWrittenAtOnce(t *testing.T) {
	t.Parallel()
	with := func(t, status string) []metav1.Condition {
		return []metav1.Condition{{Type: t, Status: metav1.ConditionStatus(status)}}
	}
	for _, tc := range []struct {
		name       string
		have, want clusterv1.MachineStatus
		urgent     bool
	}{
		{"a first report that all is to come", clusterv1.MachineStatus{}, clusterv1.MachineStatus{Phase: "Pending", Conditions: with("Ready", "False")}, false},
		{"ready", clusterv1.MachineStatus{Conditions: with("Ready", "False")}, clusterv1.MachineStatus{Conditions: with("Ready", "True")}, true},
		{"not ready any more", clusterv1.MachineStatus{Conditions: with("Ready", "True")}, clusterv1.MachineStatus{Conditions: with("Ready", "Unknown")}, true},
		{"a new Machine of the current template", clusterv1.MachineStatus{}, clusterv1.MachineStatus{Conditions: with("UpToDate", "True")}, false},
		{"outdated", clusterv1.MachineStatus{Conditions: with("UpToDate", "True")}, clusterv1.MachineStatus{Conditions: with("UpToDate", "False")}, true},
		{"the Node", clusterv1.MachineStatus{}, clusterv1.MachineStatus{NodeRef: clusterv1.MachineNodeReference{Name: "n"}}, true},
		{"running", clusterv1.MachineStatus{Phase: "Provisioned"}, clusterv1.MachineStatus{Phase: "Running"}, true},
		{"provisioned", clusterv1.MachineStatus{Phase: "Provisioning"}, clusterv1.MachineStatus{Phase: "Provisioned"}, false},
		{"a hook's turn", clusterv1.MachineStatus{}, clusterv1.MachineStatus{Deletion: &clusterv1.MachineDeletionStatus{WaitForPreTerminateHookStartTime: metav1.Unix(1, 0)}}, true},
		{"words", clusterv1.MachineStatus{Conditions: []metav1.Condition{{Type: "Ready", Status: "False", Message: "a"}}},
			clusterv1.MachineStatus{Conditions: []metav1.Condition{{Type: "Ready", Status: "False", Message: "b"}}}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := urgent(&tc.have, &tc.want); got != tc.urgent {
				t.Errorf("urgent is %t", got)
			}
		})
	}
}

func TestSettling_GathersForAWindowAndStartsAnew(t *testing.T) {
	t.Parallel()
	s, now, a := apply.NewSettle[types.NamespacedName](time.Second), time.Unix(100, 0), types.NamespacedName{Name: "a"}
	if got := s.Hold(a, now); got != time.Second {
		t.Errorf("a first change waits %s", got)
	}
	if got := s.Hold(a, now.Add(700*time.Millisecond)); got != 300*time.Millisecond {
		t.Errorf("a later change waits %s", got)
	}
	if got := s.Hold(a, now.Add(2*time.Second)); got != 0 {
		t.Errorf("what has waited waits %s", got)
	}
	s.Done(a)
	if got := s.Hold(a, now.Add(2*time.Second)); got != time.Second {
		t.Errorf("the next change waits %s", got)
	}
}

func TestWritten_LagsUntilTheCacheShowsTheWrite(t *testing.T) {
	t.Parallel()
	of := func(version string) *clusterv1.Machine {
		return &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: version}}
	}
	w := newWritten()
	if w.lags(of("5")) {
		t.Error("a Machine that was not written lags")
	}
	w.note(of("10"))
	if !w.lags(of("9")) || w.lags(of("10")) || w.lags(of("9")) {
		t.Error("it lags just until the write is seen")
	}
	w.note(of("20"))
	w.forget(types.NamespacedName{Name: "a"})
	if w.lags(of("1")) {
		t.Error("what is gone lags")
	}
}

func TestLanes_OneClusterNeverTakesMoreThanItsOwn(t *testing.T) {
	t.Parallel()
	l := newLanes(2)
	a, b := types.NamespacedName{Name: "a"}, types.NamespacedName{Name: "b"}
	leave, ok := l.enter(a)
	_, ok2 := l.enter(a)
	_, ok3 := l.enter(a)
	_, other := l.enter(b)
	if !ok || !ok2 || ok3 || !other {
		t.Errorf("entered %t, %t, %t, other cluster %t", ok, ok2, ok3, other)
	}
	leave()
	if _, ok := l.enter(a); !ok {
		t.Error("a lane that was left is not free")
	}
}

func TestReady_IsTrueOnlyWhenAllThatCountsIsWell(t *testing.T) {
	t.Parallel()
	good := []metav1.Condition{
		conditions.False("Deleting", "NotDeleting", ""), conditions.False("Updating", "NotUpdating", ""), conditions.True("BootstrapConfigReady", "", ""),
		conditions.True("InfrastructureReady", "", ""), conditions.True("NodeHealthy", "", ""),
	}
	for _, tc := range []struct {
		name   string
		extra  []metav1.Condition
		gates  []clusterv1.MachineReadinessGate
		status metav1.ConditionStatus
	}{
		{"all well", nil, nil, metav1.ConditionTrue},
		{"unhealthy by a health check", []metav1.Condition{conditions.False("HealthCheckSucceeded", "", "")}, nil, metav1.ConditionFalse},
		{"a gate that nobody has set", nil, []clusterv1.MachineReadinessGate{{ConditionType: "Gate"}}, metav1.ConditionUnknown},
		{"a gate that is open", []metav1.Condition{conditions.True("Gate", "", "")}, []clusterv1.MachineReadinessGate{{ConditionType: "Gate"}}, metav1.ConditionTrue},
		{"a negative gate", []metav1.Condition{conditions.True("Bad", "", "")},
			[]clusterv1.MachineReadinessGate{{ConditionType: "Bad", Polarity: clusterv1.NegativePolarityCondition}}, metav1.ConditionFalse},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := &world{machine: &clusterv1.Machine{Spec: clusterv1.MachineSpec{ReadinessGates: tc.gates}}}
			if got := ready(w, append(append([]metav1.Condition{}, good...), tc.extra...)); got.Status != tc.status {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestShortDeleting_NamesWhatDelaysALongDrain(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	w := &world{machine: &clusterv1.Machine{}, now: now, deletion: &deletion{}}
	w.machine.DeletionTimestamp = new(metav1.NewTime(now.Add(-20 * time.Minute)))
	w.deletion.started.NodeDrainStartTime = metav1.NewTime(now.Add(-6 * time.Minute))
	c := conditions.True("Deleting", "DrainingNode", "Pod a/b: Cannot evict pod as it would violate the pod's disruption budget.")
	refused := conditions.True("Deleting", "DrainingNode", "Pod a/b: could not be evicted: the hook says no")
	if got := shortDeleting(w, &refused).Message; !strings.HasSuffix(got, "evictions that fail") {
		t.Errorf("got %q", got)
	}
	const want = "Machine deletion in progress, stage: DrainingNode, since more than 15 minutes, delay likely due to PodDisruptionBudgets"
	if got := shortDeleting(w, &c).Message; got != want {
		t.Errorf("got %q", got)
	}
}

func TestInterval_GrowsWithTheWait(t *testing.T) {
	t.Parallel()
	start := time.Unix(0, 0)
	for after, want := range map[time.Duration]time.Duration{0: time.Second, 20 * time.Second: 5 * time.Second, time.Hour: 20 * time.Second} {
		if got := interval(start, start.Add(after)); got != want {
			t.Errorf("after %s it is %s, want %s", after, got, want)
		}
	}
}

func TestOutdated_ComparesRevisions(t *testing.T) {
	t.Parallel()
	of := func(revision string) map[string]string {
		return map[string]string{clusterv1.RevisionAnnotation: revision}
	}
	for _, tc := range []struct {
		set, deployment string
		want            plan.Tri
	}{{"1", "2", plan.True}, {"2", "2", plan.False}, {"10", "9", plan.False}, {"", "2", plan.Unknown}} {
		w := &world{set: &clusterv1.MachineSet{}, deployment: &clusterv1.MachineDeployment{}}
		w.set.Annotations, w.deployment.Annotations = of(tc.set), of(tc.deployment)
		if got := outdated(w); got != tc.want {
			t.Errorf("set %q, deployment %q: %s", tc.set, tc.deployment, got)
		}
	}
	if got := outdated(&world{}); got != plan.False {
		t.Errorf("a Machine that stands alone: %s", got)
	}
}

func TestDeprecated_TellsAFailureOfWhichOnlyHalfIsKnown(t *testing.T) {
	t.Parallel()
	for _, failure := range []contract.Failure{{Reason: "CreateError"}, {Message: "no quota"}} {
		w := &world{machine: &clusterv1.Machine{}, infraFacts: contract.InfrastructureMachine{Failure: failure}}
		known := []metav1.Condition{conditions.False(clusterv1.InfrastructureReadyCondition, "", ""), conditions.False(clusterv1.MachineNodeHealthyCondition, "", "")}
		got := deprecated(w, known).V1Beta1
		if text(got.FailureReason) != failure.Reason || text(got.FailureMessage) != failure.Message {
			t.Errorf("of %+v is told %q, %q", failure, text(got.FailureReason), text(got.FailureMessage))
		}
	}
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
