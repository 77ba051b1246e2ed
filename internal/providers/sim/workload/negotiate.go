package workload

import (
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// form is how an object is shown.
type form int

const (
	formObject form = iota
	formTable
	formMetadata
)

// maxBody is as much as the API server of Kubernetes takes.
const maxBody = 3 << 20

// accepted finds the form of the answer. Only JSON is written: who asks for protobuf takes it as well, or gets 406.
func (q *request) accepted() (form, error) {
	header := q.r.Header.Get("Accept")
	if header == "" {
		return formObject, nil
	}
	for part := range strings.SplitSeq(header, ",") {
		media, params, err := mime.ParseMediaType(strings.TrimSpace(part))
		if err != nil {
			continue
		}
		if f, ok := formOf(media, params); ok {
			return f, nil
		}
	}
	return formObject, &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusNotAcceptable, Reason: metav1.StatusReasonNotAcceptable,
		Message: "only the following media types are accepted: application/json, application/json;as=Table;v=v1;g=meta.k8s.io",
	}}
}

// formOf is the form of one media type of an Accept header; false when it is not served.
func formOf(media string, params map[string]string) (form, bool) {
	if media != "application/json" && media != "*/*" && media != "application/*" {
		return formObject, false
	}
	as := params["as"]
	if as == "" {
		return formObject, true
	}
	if params["v"] != "v1" || params["g"] != metav1.GroupName {
		return formObject, false
	}
	switch as {
	case "Table":
		return formTable, true
	case "PartialObjectMetadata", "PartialObjectMetadataList":
		return formMetadata, true
	}
	return formObject, false
}

// body reads the request's body.
func (q *request) body() ([]byte, error) {
	data, err := io.ReadAll(http.MaxBytesReader(q.w, q.r.Body, maxBody))
	if err != nil {
		return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", maxBody))
	}
	return data, nil
}

// decodeBody reads the body into a typed object, whatever its encoding, honouring fieldValidation. An empty kind in the body
// is taken for gvk.
func (q *request) decodeBody(into runtime.Object, gvk schema.GroupVersionKind) error {
	data, err := q.body()
	if err != nil {
		return err
	}
	media, _, err := mime.ParseMediaType(q.r.Header.Get("Content-Type"))
	if err != nil {
		media = runtime.ContentTypeJSON
	}
	switch media {
	case runtime.ContentTypeProtobuf:
		scheme := q.cluster.server.shared.catalog.scheme
		if _, _, err := protobuf.NewSerializer(scheme, scheme).Decode(data, &gvk, into); err != nil {
			return apierrors.NewBadRequest(err.Error())
		}
		into.GetObjectKind().SetGroupVersionKind(gvk)
		return nil
	case runtime.ContentTypeYAML:
		if data, err = yaml.YAMLToJSON(data); err != nil {
			return apierrors.NewBadRequest(err.Error())
		}
	case runtime.ContentTypeJSON:
	default:
		return unsupportedMedia(media, runtime.ContentTypeJSON, runtime.ContentTypeYAML, runtime.ContentTypeProtobuf)
	}
	return q.decodeJSON(data, into, gvk)
}

// decodeJSON decodes and checks that the body is of the kind that the path says.
func (q *request) decodeJSON(data []byte, into runtime.Object, gvk schema.GroupVersionKind) error {
	strict, err := kjson.UnmarshalStrict(data, into)
	if err != nil {
		return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", gvk.Kind, gvk.Version, gvk.Kind, err))
	}
	if have := into.GetObjectKind().GroupVersionKind(); !have.Empty() && have != gvk {
		return apierrors.NewBadRequest(fmt.Sprintf("the object provided is a %s, this path is for %s", have, gvk))
	}
	into.GetObjectKind().SetGroupVersionKind(gvk)
	return q.reportStrict(gvk, strict)
}

// reportStrict refuses, or warns of, unknown and doubled fields.
func (q *request) reportStrict(gvk schema.GroupVersionKind, strict []error) error {
	if len(strict) == 0 {
		return nil
	}
	switch q.query.Get("fieldValidation") {
	case metav1.FieldValidationIgnore:
		return nil
	case metav1.FieldValidationStrict:
		return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v",
			gvk.Kind, gvk.Version, gvk.Kind, runtime.NewStrictDecodingError(strict)))
	}
	for _, err := range strict {
		q.w.Header().Add("Warning", fmt.Sprintf("299 - %q", err.Error()))
	}
	return nil
}

func unsupportedMedia(media string, supported ...string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusUnsupportedMediaType, Reason: metav1.StatusReasonUnsupportedMediaType,
		Message: fmt.Sprintf("the body of the request was in an unknown format (%s) - accepted media types include: %s", media, strings.Join(supported, ", ")),
	}}
}

// show encodes one entry in a form. A table gets its columns unless bare.
func (q *request) show(buf []byte, e *entry, f form) ([]byte, error) {
	switch f {
	case formObject:
		return q.kind.appendJSON(buf, e, q.cluster.beat())
	case formMetadata:
		m, err := q.metadataOf(e)
		if err != nil {
			return buf, err
		}
		return appendMarshal(buf, m)
	case formTable:
		t, err := q.tableOf([]*entry{e}, metav1.ListMeta{})
		if err != nil {
			return buf, err
		}
		return appendMarshal(buf, t)
	}
	return buf, fmt.Errorf("no such form: %d", f)
}

func appendMarshal(buf []byte, v any) ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return buf, fmt.Errorf("encode the answer: %w", err)
	}
	return append(buf, data...), nil
}

// metadataOf cuts an object down to its metadata.
func (q *request) metadataOf(e *entry) (*metav1.PartialObjectMetadata, error) {
	obj, err := q.kind.decodeEntry(e)
	if err != nil {
		return nil, err
	}
	return partialOf(obj), nil
}

// partialOf copies an object's metadata.
func partialOf(obj Object) *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{Kind: "PartialObjectMetadata", APIVersion: "meta.k8s.io/v1"},
		ObjectMeta: metav1.ObjectMeta{
			Name: obj.GetName(), GenerateName: obj.GetGenerateName(), Namespace: obj.GetNamespace(), UID: obj.GetUID(),
			ResourceVersion: obj.GetResourceVersion(), Generation: obj.GetGeneration(), CreationTimestamp: obj.GetCreationTimestamp(),
			DeletionTimestamp: obj.GetDeletionTimestamp(), DeletionGracePeriodSeconds: obj.GetDeletionGracePeriodSeconds(),
			Labels: obj.GetLabels(), Annotations: obj.GetAnnotations(), OwnerReferences: obj.GetOwnerReferences(),
			Finalizers: obj.GetFinalizers(), ManagedFields: obj.GetManagedFields(),
		},
	}
	return m
}

// answer writes one object.
func (q *request) answer(code int, e *entry) error {
	f, err := q.accepted()
	if err != nil {
		return err
	}
	data, err := q.show(nil, e, f)
	if err != nil {
		return err
	}
	return q.write(code, runtime.ContentTypeJSON, data)
}
