package kubeadmcontrolplane_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	infrav1 "slipway.dev/slipway/api/infrastructure/v1alpha1"
	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
	"slipway.dev/slipway/internal/conditions"
	"slipway.dev/slipway/internal/controllers/cluster"
	"slipway.dev/slipway/internal/controllers/kubeadmconfig"
	"slipway.dev/slipway/internal/controllers/kubeadmcontrolplane"
	"slipway.dev/slipway/internal/controllers/machine"
	"slipway.dev/slipway/internal/planetest"
	"slipway.dev/slipway/internal/planetest/workers"
	"slipway.dev/slipway/internal/providers/sim"
	"slipway.dev/slipway/internal/remote"
)

const (
	clusterName = "demo"
	oldVersion  = "v1.36.0"
	newVersion  = "v1.37.0"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(planetest.Main(m))
}

// world is a namespace with the manifests of one cluster on simulated machines.
type world struct {
	testing.TB
	client.WithWatch
	namespace string
	dir       string
	clusters  *remote.Clusters
	kcp       *controlplanev1.KubeadmControlPlane
	machines  *infrav1.SimMachineTemplate
	sim       *infrav1.SimCluster
	cluster   *clusterv1.Cluster
}

// newWorld prepares a world with a control plane of so many machines. Change may alter the manifests before they are made.
func newWorld(t testing.TB, replicas int32, change ...func(*world)) *world {
	t.Helper()
	w := &world{TB: t, WithWatch: planetest.Client(t), namespace: planetest.Namespace(t), dir: t.TempDir()}
	meta := metav1.ObjectMeta{Namespace: w.namespace, Name: clusterName}
	infra := infrav1.GroupVersion.Group
	w.cluster = &clusterv1.Cluster{ObjectMeta: meta, Spec: clusterv1.ClusterSpec{
		InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infra, Kind: "SimCluster", Name: clusterName},
		ControlPlaneRef:   clusterv1.ContractVersionedObjectReference{APIGroup: controlplanev1.GroupVersion.Group, Kind: "KubeadmControlPlane", Name: clusterName},
	}}
	w.sim = &infrav1.SimCluster{ObjectMeta: meta}
	w.machines = w.template(clusterName)
	w.kcp = &controlplanev1.KubeadmControlPlane{ObjectMeta: meta}
	w.kcp.Spec.Replicas, w.kcp.Spec.Version = &replicas, oldVersion
	w.kcp.Spec.MachineTemplate.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: infra, Kind: "SimMachineTemplate", Name: clusterName}
	w.kcp.Spec.KubeadmConfigSpec.ClusterConfiguration.EncryptionAlgorithm = bootstrapv1.EncryptionAlgorithmECDSAP256
	for _, f := range change {
		f(w)
	}
	for _, o := range []client.Object{w.cluster, w.sim, w.machines, w.kcp} {
		w.must(w.Create(t.Context(), o))
	}
	return w
}

func (w *world) template(name string) *infrav1.SimMachineTemplate {
	t := &infrav1.SimMachineTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
	t.Spec.Template.Spec.BootDelay = &metav1.Duration{Duration: 100 * time.Millisecond}
	return t
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// run runs all controllers that a control plane needs until the test ends, and watches over the writes of the one under
// test.
func (w *world) run(t testing.TB) *workers.Writes {
	t.Helper()
	writes := &workers.Writes{}
	planetest.Manager(t, w.namespace, func(mgr ctrl.Manager) error {
		clusters, err := remote.New(remote.Options{Reader: mgr.GetClient(), RetryFirst: 20 * time.Millisecond, RetryMost: 200 * time.Millisecond})
		if err != nil {
			return err
		}
		w.clusters = clusters
		o := controller.Options{}
		c, live := mgr.GetClient(), mgr.GetAPIReader()
		return errors.Join(
			clusters.SetupWithManager(mgr, o),
			(&cluster.Reconciler{Client: c, APIReader: live, Clusters: clusters, Now: time.Now}).SetupWithManager(mgr, o),
			(&machine.Reconciler{Client: c, APIReader: live, Clusters: clusters, Now: time.Now}).SetupWithManager(mgr, o),
			(&kubeadmconfig.Reconciler{Client: c, APIReader: live, Clusters: clusters, Now: time.Now}).SetupWithManager(mgr, o),
			sim.SetupWithManager(mgr, w.dir, o),
			(&kubeadmcontrolplane.Reconciler{
				Client: writes.Client(c), APIReader: live, Clusters: clusters, Now: time.Now, Random: rand.IntN,
			}).SetupWithManager(mgr, o),
		)
	})
	return writes
}

func (w *world) key() types.NamespacedName {
	return types.NamespacedName{Namespace: w.namespace, Name: clusterName}
}

// change changes the control plane.
func (w *world) change(f func(*controlplanev1.KubeadmControlPlane)) {
	w.Helper()
	planetest.Change(w, w, w.kcp, func() { f(w.kcp) })
}

// list returns the control-plane Machines by name.
func (w *world) list(ctx context.Context) ([]clusterv1.Machine, error) {
	var l clusterv1.MachineList
	err := w.List(ctx, &l, client.InNamespace(w.namespace), client.HasLabels{clusterv1.MachineControlPlaneLabel})
	slices.SortFunc(l.Items, func(a, b clusterv1.Machine) int { return strings.Compare(a.Name, b.Name) })
	return l.Items, err
}

// settled waits until there are so many Machines, all available, of the version asked for and as the spec wants them.
func (w *world) settled(replicas int) []clusterv1.Machine {
	w.Helper()
	var machines []clusterv1.Machine
	planetest.Eventually(w, func(ctx context.Context) (err error) {
		if machines, err = w.list(ctx); err != nil {
			return err
		}
		if err := w.Get(ctx, client.ObjectKeyFromObject(w.kcp), w.kcp); err != nil {
			return err
		}
		s := w.kcp.Status
		if len(machines) != replicas || !are(replicas, s.Replicas, s.ReadyReplicas, s.AvailableReplicas, s.UpToDateReplicas) ||
			s.ObservedGeneration != w.kcp.Generation || s.Version != w.kcp.Spec.Version {
			return fmt.Errorf("%d Machines, status %s", len(machines), w.said())
		}
		for i := range machines {
			if machines[i].Spec.Version != w.kcp.Spec.Version {
				return fmt.Errorf("Machine %s has version %s", machines[i].Name, machines[i].Spec.Version)
			}
		}
		for _, t := range []string{clusterv1.ScalingUpCondition, clusterv1.ScalingDownCondition, clusterv1.RollingOutCondition} {
			if !conditions.IsFalse(s.Conditions, t) {
				return fmt.Errorf("%s: %s", t, w.said())
			}
		}
		if !conditions.IsTrue(s.Conditions, clusterv1.AvailableCondition) {
			return fmt.Errorf("not Available: %s", w.said())
		}
		return nil
	})
	return machines
}

func are(want int, counts ...*int32) bool {
	return !slices.ContainsFunc(counts, func(n *int32) bool { return n == nil || int(*n) != want })
}

// said is the status for messages of tests.
func (w *world) said() string {
	var b strings.Builder
	for _, n := range []*int32{w.kcp.Status.Replicas, w.kcp.Status.ReadyReplicas, w.kcp.Status.AvailableReplicas, w.kcp.Status.UpToDateReplicas} {
		if n == nil {
			b.WriteString("- ")
			continue
		}
		fmt.Fprintf(&b, "%d ", *n)
	}
	for _, c := range w.kcp.Status.Conditions {
		fmt.Fprintf(&b, "\n  %s=%s %s %q", c.Type, c.Status, c.Reason, c.Message)
	}
	return b.String()
}

// says waits until a condition of the control plane has the status and a message with the words.
func (w *world) says(conditionType string, status metav1.ConditionStatus, words string) {
	w.Helper()
	planetest.Eventually(w, func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(w.kcp), w.kcp); err != nil {
			return err
		}
		c := conditions.Find(w.kcp.Status.Conditions, conditionType)
		if c == nil || c.Status != status || !strings.Contains(c.Message, words) {
			return fmt.Errorf("%s is not %s with %q: %s", conditionType, status, words, w.said())
		}
		return nil
	})
}

