package machine

import (
	"context"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"slipway.dev/slipway/internal/drain"
	"slipway.dev/slipway/internal/events"
	"slipway.dev/slipway/internal/plan"
)

const (
	// firstLook and lastLook bound the time between two looks at a Node that is being emptied: nothing tells of the end of
	// a Pod. The longer it has taken, the longer it will.
	firstLook = time.Second
	lastLook  = 20 * time.Second
)

// drain does one pass of draining the Node.
func (r *Reconciler) drain(ctx context.Context, w *world, f *plan.MachineDeletionFacts) (more bool, err error) {
	node, leave, err := r.nodeToEmpty(ctx, w)
	if err != nil {
		return false, err
	}
	defer leave()
	result, err := node.Pass(ctx)
	if err != nil {
		r.trouble(ctx, w, err, events.FailedDrainNode, events.DrainNode)
		return false, w.wait(interval(f.DrainStarted, w.now))
	}
	if result.Plan.Done {
		f.Drained, w.deletion.drained = plan.True, true
		return true, nil
	}
	f.Drained = plan.False
	w.deletion.plan.Message = result.Message
	return false, w.wait(interval(f.DrainStarted, w.now))
}

// waitVolumes looks whether the volumes have left the Node.
func (r *Reconciler) waitVolumes(ctx context.Context, w *world, f *plan.MachineDeletionFacts) (more bool, err error) {
	node, leave, err := r.nodeToEmpty(ctx, w)
	if err != nil {
		return false, err
	}
	defer leave()
	detached, message, err := node.Detached(ctx)
	if err != nil {
		r.trouble(ctx, w, err, events.FailedWaitForVolumeDetach, events.WaitForVolumes)
		return false, w.wait(interval(f.VolumeWaitStarted, w.now))
	}
	f.VolumesDetached, w.deletion.detached = detached, detached == plan.True
	if detached == plan.True {
		return true, nil
	}
	w.deletion.plan.Message = message
	return false, w.wait(interval(f.VolumeWaitStarted, w.now))
}

// nodeToEmpty returns the Node with all that decides how it is emptied, and how to leave the cluster's lane.
func (r *Reconciler) nodeToEmpty(ctx context.Context, w *world) (drain.Node, func(), error) {
	if w.node.node == nil {
		w.deletion.plan.Message += ": " + whyNoNode(w)
		return drain.Node{}, nil, w.waitForCluster()
	}
	rules, err := drain.Rules(ctx, r.Client, w.machine.Namespace)
	if err != nil {
		return drain.Node{}, nil, err
	}
	workload, leave, err := r.enter(ctx, w)
	if err != nil {
		return drain.Node{}, nil, err
	}
	return drain.Node{
		Workload: workload, Object: w.node.node, MachineLabels: w.machine.Labels, ClusterLabels: w.cluster.Labels, Rules: rules, Now: w.now,
	}, leave, nil
}

// trouble has the condition say that the step went wrong; the log holds the error in full.
func (r *Reconciler) trouble(ctx context.Context, w *world, err error, reason, action string) {
	ctrl.LoggerFrom(ctx).V(1).Info("Workload cluster refused or did not answer", "step", w.deletion.plan.Step.String(), "cause", err.Error())
	w.deletion.trouble = true
	w.deletion.plan.Message += ": " + stable(err)
	r.tellTrouble(w, reason, action)
}

func interval(since, now time.Time) time.Duration {
	return min(lastLook, max(firstLook, now.Sub(since)/4))
}
