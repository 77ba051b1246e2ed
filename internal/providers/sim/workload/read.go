package workload

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
)

// get answers with one object.
func (q *request) get() error {
	e := q.store.load(q.kind, objectKey{q.namespace, q.name})
	if e == nil {
		return apierrors.NewNotFound(q.kind.resource(), q.name)
	}
	return q.answer(http.StatusOK, e)
}

// selection is what a list, a watch or a deletion of many is about.
type selection struct {
	kind      *kind
	namespace string
	name      string
	labels    labels.Selector
	fields    fields.Selector
}

// selection reads the selectors of a request.
func (q *request) selection() (*selection, error) {
	sel := &selection{kind: q.kind, namespace: q.namespace, name: q.name}
	var err error
	if sel.labels, err = labels.Parse(q.query.Get("labelSelector")); err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("labelSelector: %v", err))
	}
	if sel.fields, err = fields.ParseSelector(q.query.Get("fieldSelector")); err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("fieldSelector: %v", err))
	}
	known := fields.Set{}
	if q.kind.fields != nil {
		known = q.kind.fields(q.kind.make())
	}
	for _, r := range sel.fields.Requirements() {
		if _, ok := known[r.Field]; !ok && r.Field != "metadata.name" && r.Field != "metadata.namespace" {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("field label not supported: %s", r.Field))
		}
	}
	return sel, nil
}

// matches says whether an entry is selected.
func (sel *selection) matches(e *entry) (bool, error) {
	if sel.namespace != "" && e.namespace != sel.namespace || sel.name != "" && e.name != sel.name {
		return false, nil
	}
	if !sel.labels.Matches(e.labels) {
		return false, nil
	}
	if sel.fields.Empty() {
		return true, nil
	}
	set := fields.Set{}
	if sel.kind.fields != nil && sel.needsObject() {
		obj, err := sel.kind.decodeEntry(e)
		if err != nil {
			return false, err
		}
		set = sel.kind.fields(obj)
	}
	set["metadata.name"], set["metadata.namespace"] = e.name, e.namespace
	return sel.fields.Matches(set), nil
}

// needsObject says that the field selector looks beyond the entry's own values.
func (sel *selection) needsObject() bool {
	return slices.ContainsFunc(sel.fields.Requirements(), func(r fields.Requirement) bool {
		return r.Field != "metadata.name" && r.Field != "metadata.namespace"
	})
}

// filter keeps the selected entries.
func (sel *selection) filter(entries []*entry) ([]*entry, error) {
	out := entries[:0]
	for _, e := range entries {
		ok, err := sel.matches(e)
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, e)
		}
	}
	return out, nil
}

// page is where a limited list goes on. The version stays that of the first page, so that a watch from it misses nothing
// that changed between the pages.
type page struct {
	Version   uint64 `json:"v"`
	Namespace string `json:"ns,omitempty"`
	Name      string `json:"n"`
}

func (p page) token() string {
	data, err := json.Marshal(p)
	if err != nil {
		return "" // three plain fields always encode
	}
	return base64.RawURLEncoding.EncodeToString(data)
}

// list answers with the selected objects of a kind.
func (q *request) list() error {
	f, err := q.accepted()
	if err != nil {
		return err
	}
	sel, err := q.selection()
	if err != nil {
		return err
	}
	if err := q.checkListVersion(); err != nil {
		return err
	}
	entries, rv := q.store.list(q.kind, q.namespace)
	if entries, err = sel.filter(entries); err != nil {
		return err
	}
	entries, meta, err := q.paginate(entries, rv)
	if err != nil {
		return err
	}
	data, err := q.showList(entries, meta, f)
	if err != nil {
		return err
	}
	return q.write(http.StatusOK, runtime.ContentTypeJSON, data)
}

// checkListVersion refuses versions that are not there: exact old ones, and future ones.
func (q *request) checkListVersion() error {
	text := q.query.Get("resourceVersion")
	if text == "" || text == "0" {
		return nil
	}
	rv, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return apierrors.NewBadRequest("resourceVersion: not a number")
	}
	_, now := q.store.list(q.kind, "")
	switch {
	case rv > now:
		return tooLarge(rv, now)
	case q.query.Get("resourceVersionMatch") == string(metav1.ResourceVersionMatchExact) && rv != now:
		return expired()
	}
	return nil
}

