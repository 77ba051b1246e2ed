package machine_test

import (
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/conditions"
	"slipway.dev/slipway/internal/contract"
	"slipway.dev/slipway/internal/controllers/machine"
)

func serverAuth() []x509.ExtKeyUsage { return []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} }

// isTrue returns an error unless the conditions are True.
func isTrue(m *clusterv1.Machine, types ...string) error {
	var errs []error
	for _, t := range types {
		if c := conditions.Find(m.Status.Conditions, t); c == nil || c.Status != metav1.ConditionTrue {
			errs = append(errs, fmt.Errorf("%s: %+v", t, c))
		}
	}
	return errors.Join(errs...)
}

func hasReason(m *clusterv1.Machine, conditionType, reason string) error {
	if c := conditions.Find(m.Status.Conditions, conditionType); c == nil || c.Reason != reason {
		return fmt.Errorf("%s is %+v, want reason %s", conditionType, c, reason)
	}
	return nil
}

func TestMachine_RunsWithProvidersOfBothContracts(t *testing.T) {
	t.Parallel()
	for _, c := range []contract.Version{contract.V1Beta1, contract.V1Beta2} {
		t.Run(string(c), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, c)
			m := w.machine("worker", func(m *clusterv1.Machine) {
				m.Labels = map[string]string{"node.cluster.x-k8s.io/pool": "blue", "other": "stays"}
			})
			w.until(m, func(m *clusterv1.Machine) error {
				return errors.Join(
					hasReason(m, clusterv1.BootstrapConfigReadyCondition, clusterv1.NotReadyReason),
					hasReason(m, clusterv1.MachineNodeReadyCondition, clusterv1.InspectionFailedReason),
					hasReason(m, clusterv1.ReadyCondition, clusterv1.NotReadyReason),
				)
			})
			w.bootstrapped("worker")
			w.until(m, func(m *clusterv1.Machine) error {
				if name := m.Spec.Bootstrap.DataSecretName; name == nil || *name != "worker-data" || m.Status.Phase != "Provisioning" {
					return fmt.Errorf("data secret %v, phase %s", name, m.Status.Phase)
				}
				return nil
			})
			w.provisioned("worker")
			w.until(m, func(m *clusterv1.Machine) error {
				if m.Spec.ProviderID != providerID("worker") || m.Status.Phase != "Provisioned" || len(m.Status.Addresses) != 1 || m.Status.FailureDomain != "zone" {
					return fmt.Errorf("provider ID %s, status %+v", m.Spec.ProviderID, m.Status)
				}
				return nil
			})
			w.joined("worker")
			running := w.until(m, func(m *clusterv1.Machine) error {
				return isTrue(m, clusterv1.ReadyCondition, clusterv1.AvailableCondition, clusterv1.MachineNodeReadyCondition,
					clusterv1.MachineNodeHealthyCondition, clusterv1.InfrastructureReadyCondition, clusterv1.BootstrapConfigReadyCondition)
			})
			checkRunning(t, w, running)
		})
	}
}

func checkRunning(t *testing.T, w *world, m *clusterv1.Machine) {
	t.Helper()
	if m.Status.Phase != "Running" || m.Status.NodeRef.Name != "worker" || m.Status.NodeInfo == nil || m.Status.ObservedGeneration != m.Generation {
		t.Errorf("status is %+v at generation %d", m.Status, m.Generation)
	}
	if m.Status.Slipway == nil || m.Status.Slipway.Versions.Kubelet != version {
		t.Errorf("versions are %+v", m.Status.Slipway)
	}
	if !slices.Contains(m.Finalizers, clusterv1.MachineFinalizer) || len(m.OwnerReferences) != 1 || m.OwnerReferences[0].Kind != "Cluster" {
		t.Errorf("finalizers %v, owners %v", m.Finalizers, m.OwnerReferences)
	}
	for _, role := range []string{"Config", "Machine"} {
		u := w.Fake(role, "worker")
		w.must(w.Get(t.Context(), client.ObjectKeyFromObject(u), u))
		owner := metav1.GetControllerOf(u)
		if owner == nil || owner.Kind != "Machine" || owner.Name != m.Name || u.GetLabels()[clusterv1.ClusterNameLabel] != clusterName {
			t.Errorf("%s: owner %v, labels %v", role, owner, u.GetLabels())
		}
	}
	node := &corev1.Node{}
	w.must(w.workload.Get(t.Context(), client.ObjectKey{Name: "worker"}, node))
	if node.Labels["node.cluster.x-k8s.io/pool"] != "blue" || node.Labels["other"] != "" || len(node.Spec.Taints) != 0 || node.Annotations[clusterv1.MachineAnnotation] != "worker" {
		t.Errorf("Node has labels %v, annotations %v, taints %v", node.Labels, node.Annotations, node.Spec.Taints)
	}
	old := m.Status.Deprecated.V1Beta1.Conditions
	for _, c := range []clusterv1.ConditionType{"Ready", "BootstrapReady", "InfrastructureReady", "NodeHealthy"} {
		if got := conditions.FindV1Beta1(old, c); got == nil || got.Status != corev1.ConditionTrue {
			t.Errorf("deprecated %s is %+v", c, got)
		}
	}
}

// The owner and the label of two objects, two fields of the spec that providers wait for, and the status: what is not
// urgent gathers, however slow the machine that the test runs on.
func TestMachine_ComesUpInFewWritesAndThenRests(t *testing.T) {
	t.Parallel()
	const most = 6
	w := newWorld(t, contract.V1Beta2, func(r *machine.Reconciler) { r.Settle = time.Minute })
	m := w.running("worker", func(m *clusterv1.Machine) {
		// As a MachineSet makes it.
		m.Finalizers = []string{clusterv1.MachineFinalizer}
		m.Labels = map[string]string{clusterv1.MachineSetNameLabel: "set"}
	})
	w.until(m, func(m *clusterv1.Machine) error { return isTrue(m, clusterv1.AvailableCondition) })
	quiet(t, w)
	if all := w.writes.all(); len(all) > most {
		t.Errorf("%d writes:\n%s", len(all), strings.Join(all, "\n"))
	}
}

// quiet waits until nothing is written for a second and a half.
func quiet(t *testing.T, w *world) {
	t.Helper()
	for last := -1; last != len(w.writes.all()); {
		last = len(w.writes.all())
		select {
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		case <-time.After(1500 * time.Millisecond):
		}
	}
}
