package cluster

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/conditions"
	"slipway.dev/slipway/internal/kubeadm/kubeconfig"
	"slipway.dev/slipway/internal/outcome"
	"slipway.dev/slipway/internal/remote"
)

// probeFailures are how many attempts may fail before a cluster that was known to answer counts as silent, where this
// process has never reached it.
const probeFailures = 5

const notYetConnected = "The cluster has not answered yet"

// remoteProbe tells whether the workload cluster answers. What was known before this process started stays until this
// process knows better, and a silence that lasts is told in the words it began with.
func (w *world) remoteProbe(grace time.Duration, acted error) metav1.Condition {
	was, s := conditions.Find(w.cluster.Status.Conditions, clusterv1.ClusterRemoteConnectionProbeCondition), w.connection
	reached := was != nil && was.Status == metav1.ConditionTrue
	switch {
	case !w.hasKubeconfig:
		return silent(w.noKubeconfig(acted))
	case s.State == remote.Malformed:
		return silent(fmt.Sprintf("Secret %s cannot be used: %s", kubeconfig.SecretName(w.cluster.Name), s.LastError))
	case s.EverConnected():
		return answered(s, was, grace, w.now)
	case reached && s.ConsecutiveFailures < probeFailures:
		return *was
	case reached:
		return silent(noAnswer(grace, s))
	case was != nil && was.Message != notYetConnected && s.ConsecutiveFailures > 0:
		return *was
	}
	return silent(notYetConnected)
}

// answered is the condition of a cluster that has answered this process.
func answered(s remote.Status, was *metav1.Condition, grace time.Duration, now time.Time) metav1.Condition {
	if s.FailingFor(now) < grace {
		return conditions.True(clusterv1.ClusterRemoteConnectionProbeCondition, clusterv1.ClusterRemoteConnectionProbeSucceededReason, "")
	}
	if was != nil && was.Status == metav1.ConditionFalse && was.Message != notYetConnected {
		return *was
	}
	return silent(noAnswer(grace, s))
}

func silent(message string) metav1.Condition {
	return conditions.False(clusterv1.ClusterRemoteConnectionProbeCondition, clusterv1.ClusterRemoteConnectionProbeFailedReason, message)
}

func noAnswer(grace time.Duration, s remote.Status) string {
	return fmt.Sprintf("The cluster has not answered for more than %s: %s", grace, s.LastError)
}

// noKubeconfig says what the way into the cluster waits for.
func (w *world) noKubeconfig(acted error) string {
	if wait, ok := outcome.AsWait(acted); ok && wait.Reason == reasonWaitingForCertificate {
		return wait.Message
	}
	if stall, ok := outcome.AsStall(acted); ok && (stall.Reason == reasonCertificateInvalid || stall.Reason == reasonInvalidEndpoint) {
		return stall.Message
	}
	return fmt.Sprintf("Waiting for Secret %s, which says how to reach the cluster", kubeconfig.SecretName(w.cluster.Name))
}
