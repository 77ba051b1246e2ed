package kubeadmconfig_test

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
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
	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
	"slipway.dev/slipway/internal/conditions"
	"slipway.dev/slipway/internal/controllers/kubeadmconfig"
	"slipway.dev/slipway/internal/kubeadm/certs"
	"slipway.dev/slipway/internal/kubeadm/cloudinit"
	"slipway.dev/slipway/internal/kubeadm/config"
	"slipway.dev/slipway/internal/kubeadm/kubeconfig"
	"slipway.dev/slipway/internal/manager"
	"slipway.dev/slipway/internal/planetest"
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

// world is a Cluster in a namespace, with the KubeadmConfig controller at work on it.
type world struct {
	testing.TB
	client.WithWatch
	namespace string
	cluster   *clusterv1.Cluster
	workload  client.Client
}

// newWorld makes a Cluster whose infrastructure is there.
func newWorld(t testing.TB, change ...func(*clusterv1.Cluster)) *world {
	t.Helper()
	w := &world{TB: t, WithWatch: planetest.Client(t), namespace: planetest.Namespace(t)}
	w.cluster = &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: clusterName},
		Spec: clusterv1.ClusterSpec{
			InfrastructureRef:    clusterv1.ContractVersionedObjectReference{APIGroup: "fake.slipway.dev", Kind: "FakeCluster", Name: clusterName},
			ControlPlaneEndpoint: clusterv1.APIEndpoint{Host: "10.0.0.1", Port: 6443},
			ClusterNetwork: clusterv1.ClusterNetwork{
				Pods: clusterv1.NetworkRanges{CIDRBlocks: []string{"10.244.0.0/16"}}, Services: clusterv1.NetworkRanges{CIDRBlocks: []string{"10.96.0.0/12"}},
			},
		},
	}
	for _, f := range change {
		f(w.cluster)
	}
	w.must(w.Create(t.Context(), w.cluster))
	w.initialization(clusterv1.ClusterInitializationStatus{InfrastructureProvisioned: new(true)})
	return w
}

// run has the controller begin.
func (w *world) run(change ...func(*kubeadmconfig.Reconciler)) *world {
	w.Helper()
	planetest.Manager(w, w.namespace, func(mgr ctrl.Manager) error {
		clusters, err := remote.New(remote.Options{Reader: mgr.GetClient(), RetryFirst: 20 * time.Millisecond, RetryMost: 200 * time.Millisecond})
		if err != nil {
			return err
		}
		if err := clusters.SetupWithManager(mgr, controller.Options{}); err != nil {
			return err
		}
		r := &kubeadmconfig.Reconciler{Client: mgr.GetClient(), APIReader: mgr.GetAPIReader(), Clusters: clusters, Now: time.Now}
		for _, f := range change {
			f(r)
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

func (w *world) initialization(s clusterv1.ClusterInitializationStatus) {
	w.Helper()
	before := w.cluster.DeepCopy()
	w.cluster.Status.Initialization = s
	w.must(w.Status().Patch(w.Context(), w.cluster, client.MergeFrom(before)))
}

func (w *world) initialized() {
	w.Helper()
	w.initialization(clusterv1.ClusterInitializationStatus{InfrastructureProvisioned: new(true), ControlPlaneInitialized: new(true)})
}

// machine makes a Machine and its KubeadmConfig, as a user does.
func (w *world) machine(name string, controlPlane bool, change ...func(*bootstrapv1.KubeadmConfig)) *bootstrapv1.KubeadmConfig {
	w.Helper()
	c := &bootstrapv1.KubeadmConfig{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name},
		Spec: bootstrapv1.KubeadmConfigSpec{
			// Fast keys keep the tests fast.
			ClusterConfiguration: bootstrapv1.ClusterConfiguration{EncryptionAlgorithm: bootstrapv1.EncryptionAlgorithmECDSAP256},
		},
	}
	for _, f := range change {
		f(c)
	}
	w.must(w.Create(w.Context(), c))
	m := &clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: clusterName}},
		Spec: clusterv1.MachineSpec{
			ClusterName: clusterName, Version: version,
			Bootstrap:         clusterv1.Bootstrap{ConfigRef: clusterv1.ContractVersionedObjectReference{APIGroup: bootstrapv1.GroupVersion.Group, Kind: "KubeadmConfig", Name: name}},
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: "fake.slipway.dev", Kind: "FakeMachine", Name: name},
		},
	}
	if controlPlane {
		m.Labels[clusterv1.MachineControlPlaneLabel] = ""
	}
	w.must(w.Create(w.Context(), m))
	return c
}

