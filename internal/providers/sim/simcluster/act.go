package simcluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	infrav1 "slipway.dev/slipway/api/infrastructure/v1alpha1"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/conditions"
	"slipway.dev/slipway/internal/outcome"
	"slipway.dev/slipway/internal/providers/sim/faults"
	"slipway.dev/slipway/internal/providers/sim/owner"
	"slipway.dev/slipway/internal/providers/sim/world"
)

// Endpoints are drawn from below Linux's default range for outgoing connections and above that of the plane's own ports, so
// that they can be had again after a restart.
const (
	endpointHost = "127.0.0.1"
	firstPort    = 30000
	lastPort     = 32767
)

// Reasons of Ready being False, beside those all kinds share.
const (
	reasonWaitingForOwner    = "WaitingForCluster"
	reasonWaitingForMachines = "WaitingForMachines"
	reasonPortTaken          = "EndpointPortTaken"
	reasonUnserved           = "EndpointNotServed"
)

// unservedRecheck is how soon to look again whether an endpoint can be listened on.
const unservedRecheck = 15 * time.Second

// act makes the world as the SimCluster wants it.
func (r *Reconciler) act(ctx context.Context, seen *observed) error {
	if !seen.sim.DeletionTimestamp.IsZero() {
		return r.delete(ctx, seen)
	}
	if !seen.owned {
		return outcome.Waiting(0, reasonWaitingForOwner, "No Cluster refers to this SimCluster yet")
	}
	if err := r.claim(ctx, seen); err != nil {
		return err
	}
	place, _ := owner.PlaceOf(seen.sim)
	err := r.ail(seen, place)
	if unheard, ok := errors.AsType[*world.ListenError](err); ok {
		return unserved(unheard, owner.Unserved(place, unheard))
	}
	if err != nil {
		return err
	}
	if !seen.active.Next.IsZero() {
		return outcome.Quietly(seen.active.Next.Sub(seen.now), "FaultEnds", "a fault ends by itself")
	}
	return nil
}

// ail makes the cluster's faults so.
func (r *Reconciler) ail(seen *observed, place world.Place) error {
	cluster, err := r.World.Cluster(place)
	if err != nil {
		return err
	}
	seen.cluster = cluster
	starts, err := cluster.FaultStarts(seen.sim.UID, faults.Names(seen.faults))
	if err != nil {
		return fmt.Errorf("write down when the faults of cluster %s began: %w", place.Key, err)
	}
	seen.active = faults.At(seen.faults, starts, seen.now)
	if err := cluster.Ail(ailments(seen)); err != nil {
		return fmt.Errorf("set the faults of cluster %s: %w", place.Key, err)
	}
	return nil
}

// unserved says that the endpoint cannot be listened on.
func unserved(err *world.ListenError, message string) error {
	reason := reasonUnserved
	if errors.Is(err, syscall.EADDRINUSE) {
		reason = reasonPortTaken
	}
	return &outcome.Stall{Reason: reason, Recheck: unservedRecheck, Err: err, Message: message}
}

// claim writes finalizer and endpoint in one patch, before anything is served.
func (r *Reconciler) claim(ctx context.Context, seen *observed) error {
	_, chosen := owner.PlaceOf(seen.sim)
	if chosen && controllerutil.ContainsFinalizer(seen.sim, infrav1.SimClusterFinalizer) {
		return nil
	}
	before := seen.sim.DeepCopy()
	controllerutil.AddFinalizer(seen.sim, infrav1.SimClusterFinalizer)
	if !chosen {
		endpoint, err := r.chooseEndpoint(ctx, seen.sim)
		if err != nil {
			return err
		}
		seen.sim.Spec.ControlPlaneEndpoint = endpoint
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, seen.sim, patch, client.FieldOwner(fieldManager)); err != nil {
		if place, ok := owner.PlaceOf(seen.sim); ok && !chosen {
			r.World.Release(place)
		}
		return fmt.Errorf("write the endpoint of SimCluster %s: %w", client.ObjectKeyFromObject(seen.sim), err)
	}
	return nil
}

