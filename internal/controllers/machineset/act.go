package machineset

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/conditions"
	"slipway.dev/slipway/internal/contract"
	"slipway.dev/slipway/internal/events"
	"slipway.dev/slipway/internal/outcome"
	"slipway.dev/slipway/internal/plan"
	"slipway.dev/slipway/internal/provision"
	"slipway.dev/slipway/internal/replicas"
)

func kindsOfChildren() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{clusterv1.GroupVersion.WithKind("Machine")}
}

// act makes one step towards what the MachineSet asks for.
func (r *Reconciler) act(ctx context.Context, s *scene) error {
	if s.deleting {
		return errors.Join(r.propagate(ctx, s), r.tearDown(ctx, s))
	}
	if s.cluster == nil {
		return nil // An event of the Cluster wakes us.
	}
	if err := r.claim(ctx, s); err != nil {
		return err
	}
	// What a template lacks keeps Machines from being made, not from being deleted or changed.
	templates := errors.Join(templateFailures(s), r.ownTemplates(ctx, s))
	if err := r.adopt(ctx, s); err != nil {
		return errors.Join(templates, err)
	}
	return errors.Join(templates, r.propagate(ctx, s), r.resize(ctx, s))
}

// claim writes what has to be on the MachineSet before anything is made for it.
func (r *Reconciler) claim(ctx context.Context, s *scene) error {
	version, claimed := s.set.ResourceVersion, slices.Contains(s.set.Finalizers, clusterv1.MachineSetFinalizer)
	_, err := apply.Metadata(ctx, r.Client, fieldManager, s.set, func(m metav1.Object) {
		if !slices.Contains(m.GetFinalizers(), clusterv1.MachineSetFinalizer) {
			m.SetFinalizers(append(m.GetFinalizers(), clusterv1.MachineSetFinalizer))
		}
		apply.SetLabel(m, clusterv1.ClusterNameLabel, s.set.Spec.ClusterName)
		if s.standalone() {
			apply.SetOwner(m, provision.OwnerCluster(s.cluster))
		}
	})
	if claimed {
		s.set.ResourceVersion = version // The write was no lock: the spec that we saw may be older than it.
	}
	return err
}

// ownTemplates makes the Cluster an owner of the templates, so that they go with it. The MachineDeployment does so where
// there is one.
func (r *Reconciler) ownTemplates(ctx context.Context, s *scene) error {
	if !s.standalone() {
		return nil
	}
	return provision.OwnTemplates(ctx, r.Client, fieldManager, s.cluster, s.bootstrap.Object, s.infrastructure.Object)
}

// adopt takes over Machines that match the selector and that nobody controls.
func (r *Reconciler) adopt(ctx context.Context, s *scene) error {
	var errs []error
	for _, m := range s.strays {
		if !m.DeletionTimestamp.IsZero() {
			continue
		}
		adopted := m.DeepCopy()
		changed, err := apply.Metadata(ctx, r.Client, machineManager, adopted, func(meta metav1.Object) {
			apply.SetOwner(meta, s.controllerOfMachines())
		})
		if err != nil {
			errs = append(errs, fmt.Errorf("adopt Machine %s: %w", m.Name, err))
		} else if changed {
			r.tracker.Wrote(s.set.UID, adopted)
			r.Recorder.Eventf(s.set, adopted, corev1.EventTypeNormal, events.SuccessfulAdopt, events.Adopt, "Adopted Machine %s", m.Name)
			errs = append(errs, outcome.Quietly(0, "Adopted", "Machine %s was adopted and is counted when the cache shows it", m.Name))
		}
	}
	return errors.Join(errs...)
}

// resize makes the number of Machines so, and sees to what an earlier creation left without a Machine.
func (r *Reconciler) resize(ctx context.Context, s *scene) error {
	orphans, err := r.orphans(ctx, s, r.Client)
	if err != nil {
		return err
	}
	p := s.scalePlan()
	if p.Create == 0 && len(p.Delete) == 0 && len(orphans) == 0 {
		return nil
	}
	if err := r.fresh(ctx, s); err != nil {
		return err
	}
	if len(p.Delete) > 0 {
		if err := r.agreed(ctx, s); err != nil {
			return err
		}
	}
	if !r.swept.Clean(s.set.UID) {
		// A cache that lags would hide what an earlier leader, or a write whose answer was lost, has left.
		if orphans, err = r.orphans(ctx, s, r.APIReader); err != nil {
			return err
		}
		if len(orphans) == 0 {
			r.swept.Done(s.set.UID)
		}
	}
	unfinished, err := r.sortOut(ctx, s, orphans, int(p.Create))
	return errors.Join(err, r.create(ctx, s, p.Create, unfinished), r.shrink(ctx, s, p.Delete))
}

