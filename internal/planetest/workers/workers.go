// Package workers furnishes tests of those that own Machines: a Cluster with templates, a stand-in for the controller of
// Machines, and a client that counts writes, refuses them, or dies at one of them.
package workers

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	infrav1 "slipway.dev/slipway/api/infrastructure/v1alpha1"
	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
	"slipway.dev/slipway/internal/planetest"
)

const (
	// ClusterName is the name of the Cluster.
	ClusterName = "demo"
	// Version is the Kubernetes version of the workers.
	Version = "v1.37.2"
)

// World is a Cluster in a namespace of its own, with templates for workers.
type World struct {
	testing.TB
	client.WithWatch
	// Namespace is where all is.
	Namespace string
}

// New makes a World.
func New(t testing.TB) *World {
	t.Helper()
	w := Empty(t)
	w.Make(w.Cluster(), w.ConfigTemplate("workers"), w.MachineTemplate("workers"))
	return w
}

// Empty makes a World without any object.
func Empty(t testing.TB) *World {
	t.Helper()
	return &World{TB: t, WithWatch: planetest.Client(t), Namespace: planetest.Namespace(t)}
}

// Must fails the test on an error.
func (w *World) Must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// Make creates the objects.
func (w *World) Make(objects ...client.Object) {
	w.Helper()
	for _, o := range objects {
		w.Must(w.Create(w.Context(), o))
	}
}

// Keeper runs the stand-in for the controller of Machines until the test ends.
func (w *World) Keeper() *Keeper {
	w.Helper()
	var keeper *Keeper
	planetest.Manager(w, w.Namespace, func(mgr ctrl.Manager) (err error) {
		keeper, err = Keep(mgr)
		return err
	})
	return keeper
}

// Count counts the objects of a list's kind until the test ends.
func (w *World) Count(list client.ObjectList) *planetest.Census {
	w.Helper()
	return planetest.Count(w, w, list, client.InNamespace(w.Namespace))
}

// Meta is the metadata of an object of that name.
func (w *World) Meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.Namespace, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: ClusterName}}
}

// Key is the key of an object of that name.
func (w *World) Key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: w.Namespace, Name: name}
}

// Cluster returns the Cluster, whose control plane nobody checks.
func (w *World) Cluster() *clusterv1.Cluster {
	return &clusterv1.Cluster{ObjectMeta: w.Meta(ClusterName), Spec: clusterv1.ClusterSpec{
		InfrastructureRef:    clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: "SimCluster", Name: ClusterName},
		ControlPlaneEndpoint: clusterv1.APIEndpoint{Host: "127.0.0.1", Port: 6443},
	}}
}

// ConfigTemplate returns a KubeadmConfigTemplate.
func (w *World) ConfigTemplate(name string) *bootstrapv1.KubeadmConfigTemplate {
	template := &bootstrapv1.KubeadmConfigTemplate{ObjectMeta: w.Meta(name)}
	template.Spec.Template.Spec.PreKubeadmCommands = []string{"true"}
	return template
}

// MachineTemplate returns a SimMachineTemplate, which puts a label of its own on its clones.
func (w *World) MachineTemplate(name string) *infrav1.SimMachineTemplate {
	return &infrav1.SimMachineTemplate{ObjectMeta: w.Meta(name), Spec: infrav1.SimMachineTemplateSpec{Template: infrav1.SimMachineTemplateResource{
		ObjectMeta: clusterv1.ObjectMeta{Labels: map[string]string{"example.com/from-template": "yes"}},
	}}}
}

// Template returns the template of Machines with the given label.
func (w *World) Template(key, value string) clusterv1.MachineTemplateSpec {
	return clusterv1.MachineTemplateSpec{
		ObjectMeta: clusterv1.ObjectMeta{Labels: map[string]string{key: value}},
		Spec: clusterv1.MachineSpec{
			ClusterName: ClusterName,
			Version:     Version,
			Bootstrap: clusterv1.Bootstrap{ConfigRef: clusterv1.ContractVersionedObjectReference{
				APIGroup: bootstrapv1.GroupVersion.Group, Kind: "KubeadmConfigTemplate", Name: "workers",
			}},
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{
				APIGroup: infrav1.GroupVersion.Group, Kind: "SimMachineTemplate", Name: "workers",
			},
		},
	}
}

// MachineSet returns a MachineSet.
func (w *World) MachineSet(name string, replicas int32) *clusterv1.MachineSet {
	return &clusterv1.MachineSet{ObjectMeta: w.Meta(name), Spec: clusterv1.MachineSetSpec{
		ClusterName: ClusterName, Replicas: &replicas, Template: w.Template("pool", "of-set"),
		Selector: metav1.LabelSelector{MatchLabels: map[string]string{"pool": "of-set"}},
	}}
}

// MachineDeployment returns a MachineDeployment.
func (w *World) MachineDeployment(name string, replicas int32) *clusterv1.MachineDeployment {
	return &clusterv1.MachineDeployment{ObjectMeta: w.Meta(name), Spec: clusterv1.MachineDeploymentSpec{
		ClusterName: ClusterName, Replicas: &replicas, Template: w.Template("pool", "of-deployment"),
		Selector: metav1.LabelSelector{MatchLabels: map[string]string{"pool": "of-deployment"}},
	}}
}

// Change changes an object by a merge patch of what change makes different.
func (w *World) Change(obj client.Object, change func()) {
	w.Helper()
	planetest.Change(w, w, obj, change)
}

// Sets lists the MachineSets.
func (w *World) Sets(ctx context.Context) ([]clusterv1.MachineSet, error) {
	var list clusterv1.MachineSetList
	err := w.List(ctx, &list, client.InNamespace(w.Namespace))
	return list.Items, err
}

// Machines lists the Machines.
func (w *World) Machines(ctx context.Context) ([]clusterv1.Machine, error) {
	var list clusterv1.MachineList
	err := w.List(ctx, &list, client.InNamespace(w.Namespace))
	return list.Items, err
}

// Infrastructure lists the SimMachines.
func (w *World) Infrastructure(ctx context.Context) ([]infrav1.SimMachine, error) {
	var list infrav1.SimMachineList
	err := w.List(ctx, &list, client.InNamespace(w.Namespace))
	return list.Items, err
}

// Configs lists the KubeadmConfigs.
func (w *World) Configs(ctx context.Context) ([]bootstrapv1.KubeadmConfig, error) {
	var list bootstrapv1.KubeadmConfigList
	err := w.List(ctx, &list, client.InNamespace(w.Namespace))
	return list.Items, err
}

// NodeInfo is what a Node of the workers' version reports.
func NodeInfo() *corev1.NodeSystemInfo { return &corev1.NodeSystemInfo{KubeletVersion: Version} }