func expired() error {
	return apierrors.NewResourceExpired("The resourceVersion for the provided list or watch is too old.")
}

// tooLarge asks the client to come back when the store has got that far, as Kubernetes does.
func tooLarge(asked, now uint64) error {
	err := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", asked, now), 1)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version",
	}}
	return err
}

// paginate cuts a sorted list to the asked page.
func (q *request) paginate(entries []*entry, rv uint64) ([]*entry, metav1.ListMeta, error) {
	meta := metav1.ListMeta{ResourceVersion: strconv.FormatUint(rv, 10)}
	at := page{Version: rv}
	if token := q.query.Get("continue"); token != "" {
		data, err := base64.RawURLEncoding.DecodeString(token)
		if err == nil {
			err = json.Unmarshal(data, &at)
		}
		if err != nil {
			return nil, meta, apierrors.NewBadRequest("continue key is not valid")
		}
		if at.Version < q.store.compactedVersion(q.kind) {
			return nil, meta, expired()
		}
		meta.ResourceVersion = strconv.FormatUint(at.Version, 10)
		last := objectKey{at.Namespace, at.Name}
		i, found := slices.BinarySearchFunc(entries, last, func(e *entry, k objectKey) int { return e.key().compare(k) })
		if found {
			i++
		}
		entries = entries[i:]
	}
	limit, err := strconv.Atoi(q.query.Get("limit"))
	if err != nil || limit <= 0 || limit >= len(entries) {
		return entries, meta, nil //nolint:nilerr // A limit that is no number is none.
	}
	last := entries[limit-1]
	meta.Continue = page{Version: at.Version, Namespace: last.namespace, Name: last.name}.token()
	if q.query.Get("labelSelector") == "" && q.query.Get("fieldSelector") == "" {
		left := int64(len(entries) - limit)
		meta.RemainingItemCount = &left
	}
	return entries[:limit], meta, nil
}

// compactedVersion is the newest version from which a kind can no longer be watched.
func (s *Store) compactedVersion(k *kind) uint64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.log.compacted(k.slot)
}

// showList encodes a list in a form.
func (q *request) showList(entries []*entry, meta metav1.ListMeta, f form) ([]byte, error) {
	switch f {
	case formTable:
		t, err := q.tableOf(entries, meta)
		if err != nil {
			return nil, err
		}
		return appendMarshal(nil, t)
	case formMetadata:
		return q.showMetadataList(entries, meta)
	case formObject:
		return q.showObjects(entries, meta)
	}
	return nil, fmt.Errorf("no such form: %d", f)
}

func (q *request) showMetadataList(entries []*entry, meta metav1.ListMeta) ([]byte, error) {
	list := &metav1.PartialObjectMetadataList{
		TypeMeta: metav1.TypeMeta{Kind: "PartialObjectMetadataList", APIVersion: "meta.k8s.io/v1"}, ListMeta: meta,
		Items: []metav1.PartialObjectMetadata{},
	}
	for _, e := range entries {
		m, err := q.metadataOf(e)
		if err != nil {
			return nil, err
		}
		list.Items = append(list.Items, *m)
	}
	return appendMarshal(nil, list)
}

// showObjects joins stored bytes. Items bear no kind of their own, as in Kubernetes' lists.
func (q *request) showObjects(entries []*entry, meta metav1.ListMeta) ([]byte, error) {
	size := 256
	for _, e := range entries {
		size += len(e.data) + 32
	}
	buf := fmt.Appendf(make([]byte, 0, size), `{"kind":%q,"apiVersion":%q,"metadata":`, q.kind.listKind(), q.gv.String())
	buf, err := appendMarshal(buf, meta)
	if err != nil {
		return nil, err
	}
	buf = append(buf, `,"items":[`...)
	for i, e := range entries {
		if i > 0 {
			buf = append(buf, ',')
		}
		start := len(buf)
		if buf, err = q.kind.appendJSON(buf, e, q.cluster.beat()); err != nil {
			return nil, err
		}
		// The kind's prefix is overwritten by what follows it, and its opening brace kept.
		if cut := len(q.kind.prefix); len(buf)-start > cut && string(buf[start:start+cut]) == q.kind.prefix {
			buf = append(buf[:start+1], buf[start+cut:]...)
		}
	}
	return append(buf, `]}`...), nil
}
