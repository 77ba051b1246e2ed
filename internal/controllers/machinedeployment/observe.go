package machinedeployment

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
	deployment *clusterv1.MachineDeployment
	cluster    *clusterv1.Cluster // nil where there is none
	selector   labels.Selector
	paused     bool // by the Cluster or the annotation; spec.paused is a fact of the plan
	deleting   bool
	now        time.Time

	// sets are the MachineSets that the deployment controls, leaving those of them that are being deleted, and strays
	// those that it may adopt. They are the cache's own.
	sets, leaving, strays []*clusterv1.MachineSet
	// machines are those of sets and leaving; bySet are the same by the UID of their MachineSet.
	machines []*clusterv1.Machine
	bySet    map[types.UID][]*clusterv1.Machine
	// bootstrap and infrastructure are the templates.
	bootstrap, infrastructure provision.Template
	// held are the messages of the preflight checks that new Machines would fail.
	held []string
	// pending are the MachineSets that have not acted on their spec yet.
	pending []types.UID
	// recheck is when a check may pass, or a pending set be believed, without an event that tells; zero for never.
	recheck time.Duration

	// plan is what is decided; planned is false where nothing could be.
	plan    plan.RolloutPlan
	planned bool
	planErr error
	// inPlace says that what the deployment wants of its MachineSets is written.
	inPlace bool
	// refused is why the last MachineSet was not created.
	refused error
	// gone says that the finalizer was removed, and no status is written any more.
	gone bool
}

// observe reads what a reconcile needs. It returns nil where there is nothing to do.
func (r *Reconciler) observe(ctx context.Context, key client.ObjectKey) (*scene, error) {
	s := &scene{deployment: &clusterv1.MachineDeployment{}, now: r.Now(), bySet: map[types.UID][]*clusterv1.Machine{}}
	if err := r.Client.Get(ctx, key, s.deployment); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	s.deleting = !s.deployment.DeletionTimestamp.IsZero()
	if s.deleting && !slices.Contains(s.deployment.Finalizers, clusterv1.MachineDeploymentFinalizer) {
		return nil, nil
	}
	var err error
	if s.cluster, err = r.clusterOf(ctx, s.deployment); err != nil {
		return nil, err
	}
	s.paused = replicas.Paused(s.cluster, s.deployment).Status == metav1.ConditionTrue
	if s.selector, err = metav1.LabelSelectorAsSelector(&s.deployment.Spec.Selector); err != nil {
		return nil, fmt.Errorf("parse spec.selector of MachineDeployment %s: %w", key, err)
	}
	if err := r.observeSets(ctx, s); err != nil {
		return nil, err
	}
	if err := r.observeMachines(ctx, s); err != nil {
		return nil, err
	}
	if s.deleting || s.paused {
		return s, nil
	}
	r.observeTemplates(ctx, s)
	r.observePending(s)
	s.decide()
	return s, nil
}

// observeTemplates reads what Machines are made from, and what speaks against making them now.
func (r *Reconciler) observeTemplates(ctx context.Context, s *scene) {
	template, namespace := &s.deployment.Spec.Template, s.deployment.Namespace
	s.bootstrap = provision.ReadTemplate(ctx, r.templates, template.Spec.Bootstrap.ConfigRef, namespace)
	s.infrastructure = provision.ReadTemplate(ctx, r.templates, template.Spec.InfrastructureRef, namespace)
	if s.cluster != nil {
		skip := provision.SkipAnnotation(s.deployment.Annotations, s.bootstrap)
		facts := provision.PreflightFacts(ctx, r.controlPlanes, s.cluster, template, skip)
		s.held, s.recheck = plan.PreflightMessages(plan.Preflight(facts)), provision.Recheck(facts)
	}
}

// observePending finds the MachineSets that have not acted on their spec yet.
func (r *Reconciler) observePending(s *scene) {
	for set, left := range r.acting.pending(s.deployment.UID, s.sets, s.now) {
		s.pending, s.recheck = append(s.pending, set), outcome.Sooner(s.recheck, left)
	}
}

func (r *Reconciler) clusterOf(ctx context.Context, d *clusterv1.MachineDeployment) (*clusterv1.Cluster, error) {
	cluster := &clusterv1.Cluster{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: d.Namespace, Name: d.Spec.ClusterName}, cluster, client.UnsafeDisableDeepCopy)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("get Cluster %s: %w", d.Spec.ClusterName, err)
	default:
		return cluster, nil
	}
}

