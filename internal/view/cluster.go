package view

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
)

// Cluster is a Cluster with the objects that say what is wanted of it.
type Cluster struct {
	Object *clusterv1.Cluster
	// ControlPlane is nil when there is none, or when it is of another kind.
	ControlPlane *controlplanev1.KubeadmControlPlane
	Deployments  []clusterv1.MachineDeployment
	// Machines may be nil: a list reads them of clusters that are not settled alone.
	Machines []clusterv1.Machine
}

// Summary is a cluster in one line.
type Summary struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Status    `json:",inline"`
	// ControlPlane and Workers count machines; a nil control plane is one that nobody reports about.
	ControlPlane *Count `json:"controlPlane,omitempty"`
	Workers      Count  `json:"workers"`
	// Version is the lowest Kubernetes version in use, Target the one that is wanted when it differs.
	Version string    `json:"version,omitempty"`
	Target  string    `json:"target,omitempty"`
	Created time.Time `json:"created"`
}

// Summarize returns the cluster in one line.
func (c Cluster) Summarize(now time.Time) Summary {
	s := Summary{
		Namespace: c.Object.Namespace, Name: c.Object.Name, Created: c.Object.CreationTimestamp.Time,
		Status: c.Status(now), ControlPlane: c.controlPlaneCount(), Workers: c.workerCount(),
	}
	s.Version, s.Target = c.versions()
	return s
}

// Status returns the state of the cluster as a whole.
func (c Cluster) Status(now time.Time) Status {
	o := c.Object
	created := o.CreationTimestamp.Time
	available := find(o.Status.Conditions, clusterv1.AvailableCondition)
	_, annotated := o.Annotations[clusterv1.PausedAnnotation]
	paused := annotated || o.Spec.Paused != nil && *o.Spec.Paused
	switch {
	case !o.DeletionTimestamp.IsZero() && paused:
		return Status{State: Paused, Message: "Paused: its deletion goes on when it is resumed", Since: o.DeletionTimestamp.Time}
	case !o.DeletionTimestamp.IsZero():
		return deletion(&o.ObjectMeta, o.Status.Conditions, now)
	case paused:
		return Status{State: Paused, Message: "Paused: nothing is changed until it is resumed"}
	case o.Status.ObservedGeneration < o.Generation:
		return late(Status{State: Working, Message: "Not yet seen by the controllers", Since: changed(&o.ObjectMeta)}, expectedReady, now)
	case failureOf(o) != "":
		return Status{State: Failed, Message: failureOf(o), Since: since(available, created)}
	default:
		return c.fares(available, now)
	}
}

// fares is the status of a cluster that is to be there and that its controllers have seen.
func (c Cluster) fares(available metav1.Condition, now time.Time) Status {
	s := c.counted(available, now)
	if broken, found := c.broken(now); found && s.State != Ready {
		return broken
	}
	return s
}

// counted is what the conditions and the counts of the cluster and its parts tell.
func (c Cluster) counted(available metav1.Condition, now time.Time) Status {
	probe := find(c.Object.Status.Conditions, clusterv1.ClusterRemoteConnectionProbeCondition)
	switch {
	case c.initialized() && probe.Status == metav1.ConditionFalse:
		return Status{State: Unknown, Message: firstText(Flatten(probe.Message), "Its API server cannot be reached"), Since: since(probe, c.Object.CreationTimestamp.Time)}
	case available.Status == metav1.ConditionTrue:
		return c.changing(available, now)
	default:
		return c.notAvailable(available, now)
	}
}

// broken returns the status of a cluster of which machines have failed that nothing replaces, and false of another. Such a
// cluster will not get there by itself, however young it is.
func (c Cluster) broken(now time.Time) (Status, bool) {
	for _, part := range c.parts() {
		if s := part.status(now); s.State == Stuck && part.failed.count > 0 {
			s.Message = part.sentence(s)
			return s, true
		}
	}
	// Of a set without a deployment, or of none.
	others := c.failedAmong(ownedBy(clusterv1.MachineDeploymentNameLabel, ""))
	return Status{State: Stuck, Message: others.String(), Since: others.since}, others.count > 0
}

