package machineset

import (
	"context"
	"errors"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/conditions"
	"slipway.dev/slipway/internal/contract"
	"slipway.dev/slipway/internal/events"
	"slipway.dev/slipway/internal/plan"
	"slipway.dev/slipway/internal/provision"
)

// orphans finds what was made for Machines of the set that do not exist, as the reader shows it.
func (r *Reconciler) orphans(ctx context.Context, s *scene, reader client.Reader) ([]provision.Orphan, error) {
	bootstrap, err := r.kindOf(ctx, s.bootstrap)
	if err != nil {
		return nil, err
	}
	infrastructure, err := r.kindOf(ctx, s.infrastructure)
	if err != nil {
		return nil, err
	}
	return provision.Orphans(ctx, reader, provision.Search{
		Owner:          s.set.UID,
		Bootstrap:      bootstrap,
		Infrastructure: infrastructure,
		Options: []client.ListOption{client.InNamespace(s.set.Namespace), client.MatchingLabels{
			clusterv1.ClusterNameLabel: s.set.Spec.ClusterName, clusterv1.MachineSetNameLabel: plan.LabelValue(s.set.Name),
		}},
		Exists: func(name string) bool { return s.machine(name) != nil },
	})
}

// sortOut returns the orphans that are finished now, as many as Machines are wanted and made from the templates of today,
// and takes the others away.
func (r *Reconciler) sortOut(ctx context.Context, s *scene, orphans []provision.Orphan, wanted int) ([]provision.Orphan, error) {
	var unfinished []provision.Orphan
	var errs []error
	for _, o := range orphans {
		if len(unfinished) < wanted && s.madeFromOurs(o) {
			unfinished = append(unfinished, o)
			continue
		}
		errs = append(errs, o.Discard(ctx, r.Client))
	}
	return unfinished, errors.Join(errs...)
}

func (s *scene) madeFromOurs(o provision.Orphan) bool {
	return madeFrom(o.Bootstrap, s.bootstrap) && madeFrom(o.Infrastructure, s.infrastructure)
}

func madeFrom(u *unstructured.Unstructured, t provision.Template) bool {
	if u == nil {
		return true
	}
	name, kind, ok := contract.ClonedFrom(u)
	return ok && name == t.Ref.Name && kind == t.Ref.GroupKind()
}

// create makes Machines, the unfinished ones first. It stops at the first that is refused, since the next would be too.
func (r *Reconciler) create(ctx context.Context, s *scene, count int32, unfinished []provision.Orphan) error {
	var made []string
	var err error
	for i := range int(count) {
		var begun provision.Orphan
		if i < len(unfinished) {
			begun = unfinished[i]
		}
		var name string
		if name, err = r.maker.Named(ctx, begun, s.naming(r.Random), func(o provision.Orphan) error { return r.createOne(ctx, s, o) }); err != nil {
			s.refused = errors.New(provision.Refusal(err, name))
			err = fmt.Errorf("create Machine %s: %w", name, err)
			break
		}
		made = append(made, name)
	}
	if len(made) > 0 {
		r.Recorder.Eventf(s.set, nil, corev1.EventTypeNormal, events.SuccessfulCreate, events.Create, "Created %s: %s",
			conditions.Count(len(made), "Machine"), plan.NameList(made))
	}
	if s.refused == nil {
		r.told.Mended(s.set.UID, events.FailedCreate)
	} else if r.told.IsNew(s.set.UID, events.FailedCreate, s.refused.Error()) {
		r.Recorder.Eventf(s.set, nil, corev1.EventTypeWarning, events.FailedCreate, events.Create, "%s", conditions.Bounded(s.refused.Error()))
	}
	return err
}

// naming says how the set's Machines are named.
func (s *scene) naming(pick func(n int) int) provision.Naming {
	return provision.Naming{Namespace: s.set.Namespace, Pick: pick, Facts: plan.NameFacts{
		Template: s.set.Spec.MachineNaming.Template, Cluster: s.set.Spec.ClusterName,
		Owner: plan.MachineSetOwner, OwnerName: s.set.Name,
	}}
}

// createOne makes what is missing of one machine.
func (r *Reconciler) createOne(ctx context.Context, s *scene, begun provision.Orphan) error {
	bootstrap, newBootstrap, err := s.part(begun.Name, begun.Bootstrap, s.bootstrap)
	if err != nil {
		return err
	}
	infrastructure, newInfrastructure, err := s.part(begun.Name, begun.Infrastructure, s.infrastructure)
	if err != nil {
		return err
	}
	machine, err := s.newMachine(begun.Name, bootstrap, infrastructure)
	if err != nil {
		return err
	}
	made, err := r.maker.Make(ctx, provision.Objects{Bootstrap: newBootstrap, Infrastructure: newInfrastructure, Machine: machine})
	if err != nil {
		r.doubt(s, err)
		return err
	}
	r.tracker.Wrote(s.set.UID, made.Machine)
	return r.keeper.Assume(s.metadata(), made.Bootstrap, made.Infrastructure)
}

// part returns a machine's bootstrap or infrastructure object, and the same as made where it has to be created. Both
// are nil where the template refers to nothing.
func (s *scene) part(name string, begun *unstructured.Unstructured, t provision.Template) (object, toCreate *unstructured.Unstructured, err error) {
	if begun != nil || t.Object == nil {
		return begun, nil, nil
	}
	clone, err := t.Object.Clone(contract.Clone{
		Name:        name,
		Namespace:   s.set.Namespace,
		ClusterName: s.set.Spec.ClusterName,
		Owners:      []metav1.OwnerReference{provision.Owner(clusterv1.GroupVersion.String(), "MachineSet", s.set.Name, s.set.UID)},
		Labels:      s.labels(),
		Annotations: maps.Clone(s.set.Spec.Template.ObjectMeta.Annotations),
	})
	return clone, clone, err
}
