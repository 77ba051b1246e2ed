package oracle

import (
	"maps"
	"math/rand"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
)

// TestCRD_JudgesUpstreamObjectsAsUpstreamDoes makes objects that fit upstream's schema, sends them through upstream's
// types as upstream's clients do, and asks what an API server makes of them with either CRD. Then it spoils them and asks
// again.
func TestCRD_JudgesUpstreamObjectsAsUpstreamDoes(t *testing.T) {
	t.Parallel()
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			theirs, ours := newJudge(t, theirCRD(t, k.crd)), newJudge(t, ourCRD(t, k.crd))
			accepted := 0
			for seed := range int64(rounds) {
				g := &generator{t: t, rng: rand.New(rand.NewSource(seed)), patterns: map[string][]string{}}
				object := throughTypes(t, seed, g.object(theirs.openAPI), k.theirs())
				verdict := theirs.judge(t.Context(), t, object)
				if verdict.accepted() {
					accepted++
				}
				requireSame(t, seed, verdict, ours.judge(t.Context(), t, object))
				for range 3 {
					spoiled := g.spoil(object)
					requireSame(t, seed, theirs.judge(t.Context(), t, spoiled), ours.judge(t.Context(), t, spoiled))
				}
			}
			// Fewer would say little about what both accept.
			if accepted < rounds/4 {
				t.Errorf("upstream itself accepts only %d of %d objects", accepted, rounds)
			}
		})
	}
}

func requireSame(t *testing.T, seed int64, theirs, ours verdict) {
	t.Helper()
	if !theirs.equals(ours) {
		t.Fatalf("seed %d:\nupstream: %v\nwe:       %v", seed, theirs, ours)
	}
}

// throughTypes returns the object as a client that has these types sends it.
func throughTypes(t *testing.T, seed int64, object map[string]any, types any) map[string]any {
	t.Helper()
	decodeStrictly(t, seed, encode(t, object), types)
	return asSent(t, types)
}

// asSent returns an object of any type as an API server reads it.
func asSent(t *testing.T, object any) map[string]any {
	t.Helper()
	var sent map[string]any
	if err := json.Unmarshal(encode(t, object), &sent); err != nil {
		t.Fatal(err)
	}
	return sent
}

// spoil returns the object with one change somewhere, which often makes it invalid.
func (g *generator) spoil(object map[string]any) map[string]any {
	spoiled := runtime.DeepCopyJSON(object)
	var node any = spoiled
	for {
		switch n := node.(type) {
		case map[string]any:
			if len(n) == 0 {
				n["unknown"] = "a"
				return spoiled
			}
			keys := sortedKeys(n)
			key := keys[g.rng.Intn(len(keys))]
			if key == "metadata" && len(keys) > 1 {
				continue
			}
			if g.stops(n[key]) {
				g.damage(n, key)
				return spoiled
			}
			node = n[key]
		case []any:
			i := g.rng.Intn(len(n))
			if g.stops(n[i]) {
				n[i] = g.rubbish()
				return spoiled
			}
			node = n[i]
		}
	}
}

// stops says whether the damage is done here rather than further down.
func (g *generator) stops(node any) bool {
	switch n := node.(type) {
	case map[string]any:
		return g.rng.Intn(6) == 0
	case []any:
		return len(n) == 0 || g.rng.Intn(4) == 0
	default:
		return true
	}
}

func (g *generator) damage(parent map[string]any, key string) {
	switch list, isList := parent[key].([]any); {
	case isList && len(list) > 0 && g.rng.Intn(2) == 0:
		parent[key] = append(list, list[0])
	case g.rng.Intn(3) == 0:
		delete(parent, key)
	default:
		parent[key] = g.rubbish()
	}
}

func (g *generator) rubbish() any {
	long := make([]byte, 400)
	for i := range long {
		long[i] = 'a'
	}
	return []any{"", "!", "Ready", string(long), int64(-1), int64(1 << 40), 1.5, true, nil, []any{}, map[string]any{},
		[]any{"a", "a"}, map[string]any{"unknown": "a"}}[g.rng.Intn(13)]
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
