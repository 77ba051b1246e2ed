package remote

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

// visit is what a worker does for a cluster that is due: whatever is, one thing after the other. No other worker
// touches the cluster meanwhile.
func (c *Clusters) visit(ctx context.Context, cl *cluster) {
	c.mu.Lock()
	forgotten := c.clusters[cl.key] != cl
	changed, conn, now := cl.changed, cl.conn, c.options.Now()
	cl.changed = false
	if conn == nil {
		cl.attempted = now
	}
	watchesDue, probeDue := reached(cl.watchesDue, now), reached(cl.probeDue, now)
	c.mu.Unlock()

	if forgotten {
		return
	}
	if changed && conn != nil {
		conn = c.recheck(ctx, cl, conn)
	}
	if conn == nil {
		c.connect(ctx, cl)
		return
	}
	if watchesDue {
		c.resume(ctx, cl, conn)
	}
	if probeDue {
		c.probe(ctx, cl, conn)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lightWork(cl, c.options.Now())
}

// recheck reads the kubeconfig again and drops a connection that was made with another one.
func (c *Clusters) recheck(ctx context.Context, cl *cluster, conn *connection) *connection {
	secret, err := c.kubeconfigSecret(ctx, cl.key)
	same := err == nil && (secret.ResourceVersion == conn.secretVersion || string(secret.Data[kubeconfigKey]) == conn.kubeconfig)
	if same || (err != nil && !apierrors.IsNotFound(err)) {
		return conn
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	cl.State = Connecting
	c.disconnect(cl)
	return nil
}

func (c *Clusters) kubeconfigSecret(ctx context.Context, key types.NamespacedName) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	name := types.NamespacedName{Namespace: key.Namespace, Name: key.Name + "-kubeconfig"}
	if err := c.options.Reader.Get(ctx, name, secret); err != nil {
		return nil, fmt.Errorf("read Secret %s: %w", name, err)
	}
	return secret, nil
}

// connect makes one attempt to connect and records how it went.
func (c *Clusters) connect(ctx context.Context, cl *cluster) {
	began := c.options.Now()
	attempt, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	conn, err := c.open(attempt, cl.key)

	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.options.Now()
	if c.stopped || c.clusters[cl.key] != cl {
		if conn != nil {
			conn.close()
		}
		return
	}
	c.metrics.attempted(err, now.Sub(began))
	if err != nil {
		c.refused(cl, err, now)
		return
	}
	c.opened(ctx, cl, conn, now)
}

// open makes a connection whose stores are filled.
func (c *Clusters) open(ctx context.Context, key types.NamespacedName) (*connection, error) {
	secret, err := c.kubeconfigSecret(ctx, key)
	if err != nil {
		return nil, err
	}
	config, err := parseKubeconfig(secret.Data[kubeconfigKey])
	if err != nil {
		return nil, err
	}
	conn, err := c.newConnection(key, config)
	if err != nil {
		return nil, err
	}
	conn.secretVersion, conn.kubeconfig = secret.ResourceVersion, string(secret.Data[kubeconfigKey])
	if err := conn.probe(ctx); err != nil {
		conn.close()
		return nil, err
	}
	if err := conn.fill(ctx); err != nil {
		conn.close()
		return nil, err
	}
	return conn, nil
}

// opened puts a new connection into use. The caller holds c.mu.
func (c *Clusters) opened(ctx context.Context, cl *cluster, conn *connection, now time.Time) {
	live, end := context.WithCancel(ctx)
	conn.end = end
	conn.follow = func(w *watched) { c.follow(live, cl, conn, w) }
	cl.conn, cl.State, cl.ConnectedSince = conn, Connected, now
	cl.retryDue, cl.NextAttempt = time.Time{}, time.Time{}
	cl.told, cl.toldBroken = 0, false // Opened tells it
	c.succeeded(cl, now)
	cl.probeDue = now.Add(jittered(c.options.ProbeInterval))
	conn.told.Store(true)
	for _, w := range conn.watches {
		if !w.skipped {
			conn.follow(w)
		}
	}
	c.options.Log.V(1).Info("connected", "cluster", cl.key)
	c.connections.publish(ConnectionEvent{Cluster: cl.key, Change: Opened})
}

// refused records an attempt that came to nothing. The caller holds c.mu.
func (c *Clusters) refused(cl *cluster, err error, now time.Time) {
	cl.LastError = reason(err)
	cl.retryDue, cl.NextAttempt = time.Time{}, time.Time{}
	switch {
	case apierrors.IsNotFound(err) && secretMissing(err):
		cl.State, cl.ConsecutiveFailures = Absent, 0
		return
	case errors.Is(err, errMalformed):
		cl.State = Malformed
		c.failed(cl, err, now)
		return
	}
	cl.State = Connecting
	c.failed(cl, err, now)
	wait := c.options.RetryFirst << min(cl.ConsecutiveFailures-1, 16)
	if wait <= 0 || wait > c.options.RetryMost {
		wait = c.options.RetryMost
	}
	cl.retryDue = now.Add(jittered(wait))
	cl.NextAttempt = cl.retryDue
}

// secretMissing tells a missing Secret of the management cluster from whatever a workload cluster answers with 404.
func secretMissing(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return status.Status().Details.Kind == "secrets" || status.Status().Details.Kind == "Secret"
}

// probe asks a connected cluster for a sign of life, and gives up the connection after the last of too many failures.
func (c *Clusters) probe(ctx context.Context, cl *cluster, conn *connection) {
	bounded, cancel := context.WithTimeout(ctx, c.options.ProbeTimeout)
	defer cancel()
	err := conn.probe(bounded)

	c.mu.Lock()
	defer c.mu.Unlock()
	if cl.conn != conn || ctx.Err() != nil {
		return
	}
	now := c.options.Now()
	c.metrics.probed(err)
	cl.probeDue = now.Add(jittered(c.options.ProbeInterval))
	if err == nil {
		c.succeeded(cl, now)
		return
	}
	c.failed(cl, err, now)
	if unanswered := new(url.Error); cl.ConsecutiveFailures > 1 && errors.As(err, &unanswered) {
		// What we hold may lead to a server that is no more, behind an address that others serve as well.
		conn.network.reset()
	}
	if cl.ConsecutiveFailures >= c.options.ProbeFailures {
		cl.State = Connecting
		c.disconnect(cl)
		cl.retryDue = now.Add(jittered(c.options.RetryFirst))
		cl.NextAttempt = cl.retryDue
	}
}

// succeeded records that the cluster answered. The caller holds c.mu.
func (c *Clusters) succeeded(cl *cluster, when time.Time) {
	if when.After(cl.LastProbeSuccess) {
		cl.LastProbeSuccess = when
	}
	told := cl.told > 0 || cl.toldBroken
	cl.ConsecutiveFailures, cl.LastError = 0, ""
	cl.told, cl.toldBroken, cl.toldDue = 0, false, time.Time{}
	if told {
		c.connections.publish(ConnectionEvent{Cluster: cl.key, Change: Recovered})
	}
}

// failed records that the cluster did not answer. The caller holds c.mu.
func (c *Clusters) failed(cl *cluster, err error, now time.Time) {
	cl.ConsecutiveFailures++
	cl.failedAt = now
	cl.LastError = reason(err)
	if cl.LastProbeSuccess.IsZero() {
		if cl.ConsecutiveFailures >= c.options.ProbeFailures && !cl.toldBroken {
			cl.toldBroken = true
			c.connections.publish(ConnectionEvent{Cluster: cl.key, Change: Failing})
		}
		return
	}
	c.tellSilence(cl, now)
}

// tellSilence tells subscribers who wanted to know of a silence as long as the present one, and notes when the next
// of them is to be told. The caller holds c.mu.
func (c *Clusters) tellSilence(cl *cluster, now time.Time) {
	cl.toldDue = time.Time{}
	if cl.LastProbeSuccess.IsZero() || cl.ConsecutiveFailures == 0 {
		return
	}
	silence := now.Sub(cl.LastProbeSuccess)
	c.connections.publishFailing(ConnectionEvent{Cluster: cl.key, Change: Failing}, cl.told, silence)
	cl.told = max(cl.told, silence)
	if next := c.connections.nextFailing(cl.told); next > 0 {
		cl.toldDue = cl.LastProbeSuccess.Add(next)
	}
}

// follow starts the goroutine that keeps a store up to date. The caller holds c.mu.
func (c *Clusters) follow(live context.Context, cl *cluster, conn *connection, w *watched) {
	c.runLocked(func() {
		began := c.options.Now()
		err := w.follow(live, c.options)
		c.mu.Lock()
		defer c.mu.Unlock()
		if cl.conn != conn || live.Err() != nil {
			return
		}
		now := c.options.Now()
		c.options.Log.V(1).Info("watch lost", "cluster", cl.key, "resource", w.resource, "reason", reason(err))
		if now.Sub(began) > c.options.RetryMost {
			cl.lostTries = 0
		}
		c.watchLost(cl, w, now)
		c.reschedule(cl)
	})
}

// watchLost puts a watch on the timetable to be taken up again. The caller holds c.mu.
func (c *Clusters) watchLost(cl *cluster, w *watched, now time.Time) {
	cl.lost = append(cl.lost, w)
	if cl.watchesDue.IsZero() {
		cl.watchesDue = now.Add(jittered(min(c.options.RetryFirst<<min(cl.lostTries, 16), c.options.RetryMost)))
		cl.lostTries++
	}
}

// resume takes up watches that were lost, after a list where the watch cannot go on from where it was.
func (c *Clusters) resume(ctx context.Context, cl *cluster, conn *connection) {
	c.mu.Lock()
	lost := cl.lost
	cl.lost, cl.watchesDue = nil, time.Time{}
	c.mu.Unlock()

	bounded, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	for _, w := range lost {
		var err error
		if w.version == "" {
			err = w.list(bounded)
		}
		c.mu.Lock()
		switch {
		case cl.conn != conn:
		case err != nil:
			c.watchLost(cl, w, c.options.Now())
		case !w.skipped:
			conn.follow(w)
		}
		c.mu.Unlock()
	}
}

// jittered spreads what would otherwise happen to all clusters at once: a tenth more or less.
func jittered(d time.Duration) time.Duration {
	return d + time.Duration((rand.Float64()-0.5)*0.2*float64(d)) //nolint:gosec // spreads load, hides nothing
}