// Settled tells whether every part of the cluster is as it was asked for, as far as its counts tell.
func (c Cluster) Settled() bool {
	if slices.ContainsFunc(c.parts(), func(r replicated) bool { return !r.settled() }) {
		return false
	}
	_, target := c.versions()
	return target == ""
}

func (c Cluster) initialized() bool {
	p := c.Object.Status.Initialization.ControlPlaneInitialized
	return p != nil && *p
}

func failureOf(o *clusterv1.Cluster) string {
	if d := o.Status.Deprecated; d != nil && d.V1Beta1 != nil && d.V1Beta1.FailureMessage != nil {
		return Flatten(*d.V1Beta1.FailureMessage)
	}
	return ""
}

// changing is a cluster that works: Ready, or being scaled or rolled.
func (c Cluster) changing(available metav1.Condition, now time.Time) Status {
	if c.Settled() {
		return Status{State: Ready, Since: since(available, c.Object.CreationTimestamp.Time)}
	}
	for _, part := range c.parts() {
		if part.settled() {
			continue
		}
		if s := part.status(now); s.State != Ready {
			s.Message = part.sentence(s)
			return s
		}
	}
	return late(Status{State: Working, Message: "The last counts are on their way", Since: since(available, c.Object.CreationTimestamp.Time)}, expectedReady, now)
}

// sentence says of a cluster what the status of a part says of that.
func (r replicated) sentence(s Status) string {
	switch {
	case r.outdated() || !r.seen():
	case s.State == Working && r.replicas != r.desired:
		return fmt.Sprintf("Scaling %s: %s", r.noun, r.progress())
	case s.State == Working || s.State == Stuck:
		return fmt.Sprintf("%s: %s", upperFirst(r.noun), lowerFirst(s.Message))
	}
	return upperFirst(s.Message)
}

// notAvailable is a cluster that is being made, or that lost something.
func (c Cluster) notAvailable(available metav1.Condition, now time.Time) Status {
	created := c.Object.CreationTimestamp.Time
	s := Status{State: Working, Since: since(available, created), Message: Flatten(available.Message)}
	switch infrastructure := c.Object.Status.Initialization.InfrastructureProvisioned; {
	case infrastructure == nil || !*infrastructure:
		s.Since = created
		s.Message = firstText(Flatten(find(c.Object.Status.Conditions, clusterv1.InfrastructureReadyCondition).Message), "Making the infrastructure")
	case !c.initialized():
		s.Since = created
		s.Message = "Making the first control-plane machine"
	case now.Sub(created) < expectedReady:
		for _, part := range c.parts() {
			if !part.settled() {
				s.Message = fmt.Sprintf("Making %s: %s", part.noun, Count{part.available, part.desired})
				break
			}
		}
	case available.Status == metav1.ConditionUnknown:
		s.State = Unknown
	}
	return late(s, expectedReady, now)
}

// parts are the control plane and the workers, in the order in which they change.
func (c Cluster) parts() []replicated {
	var parts []replicated
	if c.ControlPlane != nil {
		parts = append(parts, c.factsOfControlPlane())
	}
	for i := range c.Deployments {
		parts = append(parts, c.factsOfDeployment(&c.Deployments[i]))
	}
	return parts
}

func (c Cluster) controlPlaneCount() *Count {
	switch s := c.Object.Status.ControlPlane; {
	case c.ControlPlane != nil:
		return &Count{Available: value(c.ControlPlane.Status.AvailableReplicas), Desired: value(c.ControlPlane.Spec.Replicas)}
	case s != nil:
		return &Count{Available: value(s.AvailableReplicas), Desired: value(s.DesiredReplicas)}
	default:
		return nil
	}
}

// workerCount counts the workers that the cluster's status tells of; what is wanted is known sooner from the deployments.
func (c Cluster) workerCount() Count {
	var sum Count
	for i := range c.Deployments {
		sum.Available += value(c.Deployments[i].Status.AvailableReplicas)
		sum.Desired += value(c.Deployments[i].Spec.Replicas)
	}
	if s := c.Object.Status.Workers; s != nil && value(s.DesiredReplicas) > sum.Desired && len(c.Deployments) == 0 {
		return Count{Available: value(s.AvailableReplicas), Desired: value(s.DesiredReplicas)}
	}
	return sum
}
