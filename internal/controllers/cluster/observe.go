package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/contract"
	"slipway.dev/slipway/internal/kubeadm/kubeconfig"
	"slipway.dev/slipway/internal/outcome"
	"slipway.dev/slipway/internal/plan"
	"slipway.dev/slipway/internal/remote"
	"slipway.dev/slipway/internal/replicas"
)

// world is what one reconcile sees.
type world struct {
	now time.Time
	// cluster is the reconcile's own copy.
	cluster *clusterv1.Cluster
	paused  bool

	infra, controlPlane external
	// infraView and controlPlaneView are what the objects tell; zero while they cannot be read.
	infraView        contract.InfrastructureCluster
	controlPlaneView contract.ControlPlane

	// Everything that belongs to the Cluster, ordered by name, shared with the cache and never changed.
	machines    []*clusterv1.Machine
	sets        []*clusterv1.MachineSet
	deployments []*clusterv1.MachineDeployment
	pools       []*clusterv1.MachinePool

	// connection is what is known of the way into the workload cluster; hasKubeconfig whether there can be one.
	connection    remote.Status
	hasKubeconfig bool

	// deletion is the step that was planned; zero while the Cluster is not being deleted. gone says that the Cluster is.
	deletion plan.ClusterDeletionPlan
	gone     bool
}

// external is an object that a Cluster refers to.
type external struct {
	ref clusterv1.ContractVersionedObjectReference
	// object is nil when it does not exist, or when err is set.
	object *contract.Object
	// err says why it could not be read; that it does not exist is no error.
	err error
	// claimed says that it is another Cluster's. err says whose, and object is nil.
	claimed bool
	// former are owners that do not refer to it any more.
	former []metav1.OwnerReference
}

func (e external) missing() bool { return e.ref.IsDefined() && e.object == nil && e.err == nil }

func (w *world) deleting() bool { return !w.cluster.DeletionTimestamp.IsZero() }

func (w *world) key() types.NamespacedName { return client.ObjectKeyFromObject(w.cluster) }

// observe reads everything once. It returns nil where there is nothing to do: the Cluster is gone, or the cache does not
// show yet what was written last, whose event will come.
func (r *Reconciler) observe(ctx context.Context, key types.NamespacedName) (*world, error) {
	w := &world{now: r.Now(), cluster: &clusterv1.Cluster{}}
	if err := r.Client.Get(ctx, key, w.cluster); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if r.applier.Lags(w.cluster) {
		return nil, nil
	}
	_, annotated := w.cluster.Annotations[clusterv1.PausedAnnotation]
	if w.paused = annotated || isTrue(w.cluster.Spec.Paused); w.paused {
		return w, nil
	}
	w.infra, w.controlPlane = r.external(ctx, w, w.cluster.Spec.InfrastructureRef), r.external(ctx, w, w.cluster.Spec.ControlPlaneRef)
	if o := w.infra.object; o != nil {
		w.infraView, w.infra.err = o.InfrastructureCluster()
	}
	if o := w.controlPlane.object; o != nil {
		w.controlPlaneView, w.controlPlane.err = o.ControlPlane()
	}
	if err := r.descendants(ctx, w); err != nil {
		return nil, err
	}
	w.connection = r.Clusters.Status(key)
	err := r.Client.Get(ctx, types.NamespacedName{Namespace: key.Namespace, Name: kubeconfig.SecretName(key.Name)}, &corev1.Secret{})
	w.hasKubeconfig = err == nil
	return w, client.IgnoreNotFound(err)
}

func (r *Reconciler) external(ctx context.Context, w *world, ref clusterv1.ContractVersionedObjectReference) external {
	e := external{ref: ref}
	if !ref.IsDefined() {
		return e
	}
	object, err := r.externals.Get(ctx, ref, w.cluster.Namespace)
	switch {
	case err == nil:
		e.object = object
		r.otherOwners(ctx, w, &e)
	case !apierrors.IsNotFound(err):
		e.err = err
	}
	return e
}

