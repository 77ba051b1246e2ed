package machine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/contract"
	"slipway.dev/slipway/internal/events"
	"slipway.dev/slipway/internal/outcome"
	"slipway.dev/slipway/internal/plan"
	"slipway.dev/slipway/internal/provision"
	"slipway.dev/slipway/internal/remote"
)

// maxSteps bounds the steps of one reconcile; there are nine, and each is taken once.
const maxSteps = 12

// deletion is what deleting a Machine has come to in this reconcile.
type deletion struct {
	// plan is the step that is being done or waited for.
	plan plan.MachineDeletionPlan
	// started are the starts of the steps, those recorded before included.
	started clusterv1.MachineDeletionStatus
	// drained and detached say that this reconcile has found it so.
	drained, detached bool
	// trouble says that the step went wrong, rather than that it takes time.
	trouble bool
}

// delete brings the deletion of a Machine on, as far as it goes without waiting.
func (r *Reconciler) delete(ctx context.Context, w *world) error {
	w.deletion = &deletion{plan: plan.MachineDeletionPlan{Reason: clusterv1.DeletingReason}}
	if s := w.machine.Status.Deletion; s != nil {
		w.deletion.started = *s
	}
	if !slices.Contains(w.machine.Finalizers, clusterv1.MachineFinalizer) {
		return nil
	}
	if err := r.rememberNode(ctx, w); err != nil {
		return err
	}
	for _, e := range []*external{&w.infra, &w.bootstrap} {
		if err := r.confirm(ctx, w, e); err != nil {
			return err
		}
	}
	f, err := r.deletionFacts(ctx, w)
	if err != nil {
		return err
	}
	for range maxSteps {
		w.deletion.plan = plan.MachineDeletion(f, w.now)
		if w.deletion.plan.Start {
			w.deletion.start(w.deletion.plan.Step, &f, w.now)
		}
		more, err := r.step(ctx, w, &f)
		if err != nil || !more {
			return err
		}
	}
	return fmt.Errorf("delete Machine %s: step %s does not end", client.ObjectKeyFromObject(w.machine), w.deletion.plan.Step)
}

// rememberNode writes the provider ID into the Machine while the infrastructure can still tell it: a Node that registers
// when the infrastructure is going would be left behind otherwise.
func (r *Reconciler) rememberNode(ctx context.Context, w *world) error {
	if w.machine.Spec.ProviderID != "" || w.infraFacts.ProviderID == "" {
		return nil
	}
	next := w.machine.Spec.DeepCopy()
	next.ProviderID = w.infraFacts.ProviderID
	return r.patchSpec(ctx, w, next)
}

// confirm makes sure that an object that the cache does not know is not there: nobody would delete it later. A kind that is
// not installed has no objects, so that a Machine with a reference to it, such as a misspelt one, can go.
func (r *Reconciler) confirm(ctx context.Context, w *world, e *external) error {
	if e.object != nil || !e.ref.IsDefined() || e.err != nil && !errors.Is(e.err, contract.ErrKindNotInstalled) {
		return nil
	}
	missing, err := contract.NewResolver(r.APIReader).Missing(ctx, e.ref, w.machine.Namespace)
	switch {
	case err != nil:
		return fmt.Errorf("look for %s %s: %w", e.ref.Kind, e.ref.Name, err)
	case !missing:
		return outcome.Quietly(lagLook, "CacheLags", "the cache does not show %s %s yet", e.ref.Kind, e.ref.Name)
	}
	e.err = nil
	return nil
}

// start records when a step began, in the facts too.
func (d *deletion) start(step plan.MachineDeletionStep, f *plan.MachineDeletionFacts, now time.Time) {
	at := metav1.NewTime(now.Truncate(time.Second))
	switch step {
	case plan.WaitPreDrainHook:
		d.started.WaitForPreDrainHookStartTime, f.PreDrainStarted = at, at.Time
	case plan.Drain:
		d.started.NodeDrainStartTime, f.DrainStarted = at, at.Time
	case plan.WaitVolumes:
		d.started.WaitForNodeVolumeDetachStartTime, f.VolumeWaitStarted = at, at.Time
	case plan.WaitPreTerminateHook:
		d.started.WaitForPreTerminateHookStartTime, f.PreTerminateStarted = at, at.Time
	case plan.FindNode, plan.DeleteInfrastructure, plan.DeleteBootstrap, plan.DeleteNode, plan.FinishMachine:
	}
}

// step does the step that is planned; more is true when the next may follow at once.
func (r *Reconciler) step(ctx context.Context, w *world, f *plan.MachineDeletionFacts) (more bool, err error) {
	p := &w.deletion.plan
	switch p.Step {
	case plan.FindNode:
		if w.node.err != nil {
			p.Message += ": " + w.node.err.Error()
		}
		return false, w.waitForCluster()
	case plan.WaitPreDrainHook, plan.WaitPreTerminateHook:
		return false, w.wait(0)
	case plan.Drain:
		return r.drain(ctx, w, f)
	case plan.WaitVolumes:
		return r.waitVolumes(ctx, w, f)
	case plan.DeleteInfrastructure:
		return false, r.deleteExternal(ctx, w, w.infra)
	case plan.DeleteBootstrap:
		return false, r.deleteExternal(ctx, w, w.bootstrap)
	case plan.DeleteNode:
		return r.deleteNode(ctx, w, f)
	case plan.FinishMachine:
		return false, r.finish(ctx, w, f)
	}
	return false, nil
}

