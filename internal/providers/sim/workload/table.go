package workload

import (
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
)

// column is one column of a Table. Wide ones are shown with -o wide.
type column struct {
	name string
	typ  string
	wide bool
}

// text makes string columns.
func text(names ...string) []column {
	out := make([]column, len(names))
	for i, n := range names {
		out[i] = column{name: n, typ: "string"}
	}
	return out
}

// wide makes string columns of -o wide.
func wide(names ...string) []column {
	out := text(names...)
	for i := range out {
		out[i].wide = true
	}
	return out
}

// number makes integer columns.
func number(names ...string) []column {
	out := text(names...)
	for i := range out {
		out[i].typ = "integer"
	}
	return out
}

func join(parts ...[]column) []column {
	var out []column
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

func newTable(meta metav1.ListMeta) *metav1.Table {
	return &metav1.Table{TypeMeta: metav1.TypeMeta{Kind: "Table", APIVersion: "meta.k8s.io/v1"}, ListMeta: meta, Rows: []metav1.TableRow{}}
}

// definitions describes the kind's columns.
func (k *kind) definitions() []metav1.TableColumnDefinition {
	out := make([]metav1.TableColumnDefinition, 0, len(k.columns))
	for _, c := range k.columns {
		d := metav1.TableColumnDefinition{Name: c.name, Type: c.typ}
		if c.name == "Name" {
			d.Format = "name"
		}
		if c.wide {
			d.Priority = 1
		}
		out = append(out, d)
	}
	return out
}

// tableOf shows entries as a Table.
func (q *request) tableOf(entries []*entry, meta metav1.ListMeta) (*metav1.Table, error) {
	t := newTable(meta)
	t.ColumnDefinitions = q.kind.definitions()
	include := metav1.IncludeObjectPolicy(q.query.Get("includeObject"))
	for _, e := range entries {
		if meta.ResourceVersion == "" {
			t.ResourceVersion = fmt.Sprint(e.rv)
		}
		obj, err := q.kind.decodeEntry(e)
		if err != nil {
			return nil, err
		}
		row := metav1.TableRow{Cells: q.kind.row(obj)}
		switch include {
		case metav1.IncludeNone:
		case metav1.IncludeObject:
			row.Object.Raw, err = q.kind.appendJSON(nil, e, q.cluster.beat())
		default:
			row.Object, err = rawMetadata(obj)
		}
		if err != nil {
			return nil, err
		}
		t.Rows = append(t.Rows, row)
	}
	return t, nil
}

func rawMetadata(obj Object) (runtime.RawExtension, error) {
	m := partialOf(obj)
	m.ManagedFields = nil
	data, err := json.Marshal(m)
	if err != nil {
		return runtime.RawExtension{}, fmt.Errorf("encode the metadata of %s: %w", obj.GetName(), err)
	}
	return runtime.RawExtension{Raw: data}, nil
}

// age is the time since a moment, as kubectl shows it.
func age(t metav1.Time) string {
	if t.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(time.Since(t.Time))
}

func ageOf(o Object) string { return age(o.GetCreationTimestamp()) }

// orNone shows an empty text as kubectl does.
func orNone(s string) string {
	if s == "" {
		return "<none>"
	}
	return s
}

func createdAtColumns() []column { return text("Name", "Created At") }

func createdAtRow(o Object) []any {
	return []any{o.GetName(), o.GetCreationTimestamp().UTC().Format(time.RFC3339)}
}
