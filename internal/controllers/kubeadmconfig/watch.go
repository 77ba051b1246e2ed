package kubeadmconfig

import (
	"context"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
	"slipway.dev/slipway/internal/kubeadm/certs"
	"slipway.dev/slipway/internal/remote"
)

const (
	configKind  = "KubeadmConfig"
	machineKind = "Machine"
)

// refersToConfig returns the name of the KubeadmConfig that the Machine refers to; empty when it refers to none.
func refersToConfig(m *clusterv1.Machine) string {
	ref := m.Spec.Bootstrap.ConfigRef
	if ref.Kind != configKind || ref.APIGroup != bootstrapv1.GroupVersion.Group {
		return ""
	}
	return ref.Name
}

// ofMachine maps a Machine to its KubeadmConfig, and one of the control plane to all that may start the control plane in
// its place when it is gone.
func (r *Reconciler) ofMachine(ctx context.Context, obj client.Object) []reconcile.Request {
	m, ok := obj.(*clusterv1.Machine)
	if !ok {
		return nil
	}
	var requests []reconcile.Request
	if name := refersToConfig(m); name != "" {
		requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: m.Namespace, Name: name}})
	}
	if isControlPlane(m) {
		requests = append(requests, r.requests(ctx, m.Namespace, m.Spec.ClusterName, func(other *clusterv1.Machine) bool {
			return isControlPlane(other) && lacksData(other)
		})...)
	}
	return requests
}

// ofCluster maps a Cluster to the KubeadmConfigs of its Machines.
func (r *Reconciler) ofCluster(ctx context.Context, obj client.Object) []reconcile.Request {
	return r.requests(ctx, obj.GetNamespace(), obj.GetName(), nil)
}

// ofConnection maps a cluster that can be reached now to the KubeadmConfigs that may need a token there.
func (r *Reconciler) ofConnection(ctx context.Context, e remote.ConnectionEvent) []reconcile.Request {
	if e.Change != remote.Opened {
		return nil
	}
	return r.requests(ctx, e.Cluster.Namespace, e.Cluster.Name, nil)
}

// ofSecret maps a Secret with data to its KubeadmConfig, and one with a certificate authority to all that wait for it.
func (r *Reconciler) ofSecret(ctx context.Context, obj client.Object) []reconcile.Request {
	if owner := metav1.GetControllerOf(obj); owner != nil && owner.Kind == configKind {
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: obj.GetNamespace(), Name: owner.Name}}}
	}
	if cluster := clusterOfAuthority(obj); cluster != "" {
		return r.requests(ctx, obj.GetNamespace(), cluster, lacksData)
	}
	return nil
}

func clusterOfAuthority(obj client.Object) string {
	cluster := obj.GetLabels()[clusterv1.ClusterNameLabel]
	purpose, ok := strings.CutPrefix(obj.GetName(), cluster+"-")
	purposes := append(certs.Generated(certs.ExternalEtcd{}), certs.APIServerEtcdClient)
	if ok && cluster != "" && slices.Contains(purposes, certs.Purpose(purpose)) {
		return cluster
	}
	return ""
}

func lacksData(m *clusterv1.Machine) bool { return m.Spec.Bootstrap.DataSecretName == nil }

func (r *Reconciler) requests(ctx context.Context, namespace, cluster string, match func(*clusterv1.Machine) bool) []reconcile.Request {
	var list clusterv1.MachineList
	err := r.Client.List(ctx, &list, client.InNamespace(namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: cluster}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil // The cache is filled before any event is mapped.
	}
	var requests []reconcile.Request
	for i := range list.Items {
		m := &list.Items[i]
		if name := refersToConfig(m); name != "" && (match == nil || match(m)) {
			requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}})
		}
	}
	return requests
}

// machineChanges lets pass what bootstrap data depends on: that the Machine is there, is booted, has its Node, or goes.
func machineChanges() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		old, okOld := e.ObjectOld.(*clusterv1.Machine)
		now, okNow := e.ObjectNew.(*clusterv1.Machine)
		return okOld && okNow && machineFactsOf(old) != machineFactsOf(now)
	}}
}

type machineFacts struct {
	config, cluster, version string
	joined, booted, deleting bool
}

func machineFactsOf(m *clusterv1.Machine) machineFacts {
	return machineFacts{
		config: refersToConfig(m), cluster: m.Spec.ClusterName, version: m.Spec.Version,
		joined: m.Status.NodeRef.IsDefined(), booted: booted(m), deleting: !m.DeletionTimestamp.IsZero(),
	}
}

// clusterChanges lets pass what bootstrap data waits for.
func clusterChanges() predicate.Predicate {
	return predicate.Funcs{
		DeleteFunc: func(event.DeleteEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			old, okOld := e.ObjectOld.(*clusterv1.Cluster)
			now, okNow := e.ObjectNew.(*clusterv1.Cluster)
			return okOld && okNow && clusterFactsOf(old) != clusterFactsOf(now)
		},
	}
}

type clusterFacts struct {
	uid                              types.UID
	paused, provisioned, initialized bool
	endpoint                         clusterv1.APIEndpoint
}

func clusterFactsOf(c *clusterv1.Cluster) clusterFacts {
	return clusterFacts{
		uid: c.UID, paused: isTrue(c.Spec.Paused), endpoint: c.Spec.ControlPlaneEndpoint,
		provisioned: isTrue(c.Status.Initialization.InfrastructureProvisioned),
		initialized: isTrue(c.Status.Initialization.ControlPlaneInitialized),
	}
}

// secretChanges lets pass certificate authorities that appear and data that vanishes. Events for what was there at the
// start say nothing new: every KubeadmConfig is looked at then.
func secretChanges() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return !e.IsInInitialList && clusterOfAuthority(e.Object) != "" },
		UpdateFunc: func(e event.UpdateEvent) bool { return clusterOfAuthority(e.ObjectNew) != "" },
		DeleteFunc: func(e event.DeleteEvent) bool { return clusterOfAuthority(e.Object) == "" },
	}
}

func isTrue(b *bool) bool { return b != nil && *b }

func isControlPlane(m *clusterv1.Machine) bool {
	_, ok := m.Labels[clusterv1.MachineControlPlaneLabel]
	return ok
}

// booted reports whether the Machine has infrastructure or a Node, and so has read its bootstrap data.
func booted(m *clusterv1.Machine) bool {
	return m.Spec.ProviderID != "" || m.Status.NodeRef.IsDefined() || isTrue(m.Status.Initialization.InfrastructureProvisioned)
}