func (w *world) controlPlane(name string, change ...func(*bootstrapv1.KubeadmConfig)) *bootstrapv1.KubeadmConfig {
	w.Helper()
	return w.machine(name, true, change...)
}

func (w *world) worker(name string, change ...func(*bootstrapv1.KubeadmConfig)) *bootstrapv1.KubeadmConfig {
	w.Helper()
	return w.machine(name, false, change...)
}

// editMachine changes the status of a Machine as its controller would.
func (w *world) editMachine(name string, change func(*clusterv1.Machine)) {
	w.Helper()
	m := &clusterv1.Machine{}
	w.must(w.Get(w.Context(), w.key(name), m))
	before := m.DeepCopy()
	change(m)
	w.must(w.Status().Patch(w.Context(), m, client.MergeFrom(before)))
}

// joined has the Machine controller find the machine's Node.
func (w *world) joined(name string) {
	w.Helper()
	w.editMachine(name, func(m *clusterv1.Machine) {
		m.Status.NodeRef = clusterv1.MachineNodeReference{Name: name}
		m.Status.Initialization.InfrastructureProvisioned = new(true)
	})
}

// until waits until check is content with the KubeadmConfig, and returns it.
func (w *world) until(name string, check func(*bootstrapv1.KubeadmConfig) error) *bootstrapv1.KubeadmConfig {
	w.Helper()
	live, last := &bootstrapv1.KubeadmConfig{}, error(nil)
	defer func() {
		if w.Failed() {
			w.Logf("KubeadmConfig %s: %v", name, last)
		}
	}()
	planetest.Eventually(w, func(ctx context.Context) error {
		live = &bootstrapv1.KubeadmConfig{}
		if err := w.Get(ctx, w.key(name), live); err != nil {
			return err
		}
		last = check(live)
		return last
	})
	return live
}

// made waits for the data of a machine, and returns its Secret.
func (w *world) made(name string) *corev1.Secret {
	w.Helper()
	c := w.until(name, isMade)
	s := &corev1.Secret{}
	w.must(w.Get(w.Context(), w.key(c.Status.DataSecretName), s))
	return s
}

func isMade(c *bootstrapv1.KubeadmConfig) error {
	created := c.Status.Initialization.DataSecretCreated
	if c.Status.DataSecretName == "" || created == nil || !*created || !conditions.IsTrue(c.Status.Conditions, clusterv1.ReadyCondition) {
		return fmt.Errorf("status is %+v", c.Status)
	}
	return nil
}

// tells returns a check that the condition DataSecretAvailable has the words.
func tells(words ...string) func(*bootstrapv1.KubeadmConfig) error {
	return func(c *bootstrapv1.KubeadmConfig) error {
		got := conditions.Find(c.Status.Conditions, bootstrapv1.KubeadmConfigDataSecretAvailableCondition)
		if got == nil || got.Status != metav1.ConditionFalse || got.Reason != clusterv1.NotAvailableReason {
			return fmt.Errorf("DataSecretAvailable is %+v", got)
		}
		for _, word := range words {
			if !strings.Contains(got.Message, word) {
				return fmt.Errorf("%q is not in %q", word, got.Message)
			}
		}
		return nil
	}
}

// read reads bootstrap data as a machine would.
func (w *world) read(s *corev1.Secret) *cloudinit.Config {
	w.Helper()
	c, err := cloudinit.Read(s.Data["value"], nil)
	w.must(err)
	return c
}

