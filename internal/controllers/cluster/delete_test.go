package cluster_test

import (
	"context"
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/contract"
	"slipway.dev/slipway/internal/planetest"
	"slipway.dev/slipway/internal/planetest/fakes"
)

// hold puts a finalizer on an object, as its controller would, so that it goes only when it is released.
func (w *world) hold(obj client.Object) {
	w.Helper()
	w.finalizers(obj, "test.slipway.dev/hold")
}

func (w *world) release(obj client.Object) {
	w.Helper()
	w.finalizers(obj)
}

func (w *world) finalizers(obj client.Object, finalizers ...string) {
	w.Helper()
	w.must(w.Get(w.Context(), client.ObjectKeyFromObject(obj), obj))
	before, ok := obj.DeepCopyObject().(client.Object)
	if !ok {
		w.Fatalf("%T is no object", obj)
	}
	obj.SetFinalizers(finalizers)
	w.must(w.Patch(w.Context(), obj, client.MergeFrom(before)))
}

// untilDeleting waits until the deletion of an object has begun.
func (w *world) untilDeleting(obj client.Object) {
	w.Helper()
	planetest.Eventually(w, func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
			return err
		}
		if obj.GetDeletionTimestamp().IsZero() {
			return errors.New(obj.GetName() + " is not being deleted")
		}
		return nil
	})
}

func (w *world) notDeleting(obj client.Object) {
	w.Helper()
	w.must(w.Get(w.Context(), client.ObjectKeyFromObject(obj), obj))
	if !obj.GetDeletionTimestamp().IsZero() {
		w.Errorf("%T %s is being deleted too early", obj, obj.GetName())
	}
}

func deleting(reason string, words ...string) func(*clusterv1.Cluster) error {
	return func(c *clusterv1.Cluster) error {
		if c.Status.Phase != "Deleting" {
			return errors.New("the phase is " + c.Status.Phase)
		}
		return says(c, clusterv1.DeletingCondition, metav1.ConditionTrue, reason, words...)
	}
}

func TestDeletion_GoesInOrderAndSaysWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t, contract.V1Beta2)
	c := w.create()
	w.provisioned()
	w.initialized()
	infra, controlPlane := w.Fake("Cluster", clusterName), w.Fake("ControlPlane", clusterName)
	w.hold(infra)
	w.hold(controlPlane)
	deployment := w.deployment("workers", 1)
	w.hold(deployment)
	managed := w.machine("managed", true, func(m *clusterv1.Machine) {
		m.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: fakes.Group + "/v1", Kind: controlPlane.GetKind(), Name: clusterName, UID: controlPlane.GetUID(), Controller: new(true),
		}}
	})
	w.hold(managed)
	w.until(func(c *clusterv1.Cluster) error {
		return says(c, clusterv1.ClusterControlPlaneInitializedCondition, metav1.ConditionTrue, clusterv1.ClusterControlPlaneInitializedReason)
	})
	w.must(w.Delete(t.Context(), c))

	w.until(deleting(clusterv1.ClusterDeletingWaitingForWorkersDeletionReason, "MachineDeployment workers"))
	w.untilDeleting(deployment)
	w.notDeleting(controlPlane)
	w.notDeleting(infra)
	w.release(deployment)

	w.until(deleting(clusterv1.ClusterDeletingWaitingForControlPlaneDeletionReason, controlPlane.GetKind()))
	w.untilDeleting(controlPlane)
	w.notDeleting(managed)
	w.notDeleting(infra)
	w.must(w.Delete(t.Context(), managed))
	w.release(managed)
	w.release(controlPlane)

	w.until(deleting(clusterv1.ClusterDeletingWaitingForInfrastructureDeletionReason, infra.GetKind()))
	w.untilDeleting(infra)
	w.release(infra)
	w.untilGone(c)
}

// A control plane Machine that no control plane object owns, for its label names another one, goes with the Cluster.
func TestDeletion_TakesMachinesThatNobodyElseWouldDelete(t *testing.T) {
	t.Parallel()
	w := newWorld(t, contract.V1Beta2)
	c := w.create()
	foreign := w.machine("foreign", true, func(m *clusterv1.Machine) { m.Labels[clusterv1.MachineControlPlaneNameLabel] = "another" })
	unlabelled := w.machine("unlabelled", false)
	w.until(func(c *clusterv1.Cluster) error {
		return says(c, clusterv1.DeletingCondition, metav1.ConditionFalse, clusterv1.NotDeletingReason)
	})
	w.must(w.Delete(t.Context(), c))
	w.untilGone(c)
	w.untilGone(foreign)
	w.untilGone(unlabelled)
	w.untilGone(w.Fake("Cluster", clusterName))
	w.untilGone(w.Fake("ControlPlane", clusterName))
}

// An object that was made a moment ago, and that the cache does not show yet, would be left behind for good.
func TestDeletion_TakesWhatTheCacheDoesNotShowYet(t *testing.T) {
	t.Parallel()
	for role, reason := range map[string]string{
		"Cluster":      clusterv1.ClusterDeletingWaitingForInfrastructureDeletionReason,
		"ControlPlane": clusterv1.ClusterDeletingWaitingForControlPlaneDeletionReason,
	} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			lag := &planetest.Lag{}
			w := newWorldBy(t, lag.Config(planetest.Config(t)), contract.V1Beta2)
			c := &clusterv1.Cluster{
				ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: clusterName},
				Spec:       clusterv1.ClusterSpec{InfrastructureRef: w.Ref("Cluster", clusterName), ControlPlaneRef: w.Ref("ControlPlane", clusterName)},
			}
			w.must(w.Create(t.Context(), c))
			w.until(func(c *clusterv1.Cluster) error {
				return says(c, clusterv1.InfrastructureReadyCondition, metav1.ConditionFalse, clusterv1.ObjectDoesNotExistReason)
			})
			lag.Hold(w.Plural(role))
			w.must(w.Create(t.Context(), w.Fake(role, clusterName)))
			w.must(w.Delete(t.Context(), c))
			w.until(deleting(reason, w.Kind(role)))
			lag.Release()
			w.untilGone(c)
			w.untilGone(w.Fake(role, clusterName))
		})
	}
}

func TestDeletion_OfAPausedClusterWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, contract.V1Beta2)
	c := w.create()
	w.until(func(c *clusterv1.Cluster) error {
		return says(c, clusterv1.PausedCondition, metav1.ConditionFalse, clusterv1.NotPausedReason)
	})
	live := w.until(func(*clusterv1.Cluster) error { return nil })
	before := live.DeepCopy()
	live.Spec.Paused = new(true)
	w.must(w.Patch(t.Context(), live, client.MergeFrom(before)))
	w.until(func(c *clusterv1.Cluster) error {
		return says(c, clusterv1.PausedCondition, metav1.ConditionTrue, clusterv1.PausedReason)
	})
	w.must(w.Delete(t.Context(), c))
	w.notDeleting(w.Fake("Cluster", clusterName))
	live = w.until(func(*clusterv1.Cluster) error { return nil })
	before = live.DeepCopy()
	live.Spec.Paused = nil
	w.must(w.Patch(t.Context(), live, client.MergeFrom(before)))
	w.untilGone(c)
}
