// Package drain empties a Node of a workload cluster: it does what plan.DrainNode decides, one pass at a time, and looks
// whether the Node's volumes are gone.
package drain

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/plan"
)

// passTimeout bounds one pass, so that a cluster that answers slowly does not hold a worker up; the next pass goes on.
const passTimeout = 10 * time.Second

// unreachableGraceSeconds is the grace of Pods on a Node whose kubelet cannot tell of their end.
const unreachableGraceSeconds = 1

// Node is a Node to be emptied, and what decides how.
type Node struct {
	// Workload is a client of the Node's cluster.
	Workload client.Client
	// Object is the Node; it is left alone.
	Object *corev1.Node
	// MachineLabels and ClusterLabels are those of the Machine and of its Cluster.
	MachineLabels, ClusterLabels map[string]string
	// Rules are the MachineDrainRules that may apply, see Rules.
	Rules []plan.DrainRule
	// Now is the time.
	Now time.Time
}

// Result is what a pass found and did.
type Result struct {
	// Plan is what was decided.
	Plan plan.DrainPlan
	// Message says what is waited for; empty when nothing is.
	Message string
}

// Unreachable reports whether a Node's kubelet has stopped reporting: nobody confirms there that a Pod has ended or a
// volume is detached.
func Unreachable(node *corev1.Node) bool {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionUnknown
		}
	}
	return false
}

// Pass keeps new Pods off the Node and evicts those whose turn it is. It does not wait for them to end. An error says that
// the cluster could not be asked; evictions that the cluster refuses are told in the Result.
func (n Node) Pass(ctx context.Context) (Result, error) {
	ctx, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	if err := n.cordon(ctx); err != nil {
		return Result{}, err
	}
	decided, err := n.Plan(ctx)
	if err != nil {
		return Result{}, err
	}
	failures, err := n.evict(ctx, decided.Evict)
	if err != nil {
		return Result{}, err
	}
	return Result{Plan: decided, Message: decided.Message(failures)}, nil
}

// Plan decides about the Node's Pods and changes nothing.
func (n Node) Plan(ctx context.Context) (plan.DrainPlan, error) {
	pods, err := n.podFacts(ctx)
	if err != nil {
		return plan.DrainPlan{}, err
	}
	return plan.DrainNode(plan.DrainFacts{
		MachineLabels: n.MachineLabels, ClusterLabels: n.ClusterLabels, Rules: n.Rules,
		NodeUnreachable: Unreachable(n.Object), Pods: pods,
	}, n.Now), nil
}

func (n Node) cordon(ctx context.Context) error {
	if n.Object.Spec.Unschedulable {
		return nil
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Object.Name}}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"unschedulable":true}}`))
	if err := n.Workload.Patch(ctx, node, patch); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("cordon Node %s: %w", n.Object.Name, err)
	}
	return nil
}

func (n Node) evict(ctx context.Context, pods []plan.PodDecision) ([]plan.EvictionFailure, error) {
	var failures []plan.EvictionFailure
	for _, d := range pods {
		err := n.evictPod(ctx, d.Pod)
		switch {
		case err == nil || apierrors.IsNotFound(err):
		case errors.Is(err, context.DeadlineExceeded):
			// The pass has had its time; the next one goes on with those that are left.
			return failures, nil
		case refused(err):
			failures = append(failures, plan.EvictionFailure{Pod: d.Pod.Namespace + "/" + d.Pod.Name, Message: refusal(err)})
		default:
			return nil, fmt.Errorf("evict Pod %s/%s: %w", d.Pod.Namespace, d.Pod.Name, err)
		}
	}
	return failures, nil
}

func (n Node) evictPod(ctx context.Context, facts plan.DrainPodFacts) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: facts.Namespace, Name: facts.Name}}
	eviction := &policyv1.Eviction{DeleteOptions: &metav1.DeleteOptions{}}
	if Unreachable(n.Object) {
		eviction.DeleteOptions.GracePeriodSeconds = new(int64(unreachableGraceSeconds))
	}
	return n.Workload.SubResource("eviction").Create(ctx, pod, eviction)
}

// refused reports whether the cluster answered, and the answer was no: for a disruption budget, or by its admission.
func refused(err error) bool {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	return ok && status.Status().Code >= 400 && !apierrors.IsUnauthorized(err)
}

// refusal is what the cluster answered; a disruption budget tells the numbers in the cause. An answer for another reason
// is marked as such.
func refusal(err error) string {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok {
		return err.Error()
	}
	message := status.Status().Message
	if !apierrors.IsTooManyRequests(err) {
		return "could not be evicted: " + message
	}
	if details := status.Status().Details; details != nil {
		for _, cause := range details.Causes {
			if cause.Type == policyv1.DisruptionBudgetCause && cause.Message != "" {
				message += " " + cause.Message
			}
		}
	}
	return message
}
