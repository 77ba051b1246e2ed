package remote

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// State is where a cluster stands on its way to a connection; doc.go draws it.
type State string

const (
	// Absent means that the cluster has no kubeconfig Secret: there is nothing to connect to.
	Absent State = "Absent"
	// Malformed means that the kubeconfig Secret exists and cannot be used; nothing is tried until it changes.
	Malformed State = "Malformed"
	// Connecting means that attempts are made to connect.
	Connecting State = "Connecting"
	// Connected means that requests can be made and that the stores answer.
	Connected State = "Connected"
)

// Status is what is known of the way into one cluster, as facts for conditions.
type Status struct {
	// State is where the connection stands.
	State State
	// LastProbeSuccess is when the cluster last answered; zero when it never has since this process started.
	LastProbeSuccess time.Time
	// ConsecutiveFailures counts the probes and attempts to connect that have failed since the last success.
	ConsecutiveFailures int
	// LastError says in one sentence why the last probe or attempt failed; empty after a success.
	LastError string
	// ConnectedSince is when the present connection was made; zero when there is none.
	ConnectedSince time.Time
	// NextAttempt is when the next attempt to connect is due; zero when none is.
	NextAttempt time.Time
}

// Connected tells whether requests can be made now.
func (s Status) Connected() bool { return s.State == Connected }

// KubeconfigExists tells whether the cluster has a kubeconfig Secret at all. Where it has none, work inside the
// cluster is to be skipped rather than waited for.
func (s Status) KubeconfigExists() bool { return s.State != Absent }

// EverConnected tells whether the cluster has answered at least once since this process started.
func (s Status) EverConnected() bool { return !s.LastProbeSuccess.IsZero() }

// FailingFor is the time since the cluster last answered, and zero while it answers or when it never has.
func (s Status) FailingFor(now time.Time) time.Duration {
	if s.LastProbeSuccess.IsZero() || s.ConsecutiveFailures == 0 {
		return 0
	}
	return max(0, now.Sub(s.LastProbeSuccess))
}

// Status returns what is known of the way into the cluster. A cluster never heard of is Absent.
func (c *Clusters) Status(key types.NamespacedName) Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	cl, ok := c.clusters[key]
	if !ok {
		return Status{State: Absent}
	}
	return cl.Status
}
