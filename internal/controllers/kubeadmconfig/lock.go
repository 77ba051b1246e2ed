package kubeadmconfig

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/outcome"
	"slipway.dev/slipway/internal/plan"
	"slipway.dev/slipway/internal/provision"
)

const (
	lockSuffix = "-lock"
	// lockKey is the key of the ConfigMap under which the holder stands.
	lockKey = "lock-information"
	// conflictDelay is when to look again after a race that was lost.
	conflictDelay = 200 * time.Millisecond
)

// holder is who may start the control plane.
type holder struct {
	MachineName string `json:"machineName"`
}

// lock makes sure that this machine, and no other, starts the control plane. The lock is a ConfigMap, so that it
// survives every crash. It passes to another machine only when the holder's Machine is gone for good: one that is still
// being deleted may have started the control plane already.
func (r *Reconciler) lock(ctx context.Context, s *scene) error {
	key := types.NamespacedName{Namespace: s.cluster.Namespace, Name: s.cluster.Name + lockSuffix}
	held, err := read(ctx, r.APIReader, key, &corev1.ConfigMap{})
	if err != nil {
		return err
	}
	if held != nil && holderOf(held) == s.machine.Name {
		return r.stillFirst(ctx, s)
	}
	if held != nil {
		if err := r.takeOver(ctx, s, held); err != nil {
			return err
		}
	}
	content, err := json.Marshal(holder{MachineName: s.machine.Name})
	if err != nil {
		return fmt.Errorf("encode the lock %s: %w", key, err)
	}
	err = r.Client.Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: key.Namespace, Name: key.Name,
			Labels:          map[string]string{clusterv1.ClusterNameLabel: s.cluster.Name},
			OwnerReferences: []metav1.OwnerReference{ownedByCluster(s.cluster)},
		},
		Data: map[string]string{lockKey: string(content)},
	}, client.FieldOwner(fieldManager))
	switch {
	case apierrors.IsAlreadyExists(err):
		return outcome.Quietly(conflictDelay, "LostRace", "another machine took the lock")
	case err != nil:
		return fmt.Errorf("create the lock %s: %w", key, err)
	}
	return r.stillFirst(ctx, s)
}

// stillFirst asks the API server whether the control plane is not initialized yet. The cache may be older than the
// release of the lock by the machine that did it.
func (r *Reconciler) stillFirst(ctx context.Context, s *scene) error {
	live, err := read(ctx, r.APIReader, s.clusterKey(), &clusterv1.Cluster{})
	if err != nil {
		return err
	}
	if live == nil || live.UID != s.cluster.UID || isTrue(live.Status.Initialization.ControlPlaneInitialized) {
		return outcome.Quietly(conflictDelay, "CacheLags", "the Cluster has changed")
	}
	return nil
}

// takeOver removes the lock of a Machine that is gone.
func (r *Reconciler) takeOver(ctx context.Context, s *scene, held *corev1.ConfigMap) error {
	name := holderOf(held)
	if name != "" {
		other, err := read(ctx, r.APIReader, types.NamespacedName{Namespace: s.cluster.Namespace, Name: name}, &clusterv1.Machine{})
		if err != nil {
			return err
		}
		if other != nil && other.Spec.ClusterName == s.cluster.Name {
			return outcome.Waiting(0, plan.WaitingForControlPlaneToStart,
				"Machine %s starts the control plane; this one joins when the control plane is initialized, or takes over when that Machine is deleted", name)
		}
	}
	return provision.Remove(ctx, r.Client, held)
}

// unlock removes the lock once the control plane is initialized: nobody asks for it any more.
func (r *Reconciler) unlock(ctx context.Context, s *scene) error {
	if !isControlPlane(s.machine) || s.cluster == nil || !isTrue(s.cluster.Status.Initialization.ControlPlaneInitialized) || r.unlocked.has(s.cluster.UID) {
		return nil
	}
	held, err := read(ctx, r.APIReader, types.NamespacedName{Namespace: s.cluster.Namespace, Name: s.cluster.Name + lockSuffix}, &corev1.ConfigMap{})
	if err != nil {
		return err
	}
	if held != nil {
		if err := provision.Remove(ctx, r.Client, held); err != nil {
			return err
		}
	}
	r.unlocked.add(s.cluster.UID)
	return nil
}

// holderOf returns the name of the Machine that holds the lock; empty when it cannot be read.
func holderOf(m *corev1.ConfigMap) string {
	var h holder
	if json.Unmarshal([]byte(m.Data[lockKey]), &h) != nil {
		return ""
	}
	return h.MachineName
}

func ownedByCluster(c *clusterv1.Cluster) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: clusterv1.GroupVersion.String(), Kind: clusterv1.ClusterKind, Name: c.Name, UID: c.UID}
}
