package workload

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// maxEvents bounds what a cluster remembers; the oldest goes first.
const maxEvents = 200

// settle finishes a transaction: disruption budgets follow their pods, and old events go.
func (tx *transaction) settle() {
	s := tx.store
	for namespace := range tx.pods {
		for _, e := range s.within(s.catalog.byName["poddisruptionbudgets.policy"], namespace) {
			tx.settleBudget(e)
		}
	}
	events := s.tables[s.catalog.byName["events"].slot]
	if len(events) > maxEvents {
		oldest := slices.MinFunc(events, func(a, b *entry) int { return int(int64(a.rv) - int64(b.rv)) })
		tx.remove(oldest)
	}
}

// settleBudget writes a budget's status when its pods made it another.
func (tx *transaction) settleBudget(e *entry) {
	obj, err := e.decode()
	if err != nil {
		return
	}
	b := obj.(*policyv1.PodDisruptionBudget)
	pods, err := tx.store.budgetPods(b)
	if err != nil {
		return
	}
	status := budgetStatus(b, pods, tx.store.expectedPods(pods))
	status.Conditions = budgetConditions(b, status)
	b.Status = status
	next, err := e.kind.encode(b)
	if err != nil || string(next.data) == string(e.data) {
		return
	}
	tx.put(next, e)
}

// budgetPods returns the pods that a budget counts. The caller holds the lock.
func (s *Store) budgetPods(b *policyv1.PodDisruptionBudget) ([]*corev1.Pod, error) {
	selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
	if err != nil {
		return nil, err
	}
	var out []*corev1.Pod
	for _, e := range s.within(s.catalog.byName["pods"], b.Namespace) {
		if !selector.Matches(e.labels) {
			continue
		}
		obj, err := e.decode()
		if err != nil {
			return nil, err
		}
		if p := obj.(*corev1.Pod); p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed {
			out = append(out, p)
		}
	}
	return out, nil
}

// expectedPods is how many pods there would be if their owners had as many as they want: a Deployment its replicas, so that
// an evicted pod is missed until its successor is there. Any other pod stands for itself. The caller holds the lock.
func (s *Store) expectedPods(pods []*corev1.Pod) int32 {
	expected, seen := int32(0), map[string]bool{}
	for _, p := range pods {
		ref := metav1.GetControllerOf(p)
		if ref == nil || ref.Kind != "Deployment" {
			expected++
			continue
		}
		if seen[ref.Name] {
			continue
		}
		_, e := s.find(s.catalog.byName["deployments.apps"], objectKey{p.Namespace, ref.Name})
		if e == nil || e.uid != ref.UID {
			expected++
			continue
		}
		seen[ref.Name] = true
		if obj, err := e.decode(); err == nil {
			if replicas := obj.(*appsv1.Deployment).Spec.Replicas; replicas != nil {
				expected += *replicas
			}
		}
	}
	return expected
}

// budgetStatus counts as the disruption controller does.
func budgetStatus(b *policyv1.PodDisruptionBudget, pods []*corev1.Pod, expected int32) policyv1.PodDisruptionBudgetStatus {
	healthy := int32(0)
	for _, p := range pods {
		if p.DeletionTimestamp == nil && PodReady(p) {
			healthy++
		}
	}
	desired := int32(0)
	switch {
	case b.Spec.MaxUnavailable != nil:
		desired = max(0, expected-scaled(b.Spec.MaxUnavailable, expected))
	case b.Spec.MinAvailable != nil:
		desired = scaled(b.Spec.MinAvailable, expected)
	}
	out := b.Status
	out.ObservedGeneration = b.Generation
	out.CurrentHealthy, out.DesiredHealthy, out.ExpectedPods = healthy, desired, expected
	out.DisruptionsAllowed = 0
	if expected > 0 {
		out.DisruptionsAllowed = max(0, healthy-desired)
	}
	return out
}

func scaled(v *intstr.IntOrString, total int32) int32 {
	n, err := intstr.GetScaledValueFromIntOrPercent(v, int(total), true)
	if err != nil {
		return total // what cannot be read protects everything
	}
	return int32(n)
}

func budgetConditions(b *policyv1.PodDisruptionBudget, s policyv1.PodDisruptionBudgetStatus) []metav1.Condition {
	c := metav1.Condition{
		Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse, Reason: policyv1.InsufficientPodsReason,
		ObservedGeneration: b.Generation,
	}
	if s.DisruptionsAllowed > 0 {
		c.Status, c.Reason = metav1.ConditionTrue, policyv1.SufficientPodsReason
	}
	for _, was := range b.Status.Conditions {
		if was.Type == c.Type && was.Status == c.Status {
			c.LastTransitionTime = was.LastTransitionTime
			return []metav1.Condition{c}
		}
	}
	c.LastTransitionTime = metav1.Now().Rfc3339Copy()
	return []metav1.Condition{c}
}

// PodReady tells whether a pod says that it is ready.
func PodReady(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// budgetsOf returns the budgets that protect a pod.
func (s *Store) budgetsOf(p *corev1.Pod) ([]*policyv1.PodDisruptionBudget, error) {
	all, err := List[*policyv1.PodDisruptionBudget](s, p.Namespace, nil)
	if err != nil {
		return nil, err
	}
	var out []*policyv1.PodDisruptionBudget
	for _, b := range all {
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err == nil && selector.Matches(labels.Set(p.Labels)) {
			out = append(out, b)
		}
	}
	return out, nil
}
