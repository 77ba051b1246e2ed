package workload

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/yaml"
)

// writeOptions reads the options common to all writes.
func (q *request) writeOptions() (writeOptions, error) {
	o := writeOptions{manager: q.query.Get("fieldManager"), dryRun: len(q.query["dryRun"]) > 0}
	if o.dryRun && !slices.Equal(q.query["dryRun"], []string{metav1.DryRunAll}) {
		return o, apierrors.NewBadRequest(fmt.Sprintf("dryRun: unsupported value %q", q.query["dryRun"]))
	}
	if q.sub == "status" {
		o.subresource = "status"
	}
	if o.manager == "" {
		o.manager = managerFromAgent(q.r.UserAgent())
	}
	return o, nil
}

// managerFromAgent names a writer who names itself nowhere else, as Kubernetes does.
func managerFromAgent(agent string) string {
	name, _, _ := strings.Cut(agent, "/")
	if name == "" {
		return "unknown"
	}
	return name
}

// create stores the object in the body.
func (q *request) create() error {
	if q.name != "" {
		return q.unsupported()
	}
	o, err := q.writeOptions()
	if err != nil {
		return err
	}
	obj := q.kind.make()
	if err := q.decodeBody(obj, q.kind.gvk); err != nil {
		return err
	}
	if err := q.place(obj); err != nil {
		return err
	}
	e, err := q.store.create(q.kind, obj, o)
	if err != nil {
		return err
	}
	return q.answer(http.StatusCreated, e)
}

// place puts an object where the path says.
func (q *request) place(obj Object) error {
	if obj.GetNamespace() == "" {
		obj.SetNamespace(q.namespace)
	}
	if obj.GetNamespace() != q.namespace {
		return apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	if q.name == "" {
		return nil
	}
	if obj.GetName() == "" {
		obj.SetName(q.name)
	}
	if obj.GetName() != q.name {
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", obj.GetName(), q.name))
	}
	return nil
}

// update serves PUT and PATCH of an object or its status.
func (q *request) update() error {
	if q.name == "" {
		return q.unsupported()
	}
	o, err := q.writeOptions()
	if err != nil {
		return err
	}
	produce, err := q.producer(&o)
	if err != nil {
		return err
	}
	e, created, err := q.store.update(q.kind, objectKey{q.namespace, q.name}, o, produce)
	if err != nil {
		return err
	}
	if created {
		return q.answer(http.StatusCreated, e)
	}
	return q.answer(http.StatusOK, e)
}

// producer reads the body once and returns what makes the next object of the live one.
func (q *request) producer(o *writeOptions) (producer, error) {
	if q.r.Method == http.MethodPut {
		return q.putProducer()
	}
	body, err := q.body()
	if err != nil {
		return nil, err
	}
	media, _, err := mime.ParseMediaType(q.r.Header.Get("Content-Type"))
	if err != nil {
		media = ""
	}
	switch types.PatchType(media) {
	case types.JSONPatchType, types.MergePatchType, types.StrategicMergePatchType:
		return q.patchProducer(types.PatchType(media), body), nil
	case types.ApplyYAMLPatchType:
		if q.query.Get("fieldManager") == "" {
			return nil, apierrors.NewBadRequest("PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for apply patch")
		}
		o.applied = true
		return q.applyProducer(*o, body)
	default:
		return nil, unsupportedMedia(media, string(types.JSONPatchType), string(types.MergePatchType),
			string(types.StrategicMergePatchType), string(types.ApplyYAMLPatchType))
	}
}

func (q *request) putProducer() (producer, error) {
	obj := q.kind.make()
	if err := q.decodeBody(obj, q.kind.gvk); err != nil {
		return nil, err
	}
	if err := q.place(obj); err != nil {
		return nil, err
	}
	return func(live Object) (Object, error) {
		if live == nil {
			return nil, nil
		}
		return obj.DeepCopyObject().(Object), nil
	}, nil
}

// patchProducer applies one of the three patches that work on the document.
func (q *request) patchProducer(kind types.PatchType, patch []byte) producer {
	return func(live Object) (Object, error) {
		if live == nil {
			return nil, nil
		}
		live.GetObjectKind().SetGroupVersionKind(q.kind.gvk)
		before, err := json.Marshal(live)
		if err != nil {
			return nil, fmt.Errorf("encode %s %s: %w", q.kind.gvk.Kind, q.name, err)
		}
		after, err := q.patched(kind, before, patch)
		if err != nil {
			return nil, err
		}
		next := q.kind.make()
		if err := q.decodeJSON(after, next, q.kind.gvk); err != nil {
			return nil, invalidPatch(err)
		}
		return next, nil
	}
}

// invalidPatch turns a document that does not decode into the 422 that patches get, except for strict field errors.
func invalidPatch(err error) error {
	if status, ok := err.(apierrors.APIStatus); ok && strings.Contains(status.Status().Message, "strict decoding error") { // It was made one call above.
		return err
	}
	return apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
}

func (q *request) patched(kind types.PatchType, doc, patch []byte) ([]byte, error) {
	var out []byte
	var err error
	switch kind {
	case types.JSONPatchType:
		var ops jsonpatch.Patch
		if ops, err = jsonpatch.DecodePatch(patch); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		if out, err = ops.Apply(doc); err != nil {
			return nil, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
		}
		return out, nil
	case types.MergePatchType:
		out, err = jsonpatch.MergePatch(doc, patch)
	default:
		out, err = strategicpatch.StrategicMergePatch(doc, patch, q.kind.make())
	}
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return out, nil
}

// applyProducer serves server-side apply.
func (q *request) applyProducer(o writeOptions, body []byte) (producer, error) {
	patch := &unstructured.Unstructured{}
	if err := yaml.UnmarshalStrict(body, &patch.Object); err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding YAML: %v", err))
	}
	if patch.GroupVersionKind() != q.kind.gvk {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the object provided is a %s, this path is for %s", patch.GroupVersionKind(), q.kind.gvk))
	}
	if err := q.place(patch); err != nil {
		return nil, err
	}
	if err := q.checkApplied(patch); err != nil {
		return nil, err
	}
	force := q.query.Get("force") == "true"
	return func(live Object) (Object, error) {
		if live == nil && o.subresource != "" {
			return nil, nil
		}
		if live == nil && (patch.GetUID() != "" || patch.GetResourceVersion() != "") {
			return nil, apierrors.NewConflict(q.kind.resource(), q.name, fmt.Errorf("the object to apply to does not exist"))
		}
		uid, rv := patch.GetUID(), patch.GetResourceVersion()
		next, err := q.cluster.server.shared.writer.apply(q.kind, live, patch.DeepCopy(), o, force)
		if err != nil {
			return nil, err
		}
		if live == nil {
			next.SetResourceVersion("")
			return next, nil
		}
		next.SetUID(uid)
		next.SetResourceVersion(rv)
		return next, nil
	}, nil
}

