package sim_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "slipway.dev/slipway/api/infrastructure/v1alpha1"
	"slipway.dev/slipway/internal/conditions"
)

func zoneDown(zone string, lasts time.Duration) infrav1.SimClusterFault {
	f := infrav1.SimClusterFault{Type: infrav1.ZoneDownFault, Zone: zone}
	if lasts != 0 {
		f.Duration = &metav1.Duration{Duration: lasts}
	}
	return f
}

// fail adds faults to the SimCluster.
func (r *rig) fail(faults ...infrav1.SimClusterFault) {
	r.Helper()
	r.change(r.sim, func() { r.sim.Spec.Faults = append(r.sim.Spec.Faults, faults...) })
}

// ails waits until the SimCluster says that just these faults are at work.
func (r *rig) ails(names string) {
	r.Helper()
	r.untilCluster(func(c *infrav1.SimCluster) error {
		got := conditions.Find(c.Status.Conditions, infrav1.FaultFreeCondition)
		want := "At work: " + names + ". Remove them from spec.faults to end them"
		if names == "" {
			want = ""
		}
		if got == nil || got.ObservedGeneration != c.Generation || got.Message != want {
			return fmt.Errorf("FaultFree is %+v, want %q", got, want)
		}
		return nil
	})
}

func TestFault_ThatHasEndedDoesNotStrikeAgainAfterARestart(t *testing.T) {
	t.Parallel()
	r := started(t)
	r.controlPlane("cp")
	r.bootstrapped("cp")
	sim := r.until("cp", isTrue(infrav1.BootedCondition))
	r.change(sim, func() { with(infrav1.NodeLostFault, time.Hour)(sim) })
	r.fail(zoneDown("a", time.Hour), infrav1.SimClusterFault{Type: infrav1.EndpointUnreachableFault, Duration: &metav1.Duration{Duration: time.Minute}})
	r.ails("ZoneDown a, EndpointUnreachable")
	r.until("cp", isFalse(infrav1.FaultFreeCondition, infrav1.FaultsActiveReason))
	r.pass(2 * time.Hour)
	r.nudge(sim)
	r.nudge(r.sim)
	r.ails("")
	before := r.untilNode("cp", corev1.ConditionTrue)
	r.restart()
	r.pass(time.Minute)
	r.nudge(sim)
	r.nudge(r.sim)
	r.writes.Cease(t)
	r.ails("")
	if diff := cmp.Diff(before.LastTransitionTime, r.untilNode("cp", corev1.ConditionTrue).LastTransitionTime); diff != "" {
		t.Error("the Node was lost again (-before +after the restart):\n" + diff)
	}
	if log := r.writes.Log(); len(log) != 0 {
		t.Errorf("a restart after all was over wrote %q", log)
	}
}

func TestFault_CountsFromItsOwnStartAcrossARestart(t *testing.T) {
	t.Parallel()
	r := started(t)
	r.placed()
	r.fail(zoneDown("a", time.Hour))
	r.ails("ZoneDown a")
	r.pass(50 * time.Minute)
	r.fail(zoneDown("b", time.Hour))
	r.ails("ZoneDown a, ZoneDown b")
	r.restart()
	r.pass(11 * time.Minute)
	r.nudge(r.sim)
	r.ails("ZoneDown b")
	r.pass(50 * time.Minute)
	r.nudge(r.sim)
	r.ails("")
}

func TestFault_IsNotTakenForAnotherWhoseNameContainsItsOwn(t *testing.T) {
	t.Parallel()
	r := started(t)
	r.placed()
	r.fail(zoneDown("ab", 0))
	r.ails("ZoneDown ab")
	r.stop()
	r.pass(2 * time.Hour)
	r.fail(zoneDown("a", time.Hour))
	r.start()
	r.ails("ZoneDown ab, ZoneDown a")
	r.pass(61 * time.Minute)
	r.nudge(r.sim)
	r.ails("ZoneDown ab")
}

func TestFault_ThatIsAddedAgainBeginsAnew(t *testing.T) {
	t.Parallel()
	r := started(t)
	r.placed()
	r.fail(zoneDown("a", time.Hour))
	r.ails("ZoneDown a")
	r.pass(2 * time.Hour)
	r.nudge(r.sim)
	r.ails("")
	r.change(r.sim, func() { r.sim.Spec.Faults = nil })
	r.ails("")
	r.restart()
	r.fail(zoneDown("a", time.Hour))
	r.ails("ZoneDown a")
}

func TestFault_BeforeThereIsAClusterSurvivesARestartToo(t *testing.T) {
	t.Parallel()
	r := started(t)
	r.controlPlane("cp", with(infrav1.SlowBootFault, time.Hour))
	r.until("cp", isFalse(infrav1.BootedCondition, infrav1.BootingReason))
	r.pass(59 * time.Minute)
	r.restart()
	sim := r.until("cp", isFalse(infrav1.BootedCondition, infrav1.BootingReason))
	r.pass(2 * time.Minute)
	r.nudge(sim)
	r.bootstrapped("cp")
}

func TestRestart_LeavesAtWorkWhatIsAtWork(t *testing.T) {
	t.Parallel()
	r := started(t)
	r.controlPlane("cp")
	r.bootstrapped("cp")
	r.worker("w", with(infrav1.NodeLostFault))
	r.bootstrapped("w")
	before := r.untilNode("w", corev1.ConditionUnknown)
	r.pass(time.Hour)
	r.restart()
	r.writes.Cease(t)
	if diff := cmp.Diff(before.LastTransitionTime, r.untilNode("w", corev1.ConditionUnknown).LastTransitionTime); diff != "" {
		t.Error("the Node was found and lost again (-before +after the restart):\n" + diff)
	}
	if log := r.writes.Log(); len(log) != 0 {
		t.Errorf("a restart wrote %q", log)
	}
	r.fail(infrav1.SimClusterFault{Type: infrav1.EndpointUnreachableFault})
	r.ails("EndpointUnreachable")
	r.stop()
	answered := r.listening(r.address())
	r.start()
	r.writes.Cease(t)
	if answered() {
		t.Error("an endpoint that is unreachable answered after a restart")
	}
}

// listening looks all the time whether an API server answers at an address. Calling what it returns ends that and tells whether
// somebody did.
func (r *rig) listening(address string) (ever func() bool) {
	seen := false
	ctx, cancel := context.WithCancel(r.Context())
	var looking sync.WaitGroup
	looking.Go(func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			conn, err := tls.DialWithDialer(&net.Dialer{Timeout: time.Second}, "tcp", address, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // Whoever answers.
			if err == nil {
				seen = true
				_ = conn.Close()
			}
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
		}
	})
	return func() bool {
		cancel()
		looking.Wait()
		return seen
	}
}
