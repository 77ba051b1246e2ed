package sim_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	infrav1 "slipway.dev/slipway/api/infrastructure/v1alpha1"
	"slipway.dev/slipway/internal/conditions"
	"slipway.dev/slipway/internal/planetest"
	"slipway.dev/slipway/internal/planetest/workers"
	"slipway.dev/slipway/internal/providers/sim/world"
)

// at gives a SimCluster an endpoint that is free.
func at(t testing.TB) func(*infrav1.SimCluster) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	address, ok := ln.Addr().(*net.TCPAddr)
	if !ok {
		t.Fatal("no TCP address")
	}
	return func(c *infrav1.SimCluster) {
		c.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: "127.0.0.1", Port: int32(address.Port)}
	}
}

// states are conditions as "Type=Status Reason".
func states(list []metav1.Condition) map[string]string {
	out := map[string]string{}
	for _, c := range list {
		out[c.Type] = string(c.Status) + " " + c.Reason
	}
	return out
}

func TestSimCluster_KeepsTheContract(t *testing.T) {
	t.Parallel()
	r := started(t, func(c *infrav1.SimCluster) {
		c.Spec.FailureDomains = []infrav1.SimFailureDomain{{Name: "a", ControlPlane: new(true)}, {Name: "b"}}
	})
	place := r.placed()
	if place.Host != "127.0.0.1" || place.Port == 0 {
		t.Errorf("the endpoint is %s:%d", place.Host, place.Port)
	}
	if !controllerutil.ContainsFinalizer(r.sim, infrav1.SimClusterFinalizer) {
		t.Error("it has no finalizer")
	}
	if p := r.sim.Status.Initialization.Provisioned; p == nil || !*p {
		t.Error("it is not provisioned")
	}
	if diff := cmp.Diff([]clusterv1.FailureDomain{{Name: "a", ControlPlane: new(true)}, {Name: "b", ControlPlane: new(false)}}, r.sim.Status.FailureDomains); diff != "" {
		t.Error("failure domains (-want +got):\n" + diff)
	}
	want := map[string]string{"Ready": "True Ready", "FaultFree": "True NoFaults", "Paused": "False NotPaused"}
	if diff := cmp.Diff(want, states(r.sim.Status.Conditions)); diff != "" {
		t.Error("conditions (-want +got):\n" + diff)
	}
	r.writes.Cease(t)
	// A cache that does not show the status yet has it written once more.
	if log := r.writes.Log(); len(log) < 2 || len(log) > 3 {
		t.Errorf("it wrote %q, want the spec and the status once", log)
	}
}

func TestSimCluster_TakesNoPlaceWithoutACluster(t *testing.T) {
	t.Parallel()
	r := started(t, func(c *infrav1.SimCluster) { c.OwnerReferences, c.Labels = nil, nil })
	r.untilCluster(func(c *infrav1.SimCluster) error {
		if got := states(c.Status.Conditions)["Ready"]; got != "False WaitingForCluster" {
			return fmt.Errorf("Ready is %q", got)
		}
		return nil
	})
	if r.sim.Spec.ControlPlaneEndpoint.Port != 0 || len(r.sim.Finalizers) != 0 {
		t.Errorf("it has an endpoint or a finalizer: %+v, %q", r.sim.Spec.ControlPlaneEndpoint, r.sim.Finalizers)
	}
}

func TestSimCluster_WhosePortIsTakenSaysSoUntilItIsFree(t *testing.T) {
	t.Parallel()
	r := started(t)
	r.controlPlane("cp")
	r.bootstrapped("cp")
	address := r.address()
	r.stop()
	other, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	r.start()
	for range 2 { // Trying again must come to the same.
		r.nudge(r.sim)
		r.writes.Cease(t)
		r.untilCluster(func(c *infrav1.SimCluster) error {
			if got := states(c.Status.Conditions)["Ready"]; got != "False EndpointPortTaken" {
				return fmt.Errorf("Ready is %q", got)
			}
			return nil
		})
	}
	r.must(other.Close())
	r.nudge(r.sim)
	r.untilNode("cp", corev1.ConditionTrue)
	r.untilCluster(func(c *infrav1.SimCluster) error {
		if !conditions.IsTrue(c.Status.Conditions, clusterv1.ReadyCondition) {
			return errors.New("not ready")
		}
		return nil
	})
}

