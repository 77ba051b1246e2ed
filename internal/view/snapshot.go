package view

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
)

// Reader reads API objects and knows which version of a kind to read.
type Reader interface {
	client.Reader
	RESTMapper() meta.RESTMapper
}

// Snapshot is everything that the tree of one cluster shows.
type Snapshot struct {
	Cluster
	// Infrastructure is nil when there is none, or it cannot be read.
	Infrastructure *Object
	// OtherControlPlane is a control plane of a kind that this package knows by its contract alone.
	OtherControlPlane *Object
	Sets              []clusterv1.MachineSet
	// MachineObjects are the bootstrap configs and infrastructure of each machine, by the machine's name.
	MachineObjects map[string][]*Object
}

// Load reads a cluster with everything that belongs to it. withObjects reads the machines' own objects too.
func Load(ctx context.Context, r Reader, key types.NamespacedName, withObjects bool) (*Snapshot, error) {
	s := &Snapshot{Cluster: Cluster{Object: &clusterv1.Cluster{}}}
	if err := r.Get(ctx, key, s.Object); err != nil {
		return nil, err
	}
	var err error
	if s.Infrastructure, err = loadRef(ctx, r, key.Namespace, s.Object.Spec.InfrastructureRef); err != nil {
		return nil, err
	}
	if err := s.loadControlPlane(ctx, r); err != nil {
		return nil, err
	}
	if err := s.loadLists(ctx, r); err != nil {
		return nil, err
	}
	if withObjects {
		return s, s.loadMachineObjects(ctx, r)
	}
	return s, nil
}

func (s *Snapshot) loadControlPlane(ctx context.Context, r Reader) error {
	ref := s.Object.Spec.ControlPlaneRef
	if !isKubeadm(ref) {
		var err error
		s.OtherControlPlane, err = loadRef(ctx, r, s.Object.Namespace, ref)
		return err
	}
	cp := &controlplanev1.KubeadmControlPlane{}
	err := r.Get(ctx, types.NamespacedName{Namespace: s.Object.Namespace, Name: ref.Name}, cp)
	switch {
	case err == nil:
		s.ControlPlane = cp
	case !apierrors.IsNotFound(err):
		return fmt.Errorf("read KubeadmControlPlane %s: %w", ref.Name, err)
	}
	return nil
}

func isKubeadm(ref clusterv1.ContractVersionedObjectReference) bool {
	return ref.Kind == "KubeadmControlPlane" && ref.APIGroup == controlplanev1.GroupVersion.Group
}

