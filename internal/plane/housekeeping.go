package plane

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/cache"
	"k8s.io/controller-manager/pkg/informerfactory"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/namespace"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	rbacapply "k8s.io/client-go/applyconfigurations/rbac/v1"
)

const (
	gcWorkers        = 10
	namespaceWorkers = 5
	// kindsResync is how often the garbage collector looks for kinds that were added or removed when nothing tells it of any.
	kindsResync = 30 * time.Second
	// kindsSettle is how long no CustomResourceDefinition changes before the garbage collector looks at once: they come in
	// batches, and discovery tells of each a moment later.
	kindsSettle = time.Second
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
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery()))
	objects := metadatainformer.NewSharedInformerFactoryWithOptions(meta, 0, metadatainformer.WithTransform(withoutManagedFields))
	gc, err := garbagecollector.NewGarbageCollector(ctx, client, meta, mapper, ignoredByGC(),
		informerfactory.NewInformerFactory(shared, objects), started)
	if err != nil {
		return nil, fmt.Errorf("make the garbage collector: %w", err)
	}
	changed, err := changes(objects.ForResource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")).Informer())
	if err != nil {
		return nil, err
	}
	shared.Start(ctx.Done())
	objects.Start(ctx.Done())
	close(started)
	h.wg.Go(func() { namespaces.Run(ctx, namespaceWorkers) })
	h.wg.Go(func() { gc.Run(ctx, gcWorkers, 5*time.Second) })
	h.wg.Go(func() { followKinds(ctx, gc, client.Discovery(), changed) })
	return h, nil
}

func (h *housekeeping) wait() { h.wg.Wait() }

// followKinds has the garbage collector watch the kinds that there are, soon after they change. Until it watches a kind, it does not
// see that an object of it is deleted, and what that owned stays.
func followKinds(ctx context.Context, gc *garbagecollector.GarbageCollector, kinds discovery.ServerResourcesInterface, changed <-chan struct{}) {
	for ctx.Err() == nil {
		round, end := context.WithCancel(ctx)
		var looking sync.WaitGroup
		looking.Go(func() { gc.Sync(round, kinds, kindsResync) })
		settle(ctx, changed)
		end()
		looking.Wait()
	}
}

// settle waits for a change, and then until none has followed for kindsSettle.
func settle(ctx context.Context, changed <-chan struct{}) {
	var settled <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
			settled = time.After(kindsSettle)
		case <-settled:
			return
		}
	}
}

// changes tells of each change that an informer sees; changes that nobody has taken yet are one.
func changes(informer cache.SharedIndexInformer) (<-chan struct{}, error) {
	changed := make(chan struct{}, 1)
	tell := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { tell() },
		UpdateFunc: func(any, any) { tell() },
		DeleteFunc: func(any) { tell() },
	})
	return changed, err
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