// finish lets the Machine go, and tells what of it stays for good.
func (r *Reconciler) finish(ctx context.Context, w *world, f *plan.MachineDeletionFacts) error {
	removed, err := apply.RemoveFinalizer(ctx, r.Client, fieldManager, w.machine, clusterv1.MachineFinalizer)
	if err != nil {
		return err
	}
	w.finished = true
	if removed {
		r.written.note(w.machine)
	}
	if w.deletion.plan.NodeGivenUp {
		// With the action of the tries before, this would be counted as one more of them and not be read.
		r.tell(w, corev1.EventTypeWarning, events.FailedDeleteNode, events.Delete, "Node %s is left behind, since %s",
			orElse(f.Node, "of the Machine, if there is one,"), w.deletion.plan.NodeLeft)
	}
	return nil
}

// wait waits for what the plan names, not longer than its bound; zero waits for an event.
func (w *world) wait(after time.Duration) error {
	if at := w.deletion.plan.GiveUpAt; !at.IsZero() {
		after = outcome.Sooner(after, max(time.Second, at.Sub(w.now)))
	}
	return outcome.Waiting(after, w.deletion.plan.Reason, "%s", w.deletion.plan.Message)
}

// waitForCluster waits for a workload cluster that does not answer. What makes that needless, such as the loss of the last
// Machine that serves it, makes no event for this Machine.
func (w *world) waitForCluster() error {
	return w.wait(interval(w.machine.DeletionTimestamp.Time, w.now))
}

func (r *Reconciler) deleteExternal(ctx context.Context, w *world, e external) error {
	if e.object == nil && e.err != nil {
		return e.err
	}
	if w.deletion.plan.DeleteObject {
		if err := provision.Remove(ctx, r.Client, e.object.Metadata()); err != nil {
			return err
		}
	}
	return w.wait(0)
}

// deletionFacts reads what decides about the deletion.
func (r *Reconciler) deletionFacts(ctx context.Context, w *world) (plan.MachineDeletionFacts, error) {
	m, started := w.machine, w.deletion.started
	f := plan.MachineDeletionFacts{
		DeletedAt:       m.DeletionTimestamp.Time,
		ClusterDeleting: w.cluster == nil || !w.cluster.DeletionTimestamp.IsZero(),
		Node:            m.Status.NodeRef.Name, NodeExists: w.node.exists,
		// Without a provider ID no answer of the cluster can tell the Node.
		NodeFailed: w.node.exists == plan.Unknown && (w.node.err != nil || w.providerID() == ""), SilentSince: r.silentSince(w.node.connection),
		PreDrainHooks:     hooks(m, clusterv1.PreDrainDeleteHookAnnotationPrefix),
		PreTerminateHooks: hooks(m, clusterv1.PreTerminateDeleteHookAnnotationPrefix),
		DrainTimeout:      seconds(m.Spec.Deletion.NodeDrainTimeoutSeconds),
		VolumeTimeout:     seconds(m.Spec.Deletion.NodeVolumeDetachTimeoutSeconds),
		NodeTimeout:       seconds(m.Spec.Deletion.NodeDeletionTimeoutSeconds),
		PreDrainStarted:   started.WaitForPreDrainHookStartTime.Time, DrainStarted: started.NodeDrainStartTime.Time,
		VolumeWaitStarted: started.WaitForNodeVolumeDetachStartTime.Time, PreTerminateStarted: started.WaitForPreTerminateHookStartTime.Time,
		Infrastructure: w.infra.forPlan(), Bootstrap: w.bootstrap.forPlan(),
	}
	_, f.ExcludeDrain = m.Annotations[clusterv1.ExcludeNodeDrainingAnnotation]
	_, f.ExcludeVolumeDetach = m.Annotations[clusterv1.ExcludeWaitForNodeVolumeDetachAnnotation]
	if w.node.node != nil {
		f.Node = w.node.node.Name
	}
	if f.ClusterDeleting {
		return f, nil
	}
	if err := r.controlPlaneFacts(ctx, w, &f); err != nil {
		return f, err
	}
	var err error
	f.KubeconfigGone, err = r.kubeconfigGone(ctx, w)
	return f, err
}

// silentSince is when the cluster answered last; zero while it answers, or when it was not asked yet. One that has not
// answered since this process began counts as silent since then.
func (r *Reconciler) silentSince(s remote.Status) time.Time {
	switch {
	case s.ConsecutiveFailures == 0:
		return time.Time{}
	case s.EverConnected():
		return s.LastProbeSuccess
	default:
		return r.began
	}
}

func seconds(n *int32) time.Duration {
	if n == nil {
		return 0
	}
	return time.Duration(*n) * time.Second
}

