package simcluster

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	infrav1 "slipway.dev/slipway/api/infrastructure/v1alpha1"
	"slipway.dev/slipway/internal/providers/sim/faults"
	"slipway.dev/slipway/internal/providers/sim/owner"
	"slipway.dev/slipway/internal/providers/sim/world"
)

// observed is what a decision about a SimCluster needs.
type observed struct {
	sim    *infrav1.SimCluster
	owned  bool
	paused bool
	// machines are the names of the SimMachines that the cluster still has.
	machines []string
	// cluster is what is simulated, as soon as act has found it.
	cluster *world.Cluster
	faults  []faults.Fault
	active  faults.Active
	now     time.Time
}

func (r *Reconciler) observe(ctx context.Context, key types.NamespacedName) (*observed, error) {
	sim := &infrav1.SimCluster{}
	if err := r.Client.Get(ctx, key, sim); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	seen := &observed{sim: sim, now: r.Now(), faults: faultsOf(sim.Spec.Faults)}
	_, seen.paused = sim.Annotations[clusterv1.PausedAnnotation]
	name, ok := ownerCluster(sim)
	if !ok {
		return seen, nil
	}
	cluster := &clusterv1.Cluster{}
	err := r.Client.Get(ctx, types.NamespacedName{Namespace: sim.Namespace, Name: name}, cluster)
	switch {
	case err == nil:
		seen.owned = true
		seen.paused = seen.paused || owner.IsPaused(cluster)
	case !apierrors.IsNotFound(err):
		return nil, fmt.Errorf("read Cluster %s/%s: %w", sim.Namespace, name, err)
	}
	if sim.DeletionTimestamp.IsZero() {
		return seen, nil
	}
	var machines infrav1.SimMachineList
	if err := r.Client.List(ctx, &machines, client.InNamespace(sim.Namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: name}); err != nil {
		return nil, fmt.Errorf("list SimMachines of cluster %s: %w", name, err)
	}
	for i := range machines.Items {
		seen.machines = append(seen.machines, machines.Items[i].Name)
	}
	return seen, nil
}

// ownerCluster is the name of the Cluster that a SimCluster is for.
func ownerCluster(sim *infrav1.SimCluster) (string, bool) {
	for _, ref := range sim.OwnerReferences {
		if ref.Kind == clusterv1.ClusterKind {
			return ref.Name, true
		}
	}
	name, ok := sim.Labels[clusterv1.ClusterNameLabel]
	return name, ok
}

func faultsOf(spec []infrav1.SimClusterFault) []faults.Fault {
	list := make([]faults.Fault, 0, len(spec))
	for _, f := range spec {
		list = append(list, faults.Fault{Name: faultName(f), Duration: f.Duration})
	}
	return list
}

func faultName(f infrav1.SimClusterFault) string {
	if f.Zone != "" {
		return string(f.Type) + " " + f.Zone
	}
	return string(f.Type)
}