// documents returns what kubeadm reads in bootstrap data.
func (w *world) documents(s *corev1.Secret, at string) config.Documents {
	w.Helper()
	text, ok := w.read(s).Content(at)
	if !ok {
		w.Fatalf("Secret %s has no file %s", s.Name, at)
	}
	d, err := config.Parse(text)
	w.must(err)
	return d
}

// serve opens the workload cluster with the authority that there is, and writes its kubeconfig.
func (w *world) serve() {
	w.Helper()
	secret := &corev1.Secret{}
	w.must(w.Get(w.Context(), w.key(certs.ClusterCA.SecretName(clusterName)), secret))
	pair, err := certs.FromSecret(secret, certs.ClusterCA, certs.ExternalEtcd{}, time.Now())
	w.must(err)
	ca, err := certs.NewAuthority(pair)
	w.must(err)
	serving, err := ca.Issue(certs.Request{
		CommonName: "kube-apiserver", Hosts: []string{"127.0.0.1"}, Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, Now: time.Now(),
	})
	w.must(err)
	server, err := workload.NewServer(workload.Options{})
	w.must(err)
	w.Cleanup(func() {
		if err := server.Close(); err != nil {
			w.Errorf("close the workload cluster: %v", err)
		}
	})
	served, err := server.Open(w.key(clusterName), workload.Config{
		Dir: w.TempDir(), ListenAddr: "127.0.0.1:0", ServingCertPEM: serving.Cert, ServingKeyPEM: serving.Key, ClientCAPEM: pair.Cert, Version: version,
	})
	w.must(err)
	text, err := kubeconfig.New(ca, kubeconfig.Admin(clusterName, "https://"+served.Addr(), time.Now()))
	w.must(err)
	w.must(w.Create(w.Context(), kubeconfig.NewSecret(w.key(clusterName), text)))
	admin, err := ca.Issue(certs.Request{CommonName: "admin", Organizations: []string{"system:masters"}, Now: time.Now()})
	w.must(err)
	w.workload, err = client.New(&rest.Config{
		Host: "https://" + served.Addr(), QPS: -1, TLSClientConfig: rest.TLSClientConfig{CAData: pair.Cert, CertData: admin.Cert, KeyData: admin.Key},
	}, client.Options{Scheme: manager.Scheme()})
	w.must(err)
}

// authorities creates the key pairs of a cluster, as a control plane's controller does.
func (w *world) authorities() {
	w.Helper()
	set, err := certs.GenerateMissing(nil, certs.ExternalEtcd{}, certs.Options{Algorithm: certs.ECDSAP256, Now: time.Now()})
	w.must(err)
	for purpose, pair := range set {
		w.must(w.Create(w.Context(), certs.NewSecret(w.key(clusterName), purpose, pair)))
	}
}

// started is a world whose control plane answers.
func started(t testing.TB) *world {
	t.Helper()
	w := newWorld(t)
	w.authorities()
	w.serve()
	w.initialized()
	return w
}

// tokens returns the bootstrap tokens in the workload cluster.
func (w *world) tokens(ctx context.Context) ([]corev1.Secret, error) {
	var list corev1.SecretList
	err := w.workload.List(ctx, &list, client.InNamespace(metav1.NamespaceSystem))
	var out []corev1.Secret
	for _, s := range list.Items {
		if strings.HasPrefix(s.Name, "bootstrap-token-") {
			out = append(out, s)
		}
	}
	return out, err
}

// untilTokens waits until there are that many tokens.
func (w *world) untilTokens(want int) []corev1.Secret {
	w.Helper()
	var list []corev1.Secret
	planetest.Eventually(w, func(ctx context.Context) (err error) {
		list, err = w.tokens(ctx)
		if err == nil && len(list) != want {
			err = fmt.Errorf("%d tokens", len(list))
		}
		return err
	})
	return list
}

// absent returns nil if the object does not exist.
func (w *world) absent(ctx context.Context, name string, obj client.Object) error {
	err := w.Get(ctx, w.key(name), obj)
	if err == nil {
		return errors.New(name + " exists")
	}
	return client.IgnoreNotFound(err)
}
