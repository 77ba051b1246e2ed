package kubeadmcontrolplane

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/conditions"
	"slipway.dev/slipway/internal/kubeadm"
	"slipway.dev/slipway/internal/kubeadm/certs"
	"slipway.dev/slipway/internal/kubeadm/kubeconfig"
	"slipway.dev/slipway/internal/outcome"
	"slipway.dev/slipway/internal/plan"
)

// secretRecheck is when to look again for a Secret of a user, which makes no event while it lacks the cluster's label.
const secretRecheck = 30 * time.Second

// authorities are the cluster's certificate authorities and what is made by them.
type authorities struct {
	// found are the Secrets that there are, by purpose.
	found map[certs.Purpose]*corev1.Secret
	// missing are the purposes without a Secret.
	missing []certs.Purpose
	// broken says what is wrong with a Secret that cannot be used; empty when nothing is.
	broken string
	// kubeconfig is the administrator's; nil when there is none.
	kubeconfig *corev1.Secret
}

// ready reports whether machines can be made with the authorities.
func (a *authorities) ready() bool { return len(a.missing) == 0 && a.broken == "" && len(a.found) > 0 }

// observeSecrets looks for the authorities and the kubeconfig.
func (r *Reconciler) observeSecrets(ctx context.Context, s *scene) error {
	a := &s.authorities
	a.found = map[certs.Purpose]*corev1.Secret{}
	for _, p := range certs.Required(externalEtcd(s.kcp)) {
		secret, err := r.secret(ctx, s, p.SecretName(s.key.Name))
		if err != nil {
			return err
		}
		if secret == nil {
			a.missing = append(a.missing, p)
			continue
		}
		a.found[p] = secret
	}
	a.check(s)
	var err error
	a.kubeconfig, err = r.secret(ctx, s, kubeconfig.SecretName(s.key.Name))
	return err
}

// secret reads a Secret; nil when there is none. One without the cluster's label is not in the cache: while that may be, it
// is looked for at the API server, but not before there is anything, when creating it tells as well.
func (r *Reconciler) secret(ctx context.Context, s *scene, name string) (*corev1.Secret, error) {
	key := types.NamespacedName{Namespace: s.key.Namespace, Name: name}
	secret := &corev1.Secret{}
	err := r.Client.Get(ctx, key, secret, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) && !s.mayGenerate() {
		err = r.APIReader.Get(ctx, key, secret)
	}
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("get Secret %s: %w", key, err)
	}
	return secret, nil
}

// mayGenerate reports whether authorities that are missing may be made: only before anything rests on them.
func (s *scene) mayGenerate() bool {
	return len(s.machines) == 0 && !isTrue(s.kcp.Status.Initialization.ControlPlaneInitialized)
}

// check looks whether the authorities can be used. That is not cheap, and once they were good only their end is near.
func (a *authorities) check(s *scene) {
	if len(s.machines) > 0 && conditions.IsTrue(s.kcp.Status.Conditions, controlplanev1.KubeadmControlPlaneCertificatesAvailableCondition) {
		return
	}
	a.broken = ""
	for _, p := range certs.Required(externalEtcd(s.kcp)) {
		if secret := a.found[p]; secret != nil {
			if _, err := certs.FromSecret(secret, p, externalEtcd(s.kcp), s.now); err != nil {
				a.broken = err.Error()
				return
			}
		}
	}
}

// secure makes the authorities that are missing, if they may be made, and the kubeconfig.
func (r *Reconciler) secure(ctx context.Context, s *scene) error {
	if !isTrue(s.cluster.Status.Initialization.InfrastructureProvisioned) {
		return nil
	}
	if len(s.authorities.missing) > 0 && s.mayGenerate() {
		if err := r.generate(ctx, s); err != nil {
			return err
		}
	}
	if !s.authorities.ready() {
		s.after = outcome.Sooner(s.after, secretRecheck)
	}
	for _, secret := range s.authorities.found {
		if err := r.adoptSecret(ctx, s, secret); err != nil {
			return err
		}
	}
	return r.keepKubeconfig(ctx, s)
}

// generate makes the authorities that are missing.
func (r *Reconciler) generate(ctx context.Context, s *scene) error {
	if err := r.fresh(ctx, s); err != nil {
		return err
	}
	etcd, settings := externalEtcd(s.kcp), s.kcp.Spec.KubeadmConfigSpec.ClusterConfiguration
	have := certs.Set{}
	for p, secret := range s.authorities.found {
		have[p] = certs.KeyPair{Cert: secret.Data[certs.CertKey], Key: secret.Data[certs.KeyKey]}
	}
	made, err := certs.GenerateMissing(have, etcd, certs.Options{
		Algorithm: certs.Algorithm(settings.EncryptionAlgorithm),
		Validity:  time.Duration(settings.CACertificateValidityPeriodDays) * 24 * time.Hour,
		Now:       s.now,
	})
	if err != nil {
		return fmt.Errorf("make certificate authorities of Cluster %s: %w", s.key, err)
	}
	var missing []certs.Purpose
	for _, p := range s.authorities.missing {
		if pair, ok := made[p]; ok {
			secret, err := r.createSecret(ctx, s, certs.NewSecret(s.key, p, pair))
			if err != nil {
				return err
			}
			s.authorities.found[p] = secret
			continue
		}
		missing = append(missing, p)
	}
	s.authorities.missing = missing
	s.authorities.check(s)
	return nil
}

