package view_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	infrav1 "slipway.dev/slipway/api/infrastructure/v1alpha1"
	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
	"slipway.dev/slipway/internal/view"
)

var now = time.Date(2026, 12, 2, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }

func is(kind string, status metav1.ConditionStatus, reason, message string, since time.Duration) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: ago(since)}
}

func TestOfMachine_SaysHowItFares(t *testing.T) {
	t.Parallel()
	node := clusterv1.MachineNodeReference{Name: "node"}
	rows := []struct {
		reason string
		age    time.Duration
		change func(*clusterv1.Machine)
		want   view.State
		text   string
	}{
		{reason: "just made", age: time.Second, want: view.Working, text: "making its bootstrap data"},
		{reason: "never got anywhere", age: time.Hour, want: view.Stuck, text: "making its bootstrap data"},
		{reason: "held by something with a name", age: time.Minute, want: view.Waiting, text: "Waiting for the control plane", change: func(m *clusterv1.Machine) {
			m.Status.Conditions = []metav1.Condition{is("BootstrapConfigReady", "False", "WaitingForControlPlaneInitialized", "Waiting for the control plane", time.Minute)}
		}},
		{reason: "the field that is missing says nothing", age: time.Minute, want: view.Working, text: "making its infrastructure SimMachine", change: func(m *clusterv1.Machine) {
			m.Spec.InfrastructureRef.Kind = "SimMachine"
			m.Status.Conditions = []metav1.Condition{
				is("BootstrapConfigReady", "True", "Ready", "", time.Minute),
				is("InfrastructureReady", "False", "NotReady", "SimMachine status.initialization.provisioned is false", time.Minute),
			}
		}},
		{reason: "the provider gave up", age: time.Minute, want: view.Failed, text: "no such image", change: func(m *clusterv1.Machine) {
			m.Status.Conditions = []metav1.Condition{is("InfrastructureReady", "False", "CreationFailed", "no such image", time.Minute)}
		}},
		{reason: "it does not boot", age: time.Minute, want: view.Failed, text: "The machine does not boot", change: func(m *clusterv1.Machine) {
			m.Status.Conditions = []metav1.Condition{
				is("BootstrapConfigReady", "True", "Ready", "", time.Minute), is("InfrastructureReady", "False", infrav1.BootFailedReason, "The machine does not boot", time.Minute),
			}
		}},
		{reason: "it boots and does not join", age: time.Minute, want: view.Failed, text: "kubeadm join: no such token", change: func(m *clusterv1.Machine) {
			m.Spec.ProviderID = "sim:///a/b"
			m.Status.Conditions = []metav1.Condition{is("InfrastructureReady", "False", infrav1.BootstrapFailedReason, "kubeadm join: no such token", time.Minute)}
		}},
		{reason: "ready", age: time.Hour, want: view.Ready, change: func(m *clusterv1.Machine) {
			m.Status.NodeRef = node
			m.Status.Conditions = []metav1.Condition{is("Ready", "True", "Ready", "", time.Hour)}
		}},
		{reason: "nobody has reported yet", age: time.Minute, want: view.Working, text: "waiting for its components to be seen", change: func(m *clusterv1.Machine) {
			m.Status.NodeRef = node
			m.Status.Conditions = []metav1.Condition{is("Ready", "Unknown", "ReadyUnknown", "* A: Condition A not yet reported\n* B: Condition B not yet reported", time.Minute)}
		}},
		{reason: "its Node cannot be seen", age: time.Hour, want: view.Unknown, text: "no contact", change: func(m *clusterv1.Machine) {
			m.Status.NodeRef = node
			m.Status.Conditions = []metav1.Condition{is("NodeReady", "Unknown", "ConnectionDown", "no contact", time.Hour)}
		}},
		{reason: "its Node is gone", age: time.Hour, want: view.Failed, text: "deleted", change: func(m *clusterv1.Machine) {
			m.Status.NodeRef = node
			m.Status.Conditions = []metav1.Condition{is("Ready", "False", "NotReady", "deleted", time.Minute), is("NodeReady", "False", "NodeDeleted", "deleted", time.Minute)}
		}},
		{reason: "on its way out", age: time.Hour, want: view.Deleting, text: "draining", change: func(m *clusterv1.Machine) {
			m.DeletionTimestamp = new(ago(time.Minute))
			m.Status.Conditions = []metav1.Condition{is("Deleting", "True", "DrainingNode", "draining", time.Minute)}
		}},
		{reason: "on its way out for too long", age: time.Hour, want: view.Stuck, text: "deletion waits for a finalizer", change: func(m *clusterv1.Machine) {
			m.DeletionTimestamp = new(ago(time.Hour))
		}},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			t.Parallel()
			m := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m", CreationTimestamp: ago(r.age)}}
			if r.change != nil {
				r.change(m)
			}
			if got := view.OfMachine(m, now); got.State != r.want || got.Message != r.text {
				t.Errorf("%s: %q, want %s: %q", got.State, got.Message, r.want, r.text)
			}
		})
	}
}

