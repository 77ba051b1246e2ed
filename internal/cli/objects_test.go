package cli

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	infrav1 "slipway.dev/slipway/api/infrastructure/v1alpha1"
	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
)

// noon is the time of every golden test.
var noon = time.Date(2026, 12, 2, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) metav1.Time { return metav1.NewTime(noon.Add(-d)) }

const day = 24 * time.Hour

// fixed reads objects that never change. It is no API server: selectors other than namespace, labels and name are ignored.
type fixed []client.Object

func (f fixed) Get(_ context.Context, key client.ObjectKey, out client.Object, _ ...client.GetOption) error {
	kind := kindOf(out)
	for _, o := range f {
		if kindOf(o) == kind && client.ObjectKeyFromObject(o) == key {
			return copyInto(o, out)
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{Resource: strings.ToLower(kind)}, key.Name)
}

func (f fixed) List(_ context.Context, out client.ObjectList, opts ...client.ListOption) error {
	options := (&client.ListOptions{}).ApplyOptions(opts)
	kind := strings.TrimSuffix(reflect.TypeOf(out).Elem().Name(), "List")
	var items []runtime.Object
	for _, o := range f {
		if kindOf(o) != kind || options.Namespace != "" && o.GetNamespace() != options.Namespace {
			continue
		}
		if options.LabelSelector != nil && !options.LabelSelector.Matches(labelSet(o.GetLabels())) {
			continue
		}
		items = append(items, o)
	}
	return meta.SetList(out, items)
}

func (fixed) RESTMapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper([]schema.GroupVersion{infrav1.GroupVersion})
	m.Add(infrav1.GroupVersion.WithKind("SimCluster"), meta.RESTScopeNamespace)
	m.Add(infrav1.GroupVersion.WithKind("SimMachine"), meta.RESTScopeNamespace)
	return m
}

type labelSet map[string]string

func (l labelSet) Has(key string) bool              { _, found := l[key]; return found }
func (l labelSet) Get(key string) string            { return l[key] }
func (l labelSet) Lookup(key string) (string, bool) { v, found := l[key]; return v, found }

func kindOf(o client.Object) string {
	if u, ok := o.(*unstructured.Unstructured); ok {
		return u.GetKind()
	}
	return reflect.TypeOf(o).Elem().Name()
}

func copyInto(from, to client.Object) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(from)
	if err != nil {
		return err
	}
	if u, ok := to.(*unstructured.Unstructured); ok {
		gvk := u.GroupVersionKind()
		u.Object = content
		u.SetGroupVersionKind(gvk)
		return nil
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(content, to)
}

func condition(kind string, status metav1.ConditionStatus, reason, message string, since metav1.Time) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: since}
}

// fleet builds the clusters of a golden test.
type fleet struct{ objects fixed }

// cluster is one cluster whose objects a test changes before it looks.
type cluster struct {
	name         string
	age          time.Duration
	object       *clusterv1.Cluster
	infra        *infrav1.SimCluster
	controlPlane *controlplanev1.KubeadmControlPlane
	deployment   *clusterv1.MachineDeployment
	machines     []*clusterv1.Machine
}

