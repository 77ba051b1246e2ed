package machine

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/contract"
	"slipway.dev/slipway/internal/outcome"
	"slipway.dev/slipway/internal/plan"
	"slipway.dev/slipway/internal/remote"
)

// lagLook is when to look again at a Machine that the cache is late with, should no event tell.
const lagLook = time.Second

const (
	machineKind    = "Machine"
	machineSetKind = "MachineSet"
)

// world is what a decision about a Machine needs, read once.
type world struct {
	// machine is this reconcile's own copy; its status stays as it was observed.
	machine *clusterv1.Machine
	// cluster is nil when there is none. It and the owners are the cache's own.
	cluster    *clusterv1.Cluster
	set        *clusterv1.MachineSet
	deployment *clusterv1.MachineDeployment
	paused     bool
	now        time.Time

	bootstrap      external
	bootstrapFacts contract.BootstrapConfig
	infra          external
	infraFacts     contract.InfrastructureMachine
	node           nodeFacts

	// deletion is what deleting the Machine has come to; nil while it is not being deleted.
	deletion *deletion
	// finished says that the finalizer is gone, and with it the Machine.
	finished bool
}

// external is an object that the Machine refers to.
type external struct {
	ref    clusterv1.ContractVersionedObjectReference
	object *contract.Object
	// err says why the object, or its facts, could not be read; it is nil for an object that is not there.
	err error
}

// exists tells whether the object is there.
func (e external) exists() plan.Tri {
	switch {
	case e.object != nil:
		return plan.True
	case e.err != nil:
		return plan.Unknown
	default:
		return plan.False
	}
}

func (e external) forPlan() plan.External {
	return plan.External{
		Referenced: e.ref.IsDefined(), Kind: e.ref.Kind, Name: e.ref.Name, Exists: e.exists(),
		Deleting: e.object != nil && e.object.Deleting(),
	}
}

// nodeFacts is what is known of the Machine's Node.
type nodeFacts struct {
	// node is shared with others; nil when there is none or it could not be read.
	node *corev1.Node
	// exists tells whether a Node has the Machine's provider ID.
	exists plan.Tri
	// err says why a connected cluster has no clear answer: several Nodes with one provider ID.
	err error
	// connection is the state of the way into the cluster.
	connection remote.Status
	// controlPlane is what runs on the Node; nil on workers and when not readable.
	controlPlane *remote.ControlPlane
}

func (w *world) clusterKey() types.NamespacedName {
	return types.NamespacedName{Namespace: w.machine.Namespace, Name: w.machine.Spec.ClusterName}
}

func (w *world) deleting() bool { return !w.machine.DeletionTimestamp.IsZero() }

func (w *world) isControlPlane() bool {
	_, ok := w.machine.Labels[clusterv1.MachineControlPlaneLabel]
	return ok
}

// providerID is the Machine's, or what its infrastructure reports when the Machine is about to take it over. Before that
// it may still change, but when the Machine goes it is all that ties a Node to it.
func (w *world) providerID() string {
	if w.machine.Spec.ProviderID == "" && (w.infraFacts.Provisioned.IsTrue() || w.deleting()) {
		return w.infraFacts.ProviderID
	}
	return w.machine.Spec.ProviderID
}

// observe reads everything about a Machine; nil when it is gone.
func (r *Reconciler) observe(ctx context.Context, key types.NamespacedName) (*world, error) {
	machine := &clusterv1.Machine{}
	if err := r.Client.Get(ctx, key, machine); err != nil {
		r.settling.Done(key)
		r.written.forget(key)
		return nil, client.IgnoreNotFound(err)
	}
	if r.written.lags(machine) {
		return nil, outcome.Quietly(lagLook, "CacheLags", "the cache does not show the last write yet")
	}
	w := &world{machine: machine, now: r.Now()}
	if err := r.observeCluster(ctx, w); err != nil {
		return nil, err
	}
	_, annotated := machine.Annotations[clusterv1.PausedAnnotation]
	w.paused = annotated || w.cluster != nil && isTrue(w.cluster.Spec.Paused)
	if w.paused {
		return w, nil
	}
	r.observeBootstrap(ctx, w)
	r.observeInfrastructure(ctx, w)
	if err := r.observeOwners(ctx, w); err != nil {
		return nil, err
	}
	r.observeNode(w)
	return w, nil
}

