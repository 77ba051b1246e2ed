package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/conditions"
	"slipway.dev/slipway/internal/contract"
	"slipway.dev/slipway/internal/kubeadm/certs"
	"slipway.dev/slipway/internal/kubeadm/kubeconfig"
	"slipway.dev/slipway/internal/planetest"
	"slipway.dev/slipway/internal/planetest/fakes"
)

// says returns an error unless the condition has status and reason, and its message the words.
func says(c *clusterv1.Cluster, conditionType string, status metav1.ConditionStatus, reason string, words ...string) error {
	got := conditions.Find(c.Status.Conditions, conditionType)
	if got == nil || got.Status != status || got.Reason != reason {
		return fmt.Errorf("%s is %+v, want %s, %s", conditionType, got, status, reason)
	}
	for _, word := range words {
		if !strings.Contains(got.Message, word) {
			return fmt.Errorf("%s says %q, not %q", conditionType, got.Message, word)
		}
	}
	return nil
}

func isTrue(b *bool) bool { return b != nil && *b }

func TestCluster_ComesUpWithProvidersOfBothContracts(t *testing.T) {
	t.Parallel()
	for _, c := range []contract.Version{contract.V1Beta1, contract.V1Beta2} {
		t.Run(string(c), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, c)
			w.create()
			w.until(func(c *clusterv1.Cluster) error {
				return errors.Join(
					says(c, clusterv1.InfrastructureReadyCondition, metav1.ConditionFalse, clusterv1.NotReadyReason),
					says(c, clusterv1.ClusterControlPlaneInitializedCondition, metav1.ConditionFalse, clusterv1.ClusterControlPlaneNotInitializedReason),
					says(c, clusterv1.ClusterRemoteConnectionProbeCondition, metav1.ConditionFalse, clusterv1.ClusterRemoteConnectionProbeFailedReason, "demo-kubeconfig"),
					says(c, clusterv1.AvailableCondition, metav1.ConditionFalse, clusterv1.NotAvailableReason),
				)
			})
			checkOwners(t, w)
			w.provisioned()
			w.until(func(c *clusterv1.Cluster) error {
				if !isTrue(c.Status.Initialization.InfrastructureProvisioned) || c.Status.Phase != "Provisioned" || c.Spec.ControlPlaneEndpoint.Host != "10.0.0.1" {
					return fmt.Errorf("status %+v, endpoint %+v", c.Status, c.Spec.ControlPlaneEndpoint)
				}
				return nil
			})
			w.initialized()
			_, secret := w.serve()
			w.must(w.Create(t.Context(), secret))
			live := w.until(func(c *clusterv1.Cluster) error {
				if !isTrue(c.Status.Initialization.ControlPlaneInitialized) {
					return errors.New("not initialized")
				}
				return says(c, clusterv1.AvailableCondition, metav1.ConditionTrue, clusterv1.AvailableReason)
			})
			checkStatus(t, live)
		})
	}
}

func checkOwners(t *testing.T, w *world) {
	t.Helper()
	c := &clusterv1.Cluster{}
	w.must(w.Get(t.Context(), w.key(clusterName), c))
	if len(c.Finalizers) != 1 || c.Finalizers[0] != clusterv1.ClusterFinalizer {
		t.Errorf("finalizers are %v", c.Finalizers)
	}
	for _, role := range []string{"Cluster", "ControlPlane"} {
		u := w.Fake(role, clusterName)
		w.must(w.Get(t.Context(), client.ObjectKeyFromObject(u), u))
		owners := u.GetOwnerReferences()
		if len(owners) != 1 || owners[0].UID != c.UID || owners[0].Controller != nil || u.GetLabels()[clusterv1.ClusterNameLabel] != clusterName {
			t.Errorf("%s has owners %v, labels %v", role, owners, u.GetLabels())
		}
	}
}

