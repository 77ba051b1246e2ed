package kubeadmconfig

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/kubeadm/certs"
	"slipway.dev/slipway/internal/outcome"
	"slipway.dev/slipway/internal/plan"
)

// secretRecheck is when to look again for a Secret that shows in no event, since it carries no label of the cluster.
const secretRecheck = 10 * time.Second

const (
	reasonCertificateInvalid     = "CertificatesCorrupted"
	reasonWaitingForCertificates = "WaitingForCertificates"
)

// ensureAuthorities returns the key pairs of the control plane. Where no control plane object sees to them, those that are
// missing are made.
func (r *Reconciler) ensureAuthorities(ctx context.Context, s *scene) (certs.Set, error) {
	etcd := s.externalEtcd()
	set, missing, err := r.lookUp(ctx, s, certs.Required(etcd))
	if err != nil {
		return nil, err
	}
	if len(missing) > 0 && !s.cluster.Spec.ControlPlaneRef.IsDefined() {
		if missing, err = r.make(ctx, s, set); err != nil {
			return nil, err
		}
	}
	return set, s.complete(missing)
}

// authorities returns the key pairs of a control plane that runs. What is missing then is never made: it would not be
// that of the machines that are there.
func (r *Reconciler) authorities(ctx context.Context, s *scene) (certs.Set, error) {
	set, missing, err := r.lookUp(ctx, s, certs.Required(s.externalEtcd()))
	if err != nil {
		return nil, err
	}
	return set, s.complete(missing)
}

// lookUp reads key pairs and returns them with the purposes that have none.
func (r *Reconciler) lookUp(ctx context.Context, s *scene, purposes []certs.Purpose) (certs.Set, []certs.Purpose, error) {
	set, missing := certs.Set{}, []certs.Purpose(nil)
	for _, p := range purposes {
		secret, err := r.secretOf(ctx, s, p)
		if err != nil {
			return nil, nil, err
		}
		if secret == nil {
			missing = append(missing, p)
			continue
		}
		if set[p], err = certs.FromSecret(secret, p, s.externalEtcd(), s.now); err != nil {
			return nil, nil, s.unusable(err)
		}
	}
	return set, missing, nil
}

// secretOf reads the Secret of a key pair; one that a user made without the cluster's label is not in the cache.
func (r *Reconciler) secretOf(ctx context.Context, s *scene, p certs.Purpose) (*corev1.Secret, error) {
	key := types.NamespacedName{Namespace: s.cluster.Namespace, Name: p.SecretName(s.cluster.Name)}
	secret, err := read(ctx, r.Client, key, &corev1.Secret{})
	if secret != nil || err != nil {
		return secret, err
	}
	return read(ctx, r.APIReader, key, &corev1.Secret{})
}

// make creates the key pairs that can be made, adds them to the set, and returns the purposes that are still missing. The
// Cluster owns them: the machine that starts the control plane may be replaced, its authorities may not.
func (r *Reconciler) make(ctx context.Context, s *scene, set certs.Set) ([]certs.Purpose, error) {
	etcd, settings := s.externalEtcd(), s.config.Spec.ClusterConfiguration
	made, err := certs.GenerateMissing(set, etcd, certs.Options{
		Algorithm: certs.Algorithm(settings.EncryptionAlgorithm),
		Validity:  time.Duration(settings.CACertificateValidityPeriodDays) * 24 * time.Hour,
		Now:       s.now,
	})
	if err != nil {
		return nil, err
	}
	for _, p := range certs.Generated(etcd) {
		pair, ok := made[p]
		if !ok {
			continue
		}
		secret := certs.NewSecret(s.clusterKey(), p, pair)
		secret.OwnerReferences = []metav1.OwnerReference{ownedByCluster(s.cluster)}
		err := r.Client.Create(ctx, secret, client.FieldOwner(fieldManager))
		switch {
		case apierrors.IsAlreadyExists(err):
			return nil, outcome.Quietly(conflictDelay, "LostRace", "Secret %s exists already", secret.Name)
		case err != nil:
			return nil, fmt.Errorf("create Secret %s: %w", client.ObjectKeyFromObject(secret), err)
		}
		set[p] = pair
	}
	var missing []certs.Purpose
	for _, p := range certs.Supplied(etcd) {
		if _, ok := set[p]; !ok {
			missing = append(missing, p)
		}
	}
	return missing, nil
}

// complete notes that all key pairs are good, or returns what is waited for.
func (s *scene) complete(missing []certs.Purpose) error {
	if len(missing) == 0 {
		s.authorities.ok = true
		return nil
	}
	names := make([]string, 0, len(missing))
	for _, p := range missing {
		names = append(names, p.SecretName(s.cluster.Name))
	}
	who := "a user, who has to create it with the keys tls.crt and tls.key"
	switch ref := s.cluster.Spec.ControlPlaneRef; {
	case ref.IsDefined():
		who = fmt.Sprintf("%s %s", ref.Kind, ref.Name)
	case isTrue(s.cluster.Status.Initialization.ControlPlaneInitialized):
		who = "the start of the control plane; restore it from a backup, or copy it from a control plane machine"
	}
	return outcome.Waiting(secretRecheck, reasonWaitingForCertificates, "Waiting for Secret %s, which comes from %s", plan.NameList(names), who)
}

// unusable notes that a key pair is no good.
func (s *scene) unusable(err error) error {
	s.authorities.broken, s.authorities.message = true, err.Error()
	return &outcome.Stall{Reason: reasonCertificateInvalid, Message: "A certificate authority cannot be used: " + err.Error(), Recheck: secretRecheck}
}

// clusterCA returns the certificate of the cluster's CA, which is all that a worker needs: its Secret may lack the key.
func (r *Reconciler) clusterCA(ctx context.Context, s *scene) ([]byte, error) {
	secret, err := r.secretOf(ctx, s, certs.ClusterCA)
	if err != nil {
		return nil, err
	}
	if secret == nil {
		return nil, s.complete([]certs.Purpose{certs.ClusterCA})
	}
	text := secret.Data[certs.CertKey]
	if _, err := certs.ParseCertificates(text); err != nil {
		return nil, s.unusable(fmt.Errorf("secret %s/%s: key %s: %w", secret.Namespace, secret.Name, certs.CertKey, err))
	}
	return text, s.complete(nil)
}
