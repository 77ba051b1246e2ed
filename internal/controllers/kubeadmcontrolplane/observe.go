package kubeadmcontrolplane

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
	"slipway.dev/slipway/internal/contract"
	"slipway.dev/slipway/internal/freshness"
	"slipway.dev/slipway/internal/kubeadm/certs"
	"slipway.dev/slipway/internal/kubeadm/config"
	"slipway.dev/slipway/internal/outcome"
	"slipway.dev/slipway/internal/plan"
	"slipway.dev/slipway/internal/provision"
	"slipway.dev/slipway/internal/remote"
	"slipway.dev/slipway/internal/replicas"
)

// scene is what one reconcile sees, and what its steps found out on the way.
type scene struct {
	kcp *controlplanev1.KubeadmControlPlane
	// cluster is nil where there is none; key names it all the same.
	cluster  *clusterv1.Cluster
	key      types.NamespacedName
	paused   bool
	deleting bool
	now      time.Time

	// machines are those that the control plane controls, by name; strays are control-plane Machines of the Cluster that
	// nobody controls, foreign those that another object does.
	machines        []*machine
	strays, foreign []*clusterv1.Machine
	template        provision.Template

	authorities authorities
	inside      inside
	etcd        etcdView
	// workers are what a deletion waits for.
	workers     []plan.Descendant
	workersRead plan.Tri

	// begun is what an interrupted creation has left and the next one finishes; nil when there is nothing.
	begun *provision.Orphan
	// step is what the plan says, once it was asked.
	step plan.ControlPlaneAction
	// held says why a Machine that is being deleted may not leave etcd yet.
	held []string
	// inPlace says that the spec as it is now has reached all objects.
	inPlace bool
	// refused is why no Machine can be created, or why the last one was not.
	refused error
	// after is when to look again, for what makes no event; zero for never.
	after time.Duration
	// gone says that the finalizer was removed, and no status is written any more.
	gone bool
}

// machine is one Machine of the control plane. The objects are the cache's own.
type machine struct {
	*clusterv1.Machine
	// config is its KubeadmConfig; nil where there is none.
	config *bootstrapv1.KubeadmConfig
	// outdated are the reasons for which it has to be replaced.
	outdated []string
	// conditions are our conditions of it as they have to be; nil where they stay as they are.
	conditions []metav1.Condition
}

func (m *machine) deleting() bool { return !m.DeletionTimestamp.IsZero() }

// observe reads what a reconcile needs. It returns nil where there is nothing to do.
func (r *Reconciler) observe(ctx context.Context, key client.ObjectKey) (*scene, error) {
	s := &scene{kcp: &controlplanev1.KubeadmControlPlane{}, now: r.Now()}
	if err := r.Client.Get(ctx, key, s.kcp); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	s.deleting = !s.kcp.DeletionTimestamp.IsZero()
	if s.deleting && !slices.Contains(s.kcp.Finalizers, controlplanev1.KubeadmControlPlaneFinalizer) {
		return nil, nil
	}
	if err := r.observeCluster(ctx, s); err != nil {
		return nil, err
	}
	if s.cluster == nil && !s.deleting {
		return nil, nil // The Cluster's controller makes the Cluster our owner, which is an event.
	}
	s.paused = replicas.Paused(s.cluster, s.kcp).Status == metav1.ConditionTrue
	if err := r.observeMachines(ctx, s); err != nil || s.paused {
		return s, err
	}
	if s.deleting {
		return s, r.observeWorkers(ctx, s)
	}
	s.template = provision.ReadTemplate(ctx, r.templates, s.kcp.Spec.MachineTemplate.Spec.InfrastructureRef, s.kcp.Namespace)
	if err := errors.Join(r.compareMachines(ctx, s), r.observeSecrets(ctx, s)); err != nil {
		return nil, err
	}
	r.lookInside(ctx, s)
	return s, nil
}

// observeCluster finds the Cluster by the owner reference. The label tells its name when the reference is gone.
func (r *Reconciler) observeCluster(ctx context.Context, s *scene) error {
	name := s.kcp.Labels[clusterv1.ClusterNameLabel]
	owned := false
	for _, ref := range s.kcp.OwnerReferences {
		if contract.IsCluster(ref) {
			name, owned = ref.Name, true
		}
	}
	s.key = types.NamespacedName{Namespace: s.kcp.Namespace, Name: name}
	if name == "" || !owned && !s.deleting {
		return nil
	}
	cluster := &clusterv1.Cluster{}
	err := r.Client.Get(ctx, s.key, cluster, client.UnsafeDisableDeepCopy)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("get Cluster %s: %w", s.key, err)
	}
	s.cluster = cluster
	return nil
}

