package conditions_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/conditions"
)

func TestV1Beta1_SeverityOnlyWithFalseAndTimesKept(t *testing.T) {
	t.Parallel()
	observed := clusterv1.Conditions{{Type: "BootstrapReady", Status: "True", LastTransitionTime: metav1.NewTime(before)}}
	desired := clusterv1.Conditions{
		conditions.V1Beta1From("InfrastructureReady", conditions.False("InfrastructureReady", "NoQuota", "m"), clusterv1.ConditionSeverityWarning),
		conditions.V1Beta1From("BootstrapReady", conditions.True("BootstrapConfigReady", "Ready", "m"), clusterv1.ConditionSeverityError),
		{Type: "Odd", Status: "Unknown", Severity: clusterv1.ConditionSeverityError, Reason: "X"},
	}
	desired = append(desired, conditions.V1Beta1Ready(desired))
	got := conditions.StampV1Beta1(observed, desired, now)
	want := clusterv1.Conditions{
		{Type: "Ready", Status: "False", Severity: "Warning", Reason: "NoQuota", Message: "m", LastTransitionTime: metav1.NewTime(now)},
		{Type: "BootstrapReady", Status: "True", LastTransitionTime: metav1.NewTime(before)},
		{Type: "InfrastructureReady", Status: "False", Severity: "Warning", Reason: "NoQuota", Message: "m", LastTransitionTime: metav1.NewTime(now)},
		{Type: "Odd", Status: "Unknown", Reason: "X", LastTransitionTime: metav1.NewTime(now)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if !conditions.EqualV1Beta1(got, conditions.StampV1Beta1(got, desired, now.Add(now.Sub(before)))) {
		t.Error("the same conditions are not equal later")
	}
}