func checkStatus(t *testing.T, c *clusterv1.Cluster) {
	t.Helper()
	want := &clusterv1.ClusterControlPlaneStatus{
		DesiredReplicas: new(int32(3)), Replicas: new(int32(3)), ReadyReplicas: new(int32(2)), AvailableReplicas: new(int32(2)), UpToDateReplicas: new(int32(1)),
	}
	if diff := cmp.Diff(want, c.Status.ControlPlane); diff != "" {
		t.Error("the control plane's counts:\n", diff)
	}
	domains := []clusterv1.FailureDomain{{Name: "a", ControlPlane: new(true)}, {Name: "b"}}
	if len(c.Status.FailureDomains) != 2 || c.Status.FailureDomains[0].Name != domains[0].Name || !isTrue(c.Status.FailureDomains[0].ControlPlane) || isTrue(c.Status.FailureDomains[1].ControlPlane) {
		t.Errorf("failure domains are %+v", c.Status.FailureDomains)
	}
	if c.Status.ObservedGeneration != c.Generation {
		t.Errorf("observed generation %d of %d", c.Status.ObservedGeneration, c.Generation)
	}
	for _, old := range []clusterv1.ConditionType{"Ready", "InfrastructureReady", "ControlPlaneInitialized", "ControlPlaneReady"} {
		if got := conditions.FindV1Beta1(c.Status.Deprecated.V1Beta1.Conditions, old); got == nil || got.Status != corev1.ConditionTrue {
			t.Errorf("deprecated %s is %+v", old, got)
		}
	}
	for _, good := range []string{clusterv1.RollingOutCondition, clusterv1.ScalingUpCondition, clusterv1.ScalingDownCondition, clusterv1.RemediatingCondition, clusterv1.DeletingCondition, clusterv1.PausedCondition} {
		if !conditions.IsFalse(c.Status.Conditions, good) {
			t.Errorf("%s is %+v", good, conditions.Find(c.Status.Conditions, good))
		}
	}
}

func TestCluster_FailureOfTheOlderContractIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t, contract.V1Beta1)
	w.create()
	w.Edit("Cluster", clusterName, map[string]any{"status.failureReason": "Broken", "status.failureMessage": "No network"})
	w.until(func(c *clusterv1.Cluster) error {
		if d := c.Status.Deprecated; d == nil || d.V1Beta1.FailureReason == nil || *d.V1Beta1.FailureReason != "Broken" || d.V1Beta1.FailureMessage == nil || *d.V1Beta1.FailureMessage != "No network" {
			return fmt.Errorf("deprecated is %+v", d)
		}
		return nil
	})
}

func TestCluster_TellsItsMilestones(t *testing.T) {
	t.Parallel()
	w := newWorld(t, contract.V1Beta2)
	_, secret := w.serve()
	w.must(w.Create(t.Context(), secret))
	c := w.create()
	planetest.Told(t, w, c, "Provisioning", "")
	w.provisioned()
	planetest.Told(t, w, c, "InfrastructureReady", "")
	w.initialized()
	planetest.Told(t, w, c, "ControlPlaneInitialized", "")
	planetest.Told(t, w, c, "Provisioned", "")
	w.must(w.Delete(t.Context(), c))
	planetest.Told(t, w, c, "Deleting", "")
	planetest.Told(t, w, c, "Deleted", "")
}

