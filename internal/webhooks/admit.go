package webhooks

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
)

// object is the part of an object that webhooks look at. Every write of the fleet is decoded here, so what no rule reads
// (managed fields, most of the status) is passed over.
type object[S any] struct {
	Metadata metadata `json:"metadata"`
	Spec     S        `json:"spec"`
	Status   status   `json:"status"`
}

type metadata struct {
	Name              string            `json:"name"`
	Labels            map[string]string `json:"labels"`
	Annotations       map[string]string `json:"annotations"`
	DeletionTimestamp *metav1.Time      `json:"deletionTimestamp"`
}

type status struct {
	// Versions are those that Machines run, where the kind counts them.
	Versions []clusterv1.StatusVersion `json:"versions"`
}

// setCluster labels the object with its Cluster's name.
func (m *metadata) setCluster(name string) {
	m.Labels = withCluster(m.Labels, name)
}

// withCluster returns labels that name a Cluster. Without a name, which the schema refuses, they stay as they are.
func withCluster(labels map[string]string, name string) map[string]string {
	if name == "" {
		return labels
	}
	if labels == nil {
		labels = map[string]string{}
	}
	labels[clusterv1.ClusterNameLabel] = name
	return labels
}

// copier is a spec with generated deep copies.
type copier[S any] interface {
	*S
	DeepCopy() *S
}

// defaulter answers a mutating webhook.
type defaulter[S any, P copier[S]] struct {
	// defaults sets what is missing; old is nil on create. It touches labels and the spec only.
	defaults func(o, old *object[S]) *field.Error
}

// Handle implements admission.Handler.
func (d defaulter[S, P]) Handle(_ context.Context, req admission.Request) admission.Response {
	o, old, err := decode[S](req)
	if err != nil {
		// The schema, which comes next, says it better.
		return admission.Allowed("")
	}
	if onlyMetadataOfLeaving(o, old) {
		return admission.Allowed("")
	}
	labels, spec := maps.Clone(o.Metadata.Labels), P(&o.Spec).DeepCopy()
	if err := d.defaults(o, old); err != nil {
		return invalid(req, field.ErrorList{err})
	}
	var patch []operation
	if !maps.Equal(labels, o.Metadata.Labels) {
		patch = append(patch, operation{Op: "add", Path: "/metadata/labels", Value: o.Metadata.Labels})
	}
	if !equality.Semantic.DeepEqual(spec, &o.Spec) {
		patch = append(patch, operation{Op: "replace", Path: "/spec", Value: &o.Spec})
	}
	return patched(patch)
}

// operation is one of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

func patched(patch []operation) admission.Response {
	response := admission.Allowed("")
	if len(patch) == 0 {
		return response
	}
	raw, err := json.Marshal(patch)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, fmt.Errorf("encode the defaults: %w", err))
	}
	response.Patch, response.PatchType = raw, new(admissionv1.PatchTypeJSONPatch)
	return response
}

// validator answers a validating webhook. Each of its functions may be nil.
type validator[S any] struct {
	// check returns what is wrong with an object in itself.
	check func(o *object[S]) field.ErrorList
	// change returns what is wrong with an update.
	change func(o, old *object[S]) field.ErrorList
	// warn returns what the user should know; old is nil on create.
	warn func(o, old *object[S]) []string
}

// Handle implements admission.Handler.
func (v validator[S]) Handle(_ context.Context, req admission.Request) admission.Response {
	o, old, err := decode[S](req)
	if err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if onlyMetadataOfLeaving(o, old) {
		return admission.Allowed("")
	}
	var errs field.ErrorList
	if v.check != nil {
		errs = v.check(o)
	}
	if old != nil {
		if len(errs) > 0 {
			errs = without(errs, v.check(old))
		}
		if v.change != nil {
			errs = append(errs, v.change(o, old)...)
		}
	}
	response := admission.Allowed("")
	if len(errs) > 0 {
		response = invalid(req, errs)
	}
	if v.warn != nil {
		response.Warnings = v.warn(o, old)
	}
	return response
}

// decode returns the object, and on an update the stored one.
func decode[S any](req admission.Request) (o, old *object[S], err error) {
	o = new(object[S])
	if err := utiljson.Unmarshal(req.Object.Raw, o); err != nil {
		return nil, nil, fmt.Errorf("decode %s %s: %w", req.Kind.Kind, req.Name, err)
	}
	if req.Operation != admissionv1.Update {
		return o, nil, nil
	}
	old = new(object[S])
	if err := utiljson.Unmarshal(req.OldObject.Raw, old); err != nil {
		return nil, nil, fmt.Errorf("decode stored %s %s: %w", req.Kind.Kind, req.Name, err)
	}
	return o, old, nil
}

// onlyMetadataOfLeaving reports whether an update of an object that is being deleted leaves its spec alone, as removing a
// finalizer does. Nothing may hold that up.
func onlyMetadataOfLeaving[S any](o, old *object[S]) bool {
	return old != nil && o.Metadata.DeletionTimestamp != nil && equality.Semantic.DeepEqual(o.Spec, old.Spec)
}

// without returns the errors that the stored object does not have too.
func without(errs, stored field.ErrorList) field.ErrorList {
	known := make(map[string]bool, len(stored))
	for _, e := range stored {
		known[e.Error()] = true
	}
	return errs.Filter(func(err error) bool { return known[err.Error()] })
}

func invalid(req admission.Request, errs field.ErrorList) admission.Response {
	gk := schema.GroupKind{Group: req.Kind.Group, Kind: req.Kind.Kind}
	refusal := apierrors.NewInvalid(gk, req.Name, errs)
	return admission.Response{AdmissionResponse: admissionv1.AdmissionResponse{Allowed: false, Result: &refusal.ErrStatus}}
}
