package kubeadmcontrolplane

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/conditions"
	"slipway.dev/slipway/internal/events"
	"slipway.dev/slipway/internal/outcome"
	"slipway.dev/slipway/internal/plan"
	"slipway.dev/slipway/internal/remote"
)

// leaveSteps bounds what one reconcile does for a Machine that leaves etcd: move leadership, remove, look.
const leaveSteps = 4

// leave takes Machines that are being deleted out of etcd, once they are drained and wait for it. Which step comes next is
// read from etcd itself each time, so that an interrupted one is continued.
func (r *Reconciler) leave(ctx context.Context, s *scene) error {
	waiting := slices.DeleteFunc(slices.Clone(s.machines), func(m *machine) bool { return !waitsForHook(m.Machine) })
	if len(waiting) == 0 {
		return nil
	}
	// Who else is there decides about the quorum, and a hook that was dropped a moment ago is not dropped again.
	if err := r.fresh(ctx, s); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, insideTimeout)
	defer cancel()
	var errs []error
	for _, m := range waiting {
		if err := r.leaveOne(ctx, s, m); err != nil {
			errs = append(errs, fmt.Errorf("take Machine %s out of etcd: %w", m.Name, err))
		}
	}
	return errors.Join(errs...)
}

// waitsForHook reports whether the deletion of the Machine stands at our hook.
func waitsForHook(m *clusterv1.Machine) bool {
	_, hooked := m.Annotations[controlplanev1.PreTerminateHookCleanupAnnotation]
	return hooked && !m.DeletionTimestamp.IsZero() &&
		conditions.Reason(m.Status.Conditions, clusterv1.DeletingCondition) == clusterv1.MachineDeletingWaitingForPreTerminateHookReason
}

func (r *Reconciler) leaveOne(ctx context.Context, s *scene, m *machine) error {
	facts := plan.LeaveFacts{Machine: m.Name, Others: s.others(m), EtcdManaged: s.etcdManaged(), OtherHooks: otherHooks(m.Machine)}
	p := plan.LeaveEtcd(facts)
	if p.Step == plan.LeaveDone {
		return r.dropHook(ctx, s, m.Machine)
	}
	if p.Step == plan.LeaveWaitHooks {
		s.held = append(s.held, fmt.Sprintf("Machine %s: %s", m.Name, p.Reason))
		return nil // Their removal is an event.
	}
	door, err := r.Clusters.Etcd(ctx, s.key, s.leavingNodes()...)
	if err != nil {
		why := "The etcd members could not be read, so the member stays"
		if errors.Is(err, remote.ErrEtcdUnmanaged) {
			why = "The key of the cluster's etcd CA is missing, so the member stays"
		}
		s.hold(m, why)
		return nil
	}
	defer door.Close()
	for range leaveSteps {
		members, err := door.Members(ctx)
		if err != nil {
			return err
		}
		facts.Etcd = s.etcdFacts(members, true)
		if done, err := r.leaveStep(ctx, s, m, door, plan.LeaveEtcd(facts)); done || err != nil {
			return err
		}
	}
	s.after = outcome.Sooner(s.after, settleInterval)
	return nil
}

// leaveStep makes one step, and reports whether there is none after it for now.
func (r *Reconciler) leaveStep(ctx context.Context, s *scene, m *machine, door *remote.Etcd, p plan.LeavePlan) (bool, error) {
	switch p.Step {
	case plan.LeaveDone:
		return true, r.dropHook(ctx, s, m.Machine)
	case plan.LeaveMoveLeader:
		return false, door.MoveLeader(ctx, p.To)
	case plan.LeaveRemoveMember:
		if err := door.RemoveMember(ctx, p.Member); err != nil {
			return false, err
		}
		r.Recorder.Eventf(s.kcp, m.Machine, corev1.EventTypeNormal, events.LeftEtcd, events.LeaveEtcd, "Removed the etcd member of Machine %s", m.Name)
	case plan.LeaveRefused, plan.LeaveWaitHooks:
		s.hold(m, p.Reason)
		return true, nil
	}
	return false, nil
}

// hold notes why a Machine stays in etcd, and looks again soon.
func (s *scene) hold(m *machine, reason string) {
	s.held = append(s.held, fmt.Sprintf("Machine %s: %s", m.Name, reason))
	s.after = outcome.Sooner(s.after, s.settling())
}

func (s *scene) others(m *machine) []plan.LeaveMachine {
	var list []plan.LeaveMachine
	for _, o := range s.machines {
		if o.Name != m.Name {
			list = append(list, plan.LeaveMachine{Name: o.Name, Created: o.CreationTimestamp.Time, Deleting: o.deleting()})
		}
	}
	for _, o := range slices.Concat(s.strays, s.foreign) {
		list = append(list, plan.LeaveMachine{Name: o.Name, Created: o.CreationTimestamp.Time, Deleting: !o.DeletionTimestamp.IsZero()})
	}
	return list
}

// otherHooks are the pre-terminate hooks of others on the Machine.
func otherHooks(m *clusterv1.Machine) []string {
	var list []string
	for key := range m.Annotations {
		if strings.HasPrefix(key, clusterv1.PreTerminateDeleteHookAnnotationPrefix) && key != controlplanev1.PreTerminateHookCleanupAnnotation {
			list = append(list, key)
		}
	}
	slices.Sort(list)
	return list
}

// dropHook takes our hook off the Machine, where it is.
func (r *Reconciler) dropHook(ctx context.Context, s *scene, m *clusterv1.Machine) error {
	copied := m.DeepCopy()
	changed, err := apply.Metadata(ctx, r.Client, machineManager, copied, func(meta metav1.Object) {
		annotations := map[string]string{}
		for k, v := range meta.GetAnnotations() {
			if k != controlplanev1.PreTerminateHookCleanupAnnotation {
				annotations[k] = v
			}
		}
		meta.SetAnnotations(annotations)
	})
	if changed {
		r.tracker.Wrote(s.kcp.UID, copied)
	}
	return err
}
