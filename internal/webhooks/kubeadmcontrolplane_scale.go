package webhooks

import (
	"context"
	"fmt"
	"net/http"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
)

// scaleWebhook is asked when a KubeadmControlPlane's replicas are set through its scale subresource, which its own
// webhooks do not see.
func scaleWebhook(k kind, reader client.Reader) Webhook {
	scale := kind{version: k.version, singular: k.singular, plural: k.plural + "/scale"}
	return Webhook{
		Name: "validation-scale." + k.singular + "." + k.version.Group, Path: scale.path("validate-scale"),
		Resource:   k.version.WithResource(scale.plural),
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
		Handler:    scaler{reader: reader},
	}
}

type scaler struct{ reader client.Reader }

// Handle implements admission.Handler.
func (s scaler) Handle(ctx context.Context, req admission.Request) admission.Response {
	var scale, old autoscalingv1.Scale
	if err := utiljson.Unmarshal(req.Object.Raw, &scale); err != nil {
		return admission.Errored(http.StatusBadRequest, fmt.Errorf("decode Scale %s: %w", req.Name, err))
	}
	if err := utiljson.Unmarshal(req.OldObject.Raw, &old); err != nil {
		return admission.Errored(http.StatusBadRequest, fmt.Errorf("decode stored Scale %s: %w", req.Name, err))
	}
	if scale.Spec.Replicas == old.Spec.Replicas {
		return admission.Allowed("")
	}
	controlPlane := &controlplanev1.KubeadmControlPlane{}
	err := s.reader.Get(ctx, client.ObjectKey{Namespace: req.Namespace, Name: req.Name}, controlPlane)
	switch {
	case apierrors.IsNotFound(err):
		// It was created this moment and the cache has not seen it: what may be wrong in itself is checked all the same.
	case err != nil:
		return admission.Errored(http.StatusInternalServerError, fmt.Errorf("read KubeadmControlPlane %s/%s: %w", req.Namespace, req.Name, err))
	}
	etcd := controlPlane.Spec.KubeadmConfigSpec.ClusterConfiguration.Etcd
	at := field.NewPath("spec")
	errs := checkControlPlaneReplicas(at.Child("replicas"), scale.Spec.Replicas, etcd)
	errs = append(errs, checkSurge(at.Child("rollout", "strategy", "rollingUpdate", "maxSurge"), controlPlane.Spec.Rollout, &scale.Spec.Replicas)...)
	if len(errs) > 0 {
		return invalid(req, errs)
	}
	return admission.Allowed("")
}
