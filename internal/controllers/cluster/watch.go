package cluster

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/kubeadm/certs"
	"slipway.dev/slipway/internal/kubeadm/kubeconfig"
	"slipway.dev/slipway/internal/remote"
	"slipway.dev/slipway/internal/replicas"
)

// Indexes in the cache. They carry the controller's name, since an index can be added once.
const (
	byCluster   = "cluster.slipway.dev/cluster"
	byReference = "cluster.slipway.dev/reference"
)

const (
	clusterKind           = "Cluster"
	machineDeploymentKind = "MachineDeployment"
	machineSetKind        = "MachineSet"
	machinePoolKind       = "MachinePool"
)

func addIndexes(mgr ctrl.Manager) error {
	ofClusters := func(obj client.Object) []string { return clusterNames(obj) }
	for _, index := range []struct {
		kind   client.Object
		field  string
		values client.IndexerFunc
	}{
		{&clusterv1.Machine{}, byCluster, ofClusters},
		{&clusterv1.MachineSet{}, byCluster, ofClusters},
		{&clusterv1.MachineDeployment{}, byCluster, ofClusters},
		{&clusterv1.MachinePool{}, byCluster, ofClusters},
		{&clusterv1.Cluster{}, byReference, references},
	} {
		if err := mgr.GetFieldIndexer().IndexField(context.Background(), index.kind, index.field, index.values); err != nil { //nolint:forbidigo // set-up has no context
			return fmt.Errorf("index %T by %s: %w", index.kind, index.field, err)
		}
	}
	return nil
}

// clusterNames returns the names of the Clusters that an object may belong to, by its spec, its label and its owner. One
// is enough: an object that lost the others must still be found when the Cluster goes.
func clusterNames(obj client.Object) []string {
	names := []string{obj.GetLabels()[clusterv1.ClusterNameLabel]}
	switch o := obj.(type) {
	case *clusterv1.Machine:
		names = append(names, o.Spec.ClusterName)
	case *clusterv1.MachineSet:
		names = append(names, o.Spec.ClusterName)
	case *clusterv1.MachineDeployment:
		names = append(names, o.Spec.ClusterName)
	case *clusterv1.MachinePool:
		names = append(names, o.Spec.ClusterName)
	}
	for _, owner := range obj.GetOwnerReferences() {
		if owner.Kind == clusterKind {
			names = append(names, owner.Name)
		}
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" })
}

func references(obj client.Object) []string {
	c, ok := obj.(*clusterv1.Cluster)
	if !ok {
		return nil
	}
	var keys []string
	for _, ref := range []clusterv1.ContractVersionedObjectReference{c.Spec.InfrastructureRef, c.Spec.ControlPlaneRef} {
		if ref.IsDefined() {
			keys = append(keys, reference(ref))
		}
	}
	return keys
}

func reference(ref clusterv1.ContractVersionedObjectReference) string {
	return ref.GroupKind().String() + "/" + ref.Name
}

func clustersOf(_ context.Context, obj client.Object) []reconcile.Request {
	var requests []reconcile.Request
	for _, name := range clusterNames(obj) {
		requests = append(requests, request(obj.GetNamespace(), name))
	}
	return requests
}

func request(namespace, name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}

func ofConnection(_ context.Context, e remote.ConnectionEvent) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: e.Cluster}}
}

// ofSecret maps the kubeconfig, and the authority from which this controller makes one, to the Cluster.
func (r *Reconciler) ofSecret(_ context.Context, obj client.Object) []reconcile.Request {
	cluster := obj.GetLabels()[clusterv1.ClusterNameLabel]
	if obj.GetName() != kubeconfig.SecretName(cluster) && obj.GetName() != certs.ClusterCA.SecretName(cluster) {
		return nil
	}
	return []reconcile.Request{request(obj.GetNamespace(), cluster)}
}

// ofExternal maps an infrastructure or control plane object to the Clusters that refer to it. The reference counts, not
// the owner: an object that a user made has none yet.
func (r *Reconciler) ofExternal(ctx context.Context, obj client.Object) []reconcile.Request {
	key := obj.GetObjectKind().GroupVersionKind().GroupKind().String() + "/" + obj.GetName()
	var list clusterv1.ClusterList
	err := r.Client.List(ctx, &list, client.InNamespace(obj.GetNamespace()), client.MatchingFields{byReference: key}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil // The cache is filled before any event is mapped.
	}
	var requests []reconcile.Request
	for i := range list.Items {
		requests = append(requests, request(list.Items[i].Namespace, list.Items[i].Name))
	}
	return requests
}

// machineChanges lets pass what a Cluster counts or tells of its Machines.
func machineChanges() predicate.Predicate { return replicas.MachineChanges() }

// setChanges lets pass the changes of MachineSets that no MachineDeployment speaks for.
func setChanges() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		owner := metav1.GetControllerOf(e.ObjectNew)
		return owner == nil || owner.Kind != machineDeploymentKind || metav1.GetControllerOf(e.ObjectOld) == nil ||
			e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero()
	}}
}

func comesOrGoes() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return !e.IsInInitialList },
		UpdateFunc: func(event.UpdateEvent) bool { return false },
	}
}

func isTrue(b *bool) bool { return b != nil && *b }
