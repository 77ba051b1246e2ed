package machineset

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/freshness"
	"slipway.dev/slipway/internal/outcome"
	"slipway.dev/slipway/internal/plan"
	"slipway.dev/slipway/internal/provision"
	"slipway.dev/slipway/internal/replicas"
)

// scene is what one reconcile sees, and what its steps found out on the way.
type scene struct {
	set      *clusterv1.MachineSet
	cluster  *clusterv1.Cluster // nil where there is none
	selector labels.Selector
	paused   bool
	deleting bool
	now      time.Time

	// machines are those that the set controls, strays those that it may adopt. They are the cache's own.
	machines, strays []*clusterv1.Machine
	// bootstrap and infrastructure are the templates. A template that the set has no reference to is zero.
	bootstrap, infrastructure provision.Template
	// held are the messages of the preflight checks that failed; they are made only while Machines are missing.
	held []string
	// recheck is when the checks may pass without an event that tells; zero for never.
	recheck time.Duration

	// inPlace says that the template as it is now has reached all objects.
	inPlace bool
	// refused is why the last Machine was not created.
	refused error
	// gone says that the finalizer was removed, and no status is written any more.
	gone bool
}

// observe reads what a reconcile needs. It returns nil where there is nothing to do.
func (r *Reconciler) observe(ctx context.Context, key client.ObjectKey) (*scene, error) {
	s := &scene{set: &clusterv1.MachineSet{}, now: r.Now()}
	if err := r.Client.Get(ctx, key, s.set); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	s.deleting = !s.set.DeletionTimestamp.IsZero()
	if s.deleting && !slices.Contains(s.set.Finalizers, clusterv1.MachineSetFinalizer) {
		return nil, nil
	}
	var err error
	if s.cluster, err = r.clusterOf(ctx, s.set); err != nil {
		return nil, err
	}
	s.paused = replicas.Paused(s.cluster, s.set).Status == metav1.ConditionTrue
	if s.selector, err = metav1.LabelSelectorAsSelector(&s.set.Spec.Selector); err != nil {
		return nil, fmt.Errorf("parse spec.selector of MachineSet %s: %w", key, err)
	}
	if err := r.observeMachines(ctx, s); err != nil {
		return nil, err
	}
	if s.deleting || s.paused {
		return s, nil
	}
	s.bootstrap = provision.ReadTemplate(ctx, r.templates, s.set.Spec.Template.Spec.Bootstrap.ConfigRef, s.set.Namespace)
	s.infrastructure = provision.ReadTemplate(ctx, r.templates, s.set.Spec.Template.Spec.InfrastructureRef, s.set.Namespace)
	s.held = r.preflight(ctx, s)
	return s, nil
}

func (r *Reconciler) clusterOf(ctx context.Context, set *clusterv1.MachineSet) (*clusterv1.Cluster, error) {
	cluster := &clusterv1.Cluster{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: set.Namespace, Name: set.Spec.ClusterName}, cluster, client.UnsafeDisableDeepCopy)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("get Cluster %s: %w", set.Spec.ClusterName, err)
	default:
		return cluster, nil
	}
}

