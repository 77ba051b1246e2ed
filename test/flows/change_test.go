package flows_test

import (
	"context"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
	"slipway.dev/slipway/internal/planetest"
	"slipway.dev/slipway/test/crashplan"
	"slipway.dev/slipway/test/fleet"
)

const (
	version  = crashplan.OldVersion
	upgraded = crashplan.NewVersion
)

// change makes a cluster's objects say what its spec says, as a user's edit of two fields would.
func change(ctx context.Context, c client.Client, s fleet.Spec) error {
	cp := &controlplanev1.KubeadmControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name + "-cp"}}
	patch := fmt.Sprintf(`{"spec":{"replicas":%d,"version":%q}}`, s.ControlPlane, s.Version)
	if err := c.Patch(ctx, cp, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		return fmt.Errorf("change the control plane of %s: %w", s.Name, err)
	}
	md := &clusterv1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name + "-md-0"}}
	patch = fmt.Sprintf(`{"spec":{"replicas":%d,"template":{"spec":{"version":%q}}}}`, s.Workers, s.Version)
	if err := c.Patch(ctx, md, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		return fmt.Errorf("change the workers of %s: %w", s.Name, err)
	}
	return nil
}

func remove(ctx context.Context, c client.Client, s fleet.Spec) error {
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name}}
	return client.IgnoreNotFound(c.Delete(ctx, cluster))
}

func TestCreateScaleUpgradeDelete(t *testing.T) {
	t.Parallel()
	c := clientOf(t, planetest.Shared(t))
	s := fleet.Spec{Namespace: "life", Name: "one", Version: version, ControlPlane: 1, Workers: 2, ECDSA: true}
	namespace(t, c, s.Namespace)
	if err := s.Create(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	become := func(what string) {
		eventually(t, what, func(ctx context.Context) error { return whole(ctx, c, s) })
	}
	become("up")
	s.ControlPlane, s.Workers = 3, 3
	if err := change(t.Context(), c, s); err != nil {
		t.Fatal(err)
	}
	become("scaled")
	s.Version = upgraded
	if err := change(t.Context(), c, s); err != nil {
		t.Fatal(err)
	}
	become("upgraded")
	if err := remove(t.Context(), c, s); err != nil {
		t.Fatal(err)
	}
	eventually(t, "deleted", func(ctx context.Context) error { return gone(ctx, c, planetest.Shared(t).StateDir, s.Namespace) })
}
