package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/client-go/util/jsonpath"

	"slipway.dev/slipway/internal/fault"
)

// sortByPath sorts items by what a JSONPath finds in each: numbers by value, all else as text, what has no value first. Equal
// ones keep their order.
func sortByPath[T any](items []T, path string, objectOf func(T) (any, error)) error {
	parsed, err := parsePath(path)
	if err != nil {
		return err
	}
	type keyed struct {
		item T
		key  any
	}
	all := make([]keyed, len(items))
	for i, item := range items {
		object, err := objectOf(item)
		if err != nil {
			return fmt.Errorf("read what is sorted: %w", err)
		}
		found, err := parsed.FindResults(object)
		if err != nil {
			return fault.New(err, "cannot follow the path to sort by", err.Error(), "--sort-by "+path, "look at a whole object: -o yaml")
		}
		all[i] = keyed{item: item}
		if len(found) > 0 && len(found[0]) > 0 {
			all[i].key = found[0][0].Interface()
		}
	}
	slices.SortStableFunc(all, func(a, b keyed) int { return compareKeys(a.key, b.key) })
	for i := range all {
		items[i] = all[i].item
	}
	return nil
}

// parsePath reads a JSONPath with or without its braces.
func parsePath(text string) (*jsonpath.JSONPath, error) {
	if !strings.HasPrefix(text, "{") {
		text = "{." + strings.TrimPrefix(text, ".") + "}"
	}
	path := jsonpath.New("sort-by").AllowMissingKeys(true)
	if err := path.Parse(text); err != nil {
		return nil, fault.New(err, "cannot read the path to sort by", err.Error(), "--sort-by "+text, "--sort-by .metadata.creationTimestamp")
	}
	return path, nil
}

func compareKeys(a, b any) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	}
	x, isX := number(a)
	y, isY := number(b)
	if isX && isY {
		return cmp.Compare(x, y)
	}
	return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b))
}

func number(v any) (float64, bool) {
	switch n := v.(type) {
	case int64:
		return float64(n), true
	case float64:
		return n, true
	case json.Number:
		f, err := n.Float64()
		return f, err == nil
	}
	return 0, false
}
