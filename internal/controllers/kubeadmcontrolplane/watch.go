package kubeadmcontrolplane

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
	"slipway.dev/slipway/internal/conditions"
	"slipway.dev/slipway/internal/kubeadm/certs"
	"slipway.dev/slipway/internal/kubeadm/kubeconfig"
	"slipway.dev/slipway/internal/remote"
	"slipway.dev/slipway/internal/replicas"
)

const (
	ownKind          = "KubeadmControlPlane"
	controlPlaneRole = "node-role.kubernetes.io/control-plane"
)

// byOwner is the index of Machines by the KubeadmControlPlane that controls them.
const byOwner = "kubeadmcontrolplane.slipway.dev/owner"

func addIndexes(mgr ctrl.Manager) error {
	owner := func(obj client.Object) []string {
		if ref := metav1.GetControllerOfNoCopy(obj); ref != nil && ref.Kind == ownKind {
			return []string{ref.Name}
		}
		return nil
	}
	if err := mgr.GetFieldIndexer().IndexField(context.Background(), &clusterv1.Machine{}, byOwner, owner); err != nil { //nolint:forbidigo // set-up has no context
		return fmt.Errorf("index Machines by %s: %w", byOwner, err)
	}
	return nil
}

func requestFor(namespace, name string) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}}
}

// ofMachine maps a Machine to the control plane that controls it. A worker, or a Machine without an owner, concerns the
// control plane of its Cluster.
func (r *Reconciler) ofMachine(ctx context.Context, obj client.Object) []reconcile.Request {
	if owner := metav1.GetControllerOf(obj); owner != nil && owner.Kind == ownKind {
		// Another control plane of the Cluster, if there is one, waits for Machines that are not its own to go.
		others := slices.DeleteFunc(r.ofClusterNamed(ctx, obj.GetNamespace(), obj.GetLabels()[clusterv1.ClusterNameLabel]),
			func(req reconcile.Request) bool { return req.Name == owner.Name })
		return append(others, requestFor(obj.GetNamespace(), owner.Name)...)
	}
	if _, isControlPlane := obj.GetLabels()[clusterv1.MachineControlPlaneLabel]; isControlPlane {
		return r.ofClusterNamed(ctx, obj.GetNamespace(), obj.GetLabels()[clusterv1.ClusterNameLabel])
	}
	return r.ofWorker(ctx, obj)
}

// ofWorker maps a worker to the control plane that waits for the last one to go, since it is being deleted. No other
// cares for workers.
func (r *Reconciler) ofWorker(ctx context.Context, obj client.Object) []reconcile.Request {
	for _, req := range r.ofClusterNamed(ctx, obj.GetNamespace(), obj.GetLabels()[clusterv1.ClusterNameLabel]) {
		kcp := &controlplanev1.KubeadmControlPlane{}
		if err := r.Client.Get(ctx, req.NamespacedName, kcp, client.UnsafeDisableDeepCopy); err == nil && !kcp.DeletionTimestamp.IsZero() {
			return []reconcile.Request{req}
		}
	}
	return nil
}

// ofClusterNamed maps the name of a Cluster to its control plane.
func (r *Reconciler) ofClusterNamed(ctx context.Context, namespace, name string) []reconcile.Request {
	cluster := &clusterv1.Cluster{}
	if name == "" || r.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, cluster, client.UnsafeDisableDeepCopy) != nil {
		return nil // Without a Cluster there is nothing to do for it.
	}
	return ofCluster(ctx, cluster)
}

func ofCluster(_ context.Context, obj client.Object) []reconcile.Request {
	cluster, ok := obj.(*clusterv1.Cluster)
	if !ok {
		return nil
	}
	ref := cluster.Spec.ControlPlaneRef
	if ref.Kind != ownKind || ref.APIGroup != controlplanev1.GroupVersion.Group {
		return nil
	}
	return requestFor(cluster.Namespace, ref.Name)
}

func (r *Reconciler) ofSecret(ctx context.Context, obj client.Object) []reconcile.Request {
	return r.ofClusterNamed(ctx, obj.GetNamespace(), obj.GetLabels()[clusterv1.ClusterNameLabel])
}

func (r *Reconciler) ofConnection(ctx context.Context, e remote.ConnectionEvent) []reconcile.Request {
	return r.ofClusterNamed(ctx, e.Cluster.Namespace, e.Cluster.Name)
}

// ofNode maps a Node of a control plane to it. Workers' Nodes change far more often and do not matter here.
func (r *Reconciler) ofNode(ctx context.Context, e remote.NodeEvent) []reconcile.Request {
	if nodes, err := r.Clusters.Nodes(e.Cluster); err == nil {
		if node, err := nodes.ByName(e.Name); err == nil {
			if _, ours := node.Labels[controlPlaneRole]; !ours && !r.isOurs(ctx, e) {
				return nil
			}
		}
	}
	return r.ofClusterNamed(ctx, e.Cluster.Namespace, e.Cluster.Name)
}

// isOurs reports whether a control-plane Machine has the Node.
func (r *Reconciler) isOurs(ctx context.Context, e remote.NodeEvent) bool {
	machines, err := r.list(ctx, e.Cluster)
	return err == nil && slices.ContainsFunc(machines, func(m *clusterv1.Machine) bool { return m.Status.NodeRef.Name == e.Name })
}

