package apply

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"
)

func TestYAMLSafe_EveryTextArrivesByteForByte(t *testing.T) {
	t.Parallel()
	piece := rapid.OneOf(
		rapid.SampledFrom([]string{"\x7f", "\u0080", "\u0085", "\u009f", "\u00a0", "\u2028", "\u2029", "\ufeff", "\ufffd", "\ufffe", "\uffff", "😀", "\x00", "\x1b", "\r\n", "\t", `"`, `\`}),
		rapid.String(),
	)
	rapid.Check(t, func(t *rapid.T) {
		want := map[string]string{}
		for range rapid.IntRange(1, 3).Draw(t, "count") {
			want[piece.Draw(t, "key")+"k"] = piece.Draw(t, "a") + piece.Draw(t, "b") + piece.Draw(t, "c")
		}
		body, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]string
		// The API server reads patches of this kind so.
		if err := yaml.UnmarshalStrict(yamlSafe(body), &got); err != nil {
			t.Fatalf("%v\n%s", err, yamlSafe(body))
		}
		for key, value := range want {
			if got[key] != value {
				t.Fatalf("%q became %q", value, got[key])
			}
		}
	})
}