func TestOfObject_SaysWhetherItsMakerHasGivenUp(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		ready metav1.Condition
		want  view.State
	}{
		{is("Ready", "True", "Ready", "", time.Minute), view.Ready},
		{is("Ready", "False", infrav1.BootingReason, "The machine has not booted", time.Minute), view.Working},
		{is("Ready", "False", infrav1.BootFailedReason, "The machine does not boot", time.Minute), view.Failed},
		{is("Ready", "False", infrav1.BootstrapFailedReason, "kubeadm join: no such token", time.Minute), view.Failed},
		{is("Ready", "Unknown", "ProbeFailed", "nobody knows", time.Minute), view.Working},
	} {
		o := &view.Object{ObjectMeta: metav1.ObjectMeta{Name: "m", CreationTimestamp: ago(time.Minute)}}
		o.Status.Conditions = []metav1.Condition{row.ready}
		if got := view.OfObject(o, now); got.State != row.want || got.Message != row.ready.Message {
			t.Errorf("%s: %s: %q", row.ready.Reason, got.State, got.Message)
		}
	}
}

// settled is a cluster of three and two machines that is as it was asked for.
func settled() view.Cluster {
	object := metav1.ObjectMeta{Namespace: "default", Name: "demo", Generation: 2, CreationTimestamp: ago(24 * time.Hour)}
	available := []metav1.Condition{is("Available", "True", "Available", "", time.Hour)}
	c := view.Cluster{Object: &clusterv1.Cluster{ObjectMeta: object}, ControlPlane: &controlplanev1.KubeadmControlPlane{ObjectMeta: object}}
	c.Object.Status = clusterv1.ClusterStatus{ObservedGeneration: 2, Conditions: available}
	c.Object.Status.Initialization = clusterv1.ClusterInitializationStatus{InfrastructureProvisioned: new(true), ControlPlaneInitialized: new(true)}
	c.ControlPlane.Spec = controlplanev1.KubeadmControlPlaneSpec{Replicas: new(int32(3)), Version: "v1.37.0"}
	c.ControlPlane.Status = controlplanev1.KubeadmControlPlaneStatus{
		ObservedGeneration: 2, Conditions: available, Replicas: new(int32(3)), UpToDateReplicas: new(int32(3)), AvailableReplicas: new(int32(3)), ReadyReplicas: new(int32(3)),
	}
	md := clusterv1.MachineDeployment{ObjectMeta: object}
	md.Spec.Replicas = new(int32(2))
	md.Spec.Template.Spec.Version = "v1.37.0"
	md.Status = clusterv1.MachineDeploymentStatus{
		ObservedGeneration: 2, Conditions: available, Replicas: new(int32(2)), UpToDateReplicas: new(int32(2)), AvailableReplicas: new(int32(2)), ReadyReplicas: new(int32(2)),
	}
	c.Deployments = []clusterv1.MachineDeployment{md}
	return c
}