// ofTemplate maps an infrastructure template to the control planes that refer to it.
func (r *Reconciler) ofTemplate(ctx context.Context, obj client.Object) []reconcile.Request {
	var list controlplanev1.KubeadmControlPlaneList
	if err := r.Client.List(ctx, &list, client.InNamespace(obj.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
		return nil // The cache is filled before any event is mapped.
	}
	kind := obj.GetObjectKind().GroupVersionKind().GroupKind()
	var requests []reconcile.Request
	for i := range list.Items {
		ref := list.Items[i].Spec.MachineTemplate.Spec.InfrastructureRef
		if ref.Name == obj.GetName() && ref.GroupKind() == kind {
			requests = append(requests, requestFor(obj.GetNamespace(), list.Items[i].Name)...)
		}
	}
	return requests
}

// ownChanges lets pass what people change, and a status that was stripped; not our own status writes.
func ownChanges() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		old, okOld := e.ObjectOld.(*controlplanev1.KubeadmControlPlane)
		now, okNow := e.ObjectNew.(*controlplanev1.KubeadmControlPlane)
		if !okOld || !okNow {
			return false
		}
		return old.Generation != now.Generation || old.DeletionTimestamp.IsZero() != now.DeletionTimestamp.IsZero() ||
			!maps.Equal(old.Labels, now.Labels) || !maps.Equal(old.Annotations, now.Annotations) ||
			!slices.Equal(old.Finalizers, now.Finalizers) || !equality.Semantic.DeepEqual(old.OwnerReferences, now.OwnerReferences) ||
			len(now.Status.Conditions) < len(old.Status.Conditions)
	}}
}

// goes lets pass what is gone.
func goes() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(event.UpdateEvent) bool { return false },
	}
}

// machineChanges lets pass what a control plane acts on: what every owner of Machines does, where a deletion stands, and
// our own conditions when somebody strips them.
func machineChanges() predicate.Predicate {
	return predicate.Or(replicas.MachineChanges(), predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			old, okOld := e.ObjectOld.(*clusterv1.Machine)
			now, okNow := e.ObjectNew.(*clusterv1.Machine)
			return okOld && okNow && (deletionStage(old) != deletionStage(now) || len(now.Status.Conditions) < len(old.Status.Conditions))
		},
	})
}

func deletionStage(m *clusterv1.Machine) string {
	return conditions.Reason(m.Status.Conditions, clusterv1.DeletingCondition)
}

// clusterChanges lets pass what a control plane needs of its Cluster.
func clusterChanges() predicate.Predicate {
	return predicate.Funcs{
		DeleteFunc: func(event.DeleteEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			old, okOld := e.ObjectOld.(*clusterv1.Cluster)
			now, okNow := e.ObjectNew.(*clusterv1.Cluster)
			return okOld && okNow && (factsOf(old) != factsOf(now) ||
				!equality.Semantic.DeepEqual(old.Status.FailureDomains, now.Status.FailureDomains))
		},
	}
}

type clusterFacts struct {
	uid                           types.UID
	paused, provisioned, deleting bool
	endpoint                      clusterv1.APIEndpoint
	controlPlane                  clusterv1.ContractVersionedObjectReference
}

func factsOf(c *clusterv1.Cluster) clusterFacts {
	return clusterFacts{
		uid: c.UID, paused: isTrue(c.Spec.Paused), deleting: !c.DeletionTimestamp.IsZero(),
		provisioned: isTrue(c.Status.Initialization.InfrastructureProvisioned),
		endpoint:    c.Spec.ControlPlaneEndpoint, controlPlane: c.Spec.ControlPlaneRef,
	}
}

// secretChanges lets pass changes of certificate authorities and kubeconfigs that do not come from here.
func secretChanges() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool {
			owner := metav1.GetControllerOfNoCopy(e.Object)
			return !e.IsInInitialList && concernsCluster(e.Object) && (owner == nil || owner.Kind != ownKind)
		},
		DeleteFunc: func(e event.DeleteEvent) bool { return concernsCluster(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool {
			old, okOld := e.ObjectOld.(*corev1.Secret)
			now, okNow := e.ObjectNew.(*corev1.Secret)
			return okOld && okNow && concernsCluster(now) && (!maps.EqualFunc(old.Data, now.Data, bytes.Equal) ||
				!equality.Semantic.DeepEqual(old.OwnerReferences, now.OwnerReferences))
		},
	}
}

// concernsCluster reports whether the Secret is one of those that this controller sees to.
func concernsCluster(obj client.Object) bool {
	cluster := obj.GetLabels()[clusterv1.ClusterNameLabel]
	purpose, ok := strings.CutPrefix(obj.GetName(), cluster+"-")
	if !ok || cluster == "" {
		return false
	}
	return obj.GetName() == kubeconfig.SecretName(cluster) || certs.Purpose(purpose) == certs.APIServerEtcdClient ||
		slices.Contains(certs.Generated(certs.ExternalEtcd{}), certs.Purpose(purpose))
}

// templateChanges lets pass templates that come and go. What is in one does not change.
func templateChanges() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(event.UpdateEvent) bool { return false }}
}

func isTrue(b *bool) bool { return b != nil && *b }
