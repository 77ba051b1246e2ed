package machinedeployment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/conditions"
	"slipway.dev/slipway/internal/events"
	"slipway.dev/slipway/internal/outcome"
	"slipway.dev/slipway/internal/plan"
	"slipway.dev/slipway/internal/provision"
)

// strategyInvalidReason is the reason of the stall for bounds that no rollout can keep.
const strategyInvalidReason = "StrategyInvalid"

// act makes one step towards what the MachineDeployment asks for.
func (r *Reconciler) act(ctx context.Context, s *scene) error {
	if s.deleting {
		return errors.Join(r.propagateDeletion(ctx, s), r.tearDown(ctx, s))
	}
	if s.cluster == nil {
		return nil // An event of the Cluster wakes us.
	}
	if err := r.claim(ctx, s); err != nil {
		return err
	}
	// What a template lacks keeps Machines from being made, not from being deleted or changed.
	templates := errors.Join(s.bootstrap.Failure(), s.infrastructure.Failure(),
		provision.OwnTemplates(ctx, r.Client, fieldManager, s.cluster, s.bootstrap.Object, s.infrastructure.Object),
		r.propagateDeletion(ctx, s))
	if err := r.adopt(ctx, s); err != nil {
		return errors.Join(templates, err)
	}
	if s.planErr != nil {
		return errors.Join(templates, outcome.Stalled(strategyInvalidReason, "%s", s.planErr))
	}
	if !s.planned {
		return templates
	}
	return errors.Join(templates, r.follow(ctx, s))
}

// claim writes what has to be on the MachineDeployment before anything is made for it, and its revision.
func (r *Reconciler) claim(ctx context.Context, s *scene) error {
	version, claimed := s.deployment.ResourceVersion, slices.Contains(s.deployment.Finalizers, clusterv1.MachineDeploymentFinalizer)
	_, err := apply.Metadata(ctx, r.Client, fieldManager, s.deployment, func(m metav1.Object) {
		if !slices.Contains(m.GetFinalizers(), clusterv1.MachineDeploymentFinalizer) {
			m.SetFinalizers(append(m.GetFinalizers(), clusterv1.MachineDeploymentFinalizer))
		}
		apply.SetLabel(m, clusterv1.ClusterNameLabel, s.deployment.Spec.ClusterName)
		apply.SetOwner(m, provision.OwnerCluster(s.cluster))
		if s.plan.Revision > 0 && revisionOf(m) != s.plan.Revision && !s.renumbers() {
			apply.SetAnnotation(m, clusterv1.RevisionAnnotation, strconv.FormatInt(s.plan.Revision, 10))
		}
	})
	if claimed {
		s.deployment.ResourceVersion = version // The write was no lock: the spec that we saw may be older than it.
	}
	return err
}

// renumbers reports whether a MachineSet that exists becomes the current one again and gets a new number. It comes first
// then: while the deployment's own number is higher, all Nodes of the set count as outdated.
func (s *scene) renumbers() bool {
	set := s.set(s.plan.New)
	return set != nil && revisionOf(set) != s.plan.Revision
}

// adopt takes over MachineSets that match the selector and that nobody controls.
func (r *Reconciler) adopt(ctx context.Context, s *scene) error {
	var errs []error
	for _, set := range s.strays {
		if !set.DeletionTimestamp.IsZero() {
			continue
		}
		adopted := set.DeepCopy()
		changed, err := apply.Metadata(ctx, r.Client, setManager, adopted, func(m metav1.Object) {
			apply.SetOwner(m, s.controllerOfSets())
		})
		if err != nil {
			errs = append(errs, fmt.Errorf("adopt MachineSet %s: %w", set.Name, err))
		} else if changed {
			r.tracker.Wrote(s.deployment.UID, adopted)
			r.Recorder.Eventf(s.deployment, adopted, corev1.EventTypeNormal, events.SuccessfulAdopt, events.Adopt, "Adopted MachineSet %s", set.Name)
			errs = append(errs, outcome.Quietly(0, "Adopted", "MachineSet %s was adopted and is counted when the cache shows it", set.Name))
		}
	}
	return errors.Join(errs...)
}

