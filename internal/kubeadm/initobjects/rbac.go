package initobjects

import (
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"slipway.dev/slipway/internal/kubeadm/config"
	"slipway.dev/slipway/internal/kubeadm/token"
)

const (
	nodesGroup = "system:nodes"
	// ClusterAdminsGroup is the group of the user in kubeadm's admin.conf.
	ClusterAdminsGroup = "kubeadm:cluster-admins"
)

// joinRules are what lets a machine join with a token, and a kubelet renew what it was given.
func joinRules() []runtime.Object {
	joining := group(token.DefaultGroup)
	get := []string{"get"}
	return []runtime.Object{
		// kubeadm join reads how the cluster is configured, before and after the machine is a node.
		role(metav1.NamespaceSystem, "kubeadm:nodes-kubeadm-config", rule(get, "", []string{"configmaps"}, config.ConfigMapName)),
		roleBinding(metav1.NamespaceSystem, "kubeadm:nodes-kubeadm-config", joining, group(nodesGroup)),
		role(metav1.NamespaceSystem, "kubeadm:kubelet-config", rule(get, "", []string{"configmaps"}, "kubelet-config")),
		roleBinding(metav1.NamespaceSystem, "kubeadm:kubelet-config", group(nodesGroup), joining),
		// Anybody may read cluster-info: it is signed with the tokens.
		role(metav1.NamespacePublic, "kubeadm:bootstrap-signer-clusterinfo", rule(get, "", []string{"configmaps"}, clusterInfoName)),
		roleBinding(metav1.NamespacePublic, "kubeadm:bootstrap-signer-clusterinfo", user("system:anonymous")),
		// kubeadm join looks whether a node of the machine's name is there already.
		clusterRole("kubeadm:get-nodes", rule(get, "", []string{"nodes"})),
		clusterRoleBinding("kubeadm:get-nodes", "kubeadm:get-nodes", joining),
		clusterRoleBinding("kubeadm:kubelet-bootstrap", "system:node-bootstrapper", joining),
		clusterRoleBinding("kubeadm:node-autoapprove-bootstrap", "system:certificates.k8s.io:certificatesigningrequests:nodeclient", joining),
		clusterRoleBinding("kubeadm:node-autoapprove-certificate-rotation",
			"system:certificates.k8s.io:certificatesigningrequests:selfnodeclient", group(nodesGroup)),
		clusterRoleBinding("kubeadm:apiserver-kubelet-client", "system:kubelet-api-admin", user("kube-apiserver-kubelet-client")),
		clusterRoleBinding(ClusterAdminsGroup, "cluster-admin", group(ClusterAdminsGroup)),
	}
}

// BootstrapPolicy returns the roles and bindings that an API server creates by itself and that the objects of this
// package, a cluster's administrator and its nodes rest on. It is a part of what a real API server has.
func BootstrapPolicy() []runtime.Object {
	all := []string{"*"}
	read := []string{"get", "list", "watch"}
	csr := "certificates.k8s.io"
	return []runtime.Object{
		clusterRole("cluster-admin", rule(all, "*", all), rbacv1.PolicyRule{Verbs: all, NonResourceURLs: all}),
		clusterRoleBinding("cluster-admin", "cluster-admin", group("system:masters")),
		clusterRole("system:discovery", urls("/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/openapi", "/openapi/*", "/readyz", "/version", "/version/")),
		clusterRoleBinding("system:discovery", "system:discovery", group("system:authenticated")),
		clusterRole("system:public-info-viewer", urls("/healthz", "/livez", "/readyz", "/version", "/version/")),
		clusterRoleBinding("system:public-info-viewer", "system:public-info-viewer", group("system:authenticated"), group("system:unauthenticated")),
		clusterRole("system:basic-user",
			rule([]string{"create"}, "authorization.k8s.io", []string{"selfsubjectaccessreviews", "selfsubjectrulesreviews"}),
			rule([]string{"create"}, "authentication.k8s.io", []string{"selfsubjectreviews"})),
		clusterRoleBinding("system:basic-user", "system:basic-user", group("system:authenticated")),
		clusterRole("system:node-bootstrapper", rule([]string{"create", "get", "list", "watch"}, csr, []string{"certificatesigningrequests"})),
		clusterRole("system:certificates.k8s.io:certificatesigningrequests:nodeclient",
			rule([]string{"create"}, csr, []string{"certificatesigningrequests/nodeclient"})),
		clusterRole("system:certificates.k8s.io:certificatesigningrequests:selfnodeclient",
			rule([]string{"create"}, csr, []string{"certificatesigningrequests/selfnodeclient"})),
		clusterRole("system:kubelet-api-admin",
			rule(read, "", []string{"nodes"}), rule([]string{"proxy"}, "", []string{"nodes"}),
			rule(all, "", []string{"nodes/log", "nodes/metrics", "nodes/proxy", "nodes/stats"})),
		clusterRole("system:node-proxier",
			rule([]string{"list", "watch"}, "", []string{"endpoints", "services"}), rule(read, "", []string{"nodes"}),
			rule([]string{"create", "patch", "update"}, "", []string{"events"}), rule([]string{"list", "watch"}, "discovery.k8s.io", []string{"endpointslices"})),
		clusterRole("view", rule(read, "", []string{"configmaps", "events", "namespaces", "persistentvolumeclaims", "pods", "pods/log", "pods/status", "serviceaccounts"}),
			rule(read, "apps", []string{"daemonsets", "deployments"}), rule(read, "policy", []string{"poddisruptionbudgets"})),
	}
}

func urls(paths ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: []string{"get"}, NonResourceURLs: paths}
}

func group(name string) rbacv1.Subject {
	return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: name}
}

func user(name string) rbacv1.Subject {
	return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}
}

func account(name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: metav1.NamespaceSystem, Name: name}
}

func rbacMeta(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: kind}
}

func role(namespace, name string, rules ...rbacv1.PolicyRule) *rbacv1.Role {
	return &rbacv1.Role{TypeMeta: rbacMeta("Role"), ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Rules: rules}
}

// roleBinding binds the role of the same name.
func roleBinding(namespace, name string, subjects ...rbacv1.Subject) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		TypeMeta:   rbacMeta("RoleBinding"),
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects:   subjects,
	}
}

func clusterRole(name string, rules ...rbacv1.PolicyRule) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{TypeMeta: rbacMeta("ClusterRole"), ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}
}

func clusterRoleBinding(name, roleName string, subjects ...rbacv1.Subject) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{
		TypeMeta:   rbacMeta("ClusterRoleBinding"),
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: roleName},
		Subjects:   subjects,
	}
}