// What others say of a Cluster counts for its availability where its gates ask for it.
func TestCluster_IsAvailableWhenItsGatesAre(t *testing.T) {
	t.Parallel()
	w := newWorld(t, contract.V1Beta2)
	_, secret := w.serve()
	w.must(w.Create(t.Context(), secret))
	c := w.create(func(c *clusterv1.Cluster) {
		c.Spec.AvailabilityGates = []clusterv1.ClusterAvailabilityGate{
			{ConditionType: "AddonsReady"}, {ConditionType: "Draining", Polarity: clusterv1.NegativePolarityCondition},
		}
	})
	w.provisioned()
	w.initialized()
	available := func(status metav1.ConditionStatus, words ...string) {
		t.Helper()
		w.until(func(c *clusterv1.Cluster) error {
			reason := map[metav1.ConditionStatus]string{
				metav1.ConditionTrue: clusterv1.AvailableReason, metav1.ConditionFalse: clusterv1.NotAvailableReason, metav1.ConditionUnknown: clusterv1.AvailableUnknownReason,
			}[status]
			return says(c, clusterv1.AvailableCondition, status, reason, words...)
		})
	}
	others := func(addons, draining metav1.ConditionStatus) {
		t.Helper()
		report(w, c, func(c *clusterv1.Cluster) {
			for gate, status := range map[string]metav1.ConditionStatus{"AddonsReady": addons, "Draining": draining} {
				meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: gate, Status: status, Reason: "Test", Message: "it is " + string(status)})
			}
		})
	}
	available(metav1.ConditionUnknown, "AddonsReady", "Draining")
	others(metav1.ConditionTrue, metav1.ConditionFalse)
	available(metav1.ConditionTrue)
	others(metav1.ConditionFalse, metav1.ConditionFalse)
	available(metav1.ConditionFalse, "AddonsReady: it is False")
	others(metav1.ConditionTrue, metav1.ConditionTrue)
	available(metav1.ConditionFalse, "Draining: it is True")
	others(metav1.ConditionTrue, metav1.ConditionFalse)
	available(metav1.ConditionTrue)
}

func TestCluster_DanglingReferencesAreExplained(t *testing.T) {
	t.Parallel()
	w := newWorld(t, contract.V1Beta2)
	w.must(w.Create(t.Context(), &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: clusterName},
		Spec: clusterv1.ClusterSpec{
			InfrastructureRef: w.Ref("Cluster", "nowhere"),
			ControlPlaneRef:   clusterv1.ContractVersionedObjectReference{APIGroup: fakes.Group, Kind: "NoSuchControlPlane", Name: "none"},
		},
	}))
	w.until(func(c *clusterv1.Cluster) error {
		return errors.Join(
			says(c, clusterv1.InfrastructureReadyCondition, metav1.ConditionFalse, clusterv1.ObjectDoesNotExistReason, "nowhere", "create it"),
			says(c, clusterv1.ClusterControlPlaneAvailableCondition, metav1.ConditionFalse, contract.KindNotInstalledReason, "NoSuchControlPlane", "install"),
		)
	})
	// What is wrong with the references must not keep the Cluster from going.
	c := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: clusterName}}
	w.must(w.Delete(t.Context(), c))
	w.untilGone(c)
}

// What two Clusters shared would be deleted with either.
func TestCluster_DoesNotTakeWhatAnotherOwns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, contract.V1Beta2)
	w.create()
	w.provisioned()
	w.until(func(c *clusterv1.Cluster) error {
		return says(c, clusterv1.InfrastructureReadyCondition, metav1.ConditionTrue, clusterv1.ReadyReason)
	})
	thief := &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "thief"},
		Spec:       clusterv1.ClusterSpec{InfrastructureRef: w.Ref("Cluster", clusterName), ControlPlaneRef: w.Ref("ControlPlane", clusterName)},
	}
	w.must(w.Create(t.Context(), thief))
	planetest.Eventually(t, func(ctx context.Context) error {
		w.must(w.Get(ctx, client.ObjectKeyFromObject(thief), thief))
		sentence := "belongs to Cluster demo; refer to another, or give it up there first"
		return errors.Join(
			says(thief, clusterv1.InfrastructureReadyCondition, metav1.ConditionFalse, "OwnedByAnotherCluster", sentence),
			says(thief, clusterv1.ClusterControlPlaneAvailableCondition, metav1.ConditionFalse, "OwnedByAnotherCluster", sentence),
		)
	})
	infra, controlPlane := w.Fake("Cluster", clusterName), w.Fake("ControlPlane", clusterName)
	w.hold(infra)
	w.hold(controlPlane)
	w.must(w.Delete(t.Context(), thief))
	w.untilGone(thief)
	for _, o := range []client.Object{infra, controlPlane} {
		w.notDeleting(o)
		if owners := o.GetOwnerReferences(); len(owners) != 1 || owners[0].Name != clusterName || o.GetLabels()[clusterv1.ClusterNameLabel] != clusterName {
			t.Errorf("%s has owners %v and labels %v", o.GetObjectKind().GroupVersionKind().Kind, owners, o.GetLabels())
		}
	}
}

func TestCluster_TakesWhatAnotherGaveUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t, contract.V1Beta2)
	former := w.create(standalone)
	w.provisioned()
	w.until(func(c *clusterv1.Cluster) error {
		return says(c, clusterv1.InfrastructureReadyCondition, metav1.ConditionTrue, clusterv1.ReadyReason)
	})
	w.must(w.Get(t.Context(), client.ObjectKeyFromObject(former), former))
	before := former.DeepCopy()
	former.Spec.InfrastructureRef = w.Ref("Cluster", "another")
	w.must(w.Patch(t.Context(), former, client.MergeFrom(before)))
	heir := &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "heir"}, Spec: clusterv1.ClusterSpec{InfrastructureRef: w.Ref("Cluster", clusterName)},
	}
	w.must(w.Create(t.Context(), heir))
	infra := w.Fake("Cluster", clusterName)
	planetest.Eventually(t, func(ctx context.Context) error {
		w.must(w.Get(ctx, client.ObjectKeyFromObject(infra), infra))
		if owners := infra.GetOwnerReferences(); len(owners) != 1 || owners[0].UID != heir.UID || infra.GetLabels()[clusterv1.ClusterNameLabel] != "heir" {
			return fmt.Errorf("owners %v, labels %v", owners, infra.GetLabels())
		}
		return nil
	})
}

func TestCluster_MilestonesStayWhenAnObjectIsDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, contract.V1Beta2)
	w.create()
	w.provisioned()
	w.initialized()
	w.until(func(c *clusterv1.Cluster) error {
		return says(c, clusterv1.ClusterControlPlaneInitializedCondition, metav1.ConditionTrue, clusterv1.ClusterControlPlaneInitializedReason)
	})
	w.must(w.Delete(t.Context(), w.Fake("Cluster", clusterName)))
	c := w.until(func(c *clusterv1.Cluster) error {
		return says(c, clusterv1.InfrastructureReadyCondition, metav1.ConditionFalse, clusterv1.ObjectDeletedReason, "while the Cluster still exists")
	})
	if !isTrue(c.Status.Initialization.InfrastructureProvisioned) || c.Status.Phase != "Provisioned" || len(c.Status.FailureDomains) != 2 {
		t.Errorf("status is %+v", c.Status)
	}
}