// add makes a cluster of three control-plane machines and so many workers, all of it Ready.
func (f *fleet) add(name, version string, workers int32, age time.Duration) *cluster {
	c := &cluster{name: name, age: age}
	c.object = &clusterv1.Cluster{ObjectMeta: c.meta("")}
	c.object.Spec.ControlPlaneRef = refTo(controlplanev1.GroupVersion.Group, "KubeadmControlPlane", name+"-cp")
	c.object.Spec.InfrastructureRef = refTo(infrav1.GroupVersion.Group, "SimCluster", name)
	c.object.Status = clusterv1.ClusterStatus{
		ObservedGeneration: 1,
		Initialization:     clusterv1.ClusterInitializationStatus{InfrastructureProvisioned: new(true), ControlPlaneInitialized: new(true)},
		Conditions:         []metav1.Condition{condition("Available", "True", "Available", "", ago(age))},
	}
	c.infra = &infrav1.SimCluster{ObjectMeta: c.meta("")}
	c.infra.Status.Conditions = []metav1.Condition{condition("Ready", "True", "Ready", "", ago(age))}
	c.controlPlane = &controlplanev1.KubeadmControlPlane{ObjectMeta: c.meta("-cp")}
	c.controlPlane.Spec.Replicas, c.controlPlane.Spec.Version = new(int32(3)), version
	c.controlPlane.Status = controlplanev1.KubeadmControlPlaneStatus{
		ObservedGeneration: 1, Replicas: new(int32(3)), ReadyReplicas: new(int32(3)), AvailableReplicas: new(int32(3)), UpToDateReplicas: new(int32(3)),
		Versions:   []clusterv1.StatusVersion{{Version: version, Replicas: new(int32(3))}},
		Conditions: []metav1.Condition{condition("Available", "True", "Available", "", ago(age))},
	}
	c.deployment = &clusterv1.MachineDeployment{ObjectMeta: c.meta("-md-0")}
	c.deployment.Spec.ClusterName, c.deployment.Spec.Replicas = name, new(workers)
	c.deployment.Spec.Template.Spec.Version = version
	c.deployment.Status = clusterv1.MachineDeploymentStatus{
		ObservedGeneration: 1, Replicas: new(workers), ReadyReplicas: new(workers), AvailableReplicas: new(workers), UpToDateReplicas: new(workers),
		Versions:   []clusterv1.StatusVersion{{Version: version, Replicas: new(workers)}},
		Conditions: []metav1.Condition{condition("Available", "True", "Available", "", ago(age))},
	}
	f.objects = append(f.objects, c.object, c.infra, c.controlPlane, c.deployment)
	for i, zone := range []string{"a", "b", "c"} {
		m := c.machine(fmt.Sprintf("-cp-%d", i), version)
		m.Labels[clusterv1.MachineControlPlaneLabel] = ""
		m.Status.FailureDomain = zone
		f.objects = append(f.objects, m)
	}
	for i := range workers {
		m := c.machine(fmt.Sprintf("-md-0-%d", i), version)
		m.Labels[clusterv1.MachineDeploymentNameLabel] = name + "-md-0"
		f.objects = append(f.objects, m)
	}
	return c
}

func (c *cluster) machine(suffix, version string) *clusterv1.Machine {
	m := &clusterv1.Machine{ObjectMeta: c.meta(suffix)}
	m.Spec.ClusterName, m.Spec.Version = c.name, version
	m.Status.NodeRef.Name = m.Name
	m.Status.Conditions = []metav1.Condition{condition("Ready", "True", "Ready", "", ago(c.age))}
	c.machines = append(c.machines, m)
	return m
}

func (c *cluster) meta(suffix string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: "default", Name: c.name + suffix, Generation: 1, CreationTimestamp: ago(c.age),
		Labels: map[string]string{clusterv1.ClusterNameLabel: c.name},
	}
}

