package cluster_test

import (
	"context"
	"crypto/x509"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/contract"
	"slipway.dev/slipway/internal/controllers/cluster"
	"slipway.dev/slipway/internal/kubeadm/certs"
	"slipway.dev/slipway/internal/kubeadm/kubeconfig"
	"slipway.dev/slipway/internal/planetest"
	"slipway.dev/slipway/internal/planetest/fakes"
	"slipway.dev/slipway/internal/providers/sim/workload"
	"slipway.dev/slipway/internal/remote"
)

const (
	clusterName = "demo"
	version     = "v1.37.2"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(planetest.Main(m))
}

// world is a namespace with the Cluster controller at work in it, and fake providers of one contract.
type world struct {
	testing.TB
	client.WithWatch
	*fakes.Providers
	namespace string
	writes    *atomic.Int64
}

func newWorld(t testing.TB, c contract.Version) *world {
	t.Helper()
	return newWorldBy(t, planetest.Config(t), c)
}

// newWorldBy is newWorld with a controller that reaches the plane by the config.
func newWorldBy(t testing.TB, cfg *rest.Config, c contract.Version) *world {
	t.Helper()
	w := &world{TB: t, WithWatch: planetest.Client(t), namespace: planetest.Namespace(t), writes: &atomic.Int64{}}
	w.Providers = fakes.Install(t, w, w.namespace, c, "Cluster", "ControlPlane")
	planetest.ManagerFor(t, cfg, w.namespace, func(mgr ctrl.Manager) error {
		clusters, err := remote.New(remote.Options{Reader: mgr.GetClient(), RetryFirst: 20 * time.Millisecond, RetryMost: 200 * time.Millisecond, ProbeInterval: 100 * time.Millisecond, ProbeTimeout: 100 * time.Millisecond})
		if err != nil {
			return err
		}
		if err := clusters.SetupWithManager(mgr, controller.Options{}); err != nil {
			return err
		}
		r := &cluster.Reconciler{
			Client: counting{mgr.GetClient(), w.writes}, APIReader: mgr.GetAPIReader(), Clusters: clusters, Now: time.Now,
			ConnectionGrace: time.Second, Settle: 50 * time.Millisecond,
		}
		return r.SetupWithManager(mgr, controller.Options{})
	})
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: w.namespace, Name: name}
}

// create makes a Cluster with its two objects, or without a control plane object.
func (w *world) create(change ...func(*clusterv1.Cluster)) *clusterv1.Cluster {
	w.Helper()
	c := &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: clusterName},
		Spec:       clusterv1.ClusterSpec{InfrastructureRef: w.Ref("Cluster", clusterName), ControlPlaneRef: w.Ref("ControlPlane", clusterName)},
	}
	for _, f := range change {
		f(c)
	}
	w.must(w.Create(w.Context(), w.Fake("Cluster", clusterName)))
	if c.Spec.ControlPlaneRef.IsDefined() {
		w.must(w.Create(w.Context(), w.Fake("ControlPlane", clusterName)))
	}
	w.must(w.Create(w.Context(), c))
	return c
}

func standalone(c *clusterv1.Cluster) {
	c.Spec.ControlPlaneRef = clusterv1.ContractVersionedObjectReference{}
}

// provisioned has the fake infrastructure provider be done.
func (w *world) provisioned() {
	w.Helper()
	domains, done := any([]any{map[string]any{"name": "a", "controlPlane": true}, map[string]any{"name": "b"}}), "status.initialization.provisioned"
	if w.Contract == contract.V1Beta1 {
		domains, done = map[string]any{"a": map[string]any{"controlPlane": true}, "b": map[string]any{}}, "status.ready"
	}
	w.Edit("Cluster", clusterName, map[string]any{
		"spec.controlPlaneEndpoint": map[string]any{"host": "10.0.0.1", "port": int64(6443)}, "status.failureDomains": domains,
	})
	w.Edit("Cluster", clusterName, map[string]any{done: true})
}

// initialized has the fake control plane be there.
func (w *world) initialized() {
	w.Helper()
	done, upToDate := "status.initialization.controlPlaneInitialized", "status.upToDateReplicas"
	available, number := "status.availableReplicas", int64(2)
	if w.Contract == contract.V1Beta1 {
		done, upToDate, available, number = "status.initialized", "status.updatedReplicas", "status.unavailableReplicas", 1
	}
	w.Edit("ControlPlane", clusterName, map[string]any{
		"spec.replicas": int64(3), "spec.version": version, "status.replicas": int64(3), "status.readyReplicas": int64(2), available: number, upToDate: int64(1),
	})
	w.Edit("ControlPlane", clusterName, map[string]any{done: true})
}

// machine makes a Machine of the Cluster.
func (w *world) machine(name string, controlPlane bool, change ...func(*clusterv1.Machine)) *clusterv1.Machine {
	w.Helper()
	m := &clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: clusterName}},
		Spec: clusterv1.MachineSpec{
			ClusterName: clusterName, Version: version, Bootstrap: clusterv1.Bootstrap{DataSecretName: new("data")},
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: fakes.Group, Kind: "FakeMachine", Name: name},
		},
	}
	if controlPlane {
		m.Labels[clusterv1.MachineControlPlaneLabel] = ""
	}
	for _, f := range change {
		f(m)
	}
	w.must(w.Create(w.Context(), m))
	return m
}

