package cli

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
	"slipway.dev/slipway/internal/fault"
)

// resource is an object that keeps a number of machines, or a whole cluster.
type resource struct {
	// kind is the singular in lower case.
	kind   string
	object client.Object
	// cluster is the name of the cluster it belongs to.
	cluster string
}

// The kinds that can be scaled or rolled.
const (
	kindCluster           = "cluster"
	kindMachineDeployment = "machinedeployment"
	kindMachineSet        = "machineset"
	kindControlPlane      = "kubeadmcontrolplane"
)

// singularOf reads the plural, singular or short name of a kind, with or without its group; "" when it is none of ours.
func singularOf(kind string) string {
	name, _, _ := strings.Cut(strings.ToLower(kind), ".")
	switch name {
	case "cluster", "clusters", "cl":
		return kindCluster
	case "machinedeployment", "machinedeployments", "md":
		return kindMachineDeployment
	case "machineset", "machinesets", "ms":
		return kindMachineSet
	case "kubeadmcontrolplane", "kubeadmcontrolplanes", "kcp":
		return kindControlPlane
	}
	return ""
}

// resource reads what KIND/NAME names; a name alone is a cluster.
func (a *app) resource(ctx context.Context, c client.Client, arg string) (resource, error) {
	kind, name, found := strings.Cut(arg, "/")
	if !found {
		kind, name = kindCluster, arg
	}
	r := resource{kind: singularOf(kind)}
	switch r.kind {
	case kindCluster:
		r.object = &clusterv1.Cluster{}
	case kindMachineDeployment:
		r.object = &clusterv1.MachineDeployment{}
	case kindMachineSet:
		r.object = &clusterv1.MachineSet{}
	case kindControlPlane:
		r.object = &controlplanev1.KubeadmControlPlane{}
	default:
		return r, fault.New(nil, "cannot take "+arg, fmt.Sprintf("a %s keeps no number of machines", kind), arg, "CLUSTER, machinedeployment/NAME, machineset/NAME or kubeadmcontrolplane/NAME")
	}
	key := types.NamespacedName{Namespace: a.oneNamespace(), Name: name}
	if err := c.Get(ctx, key, r.object); err != nil {
		if apierrors.IsNotFound(err) {
			var near []string
			if gvk, err := c.GroupVersionKindFor(r.object); err == nil {
				near = namesLike(ctx, c, gvk, key.Namespace, name)
			}
			return r, fault.New(err, "cannot find "+r.kind+"/"+name, "there is none in namespace "+key.Namespace+didYouMean(near), a.where(), a.try("get %ss -A", r.kind))
		}
		return r, err
	}
	r.cluster = clusterOf(r.object)
	return r, nil
}

// clusterOf is the cluster that an object belongs to.
func clusterOf(o client.Object) string {
	switch o := o.(type) {
	case *clusterv1.Cluster:
		return o.Name
	case *clusterv1.MachineDeployment:
		return o.Spec.ClusterName
	case *clusterv1.MachineSet:
		return o.Spec.ClusterName
	}
	for _, ref := range o.GetOwnerReferences() {
		if ref.Kind == clusterv1.ClusterKind {
			return ref.Name
		}
	}
	return o.GetLabels()[clusterv1.ClusterNameLabel]
}

// replicas is the wanted number of machines.
func (r resource) replicas() int32 {
	switch o := r.object.(type) {
	case *clusterv1.MachineDeployment:
		return replicasOf(o.Spec.Replicas)
	case *clusterv1.MachineSet:
		return replicasOf(o.Spec.Replicas)
	case *controlplanev1.KubeadmControlPlane:
		return replicasOf(o.Spec.Replicas)
	}
	return 0
}

// name is the object as output names it.
func (r resource) name() string { return r.kind + "/" + r.object.GetName() }
