package kubeadmconfig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/kubeadm/config"
	"slipway.dev/slipway/internal/kubeadm/token"
	"slipway.dev/slipway/internal/outcome"
	"slipway.dev/slipway/internal/remote"
)

const (
	// remoteTimeout bounds what one reconcile does in a workload cluster.
	remoteTimeout = 10 * time.Second
	// spentAfter is the age of a Machine with a Node at which its token has long ended by itself.
	spentAfter = 24 * time.Hour
)

// keepToken sees to the token in the bootstrap data: it exists and lives while the machine has no Node, and goes when it
// has one. A token that a user gave is the user's to keep.
func (r *Reconciler) keepToken(ctx context.Context, s *scene) error {
	if s.machine == nil || s.cluster == nil || r.spent.has(s.config.UID) {
		return nil
	}
	text := s.token()
	if text == "" || !config.NeedsToken(&s.config.Spec) || s.longJoined() {
		r.spent.add(s.config.UID)
		return nil
	}
	joined := s.machine.Status.NodeRef.IsDefined()
	if !joined && !s.machine.DeletionTimestamp.IsZero() {
		return nil // The token ends by itself soon.
	}
	t, err := token.Parse(text)
	if err != nil {
		return &outcome.Stall{Reason: reasonInvalidConfig, Message: fmt.Sprintf("Secret %s holds a malformed bootstrap token; delete the Machine, so that another is made", s.data.Name)}
	}
	act := r.refreshToken
	if joined {
		act = r.removeToken
	}
	err = r.inWorkload(ctx, s, func(ctx context.Context, workload client.Client) error { return act(ctx, s, workload, t) })
	if errors.Is(err, remote.ErrNotConnected) {
		// The connection's opening is an event.
		return s.notConnected()
	}
	return err
}

// inWorkload does something in the machine's cluster, within the time that one remote call may take.
func (r *Reconciler) inWorkload(ctx context.Context, s *scene, do func(context.Context, client.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, remoteTimeout)
	defer cancel()
	workload, err := r.Clusters.Client(ctx, s.clusterKey())
	if err != nil {
		return err
	}
	return do(ctx, workload)
}

// longJoined reports whether the machine has joined so long ago that its token has ended by itself.
func (s *scene) longJoined() bool {
	return s.machine.Status.NodeRef.IsDefined() && s.now.Sub(s.machine.CreationTimestamp.Time) > spentAfter
}

func (s *scene) notConnected() error {
	if s.dataName != "" {
		return outcome.Quietly(0, "NotConnected", "the workload cluster is not connected")
	}
	return outcome.Waiting(0, "WaitingForConnection", "Waiting for the workload cluster to be reachable, where the token by which the machine joins has to be made")
}

func (r *Reconciler) removeToken(ctx context.Context, s *scene, workload client.Client, t token.Token) error {
	err := workload.Delete(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: token.SecretName(t.ID)}})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("remove the bootstrap token of Machine %s: %w", s.machine.Name, err)
	}
	r.spent.add(s.config.UID)
	return nil
}

// refreshToken makes the token, or moves its end, and returns when to look again as a quiet wait.
func (r *Reconciler) refreshToken(ctx context.Context, s *scene, workload client.Client, t token.Token) error {
	secret, err := read(ctx, workload, types.NamespacedName{Namespace: metav1.NamespaceSystem, Name: token.SecretName(t.ID)}, &corev1.Secret{})
	if err != nil {
		return err
	}
	state := token.State{TTL: r.TokenTTL}
	if secret != nil {
		record, err := token.FromSecret(secret)
		if err != nil || record.Token != t {
			return &outcome.Stall{Reason: reasonInvalidConfig, Recheck: secretRecheck, Message: fmt.Sprintf(
				"Secret kube-system/%s in the workload cluster is not the token of Machine %s; delete it there, and it is made anew", secret.Name, s.machine.Name)}
		}
		state.Exists, state.Expires = true, record.Expires
	}
	decision := token.Plan(state, s.now)
	switch decision.Action {
	case token.Recreate:
		made := token.NewSecret(t, fmt.Sprintf("Bootstrap token of Machine %s/%s, kept by Slipway", s.machine.Namespace, s.machine.Name), decision.Expires)
		if err := workload.Create(ctx, made); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create the bootstrap token of Machine %s: %w", s.machine.Name, err)
		}
	case token.Prolong:
		if err := prolong(ctx, workload, secret, decision.Expires); err != nil {
			return fmt.Errorf("prolong the bootstrap token of Machine %s: %w", s.machine.Name, err)
		}
	case token.Keep:
	}
	return outcome.Quietly(decision.LookIn, "TokenInUse", "the machine has not joined yet")
}

func prolong(ctx context.Context, workload client.Client, secret *corev1.Secret, expires time.Time) error {
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": secret.UID}, "data": token.Prolonged(secret, expires).Data,
	})
	if err != nil {
		return err
	}
	return workload.Patch(ctx, secret, client.RawPatch(types.MergePatchType, body))
}