// hold keeps a Machine from going once it is deleted, so that what leads there can be looked at, until released.
func (w *world) hold(m *clusterv1.Machine) (release func()) {
	w.Helper()
	const hook = clusterv1.PreDrainDeleteHookAnnotationPrefix + "/example"
	put := func(value string) {
		w.must(w.Patch(w.Context(), m, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+hook+`":`+value+`}}}`))))
	}
	put(`"me"`)
	return func() { put("null") }
}

// gone waits until the object is gone.
func (w *world) gone(o client.Object) {
	w.Helper()
	planetest.Eventually(w, func(ctx context.Context) error {
		err := w.Get(ctx, client.ObjectKeyFromObject(o), o)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("%s is still there: %w", o.GetName(), err)
	})
}

// members returns the names of etcd's members.
func (w *world) members(ctx context.Context) ([]string, error) {
	door, err := w.clusters.Etcd(ctx, w.key())
	if err != nil {
		return nil, err
	}
	defer door.Close()
	members, err := door.Members(ctx)
	var names []string
	for _, m := range members {
		names = append(names, m.Name)
	}
	slices.Sort(names)
	return names, err
}

// watchNumbers looks at the Machines, at each change of one, until stop is called, which returns the fewest and the most
// that there were and were not being deleted, and the most of all.
func (w *world) watchNumbers() (stop func() (fewest, most, all int)) {
	w.Helper()
	present, err := w.list(w.Context())
	w.must(err)
	there := map[string]bool{}
	for _, m := range present {
		there[m.Name] = m.DeletionTimestamp.IsZero()
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.Context()))
	watch, err := w.Watch(ctx, &clusterv1.MachineList{}, client.InNamespace(w.namespace), client.HasLabels{clusterv1.MachineControlPlaneLabel})
	if err != nil {
		cancel()
		w.Fatal(err)
	}
	type numbers struct{ fewest, most, all int }
	result := make(chan numbers, 1)
	go func() {
		n := numbers{fewest: 1 << 10}
		for e := range watch.ResultChan() {
			m, ok := e.Object.(*clusterv1.Machine)
			if !ok {
				continue
			}
			if there[m.Name] = m.DeletionTimestamp.IsZero(); e.Type == "DELETED" {
				delete(there, m.Name)
			}
			staying := 0
			for _, stays := range there {
				if stays {
					staying++
				}
			}
			n = numbers{min(n.fewest, staying), max(n.most, staying), max(n.all, len(there))}
		}
		result <- n
	}()
	return func() (int, int, int) {
		cancel()
		watch.Stop()
		n := <-result
		return n.fewest, n.most, n.all
	}
}

func surge(n int) controlplanev1.KubeadmControlPlaneRolloutSpec {
	return controlplanev1.KubeadmControlPlaneRolloutSpec{Strategy: controlplanev1.KubeadmControlPlaneRolloutStrategy{
		Type:          controlplanev1.RollingUpdateStrategyType,
		RollingUpdate: controlplanev1.KubeadmControlPlaneRolloutStrategyRollingUpdate{MaxSurge: new(intstr.FromInt(n))},
	}}
}