func TestPortThatIsTaken_KeepsNobodyFromDeleting(t *testing.T) {
	t.Parallel()
	r := started(t)
	r.controlPlane("cp")
	r.bootstrapped("cp")
	r.stop()
	other, err := net.Listen("tcp", r.address())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	r.start()
	r.must(r.Delete(t.Context(), &infrav1.SimMachine{ObjectMeta: r.meta("cp")}))
	r.must(r.Delete(t.Context(), r.sim))
	planetest.Eventually(t, func(ctx context.Context) error {
		err := r.Get(ctx, r.key(clusterName), r.sim)
		if err == nil {
			return errors.New("the SimCluster is there")
		}
		return client.IgnoreNotFound(err)
	})
	if left, err := os.ReadDir(r.dir); err != nil || len(left) != 0 {
		t.Errorf("left in the directory: %v, %v", left, err)
	}
}

func TestPortThatIsTaken_IsWaitedForByTheFirstMachine(t *testing.T) {
	t.Parallel()
	r := newRig(t, at(t))
	other, err := net.Listen("tcp", r.address())
	if err != nil {
		t.Fatal(err)
	}
	r.controlPlane("cp")
	r.start()
	sim := r.until("cp", isFalse(infrav1.BootedCondition, infrav1.BootingReason))
	for range 2 { // Trying again must come to the same.
		r.nudge(sim)
		r.writes.Cease(t)
		sim = r.until("cp", isFalse(infrav1.BootedCondition, infrav1.BootingReason))
	}
	if got := conditions.Find(sim.Status.Conditions, infrav1.BootedCondition).Message; !strings.Contains(got, "taken by another program") {
		t.Errorf("it says %q", got)
	}
	r.must(other.Close())
	r.nudge(sim)
	r.bootstrapped("cp")
	r.connect()
	planetest.Eventually(t, func(ctx context.Context) error {
		members, err := r.members(ctx)
		if err == nil && len(members) != 1 {
			err = fmt.Errorf("%d etcd members", len(members))
		}
		return err
	})
}

func TestSimMachine_KeepsTheContract(t *testing.T) {
	t.Parallel()
	r := started(t)
	r.controlPlane("cp", within("a"))
	r.bootstrapped("cp")
	sim := r.until("cp", isTrue(clusterv1.ReadyCondition))
	if want := "sim://" + r.namespace + "/demo/cp"; sim.Spec.ProviderID != want {
		t.Errorf("provider ID %q, want %q", sim.Spec.ProviderID, want)
	}
	if !controllerutil.ContainsFinalizer(sim, infrav1.SimMachineFinalizer) {
		t.Error("it has no finalizer")
	}
	if p := sim.Status.Initialization.Provisioned; p == nil || !*p {
		t.Error("it is not provisioned")
	}
	addresses := []clusterv1.MachineAddress{
		{Type: clusterv1.MachineInternalIP, Address: world.Address("cp").String()}, {Type: clusterv1.MachineHostName, Address: "cp"},
	}
	if diff := cmp.Diff(addresses, sim.Status.Addresses); diff != "" {
		t.Error("addresses (-want +got):\n" + diff)
	}
	if sim.Status.FailureDomain != "a" || sim.Status.BootstrapToolVersion != version || sim.Status.BootTime.IsZero() {
		t.Errorf("status is %+v", sim.Status)
	}
	want := map[string]string{
		"Ready": "True Ready", "Booted": "True Booted", "Bootstrapped": "True Bootstrapped", "FaultFree": "True NoFaults", "Paused": "False NotPaused",
	}
	if diff := cmp.Diff(want, states(sim.Status.Conditions)); diff != "" {
		t.Error("conditions (-want +got):\n" + diff)
	}
	node, err := r.node(t.Context(), "cp")
	if err != nil || node.Spec.ProviderID != sim.Spec.ProviderID {
		t.Errorf("the Node has provider ID %q, %v", node.Spec.ProviderID, err)
	}
	r.writes.Cease(t)
	// A cache that does not show a status yet has it written once more.
	if log := r.writes.Log(); len(log) < 4 || len(log) > 6 {
		t.Errorf("it wrote %q, want spec and status of each object once", log)
	}
}

