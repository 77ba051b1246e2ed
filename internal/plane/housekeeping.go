package plane

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/controller-manager/pkg/informerfactory"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/namespace"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	rbacapply "k8s.io/client-go/applyconfigurations/rbac/v1"
)

const (
	gcWorkers        = 10
	namespaceWorkers = 5
	// kindsResync is how often the garbage collector looks for kinds that were added or removed.
	kindsResync = 30 * time.Second
)

// housekeeping is the part of Kubernetes' controller manager that a plane without pods needs: the garbage collector and the
// namespace controller.
type housekeeping struct{ wg sync.WaitGroup }

func startHousekeeping(ctx context.Context, cfg *rest.Config) (*housekeeping, error) {
	cfg = rest.AddUserAgent(rest.CopyConfig(cfg), "housekeeping")
	cfg.QPS, cfg.Burst = 400, 800
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	meta, err := metadata.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	h := &housekeeping{}
	shared := informers.NewSharedInformerFactory(client, 0)
	namespaces := namespace.NewNamespaceController(ctx, client, meta, client.Discovery().ServerPreferredNamespacedResources,
		shared.Core().V1().Namespaces(), 5*time.Minute, corev1.FinalizerKubernetes)

	started := make(chan struct{})
	cached := memory.NewMemCacheClient(client.Discovery())
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(cached)
	objects := metadatainformer.NewSharedInformerFactoryWithOptions(meta, 0, metadatainformer.WithTransform(withoutManagedFields))
	gc, err := garbagecollector.NewGarbageCollector(ctx, client, meta, mapper, ignoredByGC(),
		informerfactory.NewInformerFactory(shared, objects), started)
	if err != nil {
		return nil, fmt.Errorf("make the garbage collector: %w", err)
	}
	shared.Start(ctx.Done())
	objects.Start(ctx.Done())
	close(started)
	h.wg.Go(func() { namespaces.Run(ctx, namespaceWorkers) })
	h.wg.Go(func() { gc.Run(ctx, gcWorkers, 5*time.Second) })
	h.wg.Go(func() { gc.Sync(ctx, freshDiscovery{cached}, kindsResync) })
	return h, nil
}

func (h *housekeeping) wait() { h.wg.Wait() }

// freshDiscovery forgets what it knew before each look, as the garbage collector expects of its discovery client.
type freshDiscovery struct {
	discovery.CachedDiscoveryInterface
}

func (d freshDiscovery) ServerPreferredResources() ([]*metav1.APIResourceList, error) {
	d.Invalidate()
	return d.CachedDiscoveryInterface.ServerPreferredResources()
}

func ignoredByGC() map[schema.GroupResource]struct{} {
	ignored := garbagecollector.DefaultIgnoredResources()
	ignored[schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}] = struct{}{}
	return ignored
}

func withoutManagedFields(obj any) (any, error) {
	if o, ok := obj.(metav1.Object); ok {
		o.SetManagedFields(nil)
	}
	return obj, nil
}

// bindAdmins gives the group of the plane's own users all rights.
func bindAdmins(ctx context.Context, cfg *rest.Config) error {
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return err
	}
	binding := rbacapply.ClusterRoleBinding(adminGroup).
		WithSubjects(rbacapply.Subject().WithKind(rbacv1.GroupKind).WithAPIGroup(rbacv1.GroupName).WithName(adminGroup)).
		WithRoleRef(rbacapply.RoleRef().WithAPIGroup(rbacv1.GroupName).WithKind("ClusterRole").WithName("cluster-admin"))
	_, err = client.RbacV1().ClusterRoleBindings().Apply(ctx, binding, metav1.ApplyOptions{FieldManager: "slipway-plane", Force: true})
	if err != nil {
		return fmt.Errorf("bind %s to cluster-admin: %w", adminGroup, err)
	}
	return nil
}