// otherOwners looks at the other Clusters that own an object. One that still refers to it keeps it: what two Clusters shared would be
// deleted with either. A reference of the same name is of an earlier life of this Cluster, as after a restore.
func (r *Reconciler) otherOwners(ctx context.Context, w *world, e *external) {
	for _, owner := range e.object.Metadata().GetOwnerReferences() {
		if !contract.IsCluster(owner) || owner.Name == w.cluster.Name {
			continue
		}
		other := &clusterv1.Cluster{}
		err := r.Client.Get(ctx, types.NamespacedName{Namespace: w.cluster.Namespace, Name: owner.Name}, other, client.UnsafeDisableDeepCopy)
		switch {
		case err == nil && other.UID == owner.UID && slices.Contains(references(other), reference(e.ref)):
			if !owns(w.cluster, e.object) {
				*e = external{ref: e.ref, claimed: true, err: claimed(e.ref, owner.Name)}
				return
			}
		case client.IgnoreNotFound(err) != nil:
			*e = external{ref: e.ref, err: err}
			return
		default:
			e.former = append(e.former, owner)
		}
	}
}

func owns(c *clusterv1.Cluster, o *contract.Object) bool {
	return slices.ContainsFunc(o.Metadata().GetOwnerReferences(), func(ref metav1.OwnerReference) bool { return ref.UID == c.UID })
}

func claimed(ref clusterv1.ContractVersionedObjectReference, owner string) error {
	return &outcome.Stall{
		Reason: reasonClaimed, Recheck: claimRecheck,
		Message: fmt.Sprintf("%s %s belongs to Cluster %s; refer to another, or give it up there first", ref.Kind, ref.Name, owner),
	}
}

// descendants lists everything that belongs to the Cluster.
func (r *Reconciler) descendants(ctx context.Context, w *world) error {
	machines, sets, deployments, pools := &clusterv1.MachineList{}, &clusterv1.MachineSetList{}, &clusterv1.MachineDeploymentList{}, &clusterv1.MachinePoolList{}
	for _, list := range []client.ObjectList{machines, sets, deployments, pools} {
		err := r.Client.List(ctx, list, client.InNamespace(w.cluster.Namespace), client.MatchingFields{byCluster: w.cluster.Name}, client.UnsafeDisableDeepCopy)
		if err != nil {
			return fmt.Errorf("list what belongs to Cluster %s: %w", w.key(), err)
		}
	}
	w.machines, w.sets, w.deployments, w.pools = sorted(machines.Items), sorted(sets.Items), sorted(deployments.Items), sorted(pools.Items)
	return nil
}

func sorted[T any, P interface {
	*T
	client.Object
}](items []T) []P {
	out := make([]P, 0, len(items))
	for i := range items {
		out = append(out, P(&items[i]))
	}
	slices.SortFunc(out, func(a, b P) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return out
}

// controlPlaneMachines and workerMachines part the Machines.
func (w *world) controlPlaneMachines() []*clusterv1.Machine {
	return filter(w.machines, func(m *clusterv1.Machine) bool { return replicas.IsControlPlane(m) })
}

func (w *world) workerMachines() []*clusterv1.Machine {
	return filter(w.machines, func(m *clusterv1.Machine) bool { return !replicas.IsControlPlane(m) })
}

func filter[T any](items []T, keep func(T) bool) []T {
	var out []T
	for _, item := range items {
		if keep(item) {
			out = append(out, item)
		}
	}
	return out
}

// standalone reports whether no MachineDeployment, MachineSet or MachinePool speaks for the object.
func standalone(obj metav1.Object) bool {
	owner := metav1.GetControllerOf(obj)
	return owner == nil || !slices.Contains([]string{machineDeploymentKind, machineSetKind, machinePoolKind}, owner.Kind)
}

// notInstalled reports whether the object's kind is unknown to our cache.
func (e external) notInstalled() bool { return errors.Is(e.err, contract.ErrKindNotInstalled) }
