package machine

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/remote"
)

// Indexes of Machines in the cache. They carry the controller's name, since an index can be added once.
const (
	byCluster    = "machine.slipway.dev/cluster"
	byProviderID = "machine.slipway.dev/provider-id"
	byReference  = "machine.slipway.dev/reference"
)

func addIndexes(mgr ctrl.Manager) error {
	for field, values := range map[string]func(*clusterv1.Machine) []string{
		byCluster:    func(m *clusterv1.Machine) []string { return []string{m.Spec.ClusterName} },
		byProviderID: func(m *clusterv1.Machine) []string { return nonEmpty(m.Spec.ProviderID) },
		byReference: func(m *clusterv1.Machine) []string {
			return nonEmpty(referenceKey(m.Spec.InfrastructureRef), referenceKey(m.Spec.Bootstrap.ConfigRef))
		},
	} {
		err := mgr.GetFieldIndexer().IndexField(context.Background(), &clusterv1.Machine{}, field, func(obj client.Object) []string { //nolint:forbidigo // set-up has no context
			m, ok := obj.(*clusterv1.Machine)
			if !ok {
				return nil
			}
			return values(m)
		})
		if err != nil {
			return fmt.Errorf("index Machines by %s: %w", field, err)
		}
	}
	return nil
}

func nonEmpty(values ...string) []string {
	var list []string
	for _, v := range values {
		if v != "" {
			list = append(list, v)
		}
	}
	return list
}

func referenceKey(ref clusterv1.ContractVersionedObjectReference) string {
	if !ref.IsDefined() {
		return ""
	}
	return ref.GroupKind().String() + "/" + ref.Name
}

// machines are the Machines of an index's value, as the cache holds them.
func (r *Reconciler) machines(ctx context.Context, namespace, field, value string) []clusterv1.Machine {
	var list clusterv1.MachineList
	if err := r.Client.List(ctx, &list, client.InNamespace(namespace), client.MatchingFields{field: value}, client.UnsafeDisableDeepCopy); err != nil {
		return nil // The cache is filled before any event is mapped.
	}
	return list.Items
}

func (r *Reconciler) requests(ctx context.Context, namespace, field, value string, match func(*clusterv1.Machine) bool) []reconcile.Request {
	var requests []reconcile.Request
	machines := r.machines(ctx, namespace, field, value)
	for i := range machines {
		if match == nil || match(&machines[i]) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&machines[i])})
		}
	}
	return requests
}

func (r *Reconciler) ofCluster(ctx context.Context, cluster client.Object) []reconcile.Request {
	return r.requests(ctx, cluster.GetNamespace(), byCluster, cluster.GetName(), nil)
}

// ofExternal maps a bootstrap or infrastructure object to the Machine that refers to it. The reference counts, not the
// owner: an object that a user made has none yet.
func (r *Reconciler) ofExternal(ctx context.Context, obj client.Object) []reconcile.Request {
	key := obj.GetObjectKind().GroupVersionKind().GroupKind().String() + "/" + obj.GetName()
	return r.requests(ctx, obj.GetNamespace(), byReference, key, nil)
}

func (r *Reconciler) ofMachineSet(ctx context.Context, obj client.Object) []reconcile.Request {
	set, ok := obj.(*clusterv1.MachineSet)
	if !ok {
		return nil
	}
	return r.requests(ctx, set.Namespace, byCluster, set.Spec.ClusterName, func(m *clusterv1.Machine) bool {
		owner := metav1.GetControllerOf(m)
		return owner != nil && owner.Kind == machineSetKind && owner.Name == set.Name
	})
}

func (r *Reconciler) ofDeployment(ctx context.Context, obj client.Object) []reconcile.Request {
	deployment, ok := obj.(*clusterv1.MachineDeployment)
	if !ok {
		return nil
	}
	return r.requests(ctx, deployment.Namespace, byCluster, deployment.Spec.ClusterName, func(m *clusterv1.Machine) bool {
		return m.Labels[clusterv1.MachineDeploymentNameLabel] == deployment.Name
	})
}

func (r *Reconciler) ofConnection(ctx context.Context, e remote.ConnectionEvent) []reconcile.Request {
	return r.requests(ctx, e.Cluster.Namespace, byCluster, e.Cluster.Name, nil)
}

// ofNode maps a Node to its Machine, by provider ID, and to the Machine that refers to it, in case the ID is gone.
func (r *Reconciler) ofNode(ctx context.Context, e remote.NodeEvent) []reconcile.Request {
	inCluster := func(m *clusterv1.Machine) bool { return m.Spec.ClusterName == e.Cluster.Name }
	if e.ProviderID != "" {
		if found := r.requests(ctx, e.Cluster.Namespace, byProviderID, e.ProviderID, inCluster); len(found) > 0 {
			return found
		}
	}
	return r.requests(ctx, e.Cluster.Namespace, byCluster, e.Cluster.Name, func(m *clusterv1.Machine) bool {
		return m.Status.NodeRef.Name == e.Name || m.Spec.ProviderID == "" && !m.DeletionTimestamp.IsZero()
	})
}

// clusterChanges lets pass what a Machine needs of its Cluster; a Cluster that appears may have been waited for.
func clusterChanges() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			old, okOld := e.ObjectOld.(*clusterv1.Cluster)
			now, okNow := e.ObjectNew.(*clusterv1.Cluster)
			return okOld && okNow && (clusterFactsOf(old) != clusterFactsOf(now) || !equality.Semantic.DeepEqual(old.Labels, now.Labels))
		},
	}
}

type clusterFacts struct {
	uid                                        types.UID
	paused, deleting, provisioned, initialized bool
	controlPlane                               clusterv1.ContractVersionedObjectReference
}

func clusterFactsOf(c *clusterv1.Cluster) clusterFacts {
	return clusterFacts{
		uid: c.UID, paused: isTrue(c.Spec.Paused), deleting: !c.DeletionTimestamp.IsZero(), controlPlane: c.Spec.ControlPlaneRef,
		provisioned: isTrue(c.Status.Initialization.InfrastructureProvisioned),
		initialized: isTrue(c.Status.Initialization.ControlPlaneInitialized),
	}
}

func isTrue(b *bool) bool { return b != nil && *b }

// setChanges lets pass what decides whether Machines of a MachineSet are up to date.
func setChanges() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return true },
		UpdateFunc: func(e event.UpdateEvent) bool {
			old, okOld := e.ObjectOld.(*clusterv1.MachineSet)
			now, okNow := e.ObjectNew.(*clusterv1.MachineSet)
			return okOld && okNow && (old.Annotations[clusterv1.RevisionAnnotation] != now.Annotations[clusterv1.RevisionAnnotation] ||
				!equality.Semantic.DeepEqual(old.Spec.Template.Spec, now.Spec.Template.Spec))
		},
	}
}

func deploymentChanges() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return true },
		UpdateFunc: func(e event.UpdateEvent) bool {
			old, okOld := e.ObjectOld.(*clusterv1.MachineDeployment)
			now, okNow := e.ObjectNew.(*clusterv1.MachineDeployment)
			return okOld && okNow && (old.Annotations[clusterv1.RevisionAnnotation] != now.Annotations[clusterv1.RevisionAnnotation] ||
				!old.Spec.Rollout.After.Equal(&now.Spec.Rollout.After) || !equality.Semantic.DeepEqual(old.Spec.Template.Spec, now.Spec.Template.Spec))
		},
	}
}
