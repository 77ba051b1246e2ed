package view_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/view"
)

// find returns the node of a kind in a tree.
func find(t *testing.T, n *view.Node, kind string) *view.Node {
	t.Helper()
	var found *view.Node
	var walk func(n *view.Node)
	walk = func(n *view.Node) {
		if n.Kind == kind && found == nil {
			found = n
		}
		for _, c := range n.Children {
			walk(c)
		}
	}
	walk(n)
	if found == nil {
		t.Fatalf("the tree has no %s", kind)
	}
	return found
}

// withFailed is a cluster with two workers, of which one has failed for 7 minutes, and three control-plane machines.
func withFailed() *view.Snapshot {
	s := &view.Snapshot{Cluster: settled()}
	md := &s.Deployments[0]
	md.Name, md.Status.AvailableReplicas, md.Status.ReadyReplicas = "md", new(int32(1)), new(int32(1))
	// Conditions that moved before, and after.
	md.Status.Conditions = []metav1.Condition{is("MachinesReady", "False", "NotReady", "", 9*time.Minute), is("Paused", "False", "NotPaused", "", time.Minute)}
	set := clusterv1.MachineSet{ObjectMeta: metav1.ObjectMeta{Name: "md-x", Labels: map[string]string{clusterv1.MachineDeploymentNameLabel: "md"}}}
	set.Spec.Replicas = md.Spec.Replicas
	set.Status = clusterv1.MachineSetStatus{Replicas: new(int32(2)), ReadyReplicas: new(int32(1)), AvailableReplicas: new(int32(1)), UpToDateReplicas: new(int32(2))}
	set.CreationTimestamp = ago(9 * time.Minute)
	s.Sets = []clusterv1.MachineSet{set}
	worker := clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{
		Name: "md-x-1", CreationTimestamp: ago(9 * time.Minute),
		Labels: map[string]string{clusterv1.MachineDeploymentNameLabel: "md", clusterv1.MachineSetNameLabel: "md-x"},
	}}
	worker.Spec.Version = "v1.37.0"
	worker.Status.Conditions = []metav1.Condition{is("Ready", "False", "NotReady", "", 9*time.Minute), is("InfrastructureReady", "False", "BootFailed", "it does not boot", 7*time.Minute)}
	s.Machines = []clusterv1.Machine{worker}
	return s
}

func TestTree_EverythingAboveAFailedMachineThatNothingReplacesIsStuck(t *testing.T) {
	t.Parallel()
	inTheControlPlane := func(s *view.Snapshot) {
		s.Deployments = nil
		s.ControlPlane.Status.AvailableReplicas = new(int32(2))
		s.Machines[0].Labels = map[string]string{clusterv1.MachineControlPlaneLabel: ""}
	}
	flag := func(kind string) func(*view.Snapshot) {
		return func(s *view.Snapshot) {
			s.Machines[0].Status.Conditions = append(s.Machines[0].Status.Conditions, is(kind, "False", "No", "", time.Minute))
		}
	}
	for _, r := range []struct {
		reason string
		change func(*view.Snapshot)
		kinds  []string
		want   view.State
	}{
		{reason: "a worker", kinds: []string{"Cluster", "MachineDeployment", "MachineSet"}, want: view.Stuck},
		{reason: "of the control plane", change: inTheControlPlane, kinds: []string{"Cluster", "KubeadmControlPlane"}, want: view.Stuck},
		{reason: "while its cluster is being made", kinds: []string{"Cluster"}, want: view.Stuck, change: func(s *view.Snapshot) {
			s.Object.CreationTimestamp, s.Object.Status.Conditions = ago(9*time.Minute), []metav1.Condition{is("Available", "False", "NotAvailable", "", 9*time.Minute)}
		}},
		{reason: "while its cluster cannot be seen", kinds: []string{"Cluster"}, want: view.Stuck, change: func(s *view.Snapshot) {
			s.Object.Status.Conditions = append(s.Object.Status.Conditions, is("RemoteConnectionProbe", "False", "ProbeFailed", "", time.Minute))
		}},
		{reason: "of a set without a deployment", kinds: []string{"Cluster", "MachineSet"}, want: view.Stuck, change: func(s *view.Snapshot) {
			delete(s.Machines[0].Labels, clusterv1.MachineDeploymentNameLabel)
			delete(s.Sets[0].Labels, clusterv1.MachineDeploymentNameLabel)
		}},
		{reason: "on its way out", kinds: []string{"MachineDeployment"}, want: view.Working, change: func(s *view.Snapshot) { s.Machines[0].DeletionTimestamp = new(ago(time.Second)) }},
		{reason: "of another version", kinds: []string{"MachineDeployment"}, want: view.Working, change: func(s *view.Snapshot) { s.Machines[0].Spec.Version = "v1.36.0" }},
		{reason: "not up to date", kinds: []string{"MachineDeployment"}, want: view.Working, change: flag("UpToDate")},
		{reason: "to be remediated", kinds: []string{"MachineDeployment"}, want: view.Working, change: flag("OwnerRemediated")},
		{reason: "of a deployment that has not been seen", kinds: []string{"MachineDeployment"}, want: view.Working, change: func(s *view.Snapshot) {
			s.Deployments[0].Generation++
			s.Deployments[0].CreationTimestamp = ago(time.Minute)
		}},
	} {
		t.Run(r.reason, func(t *testing.T) {
			t.Parallel()
			s := withFailed()
			if r.change != nil {
				r.change(s)
			}
			tree := s.Tree(view.TreeOptions{All: true}, now)
			for _, kind := range r.kinds {
				n := find(t, tree, kind)
				if n.Status.State != r.want {
					t.Errorf("%s is %s: %s", kind, n.Status.State, n.Status.Message)
				}
				if r.want == view.Stuck && (!n.Status.Since.Equal(now.Add(-7*time.Minute)) || !strings.Contains(n.Status.Message, "Machine md-x-1 failed: it does not boot")) {
					t.Errorf("%s, since %s: %s", kind, now.Sub(n.Status.Since), n.Status.Message)
				}
			}
		})
	}
}

