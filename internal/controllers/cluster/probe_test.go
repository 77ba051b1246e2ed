package cluster

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/conditions"
	"slipway.dev/slipway/internal/remote"
)

func TestProbe_DoesNotFlap(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 12, 2, 8, 0, 0, 0, time.UTC)
	yes := conditions.True(clusterv1.ClusterRemoteConnectionProbeCondition, clusterv1.ClusterRemoteConnectionProbeSucceededReason, "")
	no := silent("The cluster has not answered for more than 50s: connection refused")
	fresh := silent(notYetConnected)
	ago := func(d time.Duration, failures int) remote.Status {
		return remote.Status{State: remote.Connected, LastProbeSuccess: now.Add(-d), ConsecutiveFailures: failures, LastError: "timeout"}
	}
	for _, tc := range []struct {
		name    string
		was     *metav1.Condition
		status  remote.Status
		want    metav1.ConditionStatus
		message string
	}{
		{"a new cluster", nil, remote.Status{State: remote.Connecting}, metav1.ConditionFalse, notYetConnected},
		{"a new cluster that refuses", &fresh, remote.Status{State: remote.Connecting, ConsecutiveFailures: 9, LastError: "refused"}, metav1.ConditionFalse, notYetConnected},
		{"it answers", &fresh, ago(0, 0), metav1.ConditionTrue, ""},
		{"a short silence", &yes, ago(49*time.Second, 4), metav1.ConditionTrue, ""},
		{"a long silence", &yes, ago(50*time.Second, 5), metav1.ConditionFalse, "more than 50s: timeout"},
		{"a silence that lasts keeps its words", &no, ago(time.Hour, 99), metav1.ConditionFalse, "connection refused"},
		{"it answers again", &no, ago(0, 0), metav1.ConditionTrue, ""},
		{"this process has just begun", &yes, remote.Status{State: remote.Absent}, metav1.ConditionTrue, ""},
		{"this process cannot reach it yet", &yes, remote.Status{State: remote.Connecting, ConsecutiveFailures: 4}, metav1.ConditionTrue, ""},
		{"this process cannot reach it at all", &yes, remote.Status{State: remote.Connecting, ConsecutiveFailures: 5, LastError: "refused"}, metav1.ConditionFalse, "refused"},
		{"it was silent before this process began", &no, remote.Status{State: remote.Connecting, ConsecutiveFailures: 7, LastError: "timeout"}, metav1.ConditionFalse, "connection refused"},
		{"the kubeconfig is no good", &yes, remote.Status{State: remote.Malformed, LastError: "it is empty"}, metav1.ConditionFalse, "it is empty"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := &world{now: now, cluster: &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "demo"}}, connection: tc.status, hasKubeconfig: true}
			if tc.was != nil {
				w.cluster.Status.Conditions = []metav1.Condition{*tc.was}
			}
			got := w.remoteProbe(50*time.Second, nil)
			if got.Status != tc.want || !strings.Contains(got.Message, tc.message) {
				t.Errorf("%+v", got)
			}
		})
	}
}
