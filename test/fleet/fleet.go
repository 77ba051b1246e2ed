// Package fleet makes clusters for tests and benches, and tells how they are.
package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	infrav1 "slipway.dev/slipway/api/infrastructure/v1alpha1"
	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
)

// Spec says what a cluster shall be.
type Spec struct {
	// Namespace and Name of the Cluster.
	Namespace, Name string
	// Version of Kubernetes; empty means v1.37.0.
	Version string
	// ControlPlane and Workers are the numbers of machines.
	ControlPlane, Workers int32
	// Boot is how long a machine takes to boot; nil is one second, the provider's default.
	Boot *metav1.Duration
	// ECDSA makes keys that cost little; else they are RSA-2048, the product's default.
	ECDSA bool
}

// Objects are the manifests of a cluster on the sim provider.
func (s Spec) Objects() []client.Object {
	if s.Version == "" {
		s.Version = "v1.37.0"
	}
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: s.Namespace, Name: name} }
	ref := func(group, kind, name string) clusterv1.ContractVersionedObjectReference {
		return clusterv1.ContractVersionedObjectReference{APIGroup: group, Kind: kind, Name: name}
	}
	infra := infrav1.GroupVersion.Group
	cluster := &clusterv1.Cluster{ObjectMeta: named(s.Name), Spec: clusterv1.ClusterSpec{
		InfrastructureRef: ref(infra, "SimCluster", s.Name),
		ControlPlaneRef:   ref(controlplanev1.GroupVersion.Group, "KubeadmControlPlane", s.Name+"-cp"),
	}}
	machines := func(name string) *infrav1.SimMachineTemplate {
		t := &infrav1.SimMachineTemplate{ObjectMeta: named(name)}
		// Never an empty spec: the API server wants to see one.
		t.Spec.Template.Spec.BootDelay = cmp.Or(s.Boot, &metav1.Duration{Duration: time.Second})
		return t
	}
	cp := &controlplanev1.KubeadmControlPlane{ObjectMeta: named(s.Name + "-cp")}
	cp.Spec.Replicas, cp.Spec.Version = &s.ControlPlane, s.Version
	cp.Spec.MachineTemplate.Spec.InfrastructureRef = ref(infra, "SimMachineTemplate", s.Name+"-cp")
	if s.ECDSA {
		cp.Spec.KubeadmConfigSpec.ClusterConfiguration.EncryptionAlgorithm = bootstrapv1.EncryptionAlgorithmECDSAP256
	}
	objects := []client.Object{cluster, &infrav1.SimCluster{ObjectMeta: named(s.Name)}, machines(s.Name + "-cp"), cp}
	if s.Workers == 0 {
		return objects
	}
	config := &bootstrapv1.KubeadmConfigTemplate{ObjectMeta: named(s.Name + "-md-0")}
	// Never empty either: without a spec.template it is no template to the MachineSet.
	config.Spec.Template.Spec.Format = bootstrapv1.CloudConfig
	md := &clusterv1.MachineDeployment{ObjectMeta: named(s.Name + "-md-0")}
	md.Spec.ClusterName, md.Spec.Replicas = s.Name, &s.Workers
	md.Spec.Template.Spec = clusterv1.MachineSpec{
		ClusterName: s.Name, Version: s.Version, InfrastructureRef: ref(infra, "SimMachineTemplate", s.Name+"-md-0"),
		Bootstrap: clusterv1.Bootstrap{ConfigRef: ref(bootstrapv1.GroupVersion.Group, "KubeadmConfigTemplate", s.Name+"-md-0")},
	}
	return append(objects, machines(s.Name+"-md-0"), config, md)
}

// Create makes the cluster's objects; those that are there are left alone.
func (s Spec) Create(ctx context.Context, c client.Client) error {
	for _, obj := range s.Objects() {
		if err := c.Create(ctx, obj, client.FieldOwner("fleet")); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create %T %s: %w", obj, obj.GetName(), err)
		}
	}
	return nil
}

