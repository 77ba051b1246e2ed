package machine_test

import (
	"context"
	"fmt"
	"os"
	"sync"
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
	"slipway.dev/slipway/internal/controllers/machine"
	"slipway.dev/slipway/internal/kubeadm/certs"
	"slipway.dev/slipway/internal/kubeadm/kubeconfig"
	"slipway.dev/slipway/internal/manager"
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

// world is a Cluster in a namespace, with the Machine controller at work on it and a workload cluster behind it.
type world struct {
	testing.TB
	client.WithWatch
	*fakes.Providers
	namespace string
	cluster   *clusterv1.Cluster
	workload  client.Client
	served    *workload.Cluster
	writes    *writes
}

// newWorld makes a world whose providers keep the contract.
func newWorld(t testing.TB, c contract.Version, change ...func(*machine.Reconciler)) *world {
	t.Helper()
	return newWorldBy(t, planetest.Config(t), manager.ControllerOptions(), c, change...)
}

// newWorldBy is newWorld with a controller that reaches the plane by the config and has these options.
func newWorldBy(t testing.TB, cfg *rest.Config, o controller.Options, c contract.Version, change ...func(*machine.Reconciler)) *world {
	t.Helper()
	w := &world{TB: t, WithWatch: planetest.Client(t), namespace: planetest.Namespace(t), writes: &writes{}}
	w.Providers = fakes.Install(t, w, w.namespace, c, "Cluster", "Machine", "Config", "ControlPlane")
	w.cluster = &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: clusterName},
		Spec: clusterv1.ClusterSpec{
			InfrastructureRef:    w.Ref("Cluster", clusterName),
			ControlPlaneEndpoint: clusterv1.APIEndpoint{Host: "127.0.0.1", Port: 6443},
		},
	}
	w.must(w.Create(t.Context(), w.cluster))
	w.serve()
	planetest.ManagerFor(t, cfg, w.namespace, func(mgr ctrl.Manager) error {
		clusters, err := remote.New(remote.Options{Reader: mgr.GetClient(), RetryFirst: 20 * time.Millisecond, RetryMost: 200 * time.Millisecond})
		if err != nil {
			return err
		}
		if err := clusters.SetupWithManager(mgr, controller.Options{}); err != nil {
			return err
		}
		r := &machine.Reconciler{
			Client: counting{mgr.GetClient(), w.writes}, APIReader: mgr.GetAPIReader(), Clusters: clusters, Now: time.Now,
		}
		for _, f := range change {
			f(r)
		}
		return r.SetupWithManager(mgr, o)
	})
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// serve opens the workload cluster and writes its kubeconfig Secret.
func (w *world) serve() {
	pair, err := certs.Generate(certs.ClusterCA, certs.Options{Algorithm: certs.ECDSAP256, Now: time.Now()})
	w.must(err)
	ca, err := certs.NewAuthority(pair)
	w.must(err)
	serving, err := ca.Issue(certs.Request{CommonName: "kube-apiserver", Hosts: []string{"127.0.0.1"}, Usages: serverAuth(), Now: time.Now()})
	w.must(err)
	server, err := workload.NewServer(workload.Options{})
	w.must(err)
	w.Cleanup(func() {
		if err := server.Close(); err != nil {
			w.Errorf("close the workload cluster: %v", err)
		}
	})
	key := types.NamespacedName{Namespace: w.namespace, Name: clusterName}
	w.served, err = server.Open(key, workload.Config{
		Dir: w.TempDir(), ListenAddr: "127.0.0.1:0", ServingCertPEM: serving.Cert, ServingKeyPEM: serving.Key, ClientCAPEM: pair.Cert, Version: version,
	})
	w.must(err)
	config, err := kubeconfig.New(ca, kubeconfig.Admin(clusterName, "https://"+w.served.Addr(), time.Now()))
	w.must(err)
	w.must(w.Create(w.Context(), kubeconfig.NewSecret(key, config)))
	admin, err := ca.Issue(certs.Request{CommonName: "admin", Organizations: []string{"system:masters"}, Now: time.Now()})
	w.must(err)
	w.workload, err = client.New(&rest.Config{
		Host: "https://" + w.served.Addr(), QPS: -1, TLSClientConfig: rest.TLSClientConfig{CAData: pair.Cert, CertData: admin.Cert, KeyData: admin.Key},
	}, client.Options{Scheme: manager.Scheme()})
	w.must(err)
	w.cluster.Status.Initialization = clusterv1.ClusterInitializationStatus{InfrastructureProvisioned: new(true), ControlPlaneInitialized: new(true)}
	w.must(w.Status().Update(w.Context(), w.cluster))
}

// machine makes a Machine with its two objects.
func (w *world) machine(name string, change ...func(*clusterv1.Machine)) *clusterv1.Machine {
	w.Helper()
	w.must(w.Create(w.Context(), w.Fake("Config", name)))
	w.must(w.Create(w.Context(), w.Fake("Machine", name)))
	m := &clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name},
		Spec: clusterv1.MachineSpec{
			ClusterName: clusterName, Version: version,
			Bootstrap: clusterv1.Bootstrap{ConfigRef: w.Ref("Config", name)}, InfrastructureRef: w.Ref("Machine", name),
		},
	}
	for _, f := range change {
		f(m)
	}
	w.must(w.Create(w.Context(), m))
	return m
}

