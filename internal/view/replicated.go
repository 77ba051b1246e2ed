package view

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
)

// Count is how many of the wanted machines are available.
type Count struct {
	Available int32 `json:"available"`
	Desired   int32 `json:"desired"`
}

// String is the count with its total, as 2/3.
func (c Count) String() string { return fmt.Sprintf("%d/%d", c.Available, c.Desired) }

// replicated is what objects that keep a number of machines have in common.
type replicated struct {
	meta                                          *metav1.ObjectMeta
	paused                                        bool
	observed                                      int64
	conditions                                    []metav1.Condition
	noun                                          string
	desired, replicas, ready, available, upToDate int32
	unset                                         bool
	failed                                        failed
}

// OfControlPlane returns the status of the cluster's control plane.
func (c Cluster) OfControlPlane(now time.Time) Status { return c.factsOfControlPlane().status(now) }

// OfMachineDeployment returns the status of a MachineDeployment of the cluster.
func (c Cluster) OfMachineDeployment(md *clusterv1.MachineDeployment, now time.Time) Status {
	return c.factsOfDeployment(md).status(now)
}

// OfMachineSet returns the status of a MachineSet of the cluster.
func (c Cluster) OfMachineSet(ms *clusterv1.MachineSet, now time.Time) Status {
	s := &ms.Status
	return replicated{
		failed: c.failedAmong(ownedBy(clusterv1.MachineSetNameLabel, ms.Name)),
		meta:   &ms.ObjectMeta, observed: s.ObservedGeneration, conditions: s.Conditions, noun: "machines",
		desired: value(ms.Spec.Replicas), replicas: value(s.Replicas), ready: value(s.ReadyReplicas),
		available: value(s.AvailableReplicas), upToDate: value(s.UpToDateReplicas), unset: s.Replicas == nil,
	}.status(now)
}

func (c Cluster) factsOfControlPlane() replicated {
	cp := c.ControlPlane
	s := &cp.Status
	return replicated{
		failed: c.failedAmong(isControlPlane),
		meta:   &cp.ObjectMeta, observed: s.ObservedGeneration, conditions: s.Conditions, noun: "control-plane machines",
		desired: value(cp.Spec.Replicas), replicas: value(s.Replicas), ready: value(s.ReadyReplicas),
		available: value(s.AvailableReplicas), upToDate: value(s.UpToDateReplicas), unset: s.Replicas == nil,
	}
}

func (c Cluster) factsOfDeployment(md *clusterv1.MachineDeployment) replicated {
	s := &md.Status
	return replicated{
		failed: c.failedAmong(ownedBy(clusterv1.MachineDeploymentNameLabel, md.Name)),
		meta:   &md.ObjectMeta, paused: md.Spec.Paused != nil && *md.Spec.Paused, observed: s.ObservedGeneration,
		conditions: s.Conditions, noun: "workers",
		desired: value(md.Spec.Replicas), replicas: value(s.Replicas), ready: value(s.ReadyReplicas),
		available: value(s.AvailableReplicas), upToDate: value(s.UpToDateReplicas), unset: s.Replicas == nil,
	}
}

// seen tells whether the controller has looked at the object as it is now. While what it does fails, only conditions tell.
func (r replicated) seen() bool {
	return !r.unset && (r.done() || find(r.conditions, clusterv1.ScalingUpCondition).ObservedGeneration >= r.meta.Generation)
}

// done tells whether the object as it is now has reached all that follows from it.
func (r replicated) done() bool { return r.observed >= r.meta.Generation }

// settled tells whether nothing is left to do. The counts are those of machines that were looked at: right after a change
// they are as before it.
func (r replicated) settled() bool {
	return r.seen() && r.done() && !r.outdated() && r.replicas == r.desired && r.upToDate == r.desired && r.available == r.desired
}

// outdated tells whether machines have to be replaced. The counts alone do not tell: a new machine is not up to date before
// it was looked at.
func (r replicated) outdated() bool { return isTrue(r.conditions, clusterv1.RollingOutCondition) }

func (r replicated) isPaused() bool {
	_, annotated := r.meta.Annotations[clusterv1.PausedAnnotation]
	return r.paused || annotated
}