// Up returns nil when the cluster is as its spec says: every machine counted, available and up to date.
func (s Spec) Up(ctx context.Context, c client.Client) error {
	cluster := &clusterv1.Cluster{}
	if err := c.Get(ctx, types.NamespacedName{Namespace: s.Namespace, Name: s.Name}, cluster); err != nil {
		return err
	}
	if cp := cluster.Status.ControlPlane; cp == nil || !are(s.ControlPlane, cp.DesiredReplicas, cp.Replicas, cp.AvailableReplicas, cp.UpToDateReplicas) {
		return fmt.Errorf("control plane of %s is not %d of each: %s", s.Name, s.ControlPlane, dump(cluster.Status))
	}
	if w := cluster.Status.Workers; s.Workers > 0 && (w == nil || !are(s.Workers, w.DesiredReplicas, w.Replicas, w.AvailableReplicas, w.UpToDateReplicas)) {
		return fmt.Errorf("workers of %s are not %d of each: %s", s.Name, s.Workers, dump(cluster.Status))
	}
	for _, cond := range cluster.Status.Conditions {
		if cond.Type == clusterv1.AvailableCondition && cond.Status == metav1.ConditionTrue {
			return nil
		}
	}
	return fmt.Errorf("cluster %s is not Available: %s", s.Name, conditionText(cluster.Status.Conditions))
}

// Dated returns nil when every control-plane Machine of a namespace tells when its certificates end. That is read last, and
// where it could not be read, on a busy machine, not before a minute later: until then a fleet is quiet and not settled.
func Dated(ctx context.Context, c client.Client, namespace string) error {
	machines := &clusterv1.MachineList{}
	if err := c.List(ctx, machines, client.InNamespace(namespace), client.HasLabels{clusterv1.MachineControlPlaneLabel}); err != nil {
		return err
	}
	for i := range machines.Items {
		if m := &machines.Items[i]; m.Status.CertificatesExpiryDate.IsZero() {
			return fmt.Errorf("machine %s does not tell when its certificates end", m.Name)
		}
	}
	return nil
}

func conditionText(conds []metav1.Condition) string {
	for _, c := range conds {
		if c.Type == clusterv1.AvailableCondition {
			return c.Reason + ": " + c.Message
		}
	}
	return "no condition yet"
}

func are(want int32, counts ...*int32) bool {
	for _, n := range counts {
		if n == nil || *n != want {
			return false
		}
	}
	return true
}

// dump is a status with everything that its conditions say.
func dump(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// Wait polls until check returns nil or the context ends, whose error then holds the last one of a check that was not cut
// short by that.
func Wait(ctx context.Context, every time.Duration, check func(context.Context) error) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	var last error
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		if last == nil || ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w; at last: %w", context.Cause(ctx), last)
		case <-tick.C:
		}
	}
}

// Gone returns nil when none of the kinds that Slipway manages is left in a namespace.
func Gone(ctx context.Context, c client.Client, namespace string) error {
	for _, list := range []client.ObjectList{
		&clusterv1.ClusterList{}, &clusterv1.MachineList{}, &clusterv1.MachineSetList{}, &clusterv1.MachineDeploymentList{},
		&controlplanev1.KubeadmControlPlaneList{}, &bootstrapv1.KubeadmConfigList{}, &infrav1.SimClusterList{}, &infrav1.SimMachineList{},
	} {
		left, err := names(ctx, c, list, namespace)
		if err != nil {
			return err
		}
		if len(left) > 0 {
			return fmt.Errorf("%T: still there: %v", list, left)
		}
	}
	return nil
}

func names(ctx context.Context, c client.Client, list client.ObjectList, namespace string) ([]string, error) {
	if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	var out []string
	err := meta.EachListItem(list, func(obj runtime.Object) error {
		object, err := meta.Accessor(obj)
		if err != nil {
			return err
		}
		out = append(out, object.GetName())
		return nil
	})
	return out, err
}