func TestCluster_IsNeverReadyBeforeEveryPartSawTheLastChange(t *testing.T) {
	t.Parallel()
	if s := settled().Status(now); s.State != view.Ready {
		t.Fatalf("a settled cluster is %s: %s", s.State, s.Message)
	}
	rapid.Check(t, func(rt *rapid.T) {
		c := settled()
		md := &c.Deployments[0]
		changes := []func(){
			func() { c.Object.Generation++ },
			func() { c.ControlPlane.Generation++ },
			func() { md.Generation++ },
			func() { c.ControlPlane.Spec.Replicas = new(int32(5)) },
			func() { md.Status.UpToDateReplicas = new(int32(1)) },
			func() { md.Status.Replicas = new(int32(3)) },
			func() { md.Status.AvailableReplicas = new(int32(1)) },
			func() { c.ControlPlane.Status.Replicas = nil },
			func() { c.Object.Status.Conditions = nil },
			func() { md.Status.Versions = []clusterv1.StatusVersion{{Version: "v1.36.0", Replicas: new(int32(1))}} },
		}
		for _, i := range rapid.SliceOfNDistinct(rapid.IntRange(0, len(changes)-1), 1, 3, rapid.ID[int]).Draw(rt, "changes") {
			changes[i]()
		}
		if s := c.Status(now); s.State == view.Ready {
			rt.Fatalf("it is Ready: %s", s.Message)
		}
	})
}

func TestOfMachineDeployment_TellsWhatItsControllerSaysWhileThatFails(t *testing.T) {
	t.Parallel()
	c := settled()
	md := &c.Deployments[0]
	md.Generation, md.Status.ObservedGeneration = 1, 0
	md.Status.Replicas, md.Status.AvailableReplicas, md.Status.UpToDateReplicas = new(int32(0)), new(int32(0)), new(int32(0))
	scaling := is("ScalingUp", "True", "ScalingUp", "Scaling up from 0 to 2 replicas\n* the quota is used up", time.Minute)
	for generation, want := range map[int64]string{0: "not yet seen by its controller", 1: "the quota is used up"} {
		scaling.ObservedGeneration = generation
		md.Status.Conditions = []metav1.Condition{scaling}
		if s := c.OfMachineDeployment(md, now); s.State == view.Ready || !strings.Contains(s.Message, want) {
			t.Errorf("seen at generation %d: %s, %q; want %q", generation, s.State, s.Message, want)
		}
	}
	md.Status.Conditions[0].ObservedGeneration = 1
	md.Status.Replicas, md.Status.AvailableReplicas, md.Status.UpToDateReplicas = md.Spec.Replicas, md.Spec.Replicas, md.Spec.Replicas
	if s := c.OfMachineDeployment(md, now); s.State == view.Ready || !strings.Contains(s.Message, "has not reached all of it") {
		t.Errorf("a change that was not made in place: %s, %q", s.State, s.Message)
	}
}

func TestCluster_ThatIsPausedSaysSoWhileItIsBeingDeleted(t *testing.T) {
	t.Parallel()
	c := settled()
	c.Object.Spec.Paused, c.Object.DeletionTimestamp = new(true), new(ago(time.Hour))
	if s := c.Status(now); s.State != view.Paused || s.Message == "" || !s.Since.Equal(now.Add(-time.Hour)) {
		t.Errorf("it is %+v", s)
	}
}

func TestCluster_IsNotReadyWhileARolloutHasToBegin(t *testing.T) {
	t.Parallel()
	c := settled()
	c.Deployments[0].Status.Conditions = append(c.Deployments[0].Status.Conditions, is("RollingOut", "True", "RollingOut", "Rolling out 2 replicas", 0))
	if s := c.Status(now); s.State != view.Working || c.Settled() {
		t.Errorf("it is %s: %s, settled: %t", s.State, s.Message, c.Settled())
	}
	if s := c.OfMachineDeployment(&c.Deployments[0], now); s.State != view.Working {
		t.Errorf("the deployment is %s: %s", s.State, s.Message)
	}
}