func TestCluster_StandaloneMachinesMakeAControlPlane(t *testing.T) {
	t.Parallel()
	w := newWorld(t, contract.V1Beta2)
	w.create(standalone)
	w.provisioned()
	w.until(func(c *clusterv1.Cluster) error {
		return says(c, clusterv1.ClusterRemoteConnectionProbeCondition, metav1.ConditionFalse, clusterv1.ClusterRemoteConnectionProbeFailedReason, "Secret demo-ca")
	})
	pair, err := certs.Generate(certs.ClusterCA, certs.Options{Algorithm: certs.ECDSAP256, Now: time.Now()})
	w.must(err)
	ca := certs.NewSecret(w.key(clusterName), certs.ClusterCA, pair)
	good := ca.Data[corev1.TLSPrivateKeyKey]
	ca.Data[corev1.TLSPrivateKeyKey] = []byte("no key")
	w.must(w.Create(t.Context(), ca))
	w.until(func(c *clusterv1.Cluster) error {
		return says(c, clusterv1.ClusterRemoteConnectionProbeCondition, metav1.ConditionFalse, clusterv1.ClusterRemoteConnectionProbeFailedReason, "The kubeconfig cannot be made")
	})
	ca.Data[corev1.TLSPrivateKeyKey] = good
	w.must(w.Update(t.Context(), ca))
	first := w.machine("first", true)
	worker := w.machine("worker", false)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: kubeconfig.SecretName(clusterName)}}
	w.until(func(*clusterv1.Cluster) error { return w.Get(t.Context(), client.ObjectKeyFromObject(secret), secret) })
	if facts, err := kubeconfig.Read(secret.Data[kubeconfig.SecretKey]); err != nil || facts.Server != "https://10.0.0.1:6443" || secret.OwnerReferences[0].Kind != "Cluster" {
		t.Errorf("kubeconfig names %+v, owners %v: %v", facts, secret.OwnerReferences, err)
	}
	report(w, first, func(m *clusterv1.Machine) {
		m.Status.NodeRef = clusterv1.MachineNodeReference{Name: "first"}
		m.Status.Conditions = conditionsOf(clusterv1.AvailableCondition, clusterv1.ReadyCondition)
	})
	report(w, worker, func(m *clusterv1.Machine) { m.Status.Conditions = conditionsOf("!Available", "!Ready") })
	w.until(func(c *clusterv1.Cluster) error {
		counts := c.Status.ControlPlane
		if !isTrue(c.Status.Initialization.ControlPlaneInitialized) || counts == nil || *counts.DesiredReplicas != 1 || *counts.AvailableReplicas != 1 {
			return fmt.Errorf("status is %+v", c.Status)
		}
		if workers := c.Status.Workers; *workers.Replicas != 1 || *workers.AvailableReplicas != 0 {
			return fmt.Errorf("workers are %+v", workers)
		}
		return errors.Join(
			says(c, clusterv1.ClusterControlPlaneMachinesReadyCondition, metav1.ConditionTrue, clusterv1.ReadyReason),
			says(c, clusterv1.ClusterWorkerMachinesReadyCondition, metav1.ConditionFalse, clusterv1.NotReadyReason, "Machine worker"),
			says(c, clusterv1.ClusterWorkerMachinesUpToDateCondition, metav1.ConditionTrue, clusterv1.NoReplicasReason),
			says(c, clusterv1.ClusterControlPlaneAvailableCondition, metav1.ConditionTrue, clusterv1.AvailableReason),
			says(c, clusterv1.ClusterWorkersAvailableCondition, metav1.ConditionTrue, clusterv1.ClusterWorkersAvailableNoWorkersReason),
		)
	})
}

func TestCluster_SumsUpItsWorkers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, contract.V1Beta2)
	w.create()
	for name, available := range map[string]string{"one": clusterv1.AvailableCondition, "two": "!Available"} {
		report(w, w.deployment(name, 3), func(d *clusterv1.MachineDeployment) {
			d.Status = clusterv1.MachineDeploymentStatus{
				Replicas: new(int32(3)), ReadyReplicas: new(int32(2)), AvailableReplicas: new(int32(1)), UpToDateReplicas: new(int32(3)),
				Versions:   []clusterv1.StatusVersion{{Version: version, Replicas: new(int32(3))}},
				Conditions: conditionsOf(available, "!RollingOut", "ScalingUp", "!ScalingDown"),
			}
		})
	}
	c := w.until(func(c *clusterv1.Cluster) error {
		return errors.Join(
			says(c, clusterv1.ClusterWorkersAvailableCondition, metav1.ConditionFalse, clusterv1.NotAvailableReason, "MachineDeployment two"),
			says(c, clusterv1.ScalingUpCondition, metav1.ConditionTrue, clusterv1.ScalingUpReason, "one, two"),
			says(c, clusterv1.RollingOutCondition, metav1.ConditionFalse, clusterv1.NotRollingOutReason),
		)
	})
	want := &clusterv1.WorkersStatus{
		DesiredReplicas: new(int32(6)), Replicas: new(int32(6)), ReadyReplicas: new(int32(4)), AvailableReplicas: new(int32(2)), UpToDateReplicas: new(int32(6)),
		Versions: []clusterv1.StatusVersion{{Version: version, Replicas: new(int32(6))}},
	}
	if diff := cmp.Diff(want, c.Status.Workers); diff != "" {
		t.Error(diff)
	}
}

func TestCluster_ProbeTellsOfASilentClusterOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, contract.V1Beta2)
	w.create()
	w.provisioned()
	w.initialized()
	stop, secret := w.serve()
	w.must(w.Create(t.Context(), secret))
	probe := func(status metav1.ConditionStatus, reason string, words ...string) func(*clusterv1.Cluster) error {
		return func(c *clusterv1.Cluster) error {
			return says(c, clusterv1.ClusterRemoteConnectionProbeCondition, status, reason, words...)
		}
	}
	w.until(probe(metav1.ConditionTrue, clusterv1.ClusterRemoteConnectionProbeSucceededReason))
	stop()
	w.until(probe(metav1.ConditionFalse, clusterv1.ClusterRemoteConnectionProbeFailedReason, "has not answered for more than 1s"))
}

func TestCluster_PausedDoesNothingElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t, contract.V1Beta2)
	c := w.create(func(c *clusterv1.Cluster) { c.Spec.Paused = new(true) })
	w.provisioned()
	live := w.until(func(c *clusterv1.Cluster) error {
		return says(c, clusterv1.PausedCondition, metav1.ConditionTrue, clusterv1.PausedReason, "spec.paused")
	})
	if len(live.Finalizers) != 0 || len(live.Status.Conditions) != 1 || live.Status.Phase != "" {
		t.Errorf("finalizers %v, status %+v", live.Finalizers, live.Status)
	}
	before := live.DeepCopy()
	live.Spec.Paused = nil
	w.must(w.Patch(t.Context(), live, client.MergeFrom(before)))
	w.until(func(c *clusterv1.Cluster) error {
		if !isTrue(c.Status.Initialization.InfrastructureProvisioned) {
			return errors.New("not resumed")
		}
		return says(c, clusterv1.PausedCondition, metav1.ConditionFalse, clusterv1.NotPausedReason)
	})
	_ = c
}

func TestCluster_ComesUpInFewWritesAndLosesNoStatus(t *testing.T) {
	t.Parallel()
	w := newWorld(t, contract.V1Beta2)
	w.create()
	w.provisioned()
	w.initialized()
	_, secret := w.serve()
	w.must(w.Create(t.Context(), secret))
	available := func(c *clusterv1.Cluster) error {
		return says(c, clusterv1.AvailableCondition, metav1.ConditionTrue, clusterv1.AvailableReason)
	}
	c := w.until(available)
	// The finalizer, two owners, the endpoint; and a status for the start, each milestone, and each moment in between, of
	// which a slow machine has more.
	if n := w.writes.Load(); n > 14 {
		t.Errorf("%d writes", n)
	}
	// Every status is stripped: the same comes back.
	before := c.DeepCopy()
	c.Status = clusterv1.ClusterStatus{}
	w.must(w.Status().Patch(t.Context(), c, client.MergeFrom(before)))
	again := w.until(available)
	strip := func(c *clusterv1.Cluster) *clusterv1.ClusterStatus {
		s := c.Status.DeepCopy()
		for i := range s.Conditions {
			s.Conditions[i].LastTransitionTime = metav1.Time{}
		}
		for i := range s.Deprecated.V1Beta1.Conditions {
			s.Deprecated.V1Beta1.Conditions[i].LastTransitionTime = metav1.Time{}
		}
		return s
	}
	if diff := cmp.Diff(strip(before), strip(again)); diff != "" {
		t.Error(diff)
	}
}
