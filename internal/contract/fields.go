package contract

import (
	"fmt"
	"math"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"slipway.dev/slipway/internal/conditions"
	"slipway.dev/slipway/internal/outcome"
)

// fields reads an object's fields by dotted paths. A missing field reads as unset; the first field of a wrong type is
// kept as the error and the rest read on.
type fields struct {
	object map[string]any
	err    error
}

func (o *Object) fields() *fields { return &fields{object: o.object.Object} }

// done returns the error of the reads as a stall on the object.
func (f *fields) done(o *Object) error {
	if f.err == nil {
		return nil
	}
	return &outcome.Stall{
		Reason: InvalidFieldReportedReason,
		Message: fmt.Sprintf("%s %s breaks the %s contract: %v; its provider has to mend it",
			o.Kind(), o.Name(), o.contract, f.err),
	}
}

func (f *fields) fail(path, want string, got any) {
	if f.err == nil {
		f.err = fmt.Errorf("%s is not %s but %T", path, want, got)
	}
}

// value walks down the path; it returns nil where the path ends early.
func (f *fields) value(path string) any {
	var at any = f.object
	walked := 0
	for step := range strings.SplitSeq(path, ".") {
		m, ok := at.(map[string]any)
		if !ok {
			if at != nil {
				f.fail(path[:max(walked-1, 0)], "an object", at)
			}
			return nil
		}
		at = m[step]
		walked += len(step) + 1
	}
	return at
}

func (f *fields) text(path string) string {
	switch v := f.value(path).(type) {
	case nil:
		return ""
	case string:
		return v
	default:
		f.fail(path, "a string", v)
		return ""
	}
}

func (f *fields) flag(path string) Flag {
	switch v := f.value(path).(type) {
	case nil:
		return Flag{Path: path}
	case bool:
		return Flag{Path: path, Value: &v}
	default:
		f.fail(path, "a boolean", v)
		return Flag{Path: path}
	}
}

func (f *fields) number(path string) *int32 {
	v := f.value(path)
	n, ok := integer(v)
	switch {
	case v == nil:
		return nil
	case !ok:
		f.fail(path, "a whole number of 32 bits", v)
		return nil
	}
	return &n
}

func integer(v any) (int32, bool) {
	switch n := v.(type) {
	case int64:
		return int32(n), n >= math.MinInt32 && n <= math.MaxInt32
	case float64:
		return int32(n), n == math.Trunc(n) && n >= math.MinInt32 && n <= math.MaxInt32
	default:
		return 0, false
	}
}

func (f *fields) mapping(path string) map[string]any {
	switch v := f.value(path).(type) {
	case nil:
		return nil
	case map[string]any:
		return v
	default:
		f.fail(path, "an object", v)
		return nil
	}
}

// list returns the readers of a list's items, which must be objects. Their errors go to f by way of adopt.
func (f *fields) list(path string) []*fields {
	switch v := f.value(path).(type) {
	case nil:
		return nil
	case []any:
		items := make([]*fields, 0, len(v))
		for i, item := range v {
			m, ok := item.(map[string]any)
			if !ok {
				f.fail(fmt.Sprintf("%s[%d]", path, i), "an object", item)
				continue
			}
			items = append(items, &fields{object: m})
		}
		return items
	default:
		f.fail(path, "a list", v)
		return nil
	}
}

// adopt takes over the error of a part that was read under the path.
func (f *fields) adopt(path string, part *fields) {
	if f.err == nil && part.err != nil {
		f.err = fmt.Errorf("%s.%w", path, part.err)
	}
}

// texts returns an object whose values are all strings.
func (f *fields) texts(path string) map[string]string {
	var out map[string]string
	for k, v := range f.mapping(path) {
		s, ok := v.(string)
		if !ok {
			f.fail(path+"."+k, "a string", v)
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[k] = s
	}
	return out
}

// Conditions returns the object's conditions. Those of the v1beta1 contract that carry a severity are converted; where
// such an object has status.v1beta2.conditions, these count.
func (o *Object) Conditions() ([]metav1.Condition, error) {
	f := o.fields()
	path := "status.conditions"
	if o.contract == V1Beta1 && f.value("status.v1beta2.conditions") != nil {
		path = "status.v1beta2.conditions"
	}
	items := f.list(path)
	out := make([]metav1.Condition, 0, len(items))
	for _, item := range items {
		c := item.condition()
		f.adopt(path, item)
		out = append(out, c)
	}
	if f.err != nil {
		return nil, f.err
	}
	return out, nil
}

func (f *fields) condition() metav1.Condition {
	c := metav1.Condition{
		Type:    f.text("type"),
		Status:  metav1.ConditionStatus(f.text("status")),
		Reason:  f.text("reason"),
		Message: f.text("message"),
	}
	if c.Reason == "" {
		c.Reason = conditions.NoReasonReported
	}
	if n, ok := f.value("observedGeneration").(int64); ok {
		c.ObservedGeneration = n
	}
	// A time that cannot be read is left out: the condition then counts from when it is first mirrored.
	if at, err := time.Parse(time.RFC3339, f.text("lastTransitionTime")); err == nil {
		c.LastTransitionTime = metav1.NewTime(at)
	}
	return c
}
