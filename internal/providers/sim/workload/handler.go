package workload

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
)

// request is one API request on its way.
type request struct {
	cluster *Cluster
	store   *Store
	w       http.ResponseWriter
	r       *http.Request
	query   url.Values
	who     *identity

	kind *kind
	gv   schema.GroupVersion
	attributes
}

// serveHTTP answers a request to any cluster.
func (s *Server) serveHTTP(w http.ResponseWriter, r *http.Request) {
	c := r.Context().Value(clusterKey).(*Cluster)
	q := &request{cluster: c, store: c.store, w: w, r: r, query: r.URL.Query()}
	err := q.identify(r)
	if err == nil {
		err = q.serve()
	}
	if err != nil {
		q.fail(err)
	}
}

// serve routes the request.
func (q *request) serve() error {
	parts := strings.Split(strings.Trim(q.r.URL.Path, "/"), "/")
	switch {
	case parts[0] == "api" && len(parts) > 2:
		return q.serveResource(schema.GroupVersion{Version: parts[1]}, parts[2:])
	case parts[0] == "apis" && len(parts) > 3:
		return q.serveResource(schema.GroupVersion{Group: parts[1], Version: parts[2]}, parts[3:])
	}
	q.verb, q.path = strings.ToLower(q.r.Method), q.r.URL.Path
	if !q.cluster.allowed(q.who, q.attributes) {
		return q.forbidden()
	}
	if q.r.Method != http.MethodGet && q.r.Method != http.MethodHead {
		return apierrors.NewMethodNotSupported(schema.GroupResource{}, q.verb)
	}
	switch parts[0] {
	case "version":
		return q.writeJSON(http.StatusOK, q.cluster.versionInfo())
	case "healthz", "livez", "readyz":
		q.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, err := q.w.Write([]byte("ok"))
		return quiet(err)
	case "api", "apis":
		return q.serveDiscovery(parts)
	case "openapi":
		return q.cluster.server.shared.openapi.serve(q.w, q.r)
	}
	return q.notFoundPath()
}

// versionInfo is the answer of /version.
func (c *Cluster) versionInfo() version.Info {
	v := *c.version.Load()
	numbers := strings.SplitN(strings.TrimPrefix(v, "v"), ".", 3)
	info := version.Info{
		GitVersion: v, GitTreeState: "clean", GoVersion: "go1.26", Compiler: "gc", Platform: "linux/amd64",
		BuildDate: "2026-01-01T00:00:00Z", GitCommit: "simulated",
	}
	if len(numbers) > 1 {
		info.Major, info.Minor = numbers[0], numbers[1]
	}
	return info
}

// serveResource routes /…/[namespaces/NS/]RESOURCE[/NAME[/SUBRESOURCE]].
func (q *request) serveResource(gv schema.GroupVersion, parts []string) error {
	q.gv, q.group = gv, gv.Group
	watchPath := parts[0] == "watch" && len(parts) > 1
	if watchPath {
		parts = parts[1:]
	}
	deeper := q.locate(parts)
	q.verb = q.verbOf(watchPath)
	if !q.cluster.allowed(q.who, q.attributes) {
		return q.forbidden()
	}
	if review := reviewOf(gv, q.resource); review != nil {
		return q.serveReview(review)
	}
	q.kind = q.cluster.server.shared.catalog.byResource[gv.WithResource(q.resource)]
	if err := q.unserved(deeper); err != nil {
		return err
	}
	if !q.kind.namespaced {
		q.namespace = ""
	}
	return q.dispatch()
}

// unserved is the refusal of a path that leads to nothing.
func (q *request) unserved(deeper bool) error {
	switch {
	case q.kind != nil && q.kind.gvk.Kind == "Pod" && (q.sub == "exec" || q.sub == "attach"):
		return apierrors.NewBadRequest(fmt.Sprintf("pod %s is simulated: no container runs in it, so there is nothing to %s", q.name, q.sub))
	case q.kind == nil || deeper || (q.sub != "" && !q.kind.hasSubresource(q.sub)):
		return q.notFoundPath()
	default:
		return nil
	}
}

