package oracle

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/equality"
	kjson "sigs.k8s.io/json"
)

// rounds is how many random objects each kind is tried with, in each direction.
const rounds = 300

func TestUpstreamObject_SurvivesOurTypes(t *testing.T) {
	t.Parallel()
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			for seed := range int64(rounds) {
				object := k.theirs()
				fill(seed, object)
				requireSurvives(t, seed, encode(t, object), k.theirs, k.ours)
			}
		})
	}
}

func TestOurObject_SurvivesUpstreamTypesButForStatusSlipway(t *testing.T) {
	t.Parallel()
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			for seed := range int64(rounds) {
				object := k.ours()
				fill(seed, object)
				requireSurvives(t, seed, withoutStatusSlipway(t, encode(t, object)), k.ours, k.theirs)
			}
		})
	}
}

// requireSurvives sends an object, as it is on the wire, through the types of the far side, and asks that the wire and the
// near side's types see no difference from what the near side makes of it.
func requireSurvives(t *testing.T, seed int64, sent []byte, near, far func() any) {
	t.Helper()
	// A random object can hold what no decoder yields, such as an empty list that is not nil; the first decoding settles
	// that.
	home, abroad := near(), far()
	decodeStrictly(t, seed, sent, home)
	decodeStrictly(t, seed, sent, abroad)
	kept, returned := encode(t, home), encode(t, abroad)
	if diff := cmp.Diff(decodeAny(t, kept), decodeAny(t, returned)); diff != "" {
		t.Fatalf("seed %d: the wire differs (-near +far):\n%s", seed, diff)
	}
	after := near()
	decodeStrictly(t, seed, returned, after)
	if !equality.Semantic.DeepEqual(home, after) {
		t.Fatalf("seed %d: the object differs although the wire does not:\nnear %s\nfar  %s", seed, kept, returned)
	}
}

func encode(t *testing.T, object any) []byte {
	t.Helper()
	raw, err := json.Marshal(object)
	if err != nil {
		t.Fatalf("encode %T: %v", object, err)
	}
	return raw
}

// decodeStrictly fails on fields that the type does not have, so that nothing is lost unseen.
func decodeStrictly(t *testing.T, seed int64, raw []byte, into any) {
	t.Helper()
	strictErrs, err := kjson.UnmarshalStrict(raw, into)
	if err != nil {
		t.Fatalf("seed %d: decode into %T: %v\n%s", seed, into, err, raw)
	}
	if len(strictErrs) > 0 {
		t.Fatalf("seed %d: decode into %T: %v", seed, into, strictErrs)
	}
}

func decodeAny(t *testing.T, raw []byte) any {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		t.Fatalf("decode: %v\n%s", err, raw)
	}
	return value
}

// withoutStatusSlipway takes out the one field that is ours alone.
func withoutStatusSlipway(t *testing.T, raw []byte) []byte {
	t.Helper()
	object, ok := decodeAny(t, raw).(map[string]any)
	if !ok {
		t.Fatalf("not an object: %s", raw)
	}
	if status, ok := object["status"].(map[string]any); ok {
		if delete(status, "slipway"); len(status) == 0 {
			delete(object, "status")
		}
	}
	return encode(t, object)
}
