package workload

import (
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	pathcontent "k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// addToScheme registers the served groups.
func addToScheme(s *runtime.Scheme) error {
	b := runtime.NewSchemeBuilder(
		corev1.AddToScheme, appsv1.AddToScheme, policyv1.AddToScheme, rbacv1.AddToScheme, storagev1.AddToScheme,
		coordinationv1.AddToScheme, eventsv1.AddToScheme, authenticationv1.AddToScheme, authorizationv1.AddToScheme,
		autoscalingv1.AddToScheme,
	)
	metav1.AddToGroupVersion(s, schema.GroupVersion{Version: "v1"})
	return b.AddToScheme(s)
}

var scaleGVK = autoscalingv1.SchemeGroupVersion.WithKind("Scale")

// servedKinds lists every stored kind.
func servedKinds() []*kind {
	event := eventKind()
	kinds := []*kind{
		nodeKind(), namespaceKind(), podKind(), configMapKind(), secretKind(), serviceAccountKind(), event,
		persistentVolumeKind(), persistentVolumeClaimKind(),
		deploymentKind(), daemonSetKind(),
		leaseKind(), eventViewKind(event), podDisruptionBudgetKind(),
	}
	kinds = append(kinds, rbacKinds()...)
	return append(kinds, volumeAttachmentKind())
}

func nodeKind() *kind {
	return &kind{
		gvk: corev1.SchemeGroupVersion.WithKind("Node"), plural: "nodes", singular: "node", short: []string{"no"},
		make: func() Object { return &corev1.Node{} }, makeList: func() runtime.Object { return &corev1.NodeList{} },
		spec:   partOf(func(o *corev1.Node) *corev1.NodeSpec { return &o.Spec }),
		status: partOf(func(o *corev1.Node) *corev1.NodeStatus { return &o.Status }), keepStatus: true,
		fields: nodeFields, columns: nodeColumns(), row: rowOf(nodeRow), validate: immutable(nodeImmutable),
	}
}

func namespaceKind() *kind {
	return &kind{
		gvk: corev1.SchemeGroupVersion.WithKind("Namespace"), plural: "namespaces", singular: "namespace", short: []string{"ns"},
		make: func() Object { return &corev1.Namespace{} }, makeList: func() runtime.Object { return &corev1.NamespaceList{} },
		spec:   partOf(func(o *corev1.Namespace) *corev1.NamespaceSpec { return &o.Spec }),
		status: partOf(func(o *corev1.Namespace) *corev1.NamespaceStatus { return &o.Status }),
		extra:  []subresource{{name: "finalize", verbs: []string{"update"}}}, nameRule: validation.NameIsDNSLabel,
		defaults: defaultsOf(namespaceDefaults), fields: namespaceFields, columns: namespaceColumns(), row: rowOf(namespaceRow),
	}
}

func podKind() *kind {
	return &kind{
		gvk: corev1.SchemeGroupVersion.WithKind("Pod"), plural: "pods", singular: "pod", short: []string{"po"}, categories: []string{"all"},
		namespaced: true, make: func() Object { return &corev1.Pod{} }, makeList: func() runtime.Object { return &corev1.PodList{} },
		spec:   partOf(func(o *corev1.Pod) *corev1.PodSpec { return &o.Spec }),
		status: partOf(func(o *corev1.Pod) *corev1.PodStatus { return &o.Status }), generation: true,
		extra: []subresource{
			{name: "eviction", gvk: policyv1.SchemeGroupVersion.WithKind("Eviction"), verbs: []string{"create"}},
			{name: "log", verbs: []string{"get"}},
			{name: "portforward", gvk: corev1.SchemeGroupVersion.WithKind("PodPortForwardOptions"), verbs: []string{"create", "get"}},
		},
		defaults: defaultsOf(podDefaults), validate: validatePod, fields: podFields, columns: podColumns(), row: rowOf(podRow),
	}
}

func configMapKind() *kind {
	return &kind{
		gvk: corev1.SchemeGroupVersion.WithKind("ConfigMap"), plural: "configmaps", singular: "configmap", short: []string{"cm"},
		namespaced: true, make: func() Object { return &corev1.ConfigMap{} }, makeList: func() runtime.Object { return &corev1.ConfigMapList{} },
		validate: immutable(configMapImmutable), columns: configMapColumns(), row: rowOf(configMapRow),
	}
}

func secretKind() *kind {
	return &kind{
		gvk: corev1.SchemeGroupVersion.WithKind("Secret"), plural: "secrets", singular: "secret",
		namespaced: true, make: func() Object { return &corev1.Secret{} }, makeList: func() runtime.Object { return &corev1.SecretList{} },
		defaults: defaultsOf(secretDefaults), validate: immutable(secretImmutable), fields: secretFields,
		columns: secretColumns(), row: rowOf(secretRow),
	}
}

func serviceAccountKind() *kind {
	return &kind{
		gvk: corev1.SchemeGroupVersion.WithKind("ServiceAccount"), plural: "serviceaccounts", singular: "serviceaccount", short: []string{"sa"},
		namespaced: true, make: func() Object { return &corev1.ServiceAccount{} },
		makeList: func() runtime.Object { return &corev1.ServiceAccountList{} },
		columns:  serviceAccountColumns(), row: rowOf(serviceAccountRow),
	}
}

// everywhere makes all objects of a kind volatile.
func everywhere(string) bool { return true }

func eventKind() *kind {
	return &kind{
		gvk: corev1.SchemeGroupVersion.WithKind("Event"), plural: "events", singular: "event", short: []string{"ev"},
		namespaced: true, make: func() Object { return &corev1.Event{} }, makeList: func() runtime.Object { return &corev1.EventList{} },
		fields: eventFields, columns: eventColumns(), row: rowOf(eventRow), volatile: everywhere,
	}
}

func eventViewKind(event *kind) *kind {
	return &kind{
		gvk: eventsv1.SchemeGroupVersion.WithKind("Event"), plural: "events", singular: "event", short: []string{"ev"},
		namespaced: true, make: func() Object { return &eventsv1.Event{} }, makeList: func() runtime.Object { return &eventsv1.EventList{} },
		columns: eventColumns(), row: func(o Object) []any { return eventRow(eventToCore(o.(*eventsv1.Event))) }, volatile: everywhere,
		fields:  eventViewFields,
		storage: event, fromStorage: func(o Object) Object { return eventFromCore(o.(*corev1.Event)) },
		toStorage: func(o Object) Object { return eventToCore(o.(*eventsv1.Event)) },
	}
}

func persistentVolumeKind() *kind {
	return &kind{
		gvk: corev1.SchemeGroupVersion.WithKind("PersistentVolume"), plural: "persistentvolumes", singular: "persistentvolume",
		short: []string{"pv"}, make: func() Object { return &corev1.PersistentVolume{} },
		makeList: func() runtime.Object { return &corev1.PersistentVolumeList{} },
		spec:     partOf(func(o *corev1.PersistentVolume) *corev1.PersistentVolumeSpec { return &o.Spec }),
		status:   partOf(func(o *corev1.PersistentVolume) *corev1.PersistentVolumeStatus { return &o.Status }),
		defaults: defaultsOf(persistentVolumeDefaults), columns: persistentVolumeColumns(), row: rowOf(persistentVolumeRow),
	}
}

func persistentVolumeClaimKind() *kind {
	return &kind{
		gvk: corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"), plural: "persistentvolumeclaims", singular: "persistentvolumeclaim",
		short: []string{"pvc"}, namespaced: true, make: func() Object { return &corev1.PersistentVolumeClaim{} },
		makeList: func() runtime.Object { return &corev1.PersistentVolumeClaimList{} },
		spec:     partOf(func(o *corev1.PersistentVolumeClaim) *corev1.PersistentVolumeClaimSpec { return &o.Spec }),
		status:   partOf(func(o *corev1.PersistentVolumeClaim) *corev1.PersistentVolumeClaimStatus { return &o.Status }),
		defaults: defaultsOf(persistentVolumeClaimDefaults), columns: persistentVolumeClaimColumns(), row: rowOf(persistentVolumeClaimRow),
	}
}

func deploymentKind() *kind {
	return &kind{
		gvk: appsv1.SchemeGroupVersion.WithKind("Deployment"), plural: "deployments", singular: "deployment", short: []string{"deploy"},
		categories: []string{"all"}, namespaced: true, make: func() Object { return &appsv1.Deployment{} },
		makeList: func() runtime.Object { return &appsv1.DeploymentList{} },
		spec:     partOf(func(o *appsv1.Deployment) *appsv1.DeploymentSpec { return &o.Spec }),
		status:   partOf(func(o *appsv1.Deployment) *appsv1.DeploymentStatus { return &o.Status }), generation: true,
		extra:    []subresource{{name: "scale", gvk: scaleGVK, verbs: statusVerbs}},
		defaults: defaultsOf(deploymentDefaults), validate: validateDeployment, columns: deploymentColumns(), row: rowOf(deploymentRow),
	}
}

func daemonSetKind() *kind {
	return &kind{
		gvk: appsv1.SchemeGroupVersion.WithKind("DaemonSet"), plural: "daemonsets", singular: "daemonset", short: []string{"ds"},
		categories: []string{"all"}, namespaced: true, make: func() Object { return &appsv1.DaemonSet{} },
		makeList: func() runtime.Object { return &appsv1.DaemonSetList{} },
		spec:     partOf(func(o *appsv1.DaemonSet) *appsv1.DaemonSetSpec { return &o.Spec }),
		status:   partOf(func(o *appsv1.DaemonSet) *appsv1.DaemonSetStatus { return &o.Status }), generation: true,
		defaults: defaultsOf(daemonSetDefaults), validate: validateDaemonSet, columns: daemonSetColumns(), row: rowOf(daemonSetRow),
	}
}

func leaseKind() *kind {
	return &kind{
		gvk: coordinationv1.SchemeGroupVersion.WithKind("Lease"), plural: "leases", singular: "lease", namespaced: true,
		make: func() Object { return &coordinationv1.Lease{} }, makeList: func() runtime.Object { return &coordinationv1.LeaseList{} },
		columns: leaseColumns(), row: rowOf(leaseRow),
		volatile: func(namespace string) bool { return namespace == leaseNamespace },
	}
}

func podDisruptionBudgetKind() *kind {
	return &kind{
		gvk: policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"), plural: "poddisruptionbudgets", singular: "poddisruptionbudget",
		short: []string{"pdb"}, namespaced: true, make: func() Object { return &policyv1.PodDisruptionBudget{} },
		makeList: func() runtime.Object { return &policyv1.PodDisruptionBudgetList{} },
		spec:     partOf(func(o *policyv1.PodDisruptionBudget) *policyv1.PodDisruptionBudgetSpec { return &o.Spec }),
		status:   partOf(func(o *policyv1.PodDisruptionBudget) *policyv1.PodDisruptionBudgetStatus { return &o.Status }), generation: true,
		validate: validateBudget, columns: podDisruptionBudgetColumns(), row: rowOf(podDisruptionBudgetRow),
	}
}

func volumeAttachmentKind() *kind {
	return &kind{
		gvk: storagev1.SchemeGroupVersion.WithKind("VolumeAttachment"), plural: "volumeattachments", singular: "volumeattachment",
		make: func() Object { return &storagev1.VolumeAttachment{} }, makeList: func() runtime.Object { return &storagev1.VolumeAttachmentList{} },
		spec:    partOf(func(o *storagev1.VolumeAttachment) *storagev1.VolumeAttachmentSpec { return &o.Spec }),
		status:  partOf(func(o *storagev1.VolumeAttachment) *storagev1.VolumeAttachmentStatus { return &o.Status }),
		columns: volumeAttachmentColumns(), row: rowOf(volumeAttachmentRow),
	}
}

// pathSegment says why a name, or the beginning of one, cannot stand in a URL's path.
func pathSegment(name string, prefix bool) []string {
	if prefix {
		return pathcontent.IsPathSegmentPrefix(name)
	}
	return pathcontent.IsPathSegmentName(name)
}

func rbacKinds() []*kind {
	gv := rbacv1.SchemeGroupVersion
	segment := validation.ValidateNameFunc(pathSegment)
	return []*kind{
		{
			gvk: gv.WithKind("ClusterRole"), plural: "clusterroles", singular: "clusterrole", nameRule: segment,
			make: func() Object { return &rbacv1.ClusterRole{} }, makeList: func() runtime.Object { return &rbacv1.ClusterRoleList{} },
			columns: createdAtColumns(), row: createdAtRow,
		},
		{
			gvk: gv.WithKind("ClusterRoleBinding"), plural: "clusterrolebindings", singular: "clusterrolebinding", nameRule: segment,
			make: func() Object { return &rbacv1.ClusterRoleBinding{} }, makeList: func() runtime.Object { return &rbacv1.ClusterRoleBindingList{} },
			defaults: defaultsOf(func(b *rbacv1.ClusterRoleBinding) { bindingDefaults(&b.RoleRef, b.Subjects) }),
			validate: immutable(func(b, old *rbacv1.ClusterRoleBinding) string { return roleRefChange(b.RoleRef, old.RoleRef) }),
			columns:  bindingColumns(), row: rowOf(func(b *rbacv1.ClusterRoleBinding) []any { return bindingRow(b, b.RoleRef, b.Subjects) }),
		},
		{
			gvk: gv.WithKind("Role"), plural: "roles", singular: "role", nameRule: segment, namespaced: true,
			make: func() Object { return &rbacv1.Role{} }, makeList: func() runtime.Object { return &rbacv1.RoleList{} },
			columns: createdAtColumns(), row: createdAtRow,
		},
		{
			gvk: gv.WithKind("RoleBinding"), plural: "rolebindings", singular: "rolebinding", nameRule: segment, namespaced: true,
			make: func() Object { return &rbacv1.RoleBinding{} }, makeList: func() runtime.Object { return &rbacv1.RoleBindingList{} },
			defaults: defaultsOf(func(b *rbacv1.RoleBinding) { bindingDefaults(&b.RoleRef, b.Subjects) }),
			validate: immutable(func(b, old *rbacv1.RoleBinding) string { return roleRefChange(b.RoleRef, old.RoleRef) }),
			columns:  bindingColumns(), row: rowOf(func(b *rbacv1.RoleBinding) []any { return bindingRow(b, b.RoleRef, b.Subjects) }),
		},
	}
}

// defaultsOf adapts a typed defaulting function.
func defaultsOf[O Object](f func(O)) func(Object) { return func(o Object) { f(o.(O)) } }

// rowOf adapts a typed row function.
func rowOf[O Object](f func(O) []any) func(Object) []any {
	return func(o Object) []any { return f(o.(O)) }
}
