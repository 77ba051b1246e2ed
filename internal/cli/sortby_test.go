package cli

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSortByPath_SortsNumbersByValueAndWhatHasNoneFirst(t *testing.T) {
	t.Parallel()
	items := []string{`{"a":10}`, `{"a":9,"b":"x"}`, `{}`, `{"a":9,"b":"w"}`, `{"a":"text"}`}
	err := sortByPath(items, ".a", func(s string) (any, error) {
		var object any
		err := json.Unmarshal([]byte(s), &object)
		return object, err
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`{}`, `{"a":9,"b":"x"}`, `{"a":9,"b":"w"}`, `{"a":10}`, `{"a":"text"}`}
	if diff := cmp.Diff(want, items); diff != "" {
		t.Error(diff)
	}
}
