package workload

import (
	"slices"
	"strings"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
)

// attributes are what a request wants to do.
type attributes struct {
	verb                                  string
	namespace, group, resource, sub, name string
	path                                  string // of a request that is not for a resource
}

// grant is one binding with the rules of its role.
type grant struct {
	namespace string // "": everywhere
	subjects  []rbacv1.Subject
	rules     []rbacv1.PolicyRule
}

// rbacCache holds the decoded RBAC objects of a cluster, while they stay the same.
type rbacCache struct {
	mu      sync.Mutex // guards what follows
	version uint64
	grants  []grant
}

// allowed evaluates RBAC for a request.
func (c *Cluster) allowed(who *identity, a attributes) bool {
	if slices.Contains(who.groups, groupMasters) {
		return true
	}
	for _, g := range c.grants() {
		if g.namespace != "" && g.namespace != a.namespace {
			continue
		}
		if slices.ContainsFunc(g.subjects, who.is) && slices.ContainsFunc(g.rules, a.allowedBy) {
			return true
		}
	}
	return false
}

// rulesFor returns the rules that apply to someone in a namespace.
func (c *Cluster) rulesFor(who *identity, namespace string) []rbacv1.PolicyRule {
	if slices.Contains(who.groups, groupMasters) {
		return []rbacv1.PolicyRule{
			{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}},
			{Verbs: []string{"*"}, NonResourceURLs: []string{"*"}},
		}
	}
	var out []rbacv1.PolicyRule
	for _, g := range c.grants() {
		if (g.namespace == "" || g.namespace == namespace) && slices.ContainsFunc(g.subjects, who.is) {
			out = append(out, g.rules...)
		}
	}
	return out
}

// is says whether a binding's subject means someone.
func (w *identity) is(s rbacv1.Subject) bool {
	switch s.Kind {
	case rbacv1.UserKind:
		return s.Name == w.name
	case rbacv1.GroupKind:
		return slices.Contains(w.groups, s.Name)
	case rbacv1.ServiceAccountKind:
		return w.name == "system:serviceaccount:"+s.Namespace+":"+s.Name
	}
	return false
}

// allowedBy says whether a rule covers the request.
func (a attributes) allowedBy(r rbacv1.PolicyRule) bool {
	if !hasOrAll(r.Verbs, a.verb) {
		return false
	}
	if a.path != "" {
		return slices.ContainsFunc(r.NonResourceURLs, a.underPath)
	}
	resource := a.resource
	if a.sub != "" {
		resource += "/" + a.sub
	}
	named := len(r.ResourceNames) == 0 || slices.Contains(r.ResourceNames, a.name)
	return named && hasOrAll(r.APIGroups, a.group) &&
		(hasOrAll(r.Resources, resource) || (a.sub != "" && slices.Contains(r.Resources, "*/"+a.sub)))
}

func (a attributes) underPath(rule string) bool {
	if prefix, ok := strings.CutSuffix(rule, "*"); ok {
		return strings.HasPrefix(a.path, prefix)
	}
	return rule == a.path
}

func hasOrAll(list []string, item string) bool {
	return slices.Contains(list, "*") || slices.Contains(list, item)
}

// grants returns the cluster's bindings with their rules.
func (c *Cluster) grants() []grant {
	c.rbac.mu.Lock()
	defer c.rbac.mu.Unlock()
	if v := c.store.rbacVersion(); v != c.rbac.version {
		c.rbac.grants, c.rbac.version = c.store.readGrants(), v
	}
	return c.rbac.grants
}

// rbacVersion changes whenever an RBAC object does.
func (s *Store) rbacVersion() uint64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.rbacRV
}

// readGrants decodes all bindings. What cannot be read grants nothing.
func (s *Store) readGrants() []grant {
	roles := map[objectKey][]rbacv1.PolicyRule{}
	clusterRoles, _ := List[*rbacv1.ClusterRole](s, "", nil) // an error leaves none: nothing is granted
	for _, r := range clusterRoles {
		roles[objectKey{name: r.Name}] = r.Rules
	}
	namespaced, _ := List[*rbacv1.Role](s, "", nil) // as above
	for _, r := range namespaced {
		roles[objectKey{r.Namespace, r.Name}] = r.Rules
	}
	var out []grant
	clusterBindings, _ := List[*rbacv1.ClusterRoleBinding](s, "", nil) // as above
	for _, b := range clusterBindings {
		out = append(out, grant{subjects: b.Subjects, rules: roles[objectKey{name: b.RoleRef.Name}]})
	}
	bindings, _ := List[*rbacv1.RoleBinding](s, "", nil) // as above
	for _, b := range bindings {
		key := objectKey{b.Namespace, b.RoleRef.Name}
		if b.RoleRef.Kind == "ClusterRole" {
			key.namespace = ""
		}
		out = append(out, grant{namespace: b.Namespace, subjects: b.Subjects, rules: roles[key]})
	}
	return out
}
