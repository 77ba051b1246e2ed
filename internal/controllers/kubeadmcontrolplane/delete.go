package kubeadmcontrolplane

import (
	"context"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/conditions"
	"slipway.dev/slipway/internal/events"
	"slipway.dev/slipway/internal/kubeadm/certs"
	"slipway.dev/slipway/internal/kubeadm/kubeconfig"
	"slipway.dev/slipway/internal/plan"
	"slipway.dev/slipway/internal/provision"
)

// tearDown deletes the Machines once no worker needs them, and lets the control plane go when none is left.
func (r *Reconciler) tearDown(ctx context.Context, s *scene) error {
	p := plan.ControlPlaneDeletion(s.workers, s.workersRead, s.machineFacts())
	if p.Wait && !s.orphans() {
		return nil
	}
	// A Machine that the cache does not show yet would be left to the garbage collector, with a hook that nobody drops.
	if err := r.fresh(ctx, s); err != nil {
		return err
	}
	if s.orphans() {
		return r.release(ctx, s)
	}
	var errs []error
	for _, m := range s.machines {
		errs = append(errs, r.dropHook(ctx, s, m.Machine))
	}
	var gone []string
	for _, name := range p.Delete {
		if err := r.deleteMachine(ctx, s, s.machine(name)); err != nil {
			errs = append(errs, err)
			continue
		}
		gone = append(gone, name)
	}
	if len(gone) > 0 {
		r.Recorder.Eventf(s.kcp, nil, corev1.EventTypeNormal, events.SuccessfulDelete, events.Delete, "Deleted %s: %s",
			conditions.Count(len(gone), "Machine"), plan.NameList(gone))
	}
	if err := errors.Join(errs...); err != nil || !p.Finish {
		return err
	}
	return r.release(ctx, s)
}

// orphans reports whether whoever deleted the control plane asked for its Machines to stay (kubectl's --cascade=orphan).
func (s *scene) orphans() bool {
	return slices.Contains(s.kcp.Finalizers, metav1.FinalizerOrphanDependents)
}

// release lets the control plane go. Machines that stay, because that was asked for or nobody controls them, lose the hook that only a
// control plane drops; Secrets that stay become the Cluster's, and go with it.
func (r *Reconciler) release(ctx context.Context, s *scene) error {
	var errs []error
	for _, m := range slices.Concat(s.all(), s.strays) {
		errs = append(errs, r.dropHook(ctx, s, m))
	}
	if err := errors.Join(append(errs, r.bequeath(ctx, s))...); err != nil {
		return err
	}
	if _, err := apply.RemoveFinalizer(ctx, r.Client, fieldManager, s.kcp, controlplanev1.KubeadmControlPlaneFinalizer); err != nil {
		return err
	}
	r.forget(s.kcp)
	s.gone = true
	return nil
}

// bequeath makes the Cluster an owner of the Secrets that were made for it and would stay. A user's own stay the user's.
func (r *Reconciler) bequeath(ctx context.Context, s *scene) error {
	if s.cluster == nil {
		return nil
	}
	names := []string{kubeconfig.SecretName(s.key.Name)}
	for _, p := range certs.Required(externalEtcd(s.kcp)) {
		names = append(names, p.SecretName(s.key.Name))
	}
	for _, name := range names {
		secret, err := r.secret(ctx, s, name)
		if err != nil {
			return err
		}
		if secret == nil || secret.Type != clusterv1.ClusterSecretType || !s.stays(secret) {
			continue
		}
		_, err = apply.Metadata(ctx, r.Client, fieldManager, secret.DeepCopy(), func(m metav1.Object) {
			apply.SetOwner(m, provision.OwnerCluster(s.cluster))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// stays reports whether an object will be left when the control plane is gone, with nobody to see to it.
func (s *scene) stays(obj metav1.Object) bool {
	return metav1.GetControllerOfNoCopy(obj) == nil || s.orphans() && metav1.IsControlledBy(obj, s.kcp)
}
