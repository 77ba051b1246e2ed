package world

import (
	"cmp"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"slipway.dev/slipway/internal/providers/sim/workload"
)

func (r *round) deployments() error {
	for _, d := range r.wanted {
		if d.DeletionTimestamp == nil && d.Spec.Replicas != nil && len(d.Spec.Template.Spec.Containers) > 0 {
			r.deployment(d)
		}
	}
	return nil
}

// deployment has as many Pods of the present template as are wanted; older ones stay until successors run.
func (r *round) deployment(d *appsv1.Deployment) {
	const hashKey = appsv1.DefaultDeploymentUniqueLabelKey
	hash, want := templateHash(d.Spec.Template), int(*d.Spec.Replicas)
	current, old := split(r.of(d), hashKey, hash)
	if d.Spec.Paused && len(old) > 0 {
		current, old = append(current, old...), nil
	}
	for range want - len(current) {
		pod := r.newPod(d, "Deployment", hash+"-"+randomSuffix(), hashKey, d.Spec.Template)
		r.schedule(pod)
		r.add(pod)
		current = append(current, pod)
	}
	current = r.shed(current, want)
	running := len(slices.DeleteFunc(slices.Clone(current), func(p *corev1.Pod) bool { return p.Spec.NodeName == "" }))
	old = r.shed(old, max(0, want-running))
	if status := deploymentStatus(d, current, old, r.now); !equality.Semantic.DeepEqual(d.Status, status) {
		d.Status = status
		r.changed = append(r.changed, d)
	}
}

// shed drops Pods until as many are left as are wanted, first those that serve nobody.
func (r *round) shed(pods []*corev1.Pod, want int) []*corev1.Pod {
	if len(pods) <= want {
		return pods
	}
	slices.SortStableFunc(pods, func(a, b *corev1.Pod) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
	})
	r.drop = append(r.drop, pods[want:]...)
	return pods[:want]
}

func rank(pod *corev1.Pod) int {
	switch {
	case workload.PodReady(pod):
		return 0
	case pod.Spec.NodeName != "":
		return 1
	}
	return 2
}

func deploymentStatus(d *appsv1.Deployment, current, old []*corev1.Pod, now time.Time) appsv1.DeploymentStatus {
	s := appsv1.DeploymentStatus{
		ObservedGeneration: d.Generation, Replicas: int32(len(current) + len(old)), UpdatedReplicas: int32(len(current)),
	}
	for _, pod := range slices.Concat(current, old) {
		if workload.PodReady(pod) {
			s.ReadyReplicas++
			s.AvailableReplicas++
		}
	}
	want := *d.Spec.Replicas
	s.UnavailableReplicas = max(0, want-s.AvailableReplicas)
	available := appsv1.DeploymentCondition{
		Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue, Reason: "MinimumReplicasAvailable", Message: "Deployment has minimum availability.",
	}
	if s.AvailableReplicas < want-mayBeMissing(d) {
		available.Status, available.Reason = corev1.ConditionFalse, "MinimumReplicasUnavailable"
		available.Message = "Deployment does not have minimum availability."
	}
	progressing := appsv1.DeploymentCondition{
		Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable", Message: "Its Pods run as its template says.",
	}
	if s.AvailableReplicas < want || len(old) > 0 {
		progressing.Reason, progressing.Message = "ReplicaSetUpdated", "Its Pods are on their way."
	}
	for _, c := range []appsv1.DeploymentCondition{available, progressing} {
		s.Conditions = append(s.Conditions, since(c, d.Status.Conditions, now))
	}
	return s
}

// mayBeMissing is how many Pods a Deployment may lack and still be available.
func mayBeMissing(d *appsv1.Deployment) int32 {
	if d.Spec.Strategy.RollingUpdate == nil || d.Spec.Strategy.RollingUpdate.MaxUnavailable == nil {
		return 0
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(d.Spec.Strategy.RollingUpdate.MaxUnavailable, int(*d.Spec.Replicas), false)
	if err != nil {
		return 0
	}
	return int32(n)
}

// since gives a condition the times of an equal one.
func since(c appsv1.DeploymentCondition, before []appsv1.DeploymentCondition, now time.Time) appsv1.DeploymentCondition {
	c.LastTransitionTime, c.LastUpdateTime = metav1.NewTime(now), metav1.NewTime(now)
	for _, b := range before {
		if b.Type != c.Type || b.Status != c.Status {
			continue
		}
		c.LastTransitionTime = b.LastTransitionTime
		if b.Reason == c.Reason && b.Message == c.Message {
			c.LastUpdateTime = b.LastUpdateTime
		}
	}
	return c
}