func (r *Reconciler) observeCluster(ctx context.Context, w *world) error {
	cluster := &clusterv1.Cluster{}
	err := r.Client.Get(ctx, w.clusterKey(), cluster, client.UnsafeDisableDeepCopy)
	switch {
	case err == nil:
		w.cluster = cluster
	case !apierrors.IsNotFound(err):
		return fmt.Errorf("get Cluster %s: %w", w.clusterKey(), err)
	}
	return nil
}

func (r *Reconciler) observeExternal(ctx context.Context, ref clusterv1.ContractVersionedObjectReference, namespace string) external {
	if !ref.IsDefined() {
		return external{}
	}
	object, err := r.externals.Get(ctx, ref, namespace)
	if err != nil {
		return external{ref: ref, err: client.IgnoreNotFound(err)}
	}
	return external{ref: ref, object: object}
}

func (r *Reconciler) observeBootstrap(ctx context.Context, w *world) {
	w.bootstrap = r.observeExternal(ctx, w.machine.Spec.Bootstrap.ConfigRef, w.machine.Namespace)
	if w.bootstrap.object != nil {
		w.bootstrapFacts, w.bootstrap.err = w.bootstrap.object.BootstrapConfig()
	}
}

func (r *Reconciler) observeInfrastructure(ctx context.Context, w *world) {
	w.infra = r.observeExternal(ctx, w.machine.Spec.InfrastructureRef, w.machine.Namespace)
	if w.infra.object != nil {
		w.infraFacts, w.infra.err = w.infra.object.InfrastructureMachine()
	}
}

// observeOwners reads the MachineSet and the MachineDeployment of a Machine that a deployment owns.
func (r *Reconciler) observeOwners(ctx context.Context, w *world) error {
	owner := metav1.GetControllerOf(w.machine)
	if owner == nil || owner.Kind != machineSetKind || w.machine.Labels[clusterv1.MachineDeploymentNameLabel] == "" {
		return nil
	}
	set := &clusterv1.MachineSet{}
	key := client.ObjectKey{Namespace: w.machine.Namespace, Name: owner.Name}
	if err := r.Client.Get(ctx, key, set, client.UnsafeDisableDeepCopy); err != nil {
		return client.IgnoreNotFound(err)
	}
	w.set = set
	owner = metav1.GetControllerOf(set)
	if owner == nil || owner.Kind != "MachineDeployment" {
		return nil
	}
	deployment := &clusterv1.MachineDeployment{}
	key.Name = owner.Name
	if err := r.Client.Get(ctx, key, deployment, client.UnsafeDisableDeepCopy); err != nil {
		return client.IgnoreNotFound(err)
	}
	w.deployment = deployment
	return nil
}

// observeNode looks for the Node that has exactly the Machine's provider ID.
func (r *Reconciler) observeNode(w *world) {
	key := w.clusterKey()
	w.node.connection = r.Clusters.Status(key)
	if w.providerID() == "" {
		// While the infrastructure may still tell an ID, a Node that nobody can tie to the Machine may exist.
		if w.infra.err == nil && w.machine.Status.NodeRef.Name == "" {
			w.node.exists = plan.False
		}
		return
	}
	nodes, err := r.Clusters.Nodes(key)
	if err != nil {
		return
	}
	node, err := nodes.ByProviderID(w.providerID())
	switch {
	case err == nil:
		w.node.node, w.node.exists = node, plan.True
	case errors.Is(err, remote.ErrNodeNotFound):
		w.node.exists = plan.False
		return
	default:
		w.node.err = err
		return
	}
	if w.isControlPlane() {
		if seen, err := r.Clusters.ControlPlane(key, node.Name); err == nil {
			w.node.controlPlane = &seen
		}
	}
}