// locate reads namespace, resource, name and subresource off a path, and says whether it goes deeper than any does.
func (q *request) locate(parts []string) bool {
	if parts[0] == "namespaces" && len(parts) > 2 && !namespaceSubresource(parts) {
		q.namespace, parts = parts[1], parts[2:]
	}
	q.resource = parts[0]
	if len(parts) > 1 {
		q.name = parts[1]
	}
	if len(parts) > 2 {
		q.sub = parts[2]
	}
	if q.resource == "namespaces" && q.namespace == "" {
		q.namespace = q.name // so that a namespace's own roles cover it
	}
	return len(parts) > 3
}

// namespaceSubresource tells namespaces/NAME/status from namespaces/NS/pods.
func namespaceSubresource(parts []string) bool {
	return len(parts) == 3 && (parts[2] == "status" || parts[2] == "finalize")
}

// verbOf names the verb of a resource request, as RBAC knows it.
func (q *request) verbOf(watchPath bool) string {
	switch q.r.Method {
	case http.MethodGet, http.MethodHead:
		switch {
		case q.name != "" && !watchPath:
			return "get"
		case watchPath || q.query.Get("watch") == "true" || q.query.Get("watch") == "1":
			return "watch"
		}
		return "list"
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		return "patch"
	case http.MethodDelete:
		if q.name == "" {
			return "deletecollection"
		}
		return "delete"
	}
	return strings.ToLower(q.r.Method)
}

// dispatch runs a permitted request for a served kind.
func (q *request) dispatch() error {
	if q.sub != "" && q.sub != "status" && q.sub != "finalize" {
		return q.serveSubresource()
	}
	switch q.verb {
	case "list":
		return q.list()
	case "watch":
		return q.watch()
	}
	if q.kind.namespaced && q.namespace == "" {
		return q.unsupported()
	}
	return q.dispatchOne()
}

// dispatchOne runs what is done in one namespace, or to an object without any.
func (q *request) dispatchOne() error {
	switch q.verb {
	case "get":
		return q.get()
	case "create":
		return q.create()
	case "update", "patch":
		return q.update()
	case "delete":
		return q.delete()
	case "deletecollection":
		return q.deleteCollection()
	}
	return q.unsupported()
}

func (q *request) unsupported() error {
	return apierrors.NewMethodNotSupported(schema.GroupResource{Group: q.group, Resource: q.resource}, q.verb)
}

func (q *request) notFoundPath() error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound,
		Message: "the server could not find the requested resource", Details: &metav1.StatusDetails{},
	}}
}

// forbidden is the refusal of RBAC, worded as Kubernetes does.
func (q *request) forbidden() error {
	a := q.attributes
	if a.path != "" {
		return apierrors.NewForbidden(schema.GroupResource{}, "",
			fmt.Errorf("User %q cannot %s path %q", q.who.name, a.verb, a.path)) //nolint:staticcheck // the text clients know
	}
	resource := a.resource
	if a.sub != "" {
		resource += "/" + a.sub
	}
	where := "at the cluster scope"
	if a.namespace != "" {
		where = fmt.Sprintf("in the namespace %q", a.namespace)
	}
	return apierrors.NewForbidden(schema.GroupResource{Group: a.group, Resource: a.resource}, a.name,
		fmt.Errorf("User %q cannot %s resource %q in API group %q %s", q.who.name, a.verb, resource, a.group, where)) //nolint:staticcheck // the text clients know
}

// fail answers with an error.
func (q *request) fail(err error) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		status = apierrors.NewInternalError(err)
	}
	body := status.Status()
	body.Kind, body.APIVersion = "Status", "v1"
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
		q.w.Header().Set("Retry-After", fmt.Sprint(seconds))
	}
	_ = q.writeJSON(int(body.Code), body) // the client is gone when this fails
}

// writeJSON answers with one JSON document.
func (q *request) writeJSON(code int, body any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	return q.write(code, "application/json", data)
}

func (q *request) write(code int, contentType string, data []byte) error {
	q.w.Header().Set("Content-Type", contentType)
	q.w.WriteHeader(code)
	_, err := q.w.Write(data)
	return quiet(err)
}

// quiet drops errors of writing to a client: it is gone, and there is nobody to tell.
func quiet(error) error { return nil }
