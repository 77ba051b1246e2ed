package remote

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// kinds is what clients of workload clusters can name, and where the API server serves it. These have been stable
// since before the oldest Kubernetes version that can be managed, so no cluster needs to be asked what it serves: that
// would cost some fifty requests and a megabyte a cluster.
type kinds struct {
	scheme *runtime.Scheme
	mapper meta.RESTMapper
}

func newKinds() (kinds, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, policyv1.AddToScheme, storagev1.AddToScheme, rbacv1.AddToScheme,
		coordinationv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return kinds{}, fmt.Errorf("register the kinds of workload clusters: %w", err)
		}
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	add := func(group schema.GroupVersion, scope meta.RESTScope, names ...string) {
		for _, name := range names {
			mapper.Add(group.WithKind(name), scope)
		}
	}
	add(corev1.SchemeGroupVersion, meta.RESTScopeRoot, "Node", "Namespace", "PersistentVolume")
	add(corev1.SchemeGroupVersion, meta.RESTScopeNamespace,
		"Pod", "ConfigMap", "Secret", "ServiceAccount", "Service", "Event", "PersistentVolumeClaim")
	add(appsv1.SchemeGroupVersion, meta.RESTScopeNamespace, "Deployment", "DaemonSet", "StatefulSet", "ReplicaSet")
	add(policyv1.SchemeGroupVersion, meta.RESTScopeNamespace, "PodDisruptionBudget")
	add(storagev1.SchemeGroupVersion, meta.RESTScopeRoot, "VolumeAttachment", "StorageClass")
	add(rbacv1.SchemeGroupVersion, meta.RESTScopeRoot, "ClusterRole", "ClusterRoleBinding")
	add(rbacv1.SchemeGroupVersion, meta.RESTScopeNamespace, "Role", "RoleBinding")
	add(coordinationv1.SchemeGroupVersion, meta.RESTScopeNamespace, "Lease")
	return kinds{scheme: scheme, mapper: mapper}, nil
}