// goldenFleet has a cluster in every state.
func goldenFleet(t *testing.T) fixed {
	t.Helper()
	f := &fleet{}
	f.add("demo", "v1.36.2", 5, 5*day)

	edge := f.add("edge", "v1.36.2", 5, 41*day)
	edge.deployment.Status.Conditions = append(edge.deployment.Status.Conditions, condition("RollingOut", "True", "RollingOut", "", ago(12*time.Minute)))
	edge.deployment.Status.UpToDateReplicas = new(int32(2))
	edge.deployment.Status.AvailableReplicas = new(int32(4))
	edge.deployment.Status.Versions = []clusterv1.StatusVersion{{Version: "v1.35.4", Replicas: new(int32(3))}, {Version: "v1.36.2", Replicas: new(int32(2))}}
	for _, m := range edge.machines[5:] {
		m.Spec.Version = "v1.35.4"
	}
	edge.machines[5].DeletionTimestamp = new(ago(40 * time.Second))
	edge.machines[5].Status.Conditions = append(edge.machines[5].Status.Conditions,
		condition("Deleting", "True", "DrainingNode", "Drain not completed yet:\n* Pod shop/cart-0: cannot evict pod as it would violate the pod's disruption budget", ago(40*time.Second)))

	lab := f.add("lab", "v1.36.2", 3, 12*day)
	lost := "* NodeReady: Kubelet stopped posting node status"
	lab.controlPlane.Status.AvailableReplicas, lab.controlPlane.Status.ReadyReplicas = new(int32(2)), new(int32(2))
	lab.controlPlane.Status.Conditions = append(lab.controlPlane.Status.Conditions, condition("MachinesReady", "False", "NotReady", "Machine lab-cp-2 lost its Node", ago(38*time.Minute)))
	lab.machines[1].Status.Conditions = []metav1.Condition{
		condition("Ready", "False", "NotReady", "* EtcdMemberHealthy: etcd member catching up", ago(3*time.Minute)), condition("NodeReady", "True", "NodeReady", "", ago(day)),
	}
	lab.machines[2].Status.Conditions = []metav1.Condition{
		condition("Ready", "False", "NotReady", lost, ago(38*time.Minute)), condition("NodeReady", "False", "NodeNotReady", "Kubelet stopped posting node status", ago(38*time.Minute)),
	}

	fresh := f.add("new", "v1.37.0", 3, 40*time.Second)
	fresh.object.Status.Initialization.ControlPlaneInitialized = nil
	fresh.object.Status.Conditions = []metav1.Condition{condition("Available", "False", "NotAvailable", "* ControlPlaneInitialized: Control plane not yet initialized", ago(40*time.Second))}
	fresh.controlPlane.Status = controlplanev1.KubeadmControlPlaneStatus{ObservedGeneration: 1, Replicas: new(int32(1))}
	fresh.controlPlane.Status.Conditions = []metav1.Condition{condition("ScalingUp", "True", "ScalingUp", "Scaling up from 1 to 3 replicas", ago(40*time.Second))}
	fresh.deployment.Status = clusterv1.MachineDeploymentStatus{ObservedGeneration: 1, Replicas: new(int32(3))}
	fresh.machines[0].Status = clusterv1.MachineStatus{Conditions: []metav1.Condition{
		condition("BootstrapConfigReady", "True", "Ready", "", ago(30*time.Second)), condition("InfrastructureReady", "False", "NotReady", "Booting, 1s left", ago(30*time.Second)),
	}}
	for _, m := range fresh.machines[3:] {
		m.Status = clusterv1.MachineStatus{Conditions: []metav1.Condition{
			condition("BootstrapConfigReady", "False", "WaitingForControlPlaneInitialized", "Waiting for the control plane to be initialized", ago(40*time.Second)),
		}}
	}

	old := f.add("old", "v1.34.1", 1, 300*day)
	old.object.DeletionTimestamp = new(ago(90 * time.Second))
	old.object.Status.Conditions = append(old.object.Status.Conditions, condition("Deleting", "True", "WaitingForWorkersDeletion", "* MachineDeployments: old-md-0", ago(90*time.Second)))

	rest := f.add("rest", "v1.36.2", 0, 20*day)
	rest.object.Spec.Paused = new(true)

	dark := f.add("west", "v1.36.2", 2, 9*day)
	dark.object.Status.Conditions = append(dark.object.Status.Conditions, condition("RemoteConnectionProbe", "False", "ProbeFailed", "Remote connection probe failed, probe last succeeded at 2026-12-02T11:20:00Z", ago(39*time.Minute)))

	broken := f.add("yard", "v1.36.2", 2, 8*time.Minute)
	broken.deployment.Status.AvailableReplicas = new(int32(1))
	broken.object.Status.Conditions[0] = condition("Available", "False", "NotAvailable", "* WorkersAvailable: MachineDeployment yard-md-0: 1 available replicas, at least 2 required", ago(8*time.Minute))
	broken.machines[4].Status = clusterv1.MachineStatus{Conditions: []metav1.Condition{
		condition("BootstrapConfigReady", "True", "Ready", "", ago(8*time.Minute)), condition("InfrastructureReady", "False", "BootFailed", "The machine did not boot: fault FailedBoot", ago(7*time.Minute)),
	}}
	return f.objects
}