// chooseEndpoint fills in what the user left open, with a port that no SimCluster has and nobody listens on. It is ours from then on.
func (r *Reconciler) chooseEndpoint(ctx context.Context, sim *infrav1.SimCluster) (clusterv1.APIEndpoint, error) {
	e := sim.Spec.ControlPlaneEndpoint
	if e.Host == "" {
		e.Host = endpointHost
	}
	if e.Port != 0 {
		return e, nil
	}
	var all infrav1.SimClusterList
	if err := r.Client.List(ctx, &all); err != nil {
		return e, fmt.Errorf("list SimClusters: %w", err)
	}
	taken := map[int32]bool{}
	for i := range all.Items {
		taken[all.Items[i].Spec.ControlPlaneEndpoint.Port] = true
	}
	for range 200 {
		port := int32(firstPort + rand.IntN(lastPort-firstPort+1))
		if taken[port] {
			continue
		}
		place := world.Place{Key: client.ObjectKeyFromObject(sim), ID: sim.UID, Host: e.Host, Port: port}
		err := r.World.Reserve(place)
		if err == nil {
			e.Port = port
			return e, nil
		}
		if unheard, ok := errors.AsType[*world.ListenError](err); ok && !errors.Is(err, syscall.EADDRINUSE) {
			return e, unserved(unheard, fmt.Sprintf("No port of host %q can be listened on: %s. "+
				"Write an address of this computer into spec.controlPlaneEndpoint.host, or remove it to have 127.0.0.1", e.Host, owner.Cause(unheard)))
		}
	}
	return e, outcome.Waiting(15*time.Second, "NoFreePort", "No free port was found between %d and %d for the API endpoint", firstPort, lastPort)
}

func ailments(seen *observed) world.Ailments {
	a := world.Ailments{Unreachable: seen.active.Has(string(infrav1.EndpointUnreachableFault))}
	for _, f := range seen.sim.Spec.Faults {
		if f.Type == infrav1.ZoneDownFault && seen.active.Has(faultName(f)) {
			a.ZonesDown = append(a.ZonesDown, f.Zone)
		}
	}
	slices.Sort(a.ZonesDown)
	return a
}

// delete ends the simulated cluster once its machines are gone.
func (r *Reconciler) delete(ctx context.Context, seen *observed) error {
	if !controllerutil.ContainsFinalizer(seen.sim, infrav1.SimClusterFinalizer) {
		return nil
	}
	if len(seen.machines) > 0 {
		return outcome.Waiting(0, reasonWaitingForMachines, "Waiting for SimMachines to be deleted: %s", conditions.Names(seen.machines))
	}
	key := client.ObjectKeyFromObject(seen.sim)
	if err := r.World.Remove(key, seen.sim.UID); err != nil {
		return fmt.Errorf("remove simulated cluster %s: %w", key, err)
	}
	_, err := apply.RemoveFinalizer(ctx, r.Client, fieldManager, seen.sim, infrav1.SimClusterFinalizer)
	return err
}

// sweep takes away what is simulated for objects that are gone: clusters that had the name before, and machines whose SimMachine went
// while nobody watched. What goes under the eyes of the controllers, they see themselves.
func (r *Reconciler) sweep(ctx context.Context, seen *observed) error {
	err := r.strays.Clusters(ctx, client.ObjectKeyFromObject(seen.sim), seen.sim.UID)
	if err != nil || seen.cluster == nil {
		return err
	}
	var errs []error
	for _, name := range seen.cluster.Machines() {
		key := types.NamespacedName{Namespace: seen.sim.Namespace, Name: name}
		gone, err := r.isGone(ctx, seen.cluster, key)
		if gone {
			err = r.strays.Machine(ctx, seen.cluster, key)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// isGone tells whether the cache has no SimMachine of which a machine is.
func (r *Reconciler) isGone(ctx context.Context, cluster *world.Cluster, key types.NamespacedName) (bool, error) {
	record, ok := cluster.Machine(key.Name)
	sim := &infrav1.SimMachine{}
	err := r.Client.Get(ctx, key, sim, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		return ok, nil
	}
	return ok && err == nil && !record.Is(sim.UID), err
}
