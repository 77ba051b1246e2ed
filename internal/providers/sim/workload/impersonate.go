package workload

import (
	"net/http"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
)

// impersonate returns whom a request acts as: its sender, or whom it names with the right to do so (kubectl --as).
func (q *request) impersonate(who *identity) (*identity, error) {
	name := q.r.Header.Get(authenticationv1.ImpersonateUserHeader)
	groups := q.r.Header.Values(authenticationv1.ImpersonateGroupHeader)
	if name == "" && len(groups) == 0 {
		return who, nil
	}
	wanted := []attributes{{verb: "impersonate", resource: "users", name: name}}
	if rest, ok := strings.CutPrefix(name, "system:serviceaccount:"); ok {
		namespace, account, _ := strings.Cut(rest, ":")
		wanted[0] = attributes{verb: "impersonate", resource: "serviceaccounts", namespace: namespace, name: account}
	}
	for _, g := range groups {
		wanted = append(wanted, attributes{verb: "impersonate", resource: "groups", name: g})
	}
	for _, a := range wanted {
		if !q.cluster.allowed(who, a) {
			q.who, q.attributes = who, a
			return nil, q.forbidden()
		}
	}
	as := &identity{name: name, groups: slices.Clone(groups)}
	switch {
	case name == userAnonymous:
		as.groups = append(as.groups, groupUnauthenticated)
	default:
		as.groups = append(as.groups, groupAuthenticated)
	}
	return as, nil
}

// identify authenticates the request and settles whom it acts as.
func (q *request) identify(r *http.Request) error {
	who, err := q.cluster.authenticate(r)
	if err != nil {
		return err
	}
	q.who, err = q.impersonate(who)
	return err
}
