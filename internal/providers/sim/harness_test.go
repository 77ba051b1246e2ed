package sim_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	infrav1 "slipway.dev/slipway/api/infrastructure/v1alpha1"
	"slipway.dev/slipway/internal/kubeadm/certs"
	"slipway.dev/slipway/internal/kubeadm/kubeconfig"
	"slipway.dev/slipway/internal/manager"
	"slipway.dev/slipway/internal/planetest"
	"slipway.dev/slipway/internal/planetest/workers"
	"slipway.dev/slipway/internal/providers/sim/simcluster"
	"slipway.dev/slipway/internal/providers/sim/simmachine"
	"slipway.dev/slipway/internal/providers/sim/world"
	"slipway.dev/slipway/internal/remote"
)

const (
	clusterName = "demo"
	version     = "v1.37.2"
	// mostPassing is how much time a test can let pass. Clocks begin that much late, since certificates must be valid for
	// clients, who know the real time.
	mostPassing = 6 * time.Hour

	group = "infrastructure.cluster.x-k8s.io"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(planetest.Main(m))
}

// rig is a Cluster of simulated machines in a namespace, with the provider's controllers at work on it when they are
// started. The test plays the other controllers.
type rig struct {
	testing.TB
	client.WithWatch
	namespace, dir string
	cas            certs.Set
	cluster        *clusterv1.Cluster
	sim            *infrav1.SimCluster

	writes    *workers.Writes
	cache     blinkers
	questions questions
	world     *world.World
	remote    *remote.Clusters
	end       func()

	workload client.Client // what admin returns

	mu     sync.Mutex // guards behind
	behind time.Duration
}

// newRig makes a Cluster and its SimCluster. Nothing is at work on them yet.
func newRig(t testing.TB, change ...func(*infrav1.SimCluster)) *rig {
	t.Helper()
	r := &rig{TB: t, WithWatch: planetest.Client(t), namespace: planetest.Namespace(t), dir: t.TempDir(), end: func() {}, behind: mostPassing}
	t.Cleanup(func() { r.stop() })
	var err error
	r.cas, err = certs.GenerateMissing(nil, certs.ExternalEtcd{}, certs.Options{Algorithm: certs.ECDSAP256, Now: r.now()})
	r.must(err)
	r.cluster = &clusterv1.Cluster{ObjectMeta: r.meta(clusterName), Spec: clusterv1.ClusterSpec{
		InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: group, Kind: "SimCluster", Name: clusterName},
	}}
	r.must(r.Create(t.Context(), r.cluster))
	r.sim = &infrav1.SimCluster{ObjectMeta: r.meta(clusterName)}
	r.sim.OwnerReferences = []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: clusterName, UID: r.cluster.UID}}
	for _, f := range change {
		f(r.sim)
	}
	r.must(r.Create(t.Context(), r.sim))
	return r
}

// started makes a rig and starts its controllers.
func started(t testing.TB, change ...func(*infrav1.SimCluster)) *rig {
	t.Helper()
	r := newRig(t, change...)
	r.start()
	return r
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *rig) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: r.namespace, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: clusterName}}
}

func (r *rig) key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: r.namespace, Name: name}
}

// now is the clock of what is simulated.
func (r *rig) now() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Now().Add(-r.behind)
}

// pass lets time pass. What is at work notices when it looks next.
func (r *rig) pass(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.behind -= d
}

// start begins the controllers with a world that knows what is in its files.
func (r *rig) start(change ...func(*workers.Writes)) {
	r.Helper()
	var err error
	r.world, err = world.New(world.Options{Dir: r.dir, Now: r.now})
	r.must(err)
	r.writes = &workers.Writes{}
	for _, f := range change {
		f(r.writes)
	}
	_, stop := planetest.StartManager(r, r.namespace, func(mgr ctrl.Manager) error {
		c, live := blinkered{r.writes.Client(mgr.GetClient()), &r.cache}, asking{mgr.GetAPIReader(), &r.questions}
		clusters := &simcluster.Reconciler{Client: c, APIReader: live, World: r.world, Now: r.now}
		machines := &simmachine.Reconciler{Client: c, APIReader: live, World: r.world, Now: r.now, Recorder: mgr.GetEventRecorder("test")}
		r.remote, err = remote.New(remote.Options{
			Reader: mgr.GetClient(), RetryFirst: 20 * time.Millisecond, RetryMost: 200 * time.Millisecond, EtcdDialTimeout: 3 * time.Second,
		})
		if err != nil {
			return err
		}
		o := controller.Options{}
		return errors.Join(clusters.SetupWithManager(mgr, o), machines.SetupWithManager(mgr, o), r.remote.SetupWithManager(mgr, o))
	})
	r.end = func() {
		stop()
		if err := r.world.Close(); err != nil {
			r.Errorf("close the world: %v", err)
		}
	}
}