func (r *Reconciler) observeSets(ctx context.Context, s *scene) error {
	var list clusterv1.MachineSetList
	if err := r.Client.List(ctx, &list, client.InNamespace(s.deployment.Namespace), ofTheCluster(s.deployment), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list MachineSets of MachineDeployment %s: %w", s.deployment.Name, err)
	}
	for i := range list.Items {
		set := &list.Items[i]
		switch {
		case !s.concerns(set):
		case !metav1.IsControlledBy(set, s.deployment):
			s.strays = append(s.strays, set)
		case set.DeletionTimestamp.IsZero():
			s.sets = append(s.sets, set)
		default:
			s.leaving = append(s.leaving, set)
		}
	}
	slices.SortFunc(s.sets, func(a, b *clusterv1.MachineSet) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

func ofTheCluster(d *clusterv1.MachineDeployment) client.ListOption {
	return client.MatchingLabels{clusterv1.ClusterNameLabel: d.Spec.ClusterName}
}

// concerns reports whether the deployment controls the MachineSet or may adopt it.
func (s *scene) concerns(set metav1.Object) bool {
	if metav1.GetControllerOfNoCopy(set) != nil {
		return metav1.IsControlledBy(set, s.deployment)
	}
	return !s.selector.Empty() && s.selector.Matches(labels.Set(set.GetLabels()))
}

// fresh returns nil when the cache holds all MachineSets as they were last written for the deployment.
func (r *Reconciler) fresh(ctx context.Context, s *scene) error {
	seen := []metav1.Object{s.deployment}
	for _, set := range slices.Concat(s.sets, s.leaving, s.strays) {
		seen = append(seen, set)
	}
	kinds := []schema.GroupVersionKind{clusterv1.GroupVersion.WithKind("MachineSet")}
	list := freshness.Live(r.APIReader, s.concerns, kinds, client.InNamespace(s.deployment.Namespace), ofTheCluster(s.deployment))
	list = freshness.With(r.APIReader, clusterv1.GroupVersion.WithKind("MachineDeployment"), s.deployment, list)
	return r.tracker.Fresh(ctx, s.deployment.UID, seen, list)
}

func (r *Reconciler) observeMachines(ctx context.Context, s *scene) error {
	var list clusterv1.MachineList
	if err := r.Client.List(ctx, &list, client.InNamespace(s.deployment.Namespace), ofTheCluster(s.deployment), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list Machines of MachineDeployment %s: %w", s.deployment.Name, err)
	}
	for i := range list.Items {
		m := &list.Items[i]
		if owner := metav1.GetControllerOfNoCopy(m); owner != nil && s.owns(owner.UID) {
			s.machines = append(s.machines, m)
			s.bySet[owner.UID] = append(s.bySet[owner.UID], m)
		}
	}
	slices.SortFunc(s.machines, func(a, b *clusterv1.Machine) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// obstacles are the reasons for which no MachineSet could make Machines of the template at all.
func (s *scene) obstacles() []string {
	if s.deleting {
		return nil
	}
	return provision.Obstacles(s.deployment.Spec.ClusterName, s.cluster, s.bootstrap, s.infrastructure)
}

// decide asks the plan what to do.
func (s *scene) decide() {
	if s.deployment.Spec.Replicas == nil || s.cluster == nil {
		return
	}
	obstacles := s.obstacles()
	s.plan, s.planErr = plan.Rollout(s.facts(append(obstacles, s.held...)), s.now)
	s.planned = s.planErr == nil
	if len(obstacles) > 0 && s.plan.Create != nil {
		// A set whose Machines cannot be made would only hide what is wrong, and the number of one that is not made would
		// make every Node outdated.
		s.plan.Create, s.plan.Revision = nil, 0
	}
}

func (s *scene) facts(held []string) plan.RolloutFacts {
	spec := &s.deployment.Spec
	facts := plan.RolloutFacts{
		Replicas:       *spec.Replicas,
		Strategy:       spec.Rollout.Strategy.Type,
		MaxSurge:       spec.Rollout.Strategy.RollingUpdate.MaxSurge,
		MaxUnavailable: spec.Rollout.Strategy.RollingUpdate.MaxUnavailable,
		Paused:         spec.Paused != nil && *spec.Paused,
		RolloutAfter:   spec.Rollout.After.Time,
		Held:           held,
	}
	for _, set := range s.sets {
		facts.Sets = append(facts.Sets, s.setFacts(set))
	}
	return facts
}

func (s *scene) setFacts(set *clusterv1.MachineSet) plan.RolloutSet {
	machines := s.bySet[set.UID]
	f := plan.RolloutSet{
		Name:             set.Name,
		Created:          set.CreationTimestamp.Time,
		Replicas:         sizeOf(set),
		Machines:         int32(len(machines)),
		Deleting:         int32(len(replicas.Deleting(machines))),
		UnavailableFirst: plan.UnavailableFirst(replicas.AllFacts(machines), set.Spec.Deletion.Order, s.now),
		Pending:          slices.Contains(s.pending, set.UID),
		Current:          len(plan.TemplateDiffers(set.Spec.Template, s.deployment.Spec.Template)) == 0,
		Revision:         revisionOf(set),
	}
	for _, m := range replicas.AllFacts(machines) {
		if m.Available && !m.Deleting {
			f.Available++
		}
	}
	if n, err := strconv.ParseInt(set.Annotations[clusterv1.DesiredReplicasAnnotation], 10, 32); err == nil {
		f.Desired = new(int32(n))
	}
	return f
}

func revisionOf(obj metav1.Object) int64 {
	n, err := strconv.ParseInt(obj.GetAnnotations()[clusterv1.RevisionAnnotation], 10, 64)
	if err != nil {
		return 0 // An annotation that is missing or broken is written anew.
	}
	return n
}

func sizeOf(set *clusterv1.MachineSet) int32 {
	if set.Spec.Replicas == nil {
		return 0
	}
	return *set.Spec.Replicas
}
