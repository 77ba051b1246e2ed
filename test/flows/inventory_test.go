package flows_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	infrav1 "slipway.dev/slipway/api/infrastructure/v1alpha1"
	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
	"slipway.dev/slipway/internal/remote"
	"slipway.dev/slipway/test/fleet"
)

// kinds are all kinds of objects that a cluster consists of.
func kinds() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{
		clusterv1.GroupVersion.WithKind("Cluster"),
		clusterv1.GroupVersion.WithKind("Machine"),
		clusterv1.GroupVersion.WithKind("MachineSet"),
		clusterv1.GroupVersion.WithKind("MachineDeployment"),
		controlplanev1.GroupVersion.WithKind("KubeadmControlPlane"),
		bootstrapv1.GroupVersion.WithKind("KubeadmConfig"),
		bootstrapv1.GroupVersion.WithKind("KubeadmConfigTemplate"),
		infrav1.GroupVersion.WithKind("SimCluster"),
		infrav1.GroupVersion.WithKind("SimMachine"),
		infrav1.GroupVersion.WithKind("SimMachineTemplate"),
		corev1.SchemeGroupVersion.WithKind("Secret"),
		corev1.SchemeGroupVersion.WithKind("ConfigMap"),
	}
}

// objects lists everything that a namespace's clusters consist of; what every namespace has is left out.
func objects(ctx context.Context, c client.Client, namespace string) ([]unstructured.Unstructured, error) {
	var all []unstructured.Unstructured
	for _, kind := range kinds() {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return nil, fmt.Errorf("list every %s: %w", kind.Kind, err)
		}
		for _, obj := range list.Items {
			if obj.GetName() != "kube-root-ca.crt" {
				all = append(all, obj)
			}
		}
	}
	return all, nil
}

// index maps each object, as kind and name, to what is asked of it.
func index(objs []unstructured.Unstructured, of func(unstructured.Unstructured) string) map[string]string {
	out := make(map[string]string, len(objs))
	for _, obj := range objs {
		out[obj.GetKind()+" "+obj.GetName()] = of(obj)
	}
	return out
}

func uid(obj unstructured.Unstructured) string { return string(obj.GetUID()) }

func resourceVersion(obj unstructured.Unstructured) string { return obj.GetResourceVersion() }

// gone returns nil when nothing is left of a namespace's clusters: no object, and no file of the sim.
func gone(ctx context.Context, c client.Client, stateDir, namespace string) error {
	if err := fleet.Gone(ctx, c, namespace); err != nil {
		return err
	}
	left, err := objects(ctx, c, namespace)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return fmt.Errorf("still there: %s %s and %d more", left[0].GetKind(), left[0].GetName(), len(left)-1)
	}
	return filepath.WalkDir(filepath.Join(stateDir, "sim", namespace), func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && !entry.IsDir() {
			err = fmt.Errorf("the sim still has %s", path)
		}
		return err
	})
}

// whole returns nil when a cluster is exactly as its spec says: up, with one SimMachine and one Node a Machine and no more.
func whole(ctx context.Context, c client.Client, s fleet.Spec) error {
	if err := s.Up(ctx, c); err != nil {
		return err
	}
	machines := &clusterv1.MachineList{}
	if err := c.List(ctx, machines, client.InNamespace(s.Namespace)); err != nil {
		return err
	}
	if want := int(s.ControlPlane + s.Workers); len(machines.Items) != want {
		return fmt.Errorf("%s has %d Machines, want %d", s.Name, len(machines.Items), want)
	}
	owners := map[types.UID]string{}
	for i := range machines.Items {
		m := &machines.Items[i]
		if m.Spec.Version != s.Version {
			return fmt.Errorf("machine %s has version %s, want %s", m.Name, m.Spec.Version, s.Version)
		}
		owners[m.UID] = m.Name
	}
	if err := oneEach(ctx, c, s, owners); err != nil {
		return err
	}
	return nodes(ctx, c, s)
}

func oneEach(ctx context.Context, c client.Client, s fleet.Spec, owners map[types.UID]string) error {
	sims := &infrav1.SimMachineList{}
	if err := c.List(ctx, sims, client.InNamespace(s.Namespace)); err != nil {
		return err
	}
	for i := range sims.Items {
		owner := metav1.GetControllerOf(&sims.Items[i])
		if owner == nil {
			return fmt.Errorf("%s: SimMachine %s has no owner", s.Name, sims.Items[i].Name)
		}
		if _, ok := owners[owner.UID]; !ok {
			return fmt.Errorf("%s: SimMachine %s is a second one of %s, or its owner is gone", s.Name, sims.Items[i].Name, owner.Name)
		}
		delete(owners, owner.UID)
	}
	if len(owners) > 0 {
		return fmt.Errorf("%s: Machines without a SimMachine: %v", s.Name, owners)
	}
	return nil
}

// listNodes asks the cluster itself, by the kubeconfig that its users get.
func listNodes(ctx context.Context, c client.Client, s fleet.Spec) (*corev1.NodeList, error) {
	secret := &corev1.Secret{}
	if err := c.Get(ctx, types.NamespacedName{Namespace: s.Namespace, Name: s.Name + "-kubeconfig"}, secret); err != nil {
		return nil, err
	}
	cfg, err := clientcmd.RESTConfigFromKubeConfig(secret.Data["value"])
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig of %s: %w", s.Name, err)
	}
	own, err := client.New(cfg, client.Options{})
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", s.Name, err)
	}
	list := &corev1.NodeList{}
	if err := own.List(ctx, list); err != nil {
		return nil, fmt.Errorf("list the Nodes of %s: %w", s.Name, err)
	}
	return list, nil
}

// nodes returns nil when a cluster has just the Nodes that its spec asks for.
func nodes(ctx context.Context, c client.Client, s fleet.Spec) error {
	list, err := listNodes(ctx, c, s)
	if err != nil {
		return err
	}
	if want := int(s.ControlPlane + s.Workers); len(list.Items) != want {
		return fmt.Errorf("%s has %d Nodes, want %d", s.Name, len(list.Items), want)
	}
	for i := range list.Items {
		if got := list.Items[i].Status.NodeInfo.KubeletVersion; got != s.Version {
			return fmt.Errorf("node %s runs %s, want %s", list.Items[i].Name, got, s.Version)
		}
	}
	return nil
}

// members asks a cluster's etcd, by the door that the controllers have to it, for its members: how each does, without names.
func members(ctx context.Context, c client.Client, s fleet.Spec) ([]string, error) {
	clusters, err := remote.New(remote.Options{Reader: c, RetryFirst: glance, RetryMost: glance})
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- clusters.Start(ctx) }()
	defer func() {
		stop()
		<-ended
	}()
	key := types.NamespacedName{Namespace: s.Namespace, Name: s.Name}
	clusters.Changed(key)
	var found []string
	err = fleet.Wait(ctx, glance, func(ctx context.Context) error {
		etcd, err := clusters.Etcd(ctx, key)
		if err != nil {
			return err
		}
		defer etcd.Close()
		list, err := etcd.Members(ctx)
		found = nil
		for _, m := range list {
			found = append(found, fmt.Sprintf("etcd member: %s, learner %t, alarms %v", m.Health, m.Learner, m.Alarms))
		}
		return err
	})
	slices.Sort(found)
	return found, err
}
