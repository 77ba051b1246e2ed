package cluster

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

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/contract"
	"slipway.dev/slipway/internal/kubeadm"
	"slipway.dev/slipway/internal/kubeadm/certs"
	"slipway.dev/slipway/internal/kubeadm/kubeconfig"
	"slipway.dev/slipway/internal/outcome"
	"slipway.dev/slipway/internal/provision"
)

const (
	reasonCertificateInvalid    = "CertificateInvalid"
	reasonWaitingForCertificate = "WaitingForCertificate"
	reasonInvalidEndpoint       = "InvalidEndpoint"
	// reasonClaimed is why a Cluster does not take an object that it refers to.
	reasonClaimed = "OwnedByAnotherCluster"

	// secretRecheck is when to look again for a Secret whose content shows in no event that we watch.
	secretRecheck = 10 * time.Second
	// claimRecheck is when to look again whether another Cluster has given up an object: it changes its own spec alone.
	claimRecheck = 10 * time.Second
)

// act brings a Cluster on. All steps are tried, whatever becomes of the others, once the Cluster carries the finalizer.
func (r *Reconciler) act(ctx context.Context, w *world) error {
	if w.deleting() {
		return r.delete(ctx, w)
	}
	if _, err := apply.AddFinalizer(ctx, r.Client, fieldManager, w.cluster, clusterv1.ClusterFinalizer); err != nil {
		return err
	}
	return errors.Join(
		w.infra.err, w.controlPlane.err,
		r.own(ctx, w, w.infra), r.own(ctx, w, w.controlPlane),
		r.takeEndpoint(ctx, w),
		r.makeKubeconfig(ctx, w),
	)
}

// own makes the Cluster an owner of an object that it refers to.
func (r *Reconciler) own(ctx context.Context, w *world, e external) error {
	if e.object == nil || e.object.Deleting() {
		return nil
	}
	owner := provision.OwnerCluster(w.cluster)
	if w.cluster.Spec.Topology.IsDefined() {
		owner.Controller, owner.BlockOwnerDeletion = new(true), new(true)
	}
	_, err := contract.Own(ctx, r.Client, fieldManager, e.object, contract.Ownership{Owner: owner, Former: e.former, ClusterName: w.cluster.Name})
	return err
}

// takeEndpoint copies the endpoint from whoever knows it into the Cluster, once.
func (r *Reconciler) takeEndpoint(ctx context.Context, w *world) error {
	if w.cluster.Spec.ControlPlaneEndpoint.IsValid() {
		return nil
	}
	var endpoint clusterv1.APIEndpoint
	switch {
	case w.infraView.Provisioned.IsTrue() && w.infraView.Endpoint.IsValid():
		endpoint = w.infraView.Endpoint
	case w.controlPlaneView.Endpoint.IsValid():
		endpoint = w.controlPlaneView.Endpoint
	default:
		return nil
	}
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": w.cluster.UID}, "spec": map[string]any{"controlPlaneEndpoint": endpoint},
	})
	if err != nil {
		return fmt.Errorf("encode the endpoint of Cluster %s: %w", w.key(), err)
	}
	// The answer is metadata alone: what the patch made of the spec is known here.
	target := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: w.cluster.Namespace, Name: w.cluster.Name}}
	target.SetGroupVersionKind(clusterv1.GroupVersion.WithKind(clusterKind))
	if err := r.Client.Patch(ctx, target, client.RawPatch(types.MergePatchType, body), client.FieldOwner(fieldManager)); err != nil {
		return fmt.Errorf("patch the endpoint of Cluster %s: %w", w.key(), err)
	}
	w.cluster.ResourceVersion, w.cluster.Generation, w.cluster.Spec.ControlPlaneEndpoint = target.ResourceVersion, target.Generation, endpoint
	return nil
}

// noWayIn is why no kubeconfig can be made.
func noWayIn(reason string, err error) error {
	return &outcome.Stall{Reason: reason, Message: "The kubeconfig cannot be made: " + err.Error(), Recheck: secretRecheck, Err: err}
}

// makeKubeconfig creates the kubeconfig of a Cluster that no control plane object sees to.
func (r *Reconciler) makeKubeconfig(ctx context.Context, w *world) error {
	endpoint := w.cluster.Spec.ControlPlaneEndpoint
	if w.hasKubeconfig || w.cluster.Spec.ControlPlaneRef.IsDefined() || !endpoint.IsValid() {
		return nil
	}
	name := certs.ClusterCA.SecretName(w.cluster.Name)
	secret := &corev1.Secret{}
	if err := r.Client.Get(ctx, types.NamespacedName{Namespace: w.cluster.Namespace, Name: name}, secret); err != nil {
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("read Secret %s: %w", name, err)
		}
		return outcome.Waiting(0, reasonWaitingForCertificate, "Waiting for Secret %s, from which the kubeconfig is made", name)
	}
	pair, err := certs.FromSecret(secret, certs.ClusterCA, certs.ExternalEtcd{}, w.now)
	if err != nil {
		return noWayIn(reasonCertificateInvalid, err)
	}
	server, err := kubeadm.ServerURL(endpoint.Host, endpoint.Port)
	if err != nil {
		return noWayIn(reasonInvalidEndpoint, err)
	}
	authority, err := certs.NewAuthority(pair)
	if err != nil {
		return err
	}
	content, err := kubeconfig.New(authority, kubeconfig.Admin(w.cluster.Name, server, w.now))
	if err != nil {
		return err
	}
	made := kubeconfig.NewSecret(w.key(), content)
	made.OwnerReferences = []metav1.OwnerReference{provision.OwnerCluster(w.cluster)}
	if err := r.Client.Create(ctx, made, client.FieldOwner(fieldManager)); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create Secret %s: %w", client.ObjectKeyFromObject(made), err)
	}
	return nil
}
