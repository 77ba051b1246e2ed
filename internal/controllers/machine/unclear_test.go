package machine_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/contract"
	"slipway.dev/slipway/internal/controllers/machine"
	"slipway.dev/slipway/internal/planetest"
	"slipway.dev/slipway/internal/planetest/fakes"
)

// IDs that end alike belong to different machines, and two Nodes with one ID to nobody.
func TestMachine_IsNeverLinkedToANodeByGuess(t *testing.T) {
	t.Parallel()
	w := newWorld(t, contract.V1Beta2)
	m := w.machine("worker")
	w.bootstrapped("worker")
	w.provisioned("worker")
	alike := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "alike"}, Spec: corev1.NodeSpec{ProviderID: "fake:///other/worker"}}
	w.must(w.workload.Create(t.Context(), alike))
	w.until(m, func(m *clusterv1.Machine) error {
		if m.Status.NodeRef.IsDefined() {
			t.Fatalf("linked to %s", m.Status.NodeRef.Name)
		}
		return hasReason(m, clusterv1.MachineNodeReadyCondition, clusterv1.InspectionFailedReason)
	})
	for _, name := range []string{"twin-a", "twin-b"} {
		w.must(w.workload.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: providerID("worker")}}))
	}
	w.until(m, func(m *clusterv1.Machine) error {
		return says(m, clusterv1.MachineNodeReadyCondition, "twin-a, twin-b")
	})
	w.must(w.workload.Delete(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "twin-a"}}))
	w.until(m, func(m *clusterv1.Machine) error {
		if m.Status.NodeRef.Name != "twin-b" {
			return errors.New("linked to " + m.Status.NodeRef.Name)
		}
		return nil
	})
}

// Nobody confirms the end of a Pod, or the detaching of a volume, on a Node whose kubelet is gone.
func TestDrain_DoesNotWaitForAnUnreachableNode(t *testing.T) {
	t.Parallel()
	w := newWorld(t, contract.V1Beta2)
	controlPlane(w)
	m := w.running("worker")
	stuck := pod("stuck", "worker", func(p *corev1.Pod) { p.Finalizers = []string{"fake.slipway.dev/stuck"} })
	w.must(w.workload.Create(t.Context(), stuck))
	node := &corev1.Node{}
	w.must(w.workload.Get(t.Context(), client.ObjectKey{Name: "worker"}, node))
	before := node.DeepCopy()
	for i := range node.Status.Conditions {
		node.Status.Conditions[i].Status = corev1.ConditionUnknown
	}
	w.must(w.workload.Status().Patch(t.Context(), node, client.MergeFrom(before)))
	w.until(m, func(m *clusterv1.Machine) error {
		return hasReason(m, clusterv1.MachineNodeHealthyCondition, clusterv1.MachineNodeHealthUnknownReason)
	})
	w.must(w.Delete(t.Context(), m))
	w.untilGone(w, m)
}

// A read that fails makes no event that could wake the controller, and the object is not written again.
func TestMachine_ReadsAgainWhatCouldNotBeRead(t *testing.T) {
	t.Parallel()
	var ill atomic.Bool
	w := newWorld(t, contract.V1Beta2, func(r *machine.Reconciler) { r.Client = unreadable{r.Client, &ill} })
	m := w.machine("worker")
	w.bootstrapped("worker")
	w.until(m, func(m *clusterv1.Machine) error {
		return hasReason(m, clusterv1.InfrastructureReadyCondition, clusterv1.NotReadyReason)
	})
	quiet(t, w)
	ill.Store(true)
	w.provisioned("worker")
	w.until(m, func(m *clusterv1.Machine) error {
		return hasReason(m, clusterv1.InfrastructureReadyCondition, clusterv1.InternalErrorReason)
	})
	quiet(t, w)
	ill.Store(false)
	w.until(m, func(m *clusterv1.Machine) error { return isTrue(m, clusterv1.InfrastructureReadyCondition) })
}

// unreadable is a client that cannot read objects of providers while it is ill.
type unreadable struct {
	client.Client
	ill *atomic.Bool
}

func (u unreadable) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if _, foreign := obj.(*unstructured.Unstructured); foreign && u.ill.Load() {
		return errors.New("out of order")
	}
	return u.Client.Get(ctx, key, obj, opts...)
}

// What changes by time alone has its time, whatever fails beside it, for how long and how often.
func TestMachine_IsAvailableInTimeBesideAnError(t *testing.T) {
	t.Parallel()
	never := controller.Options{RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[ctrl.Request](time.Hour, time.Hour)}
	w := newWorldBy(t, planetest.Config(t), never, contract.V1Beta2, func(r *machine.Reconciler) { r.Client = denied{r.Client} })
	m := w.running("worker", func(m *clusterv1.Machine) { m.Spec.MinReadySeconds = new(int32(2)) })
	w.until(m, func(m *clusterv1.Machine) error { return isTrue(m, clusterv1.AvailableCondition) })
	if owners := w.owners("worker"); len(owners) > 0 {
		t.Errorf("nothing failed: the infrastructure's owners are %v", owners)
	}
}

// denied is a client that may not write objects of providers.
type denied struct{ client.Client }

func (d denied) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	if obj.GetObjectKind().GroupVersionKind().Group == fakes.Group {
		return errors.New("denied")
	}
	return d.Client.Patch(ctx, obj, patch, opts...)
}

func (w *world) owners(name string) []metav1.OwnerReference {
	w.Helper()
	u := w.Fake("Machine", name)
	w.must(w.Get(w.Context(), client.ObjectKeyFromObject(u), u))
	return u.GetOwnerReferences()
}

// A Machine that arrives before its Cluster starts when the Cluster comes.
func TestMachine_WaitsForItsCluster(t *testing.T) {
	t.Parallel()
	w := newWorld(t, contract.V1Beta2)
	m := w.machine("early", func(m *clusterv1.Machine) { m.Spec.ClusterName = "later" })
	w.until(m, func(m *clusterv1.Machine) error {
		return hasReason(m, clusterv1.ReadyCondition, clusterv1.NotReadyReason)
	})
	w.must(w.Create(t.Context(), &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "later"},
		Spec:       clusterv1.ClusterSpec{InfrastructureRef: w.Ref("Cluster", "later")},
	}))
	w.until(m, func(m *clusterv1.Machine) error {
		if len(m.Finalizers) == 0 || len(m.OwnerReferences) == 0 {
			return errors.New("not claimed")
		}
		return nil
	})
}