func (s *Snapshot) loadLists(ctx context.Context, r Reader) error {
	var deployments clusterv1.MachineDeploymentList
	var sets clusterv1.MachineSetList
	var machines clusterv1.MachineList
	for _, list := range []client.ObjectList{&deployments, &sets, &machines} {
		err := r.List(ctx, list, client.InNamespace(s.Object.Namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: s.Object.Name})
		if err != nil {
			return fmt.Errorf("list the objects of cluster %s: %w", s.Object.Name, err)
		}
	}
	s.Deployments, s.Sets, s.Machines = deployments.Items, sets.Items, machines.Items
	slices.SortFunc(s.Deployments, func(a, b clusterv1.MachineDeployment) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(s.Sets, func(a, b clusterv1.MachineSet) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(s.Machines, func(a, b clusterv1.Machine) int { return cmp.Compare(a.Name, b.Name) })
	return nil
}

func (s *Snapshot) loadMachineObjects(ctx context.Context, r Reader) error {
	s.MachineObjects = map[string][]*Object{}
	for i := range s.Machines {
		m := &s.Machines[i]
		for _, ref := range []clusterv1.ContractVersionedObjectReference{m.Spec.Bootstrap.ConfigRef, m.Spec.InfrastructureRef} {
			o, err := loadRef(ctx, r, m.Namespace, ref)
			if err != nil {
				return err
			}
			if o != nil {
				s.MachineObjects[m.Name] = append(s.MachineObjects[m.Name], o)
			}
		}
	}
	return nil
}

// loadRef reads what a reference names; nil when it does not exist, or its kind is not installed.
func loadRef(ctx context.Context, r Reader, namespace string, ref clusterv1.ContractVersionedObjectReference) (*Object, error) {
	if !ref.IsDefined() {
		return nil, nil
	}
	mapping, err := r.RESTMapper().RESTMapping(ref.GroupKind())
	if err != nil {
		if meta.IsNoMatchError(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("look up kind %s: %w", ref.Kind, err)
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(mapping.GroupVersionKind)
	err = r.Get(ctx, types.NamespacedName{Namespace: namespace, Name: ref.Name}, u)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read %s %s: %w", ref.Kind, ref.Name, err)
	}
	return objectOf(u)
}

// List reads all clusters of a namespace ("" is all) with what their summaries need, sorted by namespace and name.
func List(ctx context.Context, r client.Reader, opts ...client.ListOption) ([]Cluster, error) {
	var clusters clusterv1.ClusterList
	var controlPlanes controlplanev1.KubeadmControlPlaneList
	var deployments clusterv1.MachineDeploymentList
	if err := r.List(ctx, &clusters, opts...); err != nil {
		return nil, err
	}
	namespace := client.InNamespace((&client.ListOptions{}).ApplyOptions(opts).Namespace)
	for _, list := range []client.ObjectList{&controlPlanes, &deployments} {
		// A management cluster without these kinds still has clusters.
		if err := r.List(ctx, list, namespace); err != nil && !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err) {
			return nil, err
		}
	}
	all := join(clusters.Items, controlPlanes.Items, deployments.Items)
	return all, loadMachines(ctx, r, namespace, all)
}

// maxExamined bounds the clusters whose machines a list reads: it is about the few in trouble, not about a fleet that is being
// made.
const maxExamined = 100

// loadMachines reads the machines of the clusters that are not settled: that one has failed is told by nothing else.
func loadMachines(ctx context.Context, r client.Reader, namespace client.InNamespace, all []Cluster) error {
	byKey := map[types.NamespacedName]*Cluster{}
	var names []string
	for i := range all {
		if c := &all[i]; !c.Settled() && len(byKey) < maxExamined {
			byKey[client.ObjectKeyFromObject(c.Object)] = c
			names = append(names, c.Object.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	ofThem, err := labels.NewRequirement(clusterv1.ClusterNameLabel, selection.In, names)
	if err != nil {
		return fmt.Errorf("select the machines of %d clusters: %w", len(names), err)
	}
	var machines clusterv1.MachineList
	err = r.List(ctx, &machines, namespace, client.MatchingLabelsSelector{Selector: labels.NewSelector().Add(*ofThem)})
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return nil // What the clusters tell of themselves is there.
	}
	if err != nil {
		return fmt.Errorf("list machines: %w", err)
	}
	for _, m := range machines.Items {
		if c := byKey[types.NamespacedName{Namespace: m.Namespace, Name: m.Labels[clusterv1.ClusterNameLabel]}]; c != nil {
			c.Machines = append(c.Machines, m)
		}
	}
	return nil
}

func join(clusters []clusterv1.Cluster, controlPlanes []controlplanev1.KubeadmControlPlane, deployments []clusterv1.MachineDeployment) []Cluster {
	byName := map[types.NamespacedName]*controlplanev1.KubeadmControlPlane{}
	for i := range controlPlanes {
		byName[client.ObjectKeyFromObject(&controlPlanes[i])] = &controlPlanes[i]
	}
	byCluster := map[types.NamespacedName][]clusterv1.MachineDeployment{}
	slices.SortFunc(deployments, func(a, b clusterv1.MachineDeployment) int { return cmp.Compare(a.Name, b.Name) })
	for _, md := range deployments {
		key := types.NamespacedName{Namespace: md.Namespace, Name: md.Spec.ClusterName}
		byCluster[key] = append(byCluster[key], md)
	}
	all := make([]Cluster, 0, len(clusters))
	for i := range clusters {
		c := Cluster{Object: &clusters[i], Deployments: byCluster[client.ObjectKeyFromObject(&clusters[i])]}
		if ref := clusters[i].Spec.ControlPlaneRef; isKubeadm(ref) {
			c.ControlPlane = byName[types.NamespacedName{Namespace: clusters[i].Namespace, Name: ref.Name}]
		}
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b Cluster) int {
		return cmp.Or(cmp.Compare(a.Object.Namespace, b.Object.Namespace), cmp.Compare(a.Object.Name, b.Object.Name))
	})
	return all
}
