package kubeadmcontrolplane

import (
	"context"
	"fmt"

	"github.com/blang/semver/v4"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/kubeadm/config"
	"slipway.dev/slipway/internal/kubeadm/initobjects"
	"slipway.dev/slipway/internal/plan"
)

// prepareRollout makes the cluster ready for Machines of the spec as it is now: those that join read kubeadm's
// configuration from the cluster, not from their KubeadmConfig.
func (r *Reconciler) prepareRollout(ctx context.Context, s *scene) error {
	ctx, cancel := context.WithTimeout(ctx, insideTimeout)
	defer cancel()
	version, err := plan.ParseVersion(s.kcp.Spec.Version)
	if err != nil {
		return fmt.Errorf("parse spec.version: %w", err)
	}
	c, err := r.Clusters.Client(ctx, s.key)
	if err != nil {
		return fmt.Errorf("prepare Cluster %s for a rollout: %w", s.key, err)
	}
	if err := updateKubeadmConfig(ctx, c, s, version); err != nil {
		return fmt.Errorf("prepare Cluster %s for a rollout: %w", s.key, err)
	}
	return ensureClusterAdmins(ctx, c, version)
}

func updateKubeadmConfig(ctx context.Context, c client.Client, s *scene, version semver.Version) error {
	stored := &corev1.ConfigMap{}
	key := client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: config.ConfigMapName}
	if err := c.Get(ctx, key, stored); err != nil {
		return fmt.Errorf("get ConfigMap %s: %w", key, err)
	}
	text, changed, err := config.UpdateStored(stored.Data[config.ConfigMapKey], version, s.kcp.Spec.KubeadmConfigSpec.ClusterConfiguration)
	if err != nil || !changed {
		return err
	}
	updated := stored.DeepCopy()
	if updated.Data == nil {
		updated.Data = map[string]string{}
	}
	updated.Data[config.ConfigMapKey] = text
	if err := c.Patch(ctx, updated, client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{}), client.FieldOwner(fieldManager)); err != nil {
		return fmt.Errorf("patch ConfigMap %s: %w", key, err)
	}
	return nil
}

// firstClusterAdmins is the first version whose kubeadm gives its admin.conf a group that needs a binding; kubeadm init
// makes it, kubeadm join relies on it.
func firstClusterAdmins() semver.Version { return semver.Version{Major: 1, Minor: 29} }

func ensureClusterAdmins(ctx context.Context, c client.Client, version semver.Version) error {
	version.Pre, version.Build = nil, nil
	if version.LT(firstClusterAdmins()) {
		return nil
	}
	binding := &rbacv1.ClusterRoleBinding{}
	err := c.Get(ctx, client.ObjectKey{Name: initobjects.ClusterAdminsGroup}, binding)
	if !apierrors.IsNotFound(err) {
		return err
	}
	binding = &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: initobjects.ClusterAdminsGroup},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: initobjects.ClusterAdminsGroup}},
	}
	if err := c.Create(ctx, binding, client.FieldOwner(fieldManager)); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create ClusterRoleBinding %s: %w", binding.Name, err)
	}
	return nil
}