func (r replicated) status(now time.Time) Status {
	created := r.meta.CreationTimestamp.Time
	available := find(r.conditions, clusterv1.AvailableCondition)
	switch {
	case !r.meta.DeletionTimestamp.IsZero():
		return deletion(r.meta, r.conditions, now)
	case r.isPaused():
		return Status{State: Paused, Message: "paused"}
	case !r.seen():
		return late(Status{State: Working, Message: "not yet seen by its controller", Since: changed(r.meta)}, expectedReady, now)
	case r.settled() && available.Status != metav1.ConditionFalse:
		return Status{State: Ready, Message: Count{r.available, r.desired}.String(), Since: since(available, created)}
	case r.failed.count > 0:
		return r.broken()
	case r.held() != "":
		return r.waiting(now)
	case r.outdated():
		return late(Status{State: Working, Message: r.replacing(), Since: r.latest()}, expectedRollout, now)
	default:
		s := late(Status{State: Working, Message: r.progress(), Since: r.latest()}, expectedReady, now)
		if why := reported(find(r.conditions, clusterv1.MachinesReadyCondition).Message); s.State == Stuck && why != "" {
			// While machines come up they all report what is missing, which says nothing; later it is the reason.
			s.Message += ", " + lowerFirst(why)
		}
		return s
	}
}

// broken is a part of which machines have failed that nothing replaces: it is Stuck however young it is, for as long as they are.
func (r replicated) broken() Status {
	text := r.progress()
	if r.outdated() {
		text = r.replacing()
	}
	return Status{State: Stuck, Message: text + ", " + r.failed.String(), Since: r.failed.since}
}

// waiting is a rollout that is held. What others do meanwhile does not make it younger.
func (r replicated) waiting(now time.Time) Status {
	s := Status{State: Waiting, Message: r.replacing(), Since: since(find(r.conditions, clusterv1.RollingOutCondition), r.meta.CreationTimestamp.Time)}
	if now.Sub(s.Since) > expectedReady {
		s.State = Stuck
	}
	return s
}

// held is what keeps a rollout from making its first new machine, such as a template that does not exist. While nothing is to
// be scaled, ScalingUp is False and tells why it could not become True.
func (r replicated) held() string {
	scaling := find(r.conditions, clusterv1.ScalingUpCondition)
	if !r.outdated() || scaling.Status != metav1.ConditionFalse {
		return ""
	}
	return firstText(obstacles(scaling), Flatten(scaling.Message))
}

// obstacles are the reasons that a condition lists below its first line, or nothing.
func obstacles(c metav1.Condition) string {
	_, list, _ := strings.Cut(c.Message, "\n")
	return Flatten(list)
}

// replacing says how far a rollout is, and what holds it.
func (r replicated) replacing() string {
	text := fmt.Sprintf("replacing %s: %d of %d done", r.noun, min(r.upToDate, r.available), r.desired)
	if why := firstText(r.held(), obstacles(find(r.conditions, clusterv1.ScalingUpCondition))); why != "" {
		text += ", held: " + why
	}
	return text
}

// progress says how far the machines are, and what the controller says beyond that.
func (r replicated) progress() string {
	text := Count{r.available, r.desired}.String()
	scaling := find(r.conditions, clusterv1.ScalingUpCondition)
	switch {
	case r.replicas > r.desired:
		return fmt.Sprintf("%s, %d to remove", text, r.replicas-r.desired)
	case r.replicas < r.desired && scaling.Status == metav1.ConditionTrue && scaling.Message != "":
		return text + ", " + lowerFirst(Flatten(scaling.Message))
	case !r.done():
		return text + ", the last change has not reached all of it"
	default:
		return text
	}
}

// changed is when the spec was last written, as far as the object tells.
func changed(o *metav1.ObjectMeta) time.Time {
	latest := o.CreationTimestamp.Time
	for _, f := range o.ManagedFields {
		if f.Subresource == "" && f.Time != nil && f.Time.After(latest) {
			latest = f.Time.Time
		}
	}
	return latest
}

// latest is when any of the conditions that tell of progress last moved.
func (r replicated) latest() time.Time {
	latest := r.meta.CreationTimestamp.Time
	for _, c := range r.conditions {
		if c.LastTransitionTime.After(latest) {
			latest = c.LastTransitionTime.Time
		}
	}
	return latest
}

func deletion(meta *metav1.ObjectMeta, conditions []metav1.Condition, now time.Time) Status {
	s := Status{State: Deleting, Message: Flatten(find(conditions, clusterv1.DeletingCondition).Message), Since: meta.DeletionTimestamp.Time}
	if now.Sub(s.Since) > expectedDeletion {
		s.State = Stuck
		s.Message = firstText(s.Message, "deletion waits for a finalizer")
	}
	return s
}