func TestCluster_BecomesStuckWhenNothingMoves(t *testing.T) {
	t.Parallel()
	c := settled()
	c.Deployments[0].Status.AvailableReplicas = new(int32(1))
	c.Deployments[0].Status.Conditions = []metav1.Condition{is("Available", "True", "Available", "", 5*time.Minute)}
	if s := c.Status(now); s.State != view.Working {
		t.Errorf("after 5 minutes it is %s", s.State)
	}
	if s := c.Status(now.Add(10 * time.Minute)); s.State != view.Stuck {
		t.Errorf("after 15 minutes it is %s", s.State)
	}
}

func TestCluster_IsNotStuckBecauseItIsOldWhenItsSpecChanges(t *testing.T) {
	t.Parallel()
	c := settled()
	c.Object.CreationTimestamp = ago(24 * time.Hour)
	c.Object.Generation++
	written := ago(time.Second)
	c.Object.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl", Time: &written}}
	if s := c.Status(now); s.State != view.Working {
		t.Errorf("a second after the change it is %s", s.State)
	}
	if s := c.Status(now.Add(time.Hour)); s.State != view.Stuck {
		t.Errorf("an hour after the change it is %s", s.State)
	}
}

func TestTree_ShowsTheWorstOfTooManyMachines(t *testing.T) {
	t.Parallel()
	s := view.Snapshot{Cluster: settled()}
	s.Object.Status.Conditions = nil
	s.Deployments[0].Name = "md"
	for i := range 40 {
		m := clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("m-%02d", i), CreationTimestamp: ago(time.Minute), Labels: map[string]string{clusterv1.MachineDeploymentNameLabel: "md"},
		}}
		if i == 39 {
			m.Status.Conditions = []metav1.Condition{is("InfrastructureReady", "False", "CreationFailed", "no such image", time.Minute)}
		}
		s.Machines = append(s.Machines, m)
	}
	tree := s.Tree(view.TreeOptions{}, now)
	if cause := tree.Cause(); cause == nil || cause.Name != "m-39" {
		t.Errorf("the cause is %+v", cause)
	}
	workers := tree.Children[len(tree.Children)-1].Children[0]
	if len(workers.Children) != 25 || workers.Folded != 15 {
		t.Errorf("%d machines are shown, %d folded", len(workers.Children), workers.Folded)
	}
}

func TestCluster_TellsOfItsVersions(t *testing.T) {
	t.Parallel()
	c := settled()
	c.ControlPlane.Spec.Version, c.Deployments[0].Spec.Template.Spec.Version = "v1.37.2", "v1.37.2"
	c.Deployments[0].Status.Versions = []clusterv1.StatusVersion{{Version: "v1.37.0", Replicas: new(int32(1))}, {Version: "v1.37.2", Replicas: new(int32(1))}}
	if s := c.Summarize(now); s.Version != "v1.37.0" || s.Target != "v1.37.2" {
		t.Errorf("upgrading: %s to %s", s.Version, s.Target)
	}
	c.Deployments[0].Spec.Template.Spec.Version = "v1.37.0"
	if s := c.Summarize(now); s.Version != "v1.37.2" || s.Target != "" {
		t.Errorf("workers held back on purpose: %s to %q", s.Version, s.Target)
	}
}

func TestFlatten_MakesAListOneLine(t *testing.T) {
	t.Parallel()
	if got := view.Flatten("* Machine a:\n  * Draining\n  * Waiting\n* Machine b"); got != "Machine a: Draining; Waiting; Machine b" {
		t.Errorf("got %q", got)
	}
}

func TestWorse_OrdersStates(t *testing.T) {
	t.Parallel()
	states := view.States()
	for i, a := range states {
		for _, b := range states[i:] {
			if view.Worse(a, b) != b || view.Worse(b, a) != b {
				t.Errorf("%s is not worse than %s", b, a)
			}
		}
	}
}
