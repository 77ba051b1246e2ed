package machine_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
	"slipway.dev/slipway/internal/providers/sim/workload"
	"slipway.dev/slipway/internal/remote"
)

const (
	fakeGroup   = "fake.slipway.dev"
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
	namespace string
	contract  contract.Version
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
	w := &world{TB: t, WithWatch: planetest.Client(t), namespace: planetest.Namespace(t), contract: c, writes: &writes{}}
	w.installFakes()
	w.cluster = &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: clusterName},
		Spec: clusterv1.ClusterSpec{
			InfrastructureRef:    w.ref("Cluster", clusterName),
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

// kind is the name of a fake provider's kind.
func (w *world) kind(role string) string {
	return "Fake" + strings.ToUpper(string(w.contract[:2])) + string(w.contract[2:]) + role
}

func (w *world) ref(role, name string) clusterv1.ContractVersionedObjectReference {
	return clusterv1.ContractVersionedObjectReference{APIGroup: fakeGroup, Kind: w.kind(role), Name: name}
}

// installFakes installs the kinds of fake providers that keep the contract. The API server takes some seconds to serve a
// kind, so all are created before any is waited for.
func (w *world) installFakes() {
	roles := []string{"Cluster", "Machine", "Config", "ControlPlane"}
	for _, role := range roles {
		kind := w.kind(role)
		plural := strings.ToLower(kind) + "s"
		anything := &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)}
		crd := &apiextensionsv1.CustomResourceDefinition{
			ObjectMeta: metav1.ObjectMeta{
				Name: plural + "." + fakeGroup, Labels: map[string]string{"cluster.x-k8s.io/" + string(w.contract): "v1"},
			},
			Spec: apiextensionsv1.CustomResourceDefinitionSpec{
				Group: fakeGroup, Scope: apiextensionsv1.NamespaceScoped,
				Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: kind, ListKind: kind + "List", Plural: plural, Singular: strings.ToLower(kind)},
				Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
					Name: "v1", Served: true, Storage: true,
					Schema:       &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: anything},
					Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
				}},
			},
		}
		if err := w.Create(w.Context(), crd); !apierrors.IsAlreadyExists(err) {
			w.must(err)
		}
	}
	for _, role := range roles {
		planetest.Eventually(w, func(ctx context.Context) error {
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(schema.GroupVersionKind{Group: fakeGroup, Version: "v1", Kind: w.kind(role) + "List"})
			return w.List(ctx, list, client.InNamespace(w.namespace))
		})
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

// fake makes an object of a fake provider.
func (w *world) fake(role, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: fakeGroup, Version: "v1", Kind: w.kind(role)})
	u.SetNamespace(w.namespace)
	u.SetName(name)
	return u
}

// machine makes a Machine with its two objects.
func (w *world) machine(name string, change ...func(*clusterv1.Machine)) *clusterv1.Machine {
	w.Helper()
	w.must(w.Create(w.Context(), w.fake("Config", name)))
	w.must(w.Create(w.Context(), w.fake("Machine", name)))
	m := &clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name},
		Spec: clusterv1.MachineSpec{
			ClusterName: clusterName, Version: version,
			Bootstrap: clusterv1.Bootstrap{ConfigRef: w.ref("Config", name)}, InfrastructureRef: w.ref("Machine", name),
		},
	}
	for _, f := range change {
		f(m)
	}
	w.must(w.Create(w.Context(), m))
	return m
}

// edit changes an object of a fake provider, or its status.
func (w *world) edit(role, name string, fields map[string]any) {
	w.Helper()
	for path, value := range fields {
		u := w.fake(role, name)
		w.must(w.Get(w.Context(), client.ObjectKeyFromObject(u), u))
		before := u.DeepCopy()
		w.must(unstructured.SetNestedField(u.Object, value, strings.Split(path, ".")...))
		if strings.HasPrefix(path, "status.") {
			w.must(w.Status().Patch(w.Context(), u, client.MergeFrom(before)))
		} else {
			w.must(w.Patch(w.Context(), u, client.MergeFrom(before)))
		}
	}
}

// bootstrapped has the fake bootstrap provider be done.
func (w *world) bootstrapped(name string) {
	w.Helper()
	done := "status.initialization.dataSecretCreated"
	if w.contract == contract.V1Beta1 {
		done = "status.ready"
	}
	w.edit("Config", name, map[string]any{"status.dataSecretName": name + "-data"})
	w.edit("Config", name, map[string]any{done: true})
}

func providerID(name string) string { return "fake:///zone/" + name }

// provisioned has the fake infrastructure provider be done.
func (w *world) provisioned(name string) {
	w.Helper()
	done := "status.initialization.provisioned"
	if w.contract == contract.V1Beta1 {
		done = "status.ready"
	}
	w.edit("Machine", name, map[string]any{
		"spec.providerID":      providerID(name),
		"status.failureDomain": "zone",
		"status.addresses":     []any{map[string]any{"type": "InternalIP", "address": "10.0.0.1"}},
	})
	w.edit("Machine", name, map[string]any{done: true})
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

// untilTold waits for an Event about a Machine that says so.
func (w *world) untilTold(m *clusterv1.Machine, reason, part string) {
	w.Helper()
	planetest.Eventually(w, func(ctx context.Context) error {
		list := &corev1.EventList{}
		if err := w.List(ctx, list, client.InNamespace(w.namespace)); err != nil {
			return err
		}
		for _, e := range list.Items {
			if e.InvolvedObject.Name == m.Name && e.Reason == reason && strings.Contains(e.Message, part) {
				return nil
			}
		}
		return fmt.Errorf("nobody is told %s: %s, among %d Events", reason, part, len(list.Items))
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
