package machinedeployment

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/freshness"
	"slipway.dev/slipway/internal/outcome"
)

const (
	// actedIn is how long a MachineSet may take to act on its spec before its Machines are counted as they show. One that is
	// paused, or whose Machines are refused, must not hold a rollout for ever that might mend just that.
	actedIn = 10 * time.Second
	// shownDelay is when to look again where the cache does not show all Machines; its event usually comes first.
	shownDelay = 250 * time.Millisecond
)

// acting remembers since when the MachineSets of deployments have not acted on their spec. Forgetting it costs a wait.
type acting struct {
	mu    sync.Mutex                         // guards since
	since map[types.UID]map[types.UID]change // by deployment and set
}

// change is a spec that was seen for the first time then.
type change struct {
	generation int64
	at         time.Time
}

func newActing() *acting { return &acting{since: map[types.UID]map[types.UID]change{}} }

// pending returns for how long each set may still take to act on its spec, but for those that have, or that took long
// enough. Give all sets of the deployment: what is known of others is forgotten.
func (a *acting) pending(deployment types.UID, sets []*clusterv1.MachineSet, now time.Time) map[types.UID]time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	left, since := map[types.UID]time.Duration{}, map[types.UID]change{}
	for _, set := range sets {
		if set.Status.ObservedGeneration >= set.Generation {
			continue
		}
		c := a.since[deployment][set.UID]
		if c.generation != set.Generation {
			c = change{generation: set.Generation, at: now}
		}
		since[set.UID] = c
		if wait := c.at.Add(actedIn).Sub(now); wait > 0 {
			left[set.UID] = wait
		}
	}
	if len(since) == 0 {
		delete(a.since, deployment)
	} else {
		a.since[deployment] = since
	}
	return left
}

// forget drops a deployment that is gone.
func (a *acting) forget(deployment types.UID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.since, deployment)
}

// shown returns nil when the cache shows all Machines of the MachineSets that the API server has. What a set has made a
// moment ago, for a template of which there is a newer one by now, would else be left out of the bounds.
func (r *Reconciler) shown(ctx context.Context, s *scene) error {
	ours := func(m metav1.Object) bool {
		owner := metav1.GetControllerOfNoCopy(m)
		return owner != nil && s.owns(owner.UID)
	}
	kinds := []schema.GroupVersionKind{clusterv1.GroupVersion.WithKind("Machine")}
	live, err := freshness.Live(r.APIReader, ours, kinds, client.InNamespace(s.deployment.Namespace), ofTheCluster(s.deployment))(ctx)
	if err != nil {
		return fmt.Errorf("list the Machines of MachineDeployment %s from the API server: %w", s.deployment.Name, err)
	}
	seen := make(map[types.UID]bool, len(s.machines))
	for _, m := range s.machines {
		seen[m.UID] = true
	}
	for _, m := range live {
		if !seen[m.GetUID()] {
			return outcome.Quietly(shownDelay, "CacheLag", "the cache does not show all Machines yet")
		}
	}
	return nil
}

// owns reports whether the deployment controls the MachineSet.
func (s *scene) owns(set types.UID) bool {
	same := func(o *clusterv1.MachineSet) bool { return o.UID == set }
	return slices.ContainsFunc(s.sets, same) || slices.ContainsFunc(s.leaving, same)
}

// grows reports whether the plan has MachineSets make Machines while there may be others.
func (s *scene) grows() bool {
	if len(s.sets)+len(s.leaving) == 0 {
		return false
	}
	if s.plan.Create != nil && s.plan.Create.Replicas > 0 {
		return true
	}
	for i, set := range s.sets {
		if s.plan.Sets[i].Replicas > sizeOf(set) {
			return true
		}
	}
	return false
}
