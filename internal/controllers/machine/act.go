package machine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/contract"
	"slipway.dev/slipway/internal/events"
	"slipway.dev/slipway/internal/outcome"
)

// reasonWaitingForCluster is the reason of the wait for a Cluster that does not exist.
const reasonWaitingForCluster = "WaitingForCluster"

// act brings a Machine on. All steps are tried, whatever becomes of the others, once the Machine carries the finalizer.
func (r *Reconciler) act(ctx context.Context, w *world) error {
	if w.deleting() {
		return r.delete(ctx, w)
	}
	if w.cluster == nil {
		return outcome.Waiting(0, reasonWaitingForCluster, "Cluster %s does not exist", w.machine.Spec.ClusterName)
	}
	if err := r.claim(ctx, w); err != nil {
		return err
	}
	return errors.Join(
		w.bootstrap.err, w.infra.err,
		r.own(ctx, w, w.bootstrap), r.own(ctx, w, w.infra),
		r.takeOver(ctx, w),
		r.syncNode(ctx, w),
	)
}

// claim writes the finalizer, the cluster's label and, on a Machine that stands alone, the Cluster as its owner.
func (r *Reconciler) claim(ctx context.Context, w *world) error {
	changed, err := apply.Metadata(ctx, r.Client, fieldManager, w.machine, func(m metav1.Object) {
		if !slices.Contains(m.GetFinalizers(), clusterv1.MachineFinalizer) {
			m.SetFinalizers(append(m.GetFinalizers(), clusterv1.MachineFinalizer))
		}
		if m.GetLabels()[clusterv1.ClusterNameLabel] != w.cluster.Name {
			apply.SetLabel(m, clusterv1.ClusterNameLabel, w.cluster.Name)
		}
		if standsAlone(m) {
			apply.SetOwner(m, metav1.OwnerReference{
				APIVersion: clusterv1.GroupVersion.String(), Kind: clusterv1.ClusterKind, Name: w.cluster.Name, UID: w.cluster.UID,
			})
		}
	})
	if changed {
		r.written.note(w.machine)
	}
	return err
}

// standsAlone reports whether nothing but the Cluster owns the Machine or will. An owner that a restore has left out
// shows in the labels.
func standsAlone(m metav1.Object) bool {
	if metav1.GetControllerOf(m) != nil {
		return false
	}
	for _, label := range []string{clusterv1.MachineSetNameLabel, clusterv1.MachinePoolNameLabel, clusterv1.MachineControlPlaneNameLabel} {
		if _, ok := m.GetLabels()[label]; ok {
			return false
		}
	}
	return true
}

// own makes the Machine the owner of an object that it refers to, in place of who made it.
func (r *Reconciler) own(ctx context.Context, w *world, e external) error {
	if e.object == nil || e.object.Deleting() {
		return nil
	}
	own := contract.Ownership{
		Owner: metav1.OwnerReference{
			APIVersion: clusterv1.GroupVersion.String(), Kind: machineKind, Name: w.machine.Name, UID: w.machine.UID,
			Controller: new(true), BlockOwnerDeletion: new(true),
		},
		ClusterName: w.cluster.Name,
	}
	if maker := metav1.GetControllerOf(w.machine); maker != nil {
		own.Former = append(own.Former, *maker)
	}
	_, err := contract.Own(ctx, r.Client, fieldManager, e.object, own)
	return err
}