func (r *Reconciler) observeMachines(ctx context.Context, s *scene) error {
	var list clusterv1.MachineList
	if err := r.Client.List(ctx, &list, client.InNamespace(s.set.Namespace), r.ofTheCluster(s.set), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list Machines of MachineSet %s: %w", s.set.Name, err)
	}
	for i := range list.Items {
		m := &list.Items[i]
		switch {
		case !s.concerns(m):
		case metav1.IsControlledBy(m, s.set):
			s.machines = append(s.machines, m)
		default:
			s.strays = append(s.strays, m)
		}
	}
	slices.SortFunc(s.machines, func(a, b *clusterv1.Machine) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

func (r *Reconciler) ofTheCluster(set *clusterv1.MachineSet) client.ListOption {
	return client.MatchingLabels{clusterv1.ClusterNameLabel: set.Spec.ClusterName}
}

// concerns reports whether the set controls the Machine or may adopt it.
func (s *scene) concerns(m metav1.Object) bool {
	if metav1.GetControllerOfNoCopy(m) != nil {
		return metav1.IsControlledBy(m, s.set)
	}
	return !s.selector.Empty() && s.selector.Matches(labels.Set(m.GetLabels()))
}

// fresh returns nil when the cache holds all Machines that were made and deleted for the set, and the set for which that
// was done.
func (r *Reconciler) fresh(ctx context.Context, s *scene) error {
	live := freshness.With(r.APIReader, clusterv1.GroupVersion.WithKind("MachineSet"), s.set, r.live(s))
	return r.tracker.Fresh(ctx, s.set.UID, append(s.seen(), s.set), live)
}

// seen are the Machines as the cache shows them, and live lists them from the API server.
func (s *scene) seen() []metav1.Object {
	seen := make([]metav1.Object, 0, len(s.machines)+len(s.strays))
	for _, m := range slices.Concat(s.machines, s.strays) {
		seen = append(seen, m)
	}
	return seen
}

func (r *Reconciler) live(s *scene) freshness.ListFunc {
	return freshness.Live(r.APIReader, s.concerns, kindsOfChildren(), client.InNamespace(s.set.Namespace), r.ofTheCluster(s.set))
}

// choiceDelay is when to look again where the cache does not show yet who is to go; its event usually comes first.
const choiceDelay = 250 * time.Millisecond

// agreed returns nil when the API server says of the Machines what the choice of those to delete rests on. An autoscaler
// marks a Machine and lowers the size right after, and people delete a Machine before they do so; the two changes come to
// us by different watches, in any order.
func (r *Reconciler) agreed(ctx context.Context, s *scene) error {
	live, err := r.live(s)(ctx)
	if err != nil {
		return fmt.Errorf("list the Machines of MachineSet %s from the API server: %w", s.set.Name, err)
	}
	seen := s.seen()
	shown := make(map[types.UID]fate, len(seen))
	for _, m := range seen {
		shown[m.GetUID()] = fateOf(m)
	}
	same := len(live) == len(seen)
	for _, m := range live {
		f, ok := shown[m.GetUID()]
		same = same && ok && f == fateOf(m)
	}
	if !same {
		return outcome.Quietly(choiceDelay, "CacheLag", "the cache does not show yet which Machines are to go")
	}
	return nil
}

// fate is what others have decided about a Machine.
type fate struct{ deleting, marked bool }

func fateOf(m metav1.Object) fate {
	_, marked := m.GetAnnotations()[clusterv1.DeleteMachineAnnotation]
	return fate{deleting: m.GetDeletionTimestamp() != nil, marked: marked}
}

// preflight returns what speaks against creating Machines now.
func (r *Reconciler) preflight(ctx context.Context, s *scene) []string {
	if s.cluster == nil || len(s.machines) >= int(desired(s.set)) {
		return nil
	}
	skip := provision.SkipAnnotation(s.set.Annotations, s.bootstrap)
	facts := provision.PreflightFacts(ctx, r.controlPlanes, s.cluster, &s.set.Spec.Template, skip)
	s.recheck = provision.Recheck(facts)
	return plan.PreflightMessages(plan.Preflight(facts))
}

// obstacles are all reasons for which no Machine is created now.
func (s *scene) obstacles() []string {
	if s.deleting {
		return nil
	}
	return append(provision.Obstacles(s.set.Spec.ClusterName, s.cluster, s.bootstrap, s.infrastructure), s.held...)
}

// desired is spec.replicas; unset counts as 0.
func desired(set *clusterv1.MachineSet) int32 {
	if set.Spec.Replicas == nil {
		return 0
	}
	return *set.Spec.Replicas
}

// standalone reports whether no MachineDeployment stands behind the set.
func (s *scene) standalone() bool {
	_, labelled := s.set.Labels[clusterv1.MachineDeploymentNameLabel]
	return !labelled && metav1.GetControllerOf(s.set) == nil
}

func templateFailures(s *scene) error {
	return errors.Join(s.bootstrap.Failure(), s.infrastructure.Failure())
}