// bootstrapped has the fake bootstrap provider be done.
func (w *world) bootstrapped(name string) {
	w.Helper()
	done := "status.initialization.dataSecretCreated"
	if w.Contract == contract.V1Beta1 {
		done = "status.ready"
	}
	w.Edit("Config", name, map[string]any{"status.dataSecretName": name + "-data"})
	w.Edit("Config", name, map[string]any{done: true})
}

func providerID(name string) string { return "fake:///zone/" + name }

// provisioned has the fake infrastructure provider be done.
func (w *world) provisioned(name string) {
	w.Helper()
	done := "status.initialization.provisioned"
	if w.Contract == contract.V1Beta1 {
		done = "status.ready"
	}
	w.Edit("Machine", name, map[string]any{
		"spec.providerID":      providerID(name),
		"status.failureDomain": "zone",
		"status.addresses":     []any{map[string]any{"type": "InternalIP", "address": "10.0.0.1"}},
	})
	w.Edit("Machine", name, map[string]any{done: true})
}

// joined has a Node register as a kubelet would.
func (w *world) joined(name string) *corev1.Node {
	w.Helper()
	taint := clusterv1.NodeUninitializedTaint()
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.NodeSpec{ProviderID: providerID(name), Taints: []corev1.Taint{taint}},
		Status: corev1.NodeStatus{
			NodeInfo: corev1.NodeSystemInfo{KubeletVersion: version, ContainerRuntimeVersion: "containerd://2.2.0", OperatingSystem: "linux", Architecture: "amd64"},
			Conditions: []corev1.NodeCondition{
				{Type: corev1.NodeReady, Status: corev1.ConditionTrue}, {Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse},
				{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse}, {Type: corev1.NodePIDPressure, Status: corev1.ConditionFalse},
			},
		},
	}
	status := node.Status
	w.must(w.workload.Create(w.Context(), node))
	before := node.DeepCopy()
	node.Status = status
	w.must(w.workload.Status().Patch(w.Context(), node, client.MergeFrom(before)))
	return node
}

// running brings a Machine all the way up.
func (w *world) running(name string, change ...func(*clusterv1.Machine)) *clusterv1.Machine {
	w.Helper()
	m := w.machine(name, change...)
	w.bootstrapped(name)
	w.provisioned(name)
	w.joined(name)
	return w.until(m, func(m *clusterv1.Machine) error {
		if m.Status.Phase != string(clusterv1.MachinePhaseRunning) || !m.Status.NodeRef.IsDefined() {
			return fmt.Errorf("phase %s, Node %q", m.Status.Phase, m.Status.NodeRef.Name)
		}
		return nil
	})
}

// until waits until check is content with the Machine, and returns it.
func (w *world) until(m *clusterv1.Machine, check func(*clusterv1.Machine) error) *clusterv1.Machine {
	w.Helper()
	live, last := &clusterv1.Machine{}, error(nil)
	defer func() {
		if w.Failed() {
			w.Logf("Machine %s: %v", m.Name, last)
		}
	}()
	planetest.Eventually(w, func(ctx context.Context) error {
		live = &clusterv1.Machine{}
		if err := w.Get(ctx, client.ObjectKeyFromObject(m), live); err != nil {
			return err
		}
		last = check(live)
		return last
	})
	return live
}

// untilGone waits until an object is gone.
func (w *world) untilGone(c client.Client, obj client.Object) {
	w.Helper()
	planetest.Eventually(w, func(ctx context.Context) error {
		err := c.Get(ctx, client.ObjectKeyFromObject(obj), obj)
		if err == nil {
			return fmt.Errorf("%T %s is still there: %v", obj, obj.GetName(), describe(obj))
		}
		return client.IgnoreNotFound(err)
	})
}

func describe(obj client.Object) any {
	if m, ok := obj.(*clusterv1.Machine); ok {
		return fmt.Sprintf("%+v", m.Status.Conditions)
	}
	return obj.GetResourceVersion()
}

// writes counts what the controller sends to the management cluster.
type writes struct {
	mu   sync.Mutex // guards list
	list []string
}

func (w *writes) add(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, what)
}

func (w *writes) all() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.list...)
}

// counting counts the patches that go through a client.
type counting struct {
	client.Client
	writes *writes
}

func (c counting) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	err := c.Client.Patch(ctx, obj, patch, opts...)
	c.record("", obj, patch, err)
	return err
}

func (c counting) SubResource(name string) client.SubResourceClient {
	return countingStatus{c.Client.SubResource(name), c, name}
}

// record counts a write that was accepted.
func (c counting) record(subresource string, obj client.Object, patch client.Patch, failure error) {
	if failure != nil {
		return
	}
	data, err := patch.Data(obj)
	if err != nil {
		data = []byte(err.Error())
	}
	c.writes.add(fmt.Sprintf("%s %s%s %s", time.Now().Format("05.000"), obj.GetObjectKind().GroupVersionKind().Kind, subresource, data))
}

type countingStatus struct {
	client.SubResourceClient
	counting counting
	name     string
}

func (c countingStatus) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	err := c.SubResourceClient.Patch(ctx, obj, patch, opts...)
	c.counting.record("/"+c.name, obj, patch, err)
	return err
}