// takeOver copies into the Machine's spec what its bootstrap and infrastructure objects report, once.
func (r *Reconciler) takeOver(ctx context.Context, w *world) error {
	next, waiting := w.machine.Spec.DeepCopy(), error(nil)
	if next.Bootstrap.DataSecretName == nil && w.bootstrapFacts.DataSecretCreated.IsTrue() {
		if name := w.bootstrapFacts.DataSecretName; name != "" {
			next.Bootstrap.DataSecretName = &name
		} else {
			waiting = missing(w.bootstrap, "status.dataSecretName", "the Secret's name")
		}
	}
	if w.infraFacts.Provisioned.IsTrue() {
		if id := w.infraFacts.ProviderID; id != "" {
			next.ProviderID = id
		} else {
			waiting = errors.Join(waiting, missing(w.infra, "spec.providerID", "the machine's identity"))
		}
		if next.FailureDomain == "" {
			next.FailureDomain = w.infraFacts.SpecFailureDomain
		}
	}
	return errors.Join(waiting, r.patchSpec(ctx, w, next))
}

func missing(e external, path, what string) error {
	return outcome.Waiting(0, contract.InvalidFieldReportedReason, "%s %s reports that it is done but not %s in %s; its provider has to set it",
		e.ref.Kind, e.ref.Name, what, path)
}

// patchSpec makes the fields of the Machine's spec that belong to this controller those of next.
func (r *Reconciler) patchSpec(ctx context.Context, w *world, next *clusterv1.MachineSpec) error {
	spec, old := map[string]any{}, &w.machine.Spec
	if next.Bootstrap.DataSecretName != nil && old.Bootstrap.DataSecretName == nil {
		spec["bootstrap"] = map[string]any{"dataSecretName": *next.Bootstrap.DataSecretName}
	}
	if next.ProviderID != old.ProviderID {
		spec["providerID"] = next.ProviderID
	}
	if next.FailureDomain != old.FailureDomain {
		spec["failureDomain"] = next.FailureDomain
	}
	if len(spec) == 0 {
		return nil
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": w.machine.UID}, "spec": spec})
	if err != nil {
		return fmt.Errorf("encode the spec of Machine %s: %w", client.ObjectKeyFromObject(w.machine), err)
	}
	// The answer is metadata alone: what the patch made of the spec is known here.
	target := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: w.machine.Namespace, Name: w.machine.Name}}
	target.SetGroupVersionKind(clusterv1.GroupVersion.WithKind(machineKind))
	if err := r.Client.Patch(ctx, target, client.RawPatch(types.MergePatchType, body), client.FieldOwner(fieldManager)); err != nil {
		return fmt.Errorf("patch the spec of Machine %s: %w", client.ObjectKeyFromObject(w.machine), err)
	}
	w.machine.ResourceVersion, w.machine.Generation, w.machine.Spec = target.ResourceVersion, target.Generation, *next
	r.written.note(w.machine)
	return nil
}

// remoteTimeout bounds one write to a workload cluster outside a drain.
const remoteTimeout = 10 * time.Second

// syncNode has the Node follow the Machine.
func (r *Reconciler) syncNode(ctx context.Context, w *world) error {
	if w.node.node == nil {
		return nil
	}
	change := planNode(w)
	if change.Empty() {
		return nil
	}
	leave, ok := r.lanes.enter(w.clusterKey())
	if !ok {
		return outcome.Quietly(time.Second, "WaitingForLane", "other Machines of the Cluster are being worked on")
	}
	defer leave()
	ctx, cancel := context.WithTimeout(ctx, remoteTimeout)
	defer cancel()
	workload, err := r.Clusters.Client(ctx, w.clusterKey())
	if err != nil {
		return outcome.Quietly(0, "NotConnected", "the workload cluster is not connected")
	}
	body, err := nodePatch(w.node.node, change)
	if err != nil {
		return err
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.node.node.Name}}
	if err := workload.Patch(ctx, node, client.RawPatch(types.MergePatchType, body), client.FieldOwner(fieldManager)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("sync Node %s: %w", node.Name, err)
	}
	if _, marked := change.Labels[clusterv1.InterruptibleLabel]; marked {
		r.tell(w, corev1.EventTypeNormal, events.SuccessfulSetInterruptibleNodeLabel, events.LinkNode, "Node %s was marked as interruptible", node.Name)
	}
	return nil
}
