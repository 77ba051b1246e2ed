// Package stray takes away what is simulated for objects that are gone without their controller's last step, because somebody
// removed their finalizers: there is no other cloud in which one could look for it.
package stray

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "slipway.dev/slipway/api/infrastructure/v1alpha1"
	"slipway.dev/slipway/internal/providers/sim/world"
)

// Sweeper takes strays away. A cache that lags shows too few objects, so that it only says what to ask for: nothing is taken away
// before the API server has said that its object is gone, or another by its UID.
type Sweeper struct {
	// Live reads from the API server.
	Live client.Reader
	// World is what is simulated.
	World *world.World
}

// Machine stops and forgets the machine that a cluster has for a SimMachine, if that is gone.
func (s Sweeper) Machine(ctx context.Context, c *world.Cluster, key types.NamespacedName) error {
	record, ok := c.Machine(key.Name)
	if !ok {
		return nil
	}
	there, err := s.live(ctx, "SimMachine", key)
	if err != nil || there != "" && record.Is(there) {
		return err
	}
	if err := c.Delete(key.Name, record.UID); err != nil {
		return fmt.Errorf("take away machine %s, whose SimMachine is gone: %w", key, err)
	}
	if _, err := c.FaultStarts(record.UID, nil); err != nil {
		return fmt.Errorf("forget the faults of machine %s, whose SimMachine is gone: %w", key, err)
	}
	ctrl.LoggerFrom(ctx).Info("stopped a simulated machine whose SimMachine is gone", "machine", key.String(), "uid", record.UID)
	return nil
}

// Machines does for all clusters that have a machine for a SimMachine what Machine does for one.
func (s Sweeper) Machines(ctx context.Context, key types.NamespacedName) error {
	var errs []error
	for _, c := range s.World.Having(key.Namespace, key.Name) {
		errs = append(errs, s.Machine(ctx, c, key))
	}
	return errors.Join(errs...)
}

// Clusters ends the clusters of a name whose SimCluster is gone, and removes their files. The one that is seen needs no look.
func (s Sweeper) Clusters(ctx context.Context, key types.NamespacedName, seen types.UID) error {
	ids := s.World.IDs(key)
	if len(ids) == 0 || len(ids) == 1 && ids[0] == seen {
		return nil
	}
	there, err := s.live(ctx, "SimCluster", key)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if id == there || id == seen {
			continue
		}
		if err := s.World.Remove(key, id); err != nil {
			return fmt.Errorf("remove simulated cluster %s, whose SimCluster is gone: %w", key, err)
		}
		ctrl.LoggerFrom(ctx).Info("ended a simulated cluster whose SimCluster is gone", "cluster", key.String(), "uid", id)
	}
	return nil
}

// live returns the UID of the object that has a name now, and none if there is none. A path that is not served says nothing of what is
// stored.
func (s Sweeper) live(ctx context.Context, kind string, key types.NamespacedName) (types.UID, error) {
	obj := &metav1.PartialObjectMetadata{}
	obj.SetGroupVersionKind(infrav1.GroupVersion.WithKind(kind))
	err := s.Live.Get(ctx, key, obj)
	if apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("ask whether %s %s is there: %w", kind, key, err)
	}
	return obj.UID, nil
}
