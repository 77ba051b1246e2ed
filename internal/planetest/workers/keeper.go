package workers

import (
	"context"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	infrav1 "slipway.dev/slipway/api/infrastructure/v1alpha1"
	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/conditions"
)

// Keeper stands in for the controller of Machines: Machines are up at once and gone at once, unless it is told to hold
// them.
type Keeper struct {
	client client.Client

	mu    sync.Mutex // guards what follows
	unfit func(*clusterv1.Machine) bool
	clung func(*clusterv1.Machine) bool
}

// Keep adds a Keeper to a manager.
func Keep(mgr ctrl.Manager) (*Keeper, error) {
	k := &Keeper{client: mgr.GetClient()}
	return k, ctrl.NewControllerManagedBy(mgr).Named("keeper").For(&clusterv1.Machine{}).
		WithOptions(controller.Options{SkipNameValidation: new(true)}).Complete(k)
}

// Unfit keeps Machines from becoming available.
func (k *Keeper) Unfit(which func(*clusterv1.Machine) bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.unfit = which
}

// Cling keeps Machines from going away.
func (k *Keeper) Cling(which func(*clusterv1.Machine) bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.clung = which
}

func (k *Keeper) holds(m *clusterv1.Machine) (unfit, clung bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.unfit != nil && k.unfit(m), k.clung != nil && k.clung(m)
}

// Reconcile brings a Machine up or lets it go.
func (k *Keeper) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	m := &clusterv1.Machine{}
	if err := k.client.Get(ctx, req.NamespacedName, m); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	unfit, clung := k.holds(m)
	again := ctrl.Result{RequeueAfter: 50 * time.Millisecond}
	switch {
	case !m.DeletionTimestamp.IsZero() && clung:
		return again, nil
	case !m.DeletionTimestamp.IsZero():
		return ctrl.Result{}, k.release(ctx, m)
	case unfit:
		return again, k.report(ctx, m, metav1.ConditionFalse)
	default:
		return ctrl.Result{}, k.report(ctx, m, metav1.ConditionTrue)
	}
}

func (k *Keeper) release(ctx context.Context, m *clusterv1.Machine) error {
	for _, o := range []client.Object{&infrav1.SimMachine{}, &bootstrapv1.KubeadmConfig{}} {
		o.SetNamespace(m.Namespace)
		o.SetName(m.Name)
		if err := client.IgnoreNotFound(k.client.Delete(ctx, o)); err != nil {
			return err
		}
	}
	_, err := apply.RemoveFinalizer(ctx, k.client, "keeper", m, clusterv1.MachineFinalizer)
	return err
}

func (k *Keeper) report(ctx context.Context, m *clusterv1.Machine, status metav1.ConditionStatus) error {
	want := []metav1.Condition{{Type: clusterv1.MachineUpToDateCondition, Status: metav1.ConditionTrue, Reason: clusterv1.MachineUpToDateReason}}
	for _, t := range []string{clusterv1.ReadyCondition, clusterv1.AvailableCondition, clusterv1.MachineNodeReadyCondition, clusterv1.MachineNodeHealthyCondition} {
		want = append(want, metav1.Condition{Type: t, Status: status, Reason: "Kept"})
	}
	if conditions.EqualOwned(conditions.Stamp(nil, m.Status.Conditions, 0, time.Time{}), conditions.Stamp(nil, want, 0, time.Time{})) {
		return nil
	}
	before := m.DeepCopy()
	for _, c := range want {
		conditions.Set(&m.Status.Conditions, c, 0, time.Now())
	}
	m.Status.NodeRef = clusterv1.MachineNodeReference{Name: m.Name}
	m.Status.NodeInfo = NodeInfo()
	return client.IgnoreNotFound(k.client.Status().Patch(ctx, m, client.MergeFrom(before)))
}