func (s *scene) scalePlan() plan.SetScalePlan {
	if s.set.Spec.Replicas == nil {
		return plan.SetScalePlan{}
	}
	return plan.ScaleSet(plan.SetScaleFacts{
		Replicas:       *s.set.Spec.Replicas,
		Machines:       replicas.AllFacts(s.machines),
		Order:          s.set.Spec.Deletion.Order,
		CreateDisabled: s.set.Annotations[clusterv1.DisableMachineCreateAnnotation] == "true",
		Held:           s.obstacles(),
	}, s.now)
}

// shrink deletes the chosen Machines.
func (r *Reconciler) shrink(ctx context.Context, s *scene, victims []plan.Victim) error {
	var errs []error
	var gone []string
	for _, v := range victims {
		if err := r.deleteMachine(ctx, s, s.machine(v.Name)); err != nil {
			errs = append(errs, err)
			continue
		}
		gone = append(gone, v.Name)
	}
	r.tellDeleted(s, gone)
	return errors.Join(errs...)
}

func (s *scene) machine(name string) *clusterv1.Machine {
	for _, m := range s.machines {
		if m.Name == name {
			return m
		}
	}
	return nil
}

func (r *Reconciler) deleteMachine(ctx context.Context, s *scene, m *clusterv1.Machine) error {
	err := r.Client.Delete(ctx, m.DeepCopy(), client.Preconditions{UID: &m.UID})
	if client.IgnoreNotFound(err) != nil {
		r.doubt(s, err)
		return fmt.Errorf("delete Machine %s: %w", m.Name, err)
	}
	r.tracker.Deleted(s.set.UID, m)
	return nil
}

// doubt says that a write has failed, and may have arrived though its answer did not: before the next step the API server
// is asked.
func (r *Reconciler) doubt(s *scene, err error) {
	r.swept.Dirty(s.set.UID)
	r.tracker.Failed(s.set.UID, err)
}

func (r *Reconciler) tellDeleted(s *scene, names []string) {
	if len(names) > 0 {
		r.Recorder.Eventf(s.set, nil, corev1.EventTypeNormal, events.SuccessfulDelete, events.Delete, "Deleted %s: %s",
			conditions.Count(len(names), "Machine"), plan.NameList(names))
	}
}

// tearDown deletes all Machines and, when none is left, lets the MachineSet go.
func (r *Reconciler) tearDown(ctx context.Context, s *scene) error {
	var errs []error
	var gone []string
	for _, m := range s.machines {
		if !m.DeletionTimestamp.IsZero() {
			continue
		}
		if err := r.deleteMachine(ctx, s, m); err != nil {
			errs = append(errs, err)
			continue
		}
		gone = append(gone, m.Name)
	}
	r.tellDeleted(s, gone)
	if len(s.machines) > 0 || len(errs) > 0 {
		return errors.Join(errs...)
	}
	// A Machine that the cache does not show yet would be left to the garbage collector, without its owner's care.
	if err := r.fresh(ctx, s); err != nil {
		return err
	}
	if _, err := apply.RemoveFinalizer(ctx, r.Client, fieldManager, s.set, clusterv1.MachineSetFinalizer); err != nil {
		return err
	}
	r.tracker.Forget(s.set.UID)
	r.pace.Forget(s.set.UID)
	r.told.Forget(s.set.UID)
	r.swept.Dirty(s.set.UID)
	s.gone = true
	return nil
}

// kindOf resolves the kind of what is made from a template that a reference names; it is empty where there is none.
func (r *Reconciler) kindOf(ctx context.Context, t provision.Template) (schema.GroupVersionKind, error) {
	if !t.Ref.IsDefined() {
		return schema.GroupVersionKind{}, nil
	}
	kind, err := r.resolver.Resolve(ctx, schema.GroupKind{Group: t.Ref.APIGroup, Kind: contract.KindFromTemplate(t.Ref.Kind)})
	if err != nil {
		if _, stalled := outcome.AsStall(err); stalled {
			return schema.GroupVersionKind{}, nil // No such objects can be there.
		}
		return schema.GroupVersionKind{}, err
	}
	return kind.GroupVersionKind, nil
}
