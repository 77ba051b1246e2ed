package sim_test

import (
	"context"
	"crypto/tls"
	"errors"
	"os"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	infrav1 "slipway.dev/slipway/api/infrastructure/v1alpha1"
	"slipway.dev/slipway/internal/planetest"
	"slipway.dev/slipway/internal/remote"
)

// documented are the faults of docs/sim.md, each with what it says of it.
func documented() map[string]func(*rig) {
	return map[string]func(*rig){
		string(infrav1.SlowBootFault): func(r *rig) {
			r.controlPlane("cp", with(infrav1.SlowBootFault, time.Hour))
			sim := r.until("cp", isFalse(infrav1.BootedCondition, infrav1.BootingReason))
			r.pass(59 * time.Minute)
			r.nudge(sim)
			r.writes.Cease(r)
			sim = r.until("cp", isFalse(infrav1.BootedCondition, infrav1.BootingReason))
			r.pass(2 * time.Minute)
			r.nudge(sim)
			r.bootstrapped("cp")
		},
		string(infrav1.FailedBootFault): func(r *rig) {
			r.controlPlane("cp", with(infrav1.FailedBootFault))
			sim := r.until("cp", isFalse(infrav1.BootedCondition, infrav1.BootFailedReason))
			if sim.Status.Initialization.Provisioned != nil {
				r.Error("a machine that does not boot is provisioned")
			}
			r.without(sim)
			r.bootstrapped("cp")
			r.untilNode("cp", corev1.ConditionTrue)
		},
		string(infrav1.FailedBootstrapFault): func(r *rig) {
			r.controlPlane("cp", with(infrav1.FailedBootstrapFault))
			sim := r.until("cp", isFalse(infrav1.BootstrappedCondition, infrav1.BootstrapFailedReason))
			if err := isTrue(infrav1.BootedCondition)(sim); err != nil {
				r.Error(err)
			}
			r.without(sim)
			r.until("cp", isTrue(infrav1.FaultFreeCondition))
			r.writes.Cease(r)
			r.until("cp", isFalse(infrav1.BootstrappedCondition, infrav1.BootstrapFailedReason))
		},
		string(infrav1.NodeLostFault): func(r *rig) {
			r.controlPlane("cp")
			r.bootstrapped("cp")
			r.worker("w")
			r.untilNode("w", corev1.ConditionTrue)
			sim := r.until("w", isTrue(infrav1.BootstrappedCondition))
			r.change(sim, func() { with(infrav1.NodeLostFault)(sim) })
			r.untilNode("w", corev1.ConditionUnknown)
			r.until("w", isFalse(infrav1.FaultFreeCondition, infrav1.FaultsActiveReason))
			r.without(sim)
			r.untilNode("w", corev1.ConditionTrue)
		},
		string(infrav1.EtcdMemberDeadFault): func(r *rig) {
			r.controlPlane("cp")
			r.bootstrapped("cp")
			r.connect()
			answers := func(ctx context.Context) error {
				members, err := r.members(ctx)
				if err == nil && (len(members) != 1 || members[0].Health != remote.MemberHealthy) {
					err = errors.New("not one healthy member")
				}
				return err
			}
			planetest.Eventually(r, answers)
			sim := r.until("cp", isTrue(infrav1.BootstrappedCondition))
			r.change(sim, func() { with(infrav1.EtcdMemberDeadFault)(sim) })
			planetest.Eventually(r, func(ctx context.Context) error {
				if err := answers(ctx); !errors.Is(err, remote.ErrNoEtcdMember) {
					return errors.Join(errors.New("want that no member answers"), err)
				}
				return nil
			})
			r.untilNode("cp", corev1.ConditionTrue)
			r.without(sim)
			planetest.Eventually(r, answers)
		},
		string(infrav1.MachineVanishedFault): func(r *rig) {
			r.controlPlane("cp")
			r.bootstrapped("cp")
			r.worker("w")
			sim := r.until("w", isTrue(infrav1.BootstrappedCondition))
			r.change(sim, func() { with(infrav1.MachineVanishedFault)(sim) })
			r.until("w", isFalse(infrav1.BootedCondition, infrav1.MachineVanishedReason))
			r.untilNode("w", corev1.ConditionUnknown)
			r.without(sim)
			r.restart()
			r.until("w", isTrue(infrav1.FaultFreeCondition))
			r.until("w", isFalse(infrav1.BootedCondition, infrav1.MachineVanishedReason))
			r.untilNode("w", corev1.ConditionUnknown)
		},
		string(infrav1.ZoneDownFault): func(r *rig) {
			r.controlPlane("cp", within("a"))
			r.bootstrapped("cp")
			r.worker("b1", within("b"))
			r.worker("b2", within("b"))
			r.worker("bb", within("bb"))
			r.bootstrapped("b1", "b2", "bb")
			r.fail(zoneDown("b", 0))
			for name, want := range map[string]corev1.ConditionStatus{
				"b1": corev1.ConditionUnknown, "b2": corev1.ConditionUnknown, "bb": corev1.ConditionTrue, "cp": corev1.ConditionTrue,
			} {
				r.untilNode(name, want)
			}
			r.change(r.sim, func() { r.sim.Spec.Faults = nil })
			r.untilNode("b1", corev1.ConditionTrue)
			r.untilNode("b2", corev1.ConditionTrue)
			r.fail(zoneDown("a", 0))
			r.untilRefused() // No control plane is left to answer.
		},
		string(infrav1.EndpointUnreachableFault): func(r *rig) {
			r.controlPlane("cp")
			r.bootstrapped("cp")
			before := r.untilNode("cp", corev1.ConditionTrue)
			r.fail(infrav1.SimClusterFault{Type: infrav1.EndpointUnreachableFault})
			r.untilRefused()
			r.pass(time.Minute)
			r.change(r.sim, func() { r.sim.Spec.Faults = nil })
			after := r.untilNode("cp", corev1.ConditionTrue)
			if diff := cmp.Diff(before.LastTransitionTime, after.LastTransitionTime); diff != "" {
				r.Error("its machines did not run on (-before +after):\n" + diff)
			}
		},
	}
}

// untilRefused waits until no API server answers at the endpoint.
func (r *rig) untilRefused() {
	r.Helper()
	planetest.Eventually(r, func(ctx context.Context) error {
		conn, err := (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}).DialContext(ctx, "tcp", r.address()) //nolint:gosec // Whoever answers.
		if err == nil {
			return errors.Join(errors.New("the endpoint accepts connections"), conn.Close())
		}
		return nil
	})
}

func TestFaults_DoWhatTheDocumentSays(t *testing.T) {
	t.Parallel()
	for name, happens := range documented() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			happens(started(t))
		})
	}
}

func TestFaults_AreAllDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/sim.md")
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([A-Za-z]+)`").FindAllSubmatch(text, -1) {
		got = append(got, string(row[1]))
	}
	for name := range documented() {
		want = append(want, name)
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("faults in docs/sim.md (-tested +documented):\n" + diff)
	}
}