// deployment makes a MachineDeployment of the Cluster.
func (w *world) deployment(name string, replicas int32) *clusterv1.MachineDeployment {
	w.Helper()
	labels := map[string]string{"deployment": name}
	d := &clusterv1.MachineDeployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: clusterName}},
		Spec: clusterv1.MachineDeploymentSpec{
			ClusterName: clusterName, Replicas: new(replicas), Selector: metav1.LabelSelector{MatchLabels: labels},
			Template: clusterv1.MachineTemplateSpec{
				ObjectMeta: clusterv1.ObjectMeta{Labels: labels},
				Spec: clusterv1.MachineSpec{
					ClusterName: clusterName, Version: version, Bootstrap: clusterv1.Bootstrap{DataSecretName: new("data")},
					InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: fakes.Group, Kind: "FakeMachineTemplate", Name: name},
				},
			},
		},
	}
	w.must(w.Create(w.Context(), d))
	return d
}

// report changes the status of an object as its controller would.
func report[T client.Object](w *world, obj T, change func(T)) {
	w.Helper()
	w.must(w.Get(w.Context(), client.ObjectKeyFromObject(obj), obj))
	before, ok := obj.DeepCopyObject().(client.Object)
	if !ok {
		w.Fatalf("%T is no object", obj)
	}
	change(obj)
	w.must(w.Status().Patch(w.Context(), obj, client.MergeFrom(before)))
}

// conditionsOf returns conditions as an object's controller writes them, each True unless its type begins with "!".
func conditionsOf(types ...string) []metav1.Condition {
	var list []metav1.Condition
	for _, t := range types {
		c := metav1.Condition{Type: strings.TrimPrefix(t, "!"), Status: metav1.ConditionTrue, Reason: "Test", LastTransitionTime: metav1.Now()}
		if strings.HasPrefix(t, "!") {
			c.Status = metav1.ConditionFalse
		}
		list = append(list, c)
	}
	return list
}

// until waits until check is content with the Cluster, and returns it.
func (w *world) until(check func(*clusterv1.Cluster) error) *clusterv1.Cluster {
	w.Helper()
	live, last := &clusterv1.Cluster{}, error(nil)
	defer func() {
		if w.Failed() {
			w.Logf("Cluster: %v", last)
		}
	}()
	planetest.Eventually(w, func(ctx context.Context) error {
		live = &clusterv1.Cluster{}
		if err := w.Get(ctx, w.key(clusterName), live); err != nil {
			return err
		}
		last = check(live)
		return last
	})
	return live
}

// untilGone waits until an object is gone.
func (w *world) untilGone(obj client.Object) {
	w.Helper()
	planetest.Eventually(w, func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
			return client.IgnoreNotFound(err)
		}
		return fmt.Errorf("%T %s is still there", obj, obj.GetName())
	})
}

// serve opens the workload cluster with a new authority. The Secret with its kubeconfig is returned, not created.
func (w *world) serve() (close func(), secret *corev1.Secret) {
	w.Helper()
	pair, err := certs.Generate(certs.ClusterCA, certs.Options{Algorithm: certs.ECDSAP256, Now: time.Now()})
	w.must(err)
	ca, err := certs.NewAuthority(pair)
	w.must(err)
	serving, err := ca.Issue(certs.Request{
		CommonName: "kube-apiserver", Hosts: []string{"127.0.0.1"}, Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, Now: time.Now(),
	})
	w.must(err)
	server, err := workload.NewServer(workload.Options{})
	w.must(err)
	served, err := server.Open(w.key(clusterName), workload.Config{
		Dir: w.TempDir(), ListenAddr: "127.0.0.1:0", ServingCertPEM: serving.Cert, ServingKeyPEM: serving.Key, ClientCAPEM: pair.Cert, Version: version,
	})
	w.must(err)
	text, err := kubeconfig.New(ca, kubeconfig.Admin(clusterName, "https://"+served.Addr(), time.Now()))
	w.must(err)
	var closed atomic.Bool
	closeOnce := func() {
		if closed.CompareAndSwap(false, true) {
			if err := server.Close(); err != nil {
				w.Errorf("close the workload cluster: %v", err)
			}
		}
	}
	w.Cleanup(closeOnce)
	return closeOnce, kubeconfig.NewSecret(w.key(clusterName), text)
}

// counting counts what is sent to the management cluster by a client.
type counting struct {
	client.Client
	writes *atomic.Int64
}

func (c counting) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	c.writes.Add(1)
	return c.Client.Create(ctx, obj, opts...)
}

func (c counting) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	c.writes.Add(1)
	return c.Client.Delete(ctx, obj, opts...)
}

func (c counting) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	c.writes.Add(1)
	return c.Client.Patch(ctx, obj, patch, opts...)
}

func (c counting) SubResource(name string) client.SubResourceClient {
	return countingStatus{c.Client.SubResource(name), c.writes}
}

type countingStatus struct {
	client.SubResourceClient
	writes *atomic.Int64
}

func (c countingStatus) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	c.writes.Add(1)
	return c.SubResourceClient.Patch(ctx, obj, patch, opts...)
}
