package simmachine

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	infrav1 "slipway.dev/slipway/api/infrastructure/v1alpha1"
	"slipway.dev/slipway/internal/providers/sim/faults"
	"slipway.dev/slipway/internal/providers/sim/owner"
	"slipway.dev/slipway/internal/providers/sim/world"
)

// observed is what a decision about a SimMachine needs. Nil means that the object is not there.
type observed struct {
	sim     *infrav1.SimMachine
	machine *clusterv1.Machine
	cluster *clusterv1.Cluster
	place   world.Place
	placed  bool
	world   *world.Cluster
	record  world.Record
	booted  bool
	// another tells that the machine of this name which is there is not the SimMachine's own.
	another bool
	data    *corev1.Secret
	faults  []faults.Fault
	active  faults.Active
	paused  bool
	now     time.Time
}

func (r *Reconciler) observe(ctx context.Context, key types.NamespacedName) (*observed, error) {
	sim := &infrav1.SimMachine{}
	if err := r.Client.Get(ctx, key, sim); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	seen := &observed{sim: sim, now: r.Now(), faults: faultsOf(sim.Spec.Faults)}
	_, seen.paused = sim.Annotations[clusterv1.PausedAnnotation]
	if err := r.observeOwners(ctx, seen); err != nil || !seen.placed {
		return seen, err
	}
	cluster, err := r.World.Cluster(seen.place)
	if err != nil {
		return nil, fmt.Errorf("find simulated cluster %s: %w", seen.place.Key, err)
	}
	seen.world = cluster
	seen.look()
	if seen.booted || !sim.DeletionTimestamp.IsZero() {
		return seen, nil
	}
	return seen, r.observeData(ctx, seen)
}

// look finds out what machine is there.
func (o *observed) look() {
	record, ok := o.world.Machine(o.sim.Name)
	o.booted, o.another = ok && record.Is(o.sim.UID), ok && !record.Is(o.sim.UID)
	if o.record = (world.Record{}); o.booted {
		o.record = record
	}
}

// observeOwners finds the Machine, the Cluster and the place of the simulated cluster, as far as they are there.
func (r *Reconciler) observeOwners(ctx context.Context, seen *observed) error {
	sim := seen.sim
	for _, ref := range sim.OwnerReferences {
		if ref.Kind != "Machine" {
			continue
		}
		machine := &clusterv1.Machine{}
		if found, err := r.find(ctx, sim.Namespace, ref.Name, machine); err != nil || !found {
			return err
		}
		seen.machine = machine
	}
	name := sim.Labels[clusterv1.ClusterNameLabel]
	if seen.machine != nil {
		name = seen.machine.Spec.ClusterName
	}
	cluster := &clusterv1.Cluster{}
	if found, err := r.find(ctx, sim.Namespace, name, cluster); err != nil || !found {
		return err
	}
	seen.cluster = cluster
	seen.paused = seen.paused || owner.IsPaused(cluster)
	if cluster.Spec.InfrastructureRef.Kind != "SimCluster" {
		return nil
	}
	simCluster := &infrav1.SimCluster{}
	if found, err := r.find(ctx, sim.Namespace, cluster.Spec.InfrastructureRef.Name, simCluster); err != nil || !found {
		return err
	}
	seen.place, seen.placed = owner.PlaceOf(simCluster)
	return nil
}

func (r *Reconciler) observeData(ctx context.Context, seen *observed) error {
	if seen.machine == nil || seen.machine.Spec.Bootstrap.DataSecretName == nil || *seen.machine.Spec.Bootstrap.DataSecretName == "" {
		return nil
	}
	secret := &corev1.Secret{}
	found, err := r.find(ctx, seen.sim.Namespace, *seen.machine.Spec.Bootstrap.DataSecretName, secret)
	if found {
		seen.data = secret
	}
	return err
}

// find reads an object and tells whether it is there. An empty name is no object.
func (r *Reconciler) find(ctx context.Context, namespace, name string, obj client.Object) (bool, error) {
	if name == "" {
		return false, nil
	}
	err := r.Client.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, obj)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read %T %s/%s: %w", obj, namespace, name, err)
	}
	return true, nil
}

func faultsOf(spec []infrav1.SimMachineFault) []faults.Fault {
	list := make([]faults.Fault, 0, len(spec))
	for _, f := range spec {
		list = append(list, faults.Fault{Name: string(f.Type), Duration: f.Duration})
	}
	return list
}

// zone is the failure domain that the machine is in, or empty.
func (o *observed) zone() string {
	if o.sim.Spec.FailureDomain != "" || o.machine == nil {
		return o.sim.Spec.FailureDomain
	}
	return o.machine.Spec.FailureDomain
}
