package workload

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	kjson "sigs.k8s.io/json"
)

// entry is one stored state of an object. Entries never change; a write stores another one.
type entry struct {
	kind      *kind
	namespace string
	name      string
	uid       types.UID
	rv        uint64
	labels    labels.Set
	owners    []types.UID
	deleting  bool
	// data is the object's JSON without its resourceVersion.
	data []byte
}

// metadataKey precedes the place where the resourceVersion is put in.
var metadataKey = []byte(`"metadata":{`)

// encode makes an entry of an object, without a resourceVersion.
func (k *kind) encode(obj Object) (*entry, error) {
	k = k.stored()
	if obj.GetObjectKind().GroupVersionKind() != k.gvk {
		obj.GetObjectKind().SetGroupVersionKind(k.gvk)
	}
	obj.SetResourceVersion("")
	data, err := json.Marshal(obj)
	if err != nil {
		return nil, fmt.Errorf("encode %s %s/%s: %w", k.gvk.Kind, obj.GetNamespace(), obj.GetName(), err)
	}
	e := &entry{
		kind:      k,
		namespace: obj.GetNamespace(),
		name:      obj.GetName(),
		uid:       obj.GetUID(),
		deleting:  obj.GetDeletionTimestamp() != nil,
		data:      data,
	}
	if l := obj.GetLabels(); len(l) > 0 {
		e.labels = l
	}
	for _, o := range obj.GetOwnerReferences() {
		e.owners = append(e.owners, o.UID)
	}
	return e, nil
}

// decode builds the typed object of the entry's own kind.
func (e *entry) decode() (Object, error) {
	obj := e.kind.make()
	if err := kjson.UnmarshalCaseSensitivePreserveInts(e.data, obj); err != nil {
		return nil, fmt.Errorf("decode stored %s %s/%s: %w", e.kind.gvk.Kind, e.namespace, e.name, err)
	}
	obj.SetResourceVersion(strconv.FormatUint(e.rv, 10))
	return obj, nil
}

// decodeEntry builds the typed object as this kind shows it.
func (k *kind) decodeEntry(e *entry) (Object, error) {
	obj, err := e.decode()
	if err != nil || k.storage == nil {
		return obj, err
	}
	view := k.fromStorage(obj)
	view.GetObjectKind().SetGroupVersionKind(k.gvk)
	return view, nil
}

// appendJSON appends the object as this kind shows it, with its resourceVersion and fresh heartbeats.
func (k *kind) appendJSON(buf []byte, e *entry, beat heartbeat) ([]byte, error) {
	if k.storage != nil {
		obj, err := k.decodeEntry(e)
		if err != nil {
			return buf, err
		}
		data, err := json.Marshal(obj)
		if err != nil {
			return buf, fmt.Errorf("encode %s %s/%s: %w", k.gvk.Kind, e.namespace, e.name, err)
		}
		return append(buf, data...), nil
	}
	start := len(buf)
	at := bytes.Index(e.data, metadataKey)
	if at < 0 {
		return buf, fmt.Errorf("stored %s %s/%s has no metadata", k.gvk.Kind, e.namespace, e.name)
	}
	at += len(metadataKey)
	buf = append(buf, e.data[:at]...)
	if e.rv != 0 { // it is 0 in a dry run
		buf = append(buf, `"resourceVersion":"`...)
		buf = strconv.AppendUint(buf, e.rv, 10)
		buf = append(buf, `",`...) // a name always follows
	}
	buf = append(buf, e.data[at:]...)
	beat.freshen(e, buf[start:])
	return buf, nil
}

// heartbeat tells when a node was last heard of; false: as stored.
type heartbeat func(node string) (time.Time, bool)

const (
	heartbeatPeriod  = 10 * time.Second // how often a kubelet renews its lease
	nodeBeatPattern  = `"lastHeartbeatTime":"`
	leaseBeatPattern = `"renewTime":"`
	nodeBeatLayout   = "2006-01-02T15:04:05Z"
	leaseNamespace   = "kube-node-lease"
)

// freshen overwrites the heartbeat times within encoded Nodes and node Leases. The layouts have a fixed
// width, and the patterns cannot occur within a JSON string, where a quote is escaped.
func (h heartbeat) freshen(e *entry, buf []byte) {
	if h == nil {
		return
	}
	var pattern, layout string
	switch {
	case e.kind.gvk.Kind == "Node":
		pattern, layout = nodeBeatPattern, nodeBeatLayout
	case e.kind.gvk.Kind == "Lease" && e.namespace == leaseNamespace:
		pattern, layout = leaseBeatPattern, metav1.RFC3339Micro
	default:
		return
	}
	last, ok := h(e.name)
	if !ok {
		return
	}
	text := last.UTC().Format(layout)
	if layout == metav1.RFC3339Micro {
		text = last.UTC().Format("2006-01-02T15:04:05.000000Z")
	}
	for {
		at := bytes.Index(buf, []byte(pattern))
		if at < 0 {
			return
		}
		buf = buf[at+len(pattern):]
		if len(buf) > len(text) && buf[len(text)] == '"' {
			copy(buf, text)
		}
	}
}

// objectKey orders and finds the objects of one kind.
type objectKey struct{ namespace, name string }

func (e *entry) key() objectKey { return objectKey{e.namespace, e.name} }

func (a objectKey) compare(b objectKey) int {
	return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
}