// createSecret creates the Secret, or returns the one that exists: its owner may not have labelled it.
func (r *Reconciler) createSecret(ctx context.Context, s *scene, secret *corev1.Secret) (*corev1.Secret, error) {
	secret.OwnerReferences = []metav1.OwnerReference{s.owner()}
	err := r.Client.Create(ctx, secret, client.FieldOwner(fieldManager))
	if apierrors.IsAlreadyExists(err) {
		secret, err = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: secret.Name, Namespace: secret.Namespace}}, nil
		err = r.APIReader.Get(ctx, client.ObjectKeyFromObject(secret), secret)
	}
	if err != nil {
		return nil, fmt.Errorf("create Secret %s/%s: %w", s.key.Namespace, secret.Name, err)
	}
	return secret, nil
}

// owner is the reference by which the control plane controls Secrets and Machines.
func (s *scene) owner() metav1.OwnerReference {
	return *metav1.NewControllerRef(s.kcp, controlplanev1.GroupVersion.WithKind(ownKind))
}

// adoptSecret labels a Secret, so that caches hold it, and takes over one that is Cluster API's own and has lost its owner,
// as after a restore. A user's own stays the user's.
func (r *Reconciler) adoptSecret(ctx context.Context, s *scene, secret *corev1.Secret) error {
	if metav1.IsControlledBy(secret, s.kcp) && secret.Labels[clusterv1.ClusterNameLabel] == s.key.Name {
		return nil
	}
	adopted := secret.DeepCopy()
	_, err := apply.Metadata(ctx, r.Client, fieldManager, adopted, func(m metav1.Object) {
		apply.SetLabel(m, clusterv1.ClusterNameLabel, s.key.Name)
		if secret.Type == clusterv1.ClusterSecretType && metav1.GetControllerOf(secret) == nil {
			apply.SetOwner(m, s.owner())
		}
	})
	return err
}

// keepKubeconfig makes the administrator's kubeconfig and renews it in time. One that a user made is left alone.
func (r *Reconciler) keepKubeconfig(ctx context.Context, s *scene) error {
	endpoint := s.cluster.Spec.ControlPlaneEndpoint
	ca := s.authorities.found[certs.ClusterCA]
	if !endpointReady(endpoint) || ca == nil || s.authorities.broken != "" {
		return nil
	}
	server, err := kubeadm.ServerURL(endpoint.Host, endpoint.Port)
	if err != nil {
		s.refused = fmt.Errorf("the Cluster's control plane endpoint cannot be used: %w", err)
		return &outcome.Stall{Reason: "InvalidEndpoint", Message: s.refused.Error(), Err: err}
	}
	current := s.authorities.kubeconfig
	if current != nil {
		if err := r.adoptSecret(ctx, s, current); err != nil {
			return err
		}
		if !metav1.IsControlledBy(current, s.kcp) || !s.outdatedKubeconfig(current, server, ca) {
			return nil
		}
	}
	text, err := newKubeconfig(s, server, ca)
	if err != nil {
		return err
	}
	if current == nil {
		_, err := r.createSecret(ctx, s, kubeconfig.NewSecret(s.key, text))
		return err
	}
	return r.renew(ctx, current, text)
}

// outdatedKubeconfig reports whether the kubeconfig has to be made again, and sets the timer for when it will have to be.
func (s *scene) outdatedKubeconfig(current *corev1.Secret, server string, ca *corev1.Secret) bool {
	text := current.Data[kubeconfig.SecretKey]
	if kubeconfig.Outdated(text, server, ca.Data[certs.CertKey], s.now) != "" {
		return true
	}
	if facts, err := kubeconfig.Read(text); err == nil {
		s.lookAt(facts.Expires.Add(-kubeconfig.RotateBelow))
	}
	return false
}

func newKubeconfig(s *scene, server string, ca *corev1.Secret) ([]byte, error) {
	authority, err := certs.NewAuthority(certs.KeyPair{Cert: ca.Data[certs.CertKey], Key: ca.Data[certs.KeyKey]})
	if err != nil {
		return nil, fmt.Errorf("read Secret %s: %w", ca.Name, err)
	}
	text, err := kubeconfig.New(authority, kubeconfig.Admin(s.key.Name, server, s.now))
	if err != nil {
		return nil, fmt.Errorf("make the kubeconfig of Cluster %s: %w", s.key, err)
	}
	return text, nil
}

func (r *Reconciler) renew(ctx context.Context, current *corev1.Secret, text []byte) error {
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": current.UID, "resourceVersion": current.ResourceVersion},
		"data":     map[string][]byte{kubeconfig.SecretKey: text},
	})
	if err != nil {
		return fmt.Errorf("encode Secret %s: %w", current.Name, err)
	}
	err = r.Client.Patch(ctx, current.DeepCopy(), client.RawPatch(types.MergePatchType, body), client.FieldOwner(fieldManager))
	if err != nil {
		return fmt.Errorf("renew Secret %s/%s: %w", current.Namespace, current.Name, err)
	}
	return nil
}

func endpointReady(e clusterv1.APIEndpoint) bool { return e.Host != "" && e.Port != 0 }

// certificatesMessage says what is wrong with the authorities; empty when nothing is.
func (s *scene) certificatesMessage() string {
	a := &s.authorities
	if a.broken != "" {
		return "A certificate authority cannot be used: " + a.broken
	}
	if len(a.missing) == 0 {
		return ""
	}
	names := make([]string, 0, len(a.missing))
	for _, p := range a.missing {
		names = append(names, p.SecretName(s.key.Name))
	}
	if s.mayGenerate() && !isTrue(s.cluster.Status.Initialization.InfrastructureProvisioned) {
		return "The certificate authorities are made when the Cluster's infrastructure is provisioned"
	}
	if s.mayGenerate() {
		if text := s.template.Obstacle(); text != "" {
			return "The certificate authorities are made when there is a template to make machines from: " + text
		}
	}
	return fmt.Sprintf("Secret %s is missing; create it with the keys %s and %s, from a backup if there was one",
		plan.NameList(names), certs.CertKey, certs.KeyKey)
}