func hooks(m *clusterv1.Machine, prefix string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(m.Annotations)), func(key string) bool { return !strings.HasPrefix(key, prefix) })
}

// controlPlaneFacts tell whether anybody serves the Nodes of the Cluster after this Machine.
func (r *Reconciler) controlPlaneFacts(ctx context.Context, w *world, f *plan.MachineDeletionFacts) error {
	if ref := w.cluster.Spec.ControlPlaneRef; ref.IsDefined() {
		object, err := r.controlPlane(ctx, w, ref)
		if err != nil {
			return fmt.Errorf("read the control plane of Cluster %s: %w", w.clusterKey(), err)
		}
		// An object that is missing says nothing of the Machines that serve: it may be restored later than they.
		if object != nil {
			view, err := object.ControlPlane()
			if err != nil {
				return err
			}
			f.ControlPlaneDeleting, f.ExternalControlPlane = object.Deleting(), view.ExternalManaged.IsTrue()
		}
	}
	if f.ExternalControlPlane {
		return nil // It does not run on Machines.
	}
	machines := r.machines(ctx, w.machine.Namespace, byCluster, w.machine.Spec.ClusterName)
	if slices.ContainsFunc(machines, servesOn) {
		f.ControlPlaneLeft = plan.True
		return nil
	}
	// A cache that lags must not make a Node be left behind undrained.
	var live clusterv1.MachineList
	if err := r.APIReader.List(ctx, &live, client.InNamespace(w.machine.Namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: w.machine.Spec.ClusterName}); err != nil {
		return fmt.Errorf("list the Machines of Cluster %s: %w", w.clusterKey(), err)
	}
	f.ControlPlaneLeft = plan.TriOf(slices.ContainsFunc(live.Items, servesOn))
	return nil
}

// controlPlane reads the control plane's object; nil when it does not exist.
func (r *Reconciler) controlPlane(ctx context.Context, w *world, ref clusterv1.ContractVersionedObjectReference) (*contract.Object, error) {
	e := r.observeExternal(ctx, ref, w.machine.Namespace)
	if err := r.confirm(ctx, w, &e); err != nil {
		return nil, err
	}
	return e.object, e.err
}

func servesOn(m clusterv1.Machine) bool {
	_, controlPlane := m.Labels[clusterv1.MachineControlPlaneLabel]
	return controlPlane && m.DeletionTimestamp.IsZero()
}

// kubeconfigGone reports whether nobody can reach the Nodes of the Cluster for want of a kubeconfig. What the door has
// not heard of yet is asked of the API server.
func (r *Reconciler) kubeconfigGone(ctx context.Context, w *world) (bool, error) {
	if w.node.connection.KubeconfigExists() {
		return false, nil
	}
	key := w.clusterKey()
	key.Name += "-kubeconfig"
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	err := r.APIReader.Get(ctx, key, secret)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("look for the kubeconfig Secret %s: %w", key, err)
	}
	return err != nil, nil
}

// deleteNode deletes the Node, which nothing will register again: its machine is gone.
func (r *Reconciler) deleteNode(ctx context.Context, w *world, f *plan.MachineDeletionFacts) (more bool, err error) {
	if w.node.node == nil {
		w.deletion.plan.Message += ": " + whyNoNode(w)
		return false, w.waitForCluster()
	}
	workload, leave, err := r.enter(ctx, w)
	if err != nil {
		return false, err
	}
	defer leave()
	ctx, cancel := context.WithTimeout(ctx, remoteTimeout)
	defer cancel()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.node.node.Name}}
	err = workload.Delete(ctx, node, client.Preconditions{UID: &w.node.node.UID})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		r.trouble(ctx, w, err, events.FailedDeleteNode, events.DeleteNode)
		f.NodeFailed = true
		if plan.MachineDeletion(*f, w.now).Step != plan.DeleteNode {
			return true, nil // That was the last try.
		}
		return false, w.waitForCluster()
	}
	f.NodeExists = plan.False
	return true, nil
}

// whyNoNode says why nothing certain is known of the Node.
func whyNoNode(w *world) string {
	if w.node.err != nil {
		return w.node.err.Error()
	}
	return "the workload cluster does not answer"
}

// enter takes one of the cluster's lanes and returns a client of the cluster. Errors are waits.
func (r *Reconciler) enter(ctx context.Context, w *world) (client.Client, func(), error) {
	leave, ok := r.lanes.enter(w.clusterKey())
	if !ok {
		return nil, nil, outcome.Quietly(time.Second, "WaitingForLane", "other Machines of the Cluster are being worked on")
	}
	workload, err := r.Clusters.Client(ctx, w.clusterKey())
	if err != nil {
		leave()
		w.deletion.plan.Message += ": " + whyNoNode(w)
		return nil, nil, w.waitForCluster()
	}
	return workload, leave, nil
}

// stable is an error without what differs from try to try, fit for a condition.
func stable(err error) string {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, remote.ErrNotConnected) {
		return "the workload cluster does not answer"
	}
	if status, ok := errors.AsType[*apierrors.StatusError](err); ok {
		return status.Status().Message
	}
	return "the request to the workload cluster did not succeed; the controller's log tells more"
}