func TestSimMachine_WaitsForItsBootstrapData(t *testing.T) {
	t.Parallel()
	r := started(t)
	m := r.machine("cp", nil)
	sim := r.until("cp", func(s *infrav1.SimMachine) error {
		if s.Spec.ProviderID == "" {
			return errors.New("no provider ID")
		}
		return nil
	})
	r.writes.Cease(t)
	r.must(r.Get(t.Context(), client.ObjectKeyFromObject(sim), sim))
	if sim.Status.Initialization.Provisioned != nil {
		t.Error("it booted without bootstrap data")
	}
	r.secret("cp", r.initData())
	r.change(m, func() { m.Spec.Bootstrap.DataSecretName = new("cp") })
	r.bootstrapped("cp")
}

func TestSimMachine_TellsForGoodWhatIsWrongWithItsData(t *testing.T) {
	t.Parallel()
	r := started(t)
	r.machine("cp", []byte("#cloud-config\nruncmd: [\"true\"]\n"))
	sim := r.until("cp", isFalse(infrav1.BootstrappedCondition, infrav1.BootstrapFailedReason))
	before := conditions.Find(sim.Status.Conditions, infrav1.BootstrappedCondition)
	if !strings.Contains(before.Message, "kubeadm") {
		t.Errorf("it says %q", before.Message)
	}
	r.restart()
	r.writes.Cease(t)
	r.must(r.Get(t.Context(), client.ObjectKeyFromObject(sim), sim))
	if diff := cmp.Diff(before, conditions.Find(sim.Status.Conditions, infrav1.BootstrappedCondition)); diff != "" {
		t.Error("after a restart it says otherwise (-before +after):\n" + diff)
	}
}

func TestPaused_MeansThatNothingIsDone(t *testing.T) {
	t.Parallel()
	r := started(t)
	r.controlPlane("cp")
	r.bootstrapped("cp")
	sim := r.until("cp", isTrue(infrav1.BootstrappedCondition))
	r.change(r.cluster, func() { r.cluster.Spec.Paused = new(true) })
	r.until("cp", isTrue(clusterv1.PausedCondition))
	r.untilCluster(func(c *infrav1.SimCluster) error {
		if !conditions.IsTrue(c.Status.Conditions, clusterv1.PausedCondition) {
			return errors.New("not paused")
		}
		return nil
	})
	r.change(sim, func() { with(infrav1.NodeLostFault)(sim) })
	r.fail(infrav1.SimClusterFault{Type: infrav1.EndpointUnreachableFault})
	r.writes.Cease(t)
	r.untilNode("cp", corev1.ConditionTrue)
	r.until("cp", isTrue(infrav1.FaultFreeCondition))
	r.ails("")
	r.change(r.cluster, func() { r.cluster.Spec.Paused = new(false) })
	r.until("cp", isFalse(infrav1.FaultFreeCondition, infrav1.FaultsActiveReason))
	r.ails("EndpointUnreachable")
	r.untilRefused()
}

