package manager_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"slipway.dev/slipway/internal/manager"
	"slipway.dev/slipway/internal/planetest"
)

// A provider whose kind is never listed keeps its own objects back. It must not keep the plane from being ready.
func TestReadiness_WaitsForOurOwnKindsAlone(t *testing.T) {
	t.Parallel()
	lag := &planetest.Lag{}
	settings, err := manager.Settings(manager.Scheme())
	if err != nil {
		t.Fatal(err)
	}
	mgr, err := ctrl.NewManager(lag.Config(planetest.Config(t)), settings)
	if err != nil {
		t.Fatal(err)
	}
	lag.Hold("namespaces")
	if _, err := mgr.GetCache().GetInformer(t.Context(), &corev1.Namespace{}, cache.BlockUntilSynced(false)); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(t.Context()) }()
	t.Cleanup(func() {
		lag.Release()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	if err := manager.Fill(t.Context(), mgr.GetCache()); err != nil {
		t.Fatal(err)
	}
	clusters, err := mgr.GetCache().GetInformer(t.Context(), manager.Watched()[0], cache.BlockUntilSynced(false))
	if err != nil || !clusters.HasSynced() {
		t.Errorf("the cache of %T is not filled: %v", manager.Watched()[0], err)
	}
}