// list returns the control-plane Machines of a cluster, sorted by name, as the cache holds them.
func (r *Reconciler) list(ctx context.Context, cluster types.NamespacedName) ([]*clusterv1.Machine, error) {
	if cluster.Name == "" {
		return nil, nil
	}
	var list clusterv1.MachineList
	if err := r.Client.List(ctx, &list, append(inCluster(cluster), client.UnsafeDisableDeepCopy)...); err != nil {
		return nil, fmt.Errorf("list control plane Machines of Cluster %s: %w", cluster, err)
	}
	var machines []*clusterv1.Machine
	for i := range list.Items {
		if m := &list.Items[i]; replicas.IsControlPlane(m) {
			machines = append(machines, m)
		}
	}
	slices.SortFunc(machines, byName)
	return machines, nil
}

func byName(a, b *clusterv1.Machine) int { return strings.Compare(a.Name, b.Name) }

// unlabelled returns the control plane's Machines that lost the label of their cluster. It puts it back: they run API servers and
// members of etcd all the same.
func (r *Reconciler) unlabelled(ctx context.Context, s *scene) ([]*clusterv1.Machine, error) {
	var list clusterv1.MachineList
	err := r.Client.List(ctx, &list, client.InNamespace(s.kcp.Namespace), client.MatchingFields{byOwner: s.kcp.Name}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("list Machines of KubeadmControlPlane %s: %w", s.kcp.Name, err)
	}
	var machines []*clusterv1.Machine
	for i := range list.Items {
		if m := &list.Items[i]; m.Labels[clusterv1.ClusterNameLabel] != s.key.Name && metav1.IsControlledBy(m, s.kcp) {
			machines = append(machines, m)
		}
	}
	return machines, nil
}

// inCluster selects what belongs to a cluster.
func inCluster(cluster types.NamespacedName) []client.ListOption {
	return []client.ListOption{client.InNamespace(cluster.Namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: cluster.Name}}
}

func (r *Reconciler) observeMachines(ctx context.Context, s *scene) error {
	list, err := r.list(ctx, s.key)
	if err != nil {
		return err
	}
	unlabelled, err := r.unlabelled(ctx, s)
	if err != nil {
		return err
	}
	if len(unlabelled) > 0 {
		list = append(list, unlabelled...)
		slices.SortFunc(list, byName)
	}
	for _, m := range list {
		switch {
		case metav1.IsControlledBy(m, s.kcp):
			s.machines = append(s.machines, &machine{Machine: m})
		case metav1.GetControllerOfNoCopy(m) == nil:
			s.strays = append(s.strays, m)
		default:
			s.foreign = append(s.foreign, m)
		}
	}
	return nil
}

// unowned names the control-plane Machines of the Cluster that are not ours: they may run API servers and members of etcd
// that are reckoned with nowhere, and where they do, a first Machine of ours would start a second control plane.
func (s *scene) unowned() []string {
	names := make([]string, 0, len(s.strays)+len(s.foreign))
	for _, m := range slices.Concat(s.strays, s.foreign) {
		names = append(names, m.Name)
	}
	slices.Sort(names)
	return names
}

// concerns reports whether the control plane controls the Machine or may adopt it.
func (s *scene) concerns(m metav1.Object) bool {
	return metav1.GetControllerOfNoCopy(m) == nil && replicas.IsControlPlane(m) || metav1.IsControlledBy(m, s.kcp)
}

// fresh returns nil when the cache holds all Machines that were made and deleted for the control plane. The API server is asked by
// label, so that one which lost it counts on neither side.
func (r *Reconciler) fresh(ctx context.Context, s *scene) error {
	seen := []metav1.Object{s.kcp}
	for _, m := range slices.Concat(s.all(), s.strays) {
		if m.Labels[clusterv1.ClusterNameLabel] == s.key.Name {
			seen = append(seen, m)
		}
	}
	kinds := []schema.GroupVersionKind{clusterv1.GroupVersion.WithKind("Machine")}
	list := freshness.Live(r.APIReader, s.concerns, kinds, inCluster(s.key)...)
	list = freshness.With(r.APIReader, controlplanev1.GroupVersion.WithKind(ownKind), s.kcp, list)
	return r.tracker.Fresh(ctx, s.kcp.UID, seen, list)
}

// all returns the Machines.
func (s *scene) all() []*clusterv1.Machine {
	list := make([]*clusterv1.Machine, len(s.machines))
	for i, m := range s.machines {
		list[i] = m.Machine
	}
	return list
}

func (s *scene) machine(name string) *machine {
	for _, m := range s.machines {
		if m.Name == name {
			return m
		}
	}
	return nil
}