func TestDelete_LeavesNothing(t *testing.T) {
	t.Parallel()
	r := started(t)
	r.controlPlane("cp")
	r.bootstrapped("cp")
	r.worker("w", with(infrav1.NodeLostFault))
	r.bootstrapped("w")
	r.must(r.Delete(t.Context(), r.sim))
	r.untilCluster(func(c *infrav1.SimCluster) error {
		if ready := conditions.Find(c.Status.Conditions, clusterv1.ReadyCondition); ready == nil || ready.Message != "Waiting for SimMachines to be deleted: cp, w" {
			return fmt.Errorf("Ready is %+v", ready)
		}
		return nil
	})
	r.untilNode("cp", corev1.ConditionTrue) // Until its machines are gone, it serves them.
	for _, name := range []string{"w", "cp"} {
		r.must(r.Delete(t.Context(), &infrav1.SimMachine{ObjectMeta: r.meta(name)}))
	}
	planetest.Eventually(t, func(ctx context.Context) error {
		err := r.Get(ctx, r.key(clusterName), r.sim)
		if err == nil {
			return errors.New("the SimCluster is there")
		}
		return client.IgnoreNotFound(err)
	})
	for _, name := range []string{"w", "cp"} {
		if err := r.Get(t.Context(), r.key(name), &infrav1.SimMachine{}); !apierrors.IsNotFound(err) {
			t.Errorf("SimMachine %s: %v, want it gone", name, err)
		}
	}
	r.untilRefused()
	if left, err := os.ReadDir(r.dir); err != nil || len(left) != 0 {
		t.Errorf("left in the directory: %v, %v", left, err)
	}
	r.writes.Cease(t)
}

func TestRestart_MakesNothingTwice(t *testing.T) {
	t.Parallel()
	r := started(t)
	r.controlPlane("cp")
	r.bootstrapped("cp")
	r.worker("w")
	r.bootstrapped("w")
	r.connect()
	look := func() (seen []string) {
		planetest.Eventually(t, func(ctx context.Context) error {
			members, err := r.members(ctx)
			if err != nil {
				return err
			}
			seen = nil
			for _, m := range members {
				seen = append(seen, fmt.Sprintf("member %d %s", m.ID, m.Name))
			}
			var nodes corev1.NodeList
			if err := r.admin().List(ctx, &nodes); err != nil {
				return err
			}
			for _, n := range nodes.Items {
				seen = append(seen, fmt.Sprintf("node %s %s since %s", n.Name, n.UID, readiness(&n).LastTransitionTime.UTC()))
			}
			return nil
		})
		return seen
	}
	before := look()
	r.restart()
	r.writes.Cease(t)
	if diff := cmp.Diff(before, look()); diff != "" {
		t.Error("the cluster (-before +after the restart):\n" + diff)
	}
	if log := r.writes.Log(); len(log) != 0 {
		t.Errorf("a restart wrote %q", log)
	}
}

func TestKilled_AfterAnyWriteItGoesOn(t *testing.T) {
	t.Parallel()
	for lives := range 4 {
		t.Run(fmt.Sprintf("%d writes", lives), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, at(t))
			r.controlPlane("cp")
			r.start(func(w *workers.Writes) { w.DieAfter(lives) })
			planetest.Eventually(t, func(context.Context) error {
				if !r.writes.Dead() {
					return errors.New("it lives")
				}
				return nil
			})
			r.restart()
			r.bootstrapped("cp")
			r.placed()
			var nodes corev1.NodeList
			if err := r.admin().List(t.Context(), &nodes); err != nil || len(nodes.Items) != 1 {
				t.Errorf("%d Nodes, %v; want one", len(nodes.Items), err)
			}
			if log := r.writes.Log(); len(log) > 6 {
				t.Errorf("it wrote %q, want spec and status of each object once, but for a cache that lags", log)
			}
		})
	}
}

func TestLostFile_IsRebuiltAndSaidSo(t *testing.T) {
	t.Parallel()
	r := started(t)
	r.controlPlane("cp")
	r.bootstrapped("cp")
	r.stop()
	lost, err := filepath.Glob(filepath.Join(r.dir, "*", "*"))
	if err != nil || len(lost) != 1 {
		t.Fatalf("files of the cluster: %q, %v", lost, err)
	}
	r.must(os.RemoveAll(lost[0]))
	r.start()
	r.untilNode("cp", corev1.ConditionTrue)
	planetest.Eventually(t, func(ctx context.Context) error {
		var all eventsv1.EventList
		if err := r.List(ctx, &all, client.InNamespace(r.namespace)); err != nil {
			return err
		}
		for _, e := range all.Items {
			if e.Reason == "Rebuilt" && e.Regarding.Name == "cp" {
				return nil
			}
		}
		return errors.New("no event says so")
	})
}
