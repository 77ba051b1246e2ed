package drain

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestRefusal_TellsABudgetFromOtherReasons(t *testing.T) {
	t.Parallel()
	budget := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0)
	budget.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: policyv1.DisruptionBudgetCause, Message: "The disruption budget db needs 2 healthy pods and has 2 currently"}}
	hook := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "a", errors.New("the hook says no"))
	for _, row := range []struct {
		err  error
		want string
	}{
		{budget, "Cannot evict pod as it would violate the pod's disruption budget. The disruption budget db needs 2 healthy pods and has 2 currently"},
		{hook, `could not be evicted: pods "a" is forbidden: the hook says no`},
	} {
		if got := refusal(row.err); got != row.want || !refused(row.err) {
			t.Errorf("got %q, want %q", got, row.want)
		}
	}
	if refused(apierrors.NewUnauthorized("who are you")) || refused(errors.New("connection reset")) {
		t.Error("who cannot ask is not refused")
	}
}

func TestUnreachable_IsANodeWhoseKubeletIsSilent(t *testing.T) {
	t.Parallel()
	for status, want := range map[corev1.ConditionStatus]bool{corev1.ConditionUnknown: true, corev1.ConditionFalse: false, corev1.ConditionTrue: false} {
		node := &corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}}}
		if got := Unreachable(node); got != want {
			t.Errorf("Ready is %s: unreachable is %t", status, got)
		}
	}
	if Unreachable(&corev1.Node{}) {
		t.Error("a Node that has said nothing yet is unreachable")
	}
}

func TestClaims_AreThoseOfEphemeralVolumesToo(t *testing.T) {
	t.Parallel()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{Volumes: []corev1.Volume{
		{Name: "v", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "c"}}},
		{Name: "e", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}},
		{Name: "d", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
	}}}
	if got := claims(pod); len(got) != 2 || got[0] != "c" || got[1] != "p-e" {
		t.Errorf("claims are %v", got)
	}
}
