package workload

import (
	"net/http"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// reviewKind is a resource that is only asked, never stored.
type reviewKind struct {
	gvk    schema.GroupVersionKind
	plural string
	make   func() runtime.Object
	answer func(c *Cluster, who *identity, body runtime.Object)
}

// reviewKinds lists the reviews.
func reviewKinds() []*reviewKind {
	return []*reviewKind{
		{
			gvk: authenticationv1.SchemeGroupVersion.WithKind("SelfSubjectReview"), plural: "selfsubjectreviews",
			make: func() runtime.Object { return &authenticationv1.SelfSubjectReview{} }, answer: answerSelf,
		},
		{
			gvk: authorizationv1.SchemeGroupVersion.WithKind("SelfSubjectAccessReview"), plural: "selfsubjectaccessreviews",
			make: func() runtime.Object { return &authorizationv1.SelfSubjectAccessReview{} }, answer: answerAccess,
		},
		{
			gvk: authorizationv1.SchemeGroupVersion.WithKind("SelfSubjectRulesReview"), plural: "selfsubjectrulesreviews",
			make: func() runtime.Object { return &authorizationv1.SelfSubjectRulesReview{} }, answer: answerRules,
		},
	}
}

func reviewOf(gv schema.GroupVersion, plural string) *reviewKind {
	for _, v := range reviewKinds() {
		if v.gvk.GroupVersion() == gv && v.plural == plural {
			return v
		}
	}
	return nil
}

// serveReview answers a review.
func (q *request) serveReview(v *reviewKind) error {
	if q.verb != "create" || q.name != "" {
		return q.unsupported()
	}
	body := v.make()
	if err := q.decodeBody(body, v.gvk); err != nil {
		return err
	}
	v.answer(q.cluster, q.who, body)
	return q.writeJSON(http.StatusCreated, body)
}

func answerSelf(c *Cluster, who *identity, body runtime.Object) {
	r := body.(*authenticationv1.SelfSubjectReview)
	r.CreationTimestamp = metav1.NewTime(c.server.now())
	r.Status.UserInfo = authenticationv1.UserInfo{Username: who.name, Groups: who.groups}
}

func answerAccess(c *Cluster, who *identity, body runtime.Object) {
	r := body.(*authorizationv1.SelfSubjectAccessReview)
	var a attributes
	switch {
	case r.Spec.ResourceAttributes != nil:
		ra := r.Spec.ResourceAttributes
		a = attributes{verb: ra.Verb, namespace: ra.Namespace, group: ra.Group, resource: ra.Resource, sub: ra.Subresource, name: ra.Name}
	case r.Spec.NonResourceAttributes != nil:
		a = attributes{verb: r.Spec.NonResourceAttributes.Verb, path: r.Spec.NonResourceAttributes.Path}
	}
	r.Status.Allowed = c.allowed(who, a)
	if !r.Status.Allowed {
		r.Status.Reason = "no RBAC rule allows it"
	}
}

func answerRules(c *Cluster, who *identity, body runtime.Object) {
	r := body.(*authorizationv1.SelfSubjectRulesReview)
	r.Status.ResourceRules, r.Status.NonResourceRules = []authorizationv1.ResourceRule{}, []authorizationv1.NonResourceRule{}
	for _, rule := range c.rulesFor(who, r.Spec.Namespace) {
		if len(rule.NonResourceURLs) > 0 {
			r.Status.NonResourceRules = append(r.Status.NonResourceRules,
				authorizationv1.NonResourceRule{Verbs: rule.Verbs, NonResourceURLs: rule.NonResourceURLs})
			continue
		}
		r.Status.ResourceRules = append(r.Status.ResourceRules, authorizationv1.ResourceRule{
			Verbs: rule.Verbs, APIGroups: rule.APIGroups, Resources: rule.Resources, ResourceNames: rule.ResourceNames,
		})
	}
}