// stop ends the controllers and the world.
func (r *rig) stop() {
	r.Helper()
	r.end()
	r.end = func() {}
}

// restart stops and starts them.
func (r *rig) restart() {
	r.Helper()
	r.stop()
	r.start()
}

// change changes an object by a merge patch of what change makes different.
func (r *rig) change(obj client.Object, change func()) {
	r.Helper()
	planetest.Change(r, r, obj, change)
}

// nudge has an object looked at.
func (r *rig) nudge(obj client.Object) {
	r.Helper()
	r.change(obj, func() { obj.SetAnnotations(map[string]string{"example.com/now": r.now().String()}) })
}

// placed waits for the endpoint of the cluster and returns its place.
func (r *rig) placed() world.Place {
	r.Helper()
	r.untilCluster(func(c *infrav1.SimCluster) error {
		if c.Spec.ControlPlaneEndpoint.Port == 0 || c.Status.Initialization.Provisioned == nil {
			return errors.New("not provisioned")
		}
		return nil
	})
	e := r.sim.Spec.ControlPlaneEndpoint
	return world.Place{Key: r.key(clusterName), ID: r.sim.UID, Host: e.Host, Port: e.Port}
}

// untilCluster waits until check is content with the SimCluster.
func (r *rig) untilCluster(check func(*infrav1.SimCluster) error) {
	r.Helper()
	planetest.Eventually(r, func(ctx context.Context) error {
		if err := r.Get(ctx, r.key(clusterName), r.sim); err != nil {
			return err
		}
		return check(r.sim)
	})
}

// until waits until check is content with a SimMachine, and returns it.
func (r *rig) until(name string, check func(*infrav1.SimMachine) error) *infrav1.SimMachine {
	r.Helper()
	sim := &infrav1.SimMachine{}
	planetest.Eventually(r, func(ctx context.Context) error {
		if err := r.Get(ctx, r.key(name), sim); err != nil {
			return err
		}
		return check(sim)
	})
	return sim
}

// admin is a client of the simulated cluster, with its administrator's rights.
func (r *rig) admin() client.Client {
	r.Helper()
	if r.workload != nil {
		return r.workload
	}
	cfg, err := clientcmd.RESTConfigFromKubeConfig(r.kubeconfig())
	r.must(err)
	cfg.QPS = -1
	// The endpoint may be down, so that it cannot be asked for its kinds.
	kinds := meta.NewDefaultRESTMapper(nil)
	kinds.Add(corev1.SchemeGroupVersion.WithKind("Node"), meta.RESTScopeRoot)
	kinds.Add(corev1.SchemeGroupVersion.WithKind("Secret"), meta.RESTScopeNamespace)
	r.workload, err = client.New(cfg, client.Options{Scheme: manager.Scheme(), Mapper: kinds})
	r.must(err)
	return r.workload
}

func (r *rig) kubeconfig() []byte {
	r.Helper()
	ca, err := certs.NewAuthority(r.cas[certs.ClusterCA])
	r.must(err)
	text, err := kubeconfig.New(ca, kubeconfig.Admin(clusterName, "https://"+r.address(), r.now()))
	r.must(err)
	return text
}

// connect writes the Secrets by which the cluster and its etcd are reached as the controllers reach them.
func (r *rig) connect() {
	r.Helper()
	r.must(r.Create(r.Context(), kubeconfig.NewSecret(r.key(clusterName), r.kubeconfig())))
	r.must(r.Create(r.Context(), certs.NewSecret(r.key(clusterName), certs.EtcdCA, r.cas[certs.EtcdCA])))
}

// members asks etcd for its members, through the API server and a port-forward.
func (r *rig) members(ctx context.Context) ([]remote.Member, error) {
	etcd, err := r.remote.Etcd(ctx, r.key(clusterName))
	if err != nil {
		return nil, err
	}
	defer etcd.Close()
	return etcd.Members(ctx)
}

// node reads a Node from the simulated cluster.
func (r *rig) node(ctx context.Context, name string) (*corev1.Node, error) {
	node := &corev1.Node{}
	return node, r.admin().Get(ctx, client.ObjectKey{Name: name}, node)
}

func readiness(node *corev1.Node) corev1.NodeCondition {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c
		}
	}
	return corev1.NodeCondition{}
}

// untilNode waits until a Node's condition Ready is so, and returns the condition.
func (r *rig) untilNode(name string, want corev1.ConditionStatus) corev1.NodeCondition {
	r.Helper()
	var ready corev1.NodeCondition
	planetest.Eventually(r, func(ctx context.Context) error {
		node, err := r.node(ctx, name)
		if err != nil {
			return err
		}
		if ready = readiness(node); ready.Status != want {
			return fmt.Errorf("Node %s: Ready is %q", name, ready.Status)
		}
		return nil
	})
	return ready
}
