package certs

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
)

// The keys of a Secret that holds a key pair.
const (
	CertKey = corev1.TLSCertKey
	KeyKey  = corev1.TLSPrivateKeyKey
)

// NewSecret returns the Secret that keeps a key pair of a cluster. Owner references are the caller's.
func NewSecret(cluster types.NamespacedName, p Purpose, k KeyPair) *corev1.Secret {
	return &corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: cluster.Namespace,
			Name:      p.SecretName(cluster.Name),
			Labels:    map[string]string{clusterv1.ClusterNameLabel: cluster.Name},
		},
		Type: clusterv1.ClusterSecretType,
		Data: map[string][]byte{CertKey: k.Cert, KeyKey: k.Key},
	}
}

// FromSecret reads a key pair and checks that it serves its purpose. Any type of Secret is read: a user's own is
// commonly kubernetes.io/tls. The error names the Secret and says what to mend.
func FromSecret(s *corev1.Secret, p Purpose, externalEtcd ExternalEtcd, now time.Time) (KeyPair, error) {
	k := KeyPair{Cert: s.Data[CertKey], Key: s.Data[KeyKey]}
	if err := k.Check(p, externalEtcd, now); err != nil {
		return KeyPair{}, fmt.Errorf("secret %s/%s: %w", s.Namespace, s.Name, err)
	}
	return k, nil
}