// observeWorkers lists what has to be gone before the control plane may go.
func (r *Reconciler) observeWorkers(ctx context.Context, s *scene) error {
	if s.cluster == nil {
		s.workersRead = plan.True // Nobody asks for an orderly end any more.
		return nil
	}
	options := inCluster(s.key)
	var machines clusterv1.MachineList
	if err := r.Client.List(ctx, &machines, append(options, client.UnsafeDisableDeepCopy)...); err != nil {
		return fmt.Errorf("list Machines of Cluster %s: %w", s.key, err)
	}
	for i := range machines.Items {
		if !replicas.IsControlPlane(&machines.Items[i]) {
			s.workers = append(s.workers, plan.Descendant{Kind: plan.MachineKind, Name: machines.Items[i].Name})
		}
	}
	var pools clusterv1.MachinePoolList
	if err := r.Client.List(ctx, &pools, append(options, client.UnsafeDisableDeepCopy)...); err != nil {
		return fmt.Errorf("list MachinePools of Cluster %s: %w", s.key, err)
	}
	for i := range pools.Items {
		s.workers = append(s.workers, plan.Descendant{Kind: plan.MachinePoolKind, Name: pools.Items[i].Name})
	}
	s.workersRead = plan.True
	return nil
}

// compareMachines finds out which Machines are no longer as the spec says.
func (r *Reconciler) compareMachines(ctx context.Context, s *scene) error {
	for _, m := range s.machines {
		var err error
		if m.config, err = r.configOf(ctx, m.Machine); err != nil {
			return err
		}
		ref := s.kcp.Spec.MachineTemplate.Spec.InfrastructureRef
		made, err := r.madeFrom(ctx, m.Machine, ref)
		if err != nil {
			return err
		}
		facts := plan.ControlPlaneSpecFacts{
			Version: s.kcp.Spec.Version, MachineVersion: m.Spec.Version,
			Infrastructure: ref.Kind + " " + ref.Name, MachineInfrastructure: made,
			RolloutAfter: s.kcp.Spec.Rollout.After.Time, Created: m.CreationTimestamp.Time,
			CertificatesExpire: m.Status.CertificatesExpiryDate.Time, ExpiryDays: s.kcp.Spec.Rollout.Before.CertificatesExpiryDays,
		}
		if facts.ConfigDiffers, err = configDiffers(&s.kcp.Spec.KubeadmConfigSpec, m.config); err != nil {
			return err
		}
		m.outdated = plan.ControlPlaneOutdated(facts, s.now)
		s.watchClock(facts)
	}
	return nil
}

// configOf reads the KubeadmConfig of a Machine; nil where there is none.
func (r *Reconciler) configOf(ctx context.Context, m *clusterv1.Machine) (*bootstrapv1.KubeadmConfig, error) {
	ref := m.Spec.Bootstrap.ConfigRef
	if ref.Kind != configKind || ref.APIGroup != bootstrapv1.GroupVersion.Group {
		return nil, nil
	}
	c := &bootstrapv1.KubeadmConfig{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: m.Namespace, Name: ref.Name}, c, client.UnsafeDisableDeepCopy)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("get KubeadmConfig of Machine %s: %w", m.Name, err)
	}
	return c, nil
}

// configDiffers names what the control plane asks for and the Machine has not. A Machine without a KubeadmConfig is taken
// for up to date: nothing tells otherwise. Where the control plane still asks for what it asked for when it made the
// KubeadmConfig, nothing differs, even if a third party's admission has changed the object: the next one would be changed
// as well, and Machines would be replaced for ever.
func configDiffers(want *bootstrapv1.KubeadmConfigSpec, c *bootstrapv1.KubeadmConfig) ([]string, error) {
	if c == nil {
		return nil, nil
	}
	asked, err := config.Fingerprint(want, config.Joins(&c.Spec))
	if err != nil {
		return nil, err
	}
	if c.Annotations[fingerprintAnnotation] == asked {
		return nil, nil
	}
	return config.Diff(want, &c.Spec), nil
}

// watchClock sets the timer for a Machine that becomes outdated by time alone.
func (s *scene) watchClock(f plan.ControlPlaneSpecFacts) {
	s.lookAt(f.RolloutAfter)
	if f.ExpiryDays > 0 && !f.CertificatesExpire.IsZero() {
		s.lookAt(f.CertificatesExpire.Add(-time.Duration(f.ExpiryDays) * 24 * time.Hour))
	}
}

// lookAt sets the timer for a moment in the future; others are passed over.
func (s *scene) lookAt(t time.Time) {
	if wait := t.Sub(s.now); wait > 0 && !t.IsZero() {
		s.after = outcome.Sooner(s.after, wait+time.Second)
	}
}

// externalEtcd returns the files of an etcd that kubeadm does not run.
func externalEtcd(kcp *controlplanev1.KubeadmControlPlane) certs.ExternalEtcd {
	e := kcp.Spec.KubeadmConfigSpec.ClusterConfiguration.Etcd.External
	return certs.ExternalEtcd{CAFile: e.CAFile, CertFile: e.CertFile, KeyFile: e.KeyFile}
}

// etcdManaged reports whether etcd runs on the control plane's own machines.
func (s *scene) etcdManaged() bool {
	return len(s.kcp.Spec.KubeadmConfigSpec.ClusterConfiguration.Etcd.External.Endpoints) == 0
}

// connected reports whether the cluster answers.
func (s *scene) connected() bool { return s.inside.status.State == remote.Connected }
