package plane

import (
	"context"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	listers "k8s.io/client-go/listers/core/v1"
)

// boundObjects answers for service account tokens with what this plane serves: secrets and service accounts.
type boundObjects struct {
	secrets  listers.SecretLister
	accounts listers.ServiceAccountLister
}

func (b boundObjects) GetServiceAccount(_ context.Context, namespace, name string) (*corev1.ServiceAccount, error) {
	return b.accounts.ServiceAccounts(namespace).Get(name)
}

func (b boundObjects) GetSecret(_ context.Context, namespace, name string) (*corev1.Secret, error) {
	return b.secrets.Secrets(namespace).Get(name)
}

func (b boundObjects) GetPod(_ context.Context, _, name string) (*corev1.Pod, error) {
	return nil, apierrors.NewNotFound(corev1.Resource("pods"), name)
}

func (b boundObjects) GetNode(_ context.Context, name string) (*corev1.Node, error) {
	return nil, apierrors.NewNotFound(corev1.Resource("nodes"), name)
}

func (b boundObjects) GetValidatingWebhookConfiguration(_ context.Context, name string) (*admissionregistrationv1.ValidatingWebhookConfiguration, error) {
	return nil, apierrors.NewNotFound(admissionregistrationv1.Resource("validatingwebhookconfigurations"), name)
}

func (b boundObjects) GetMutatingWebhookConfiguration(_ context.Context, name string) (*admissionregistrationv1.MutatingWebhookConfiguration, error) {
	return nil, apierrors.NewNotFound(admissionregistrationv1.Resource("mutatingwebhookconfigurations"), name)
}