// follow does what the plan says. An intent holds the size of a set even where only something else changes, so a cache
// that lags would bring an older size back: it is never believed.
func (r *Reconciler) follow(ctx context.Context, s *scene) error {
	if err := r.fresh(ctx, s); err != nil {
		return err
	}
	if s.grows() {
		if err := r.shown(ctx, s); err != nil {
			return err
		}
	}
	var errs []error
	for i, set := range s.sets {
		errs = append(errs, r.ensureSet(ctx, s, set, s.plan.Sets[i]))
	}
	if s.plan.Create != nil {
		errs = append(errs, r.createSet(ctx, s, *s.plan.Create))
	}
	for _, name := range s.plan.Delete {
		errs = append(errs, r.deleteSet(ctx, s, s.set(name)))
	}
	for _, err := range errs {
		r.tracker.Failed(s.deployment.UID, err) // Each by itself: that one was refused says nothing of another.
	}
	err := errors.Join(errs...)
	s.inPlace = err == nil
	return err
}

func (s *scene) set(name string) *clusterv1.MachineSet {
	for _, set := range s.sets {
		if set.Name == name {
			return set
		}
	}
	return nil
}

// ensureSet makes size, annotations and what may change in place so on a MachineSet.
func (r *Reconciler) ensureSet(ctx context.Context, s *scene, set *clusterv1.MachineSet, p plan.SetPlan) error {
	intent, err := s.setIntent(set, p)
	if err != nil {
		return err
	}
	result, err := r.sets.Ensure(ctx, set, intent, s.deployment.Status.ObservedGeneration == s.deployment.Generation)
	if err != nil {
		return err
	}
	if result.Object != nil {
		r.tracker.Wrote(s.deployment.UID, result.Object)
	}
	if from := sizeOf(set); result.Changed && from != p.Replicas {
		r.Recorder.Eventf(s.deployment, set, corev1.EventTypeNormal, events.SuccessfulScale, events.Scale,
			"Scaled MachineSet %s from %d to %d: %s", set.Name, from, p.Replicas, p.Reason)
	}
	return nil
}

// createSet makes a MachineSet. A name that is taken, by whomever, is a lost race, and the next look draws another.
func (r *Reconciler) createSet(ctx context.Context, s *scene, p plan.NewSet) error {
	random := plan.RandomSuffix(r.Random)
	intent, err := s.newSet(random, p)
	if err != nil {
		return err
	}
	made, err := provision.Create(ctx, r.Client, r.sets, intent)
	if errors.Is(err, provision.ErrTaken) {
		return err
	}
	if err != nil {
		s.refused = errors.New("A MachineSet could not be created: " + provision.Refusal(err, random))
		if r.told.IsNew(s.deployment.UID, events.FailedCreate, s.refused.Error()) {
			r.Recorder.Eventf(s.deployment, nil, corev1.EventTypeWarning, events.FailedCreate, events.Create, "%s", conditions.Bounded(s.refused.Error()))
		}
		return err
	}
	r.told.Mended(s.deployment.UID, events.FailedCreate)
	r.tracker.Wrote(s.deployment.UID, made)
	r.Recorder.Eventf(s.deployment, made, corev1.EventTypeNormal, events.SuccessfulCreate, events.Create,
		"Created MachineSet %s: %s", made.Name, p.Reason)
	return nil
}

func (r *Reconciler) deleteSet(ctx context.Context, s *scene, set *clusterv1.MachineSet) error {
	err := r.Client.Delete(ctx, set.DeepCopy(), client.Preconditions{UID: &set.UID})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete MachineSet %s: %w", set.Name, err)
	}
	r.tracker.Deleted(s.deployment.UID, set)
	r.Recorder.Eventf(s.deployment, set, corev1.EventTypeNormal, events.SuccessfulDelete, events.Delete, "Deleted MachineSet %s", set.Name)
	return nil
}

// tearDown deletes all MachineSets and, when none is left, lets the MachineDeployment go.
func (r *Reconciler) tearDown(ctx context.Context, s *scene) error {
	var errs []error
	for _, set := range s.sets {
		errs = append(errs, r.deleteSet(ctx, s, set))
	}
	if err := errors.Join(errs...); err != nil || len(s.sets)+len(s.leaving) > 0 {
		return err
	}
	if err := r.fresh(ctx, s); err != nil {
		return err
	}
	if _, err := apply.RemoveFinalizer(ctx, r.Client, fieldManager, s.deployment, clusterv1.MachineDeploymentFinalizer); err != nil {
		return err
	}
	r.tracker.Forget(s.deployment.UID)
	r.pace.Forget(s.deployment.UID)
	r.acting.forget(s.deployment.UID)
	r.told.Forget(s.deployment.UID)
	s.gone = true
	return nil
}