func TestTree_NamesTheFirstOfSeveralFailedMachines(t *testing.T) {
	t.Parallel()
	s := withFailed()
	second := s.Machines[0].DeepCopy()
	second.Name, second.Status.Conditions = "md-x-0", []metav1.Condition{is("InfrastructureReady", "False", "BootFailed", "nor does it", time.Minute)}
	s.Machines = append([]clusterv1.Machine{*second}, s.Machines...)
	if got := s.OfMachineDeployment(&s.Deployments[0], now).Message; got != "1/2, 2 machines failed, first md-x-1: it does not boot" {
		t.Error(got)
	}
}

// What a controller says of a template that is gone: ours lists it, Cluster API has one line.
const (
	heldMessage     = "Scaling up would be held\n* SimMachineTemplate demo does not exist; create it, or correct the reference"
	upstreamMessage = "Scaling up would be blocked because SimMachineTemplate does not exist"
)

func TestTree_TellsWhatHoldsARolloutAndForHowLong(t *testing.T) {
	t.Parallel()
	for _, r := range []struct {
		reason, message string
		status          metav1.ConditionStatus
		age             time.Duration
		want            view.State
		says            string
	}{
		{reason: "a template that is gone", status: "False", message: heldMessage, age: time.Minute, want: view.Waiting, says: "SimMachineTemplate demo does not exist; create it, or correct the reference"},
		{reason: "told by Cluster API", status: "False", message: upstreamMessage, age: time.Minute, want: view.Waiting, says: upstreamMessage},
		{reason: "for long", status: "False", message: heldMessage, age: time.Hour, want: view.Stuck, says: "SimMachineTemplate demo does not exist"},
		{reason: "while machines are missing", status: "True", message: "Scaling up from 1 to 2 replicas\n* Cluster demo is being upgraded", age: time.Minute, want: view.Working, says: "held: Cluster demo is being upgraded"},
	} {
		t.Run(r.reason, func(t *testing.T) {
			t.Parallel()
			// Another condition has moved since.
			rolling := []metav1.Condition{
				is("RollingOut", "True", "RollingOut", "", r.age), is("ScalingUp", r.status, "X", r.message, 24*time.Hour), is("MachinesUpToDate", "False", "NotUpToDate", "", time.Second),
			}
			ofControlPlane, ofWorkers := settled(), settled()
			ofControlPlane.ControlPlane.Status.Conditions = rolling
			ofWorkers.Deployments[0].Status.Conditions = rolling
			for name, s := range map[string]view.Status{
				"control plane": ofControlPlane.OfControlPlane(now), "its cluster": ofControlPlane.Status(now),
				"workers": ofWorkers.OfMachineDeployment(&ofWorkers.Deployments[0], now), "their cluster": ofWorkers.Status(now),
			} {
				if s.State != r.want || !strings.Contains(s.Message, r.says) {
					t.Errorf("%s: %s: %s", name, s.State, s.Message)
				}
				if r.want != view.Working && !s.Since.Equal(now.Add(-r.age)) {
					t.Errorf("%s: for %s", name, now.Sub(s.Since))
				}
			}
		})
	}
}

func TestCluster_ThatLostAWorkerIsNotAsOldAsItself(t *testing.T) {
	t.Parallel()
	c := settled()
	c.Object.CreationTimestamp = ago(8 * time.Minute)
	c.Object.Status.Conditions = []metav1.Condition{is("Available", "False", "NotAvailable", "", 20*time.Second)}
	c.Deployments[0].Status.AvailableReplicas = new(int32(1))
	if s := c.Status(now); s.State != view.Working || !s.Since.Equal(now.Add(-20*time.Second)) {
		t.Errorf("it is %s for %s: %s", s.State, now.Sub(s.Since), s.Message)
	}
}