// checkApplied finds unknown fields of an applied configuration by decoding it.
func (q *request) checkApplied(patch *unstructured.Unstructured) error {
	data, err := json.Marshal(patch.Object)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	return q.decodeJSON(data, q.kind.make(), q.kind.gvk)
}

// deleteOptions reads the options of a deletion from the body and the query.
func (q *request) deleteOptions() (deleteOptions, error) {
	var body metav1.DeleteOptions
	if q.r.ContentLength != 0 {
		data, err := q.body()
		if err != nil {
			return deleteOptions{}, err
		}
		if len(data) > 0 {
			if err := q.decodeDeleteOptions(data, &body); err != nil {
				return deleteOptions{}, err
			}
		}
	}
	o := deleteOptions{grace: body.GracePeriodSeconds, preconditions: body.Preconditions}
	if text := q.query.Get("gracePeriodSeconds"); text != "" && o.grace == nil {
		var grace int64
		if _, err := fmt.Sscan(text, &grace); err != nil {
			return o, apierrors.NewBadRequest("gracePeriodSeconds: not a number")
		}
		o.grace = &grace
	}
	o.dryRun = len(body.DryRun) > 0 || len(q.query["dryRun"]) > 0
	var err error
	o.orphan, err = orphaning(body, q.query.Get("propagationPolicy"))
	return o, err
}

// orphaning tells whether dependents shall outlive their owner. Otherwise they go with it at once, which serves those who want
// it in the background and those who want it in the foreground.
func orphaning(body metav1.DeleteOptions, asked string) (bool, error) {
	if body.PropagationPolicy != nil {
		asked = string(*body.PropagationPolicy)
	}
	switch metav1.DeletionPropagation(asked) {
	case metav1.DeletePropagationOrphan:
		return true, nil
	case metav1.DeletePropagationBackground, metav1.DeletePropagationForeground:
		return false, nil
	case "":
		orphan := body.OrphanDependents //nolint:staticcheck // old clients send it
		return orphan != nil && *orphan, nil
	}
	return false, apierrors.NewBadRequest(fmt.Sprintf("propagationPolicy: %q is none of Foreground, Background, Orphan", asked))
}

func (q *request) decodeDeleteOptions(data []byte, into *metav1.DeleteOptions) error {
	media := q.r.Header.Get("Content-Type")
	if strings.HasPrefix(media, runtime.ContentTypeProtobuf) {
		scheme := q.cluster.server.shared.catalog.scheme
		gvk := schema.GroupVersionKind{Version: "v1", Kind: "DeleteOptions"}
		if _, _, err := protobuf.NewSerializer(scheme, scheme).Decode(data, &gvk, into); err != nil {
			return apierrors.NewBadRequest(err.Error())
		}
		return nil
	}
	if err := yaml.Unmarshal(data, into); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	return nil
}

// protectedNamespaces are those that Kubernetes refuses to delete.
var protectedNamespaces = []string{metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic}

// delete deletes one object.
func (q *request) delete() error {
	if q.sub != "" {
		return q.unsupported()
	}
	o, err := q.deleteOptions()
	if err != nil {
		return err
	}
	if q.kind.gvk.Kind == "Namespace" && slices.Contains(protectedNamespaces, q.name) {
		return apierrors.NewForbidden(corev1.Resource("namespaces"), q.name, fmt.Errorf("this namespace may not be deleted"))
	}
	e, gone, err := q.store.remove(q.kind, objectKey{q.namespace, q.name}, o)
	if err != nil {
		return err
	}
	// Kubernetes answers with the object when it is a pod, or still there.
	if !gone || q.kind.gvk.Kind == "Pod" {
		return q.answer(http.StatusOK, e)
	}
	return q.writeJSON(http.StatusOK, metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess,
		Details: &metav1.StatusDetails{Name: q.name, Group: q.group, Kind: q.resource, UID: e.uid},
	})
}

// deleteCollection deletes every selected object.
func (q *request) deleteCollection() error {
	o, err := q.deleteOptions()
	if err != nil {
		return err
	}
	sel, err := q.selection()
	if err != nil {
		return err
	}
	entries, rv := q.store.list(q.kind, q.namespace)
	if entries, err = sel.filter(entries); err != nil {
		return err
	}
	for _, e := range entries {
		if _, _, err := q.store.remove(q.kind, e.key(), o); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	data, err := q.showObjects(entries, metav1.ListMeta{ResourceVersion: fmt.Sprint(rv)})
	if err != nil {
		return err
	}
	return q.write(http.StatusOK, runtime.ContentTypeJSON, data)
}
