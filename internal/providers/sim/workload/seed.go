package workload

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// seed makes what an API server makes by itself when it first starts: its namespaces and the roles that kubeadm and kubectl
// count on.
func (s *Store) seed() error {
	var objs []Object
	for _, name := range []string{metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic, leaseNamespace} {
		objs = append(objs, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	for _, name := range []string{metav1.NamespaceDefault, metav1.NamespaceSystem} {
		objs = append(objs, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: name}})
	}
	objs = append(objs, seedRoles()...)
	if _, err := s.Put(objs...); err != nil {
		return fmt.Errorf("seed the cluster: %w", err)
	}
	return nil
}

// seedRoles are the bootstrap roles, with the bindings of those that are bound from the start.
func seedRoles() []Object {
	everything := []rbacv1.PolicyRule{
		{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}},
		{Verbs: []string{"*"}, NonResourceURLs: []string{"*"}},
	}
	health := []string{"/healthz", "/livez", "/readyz", "/version", "/version/"}
	reviews := []rbacv1.PolicyRule{
		{Verbs: []string{"create"}, APIGroups: []string{"authorization.k8s.io"}, Resources: []string{"selfsubjectaccessreviews", "selfsubjectrulesreviews"}},
		{Verbs: []string{"create"}, APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"selfsubjectreviews"}},
	}
	discovery := append([]string{"/api", "/api/*", "/apis", "/apis/*", "/openapi", "/openapi/*"}, health...)
	return []Object{
		seedRole("cluster-admin", everything), seedBinding("cluster-admin", groupMasters),
		seedRole("system:discovery", []rbacv1.PolicyRule{{Verbs: []string{"get"}, NonResourceURLs: discovery}}),
		seedBinding("system:discovery", groupAuthenticated),
		seedRole("system:public-info-viewer", []rbacv1.PolicyRule{{Verbs: []string{"get"}, NonResourceURLs: health}}),
		seedBinding("system:public-info-viewer", groupAuthenticated, groupUnauthenticated),
		seedRole("system:basic-user", reviews), seedBinding("system:basic-user", groupAuthenticated),
		seedRole("system:node-bootstrapper", []rbacv1.PolicyRule{{
			Verbs: []string{"create", "get", "list", "watch"}, APIGroups: []string{"certificates.k8s.io"}, Resources: []string{"certificatesigningrequests"},
		}}),
		seedRole("view", []rbacv1.PolicyRule{{
			Verbs: []string{"get", "list", "watch"}, APIGroups: []string{"", "apps", "policy"},
			Resources: []string{
				"configmaps", "events", "namespaces", "persistentvolumeclaims", "pods", "pods/log", "pods/status", "serviceaccounts",
				"daemonsets", "deployments", "deployments/scale", "poddisruptionbudgets",
			},
		}}),
	}
}

const bootstrapping = "kubernetes.io/bootstrapping"

func seedRole(name string, rules []rbacv1.PolicyRule) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{bootstrapping: "rbac-defaults"}}, Rules: rules}
}

func seedBinding(role string, groups ...string) *rbacv1.ClusterRoleBinding {
	b := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role, Labels: map[string]string{bootstrapping: "rbac-defaults"}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
	}
	for _, g := range groups {
		b.Subjects = append(b.Subjects, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: g})
	}
	return b
}
