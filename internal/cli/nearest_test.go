package cli

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestNearest_FindsWhatWasMeant(t *testing.T) {
	t.Parallel()
	kinds := []string{"clusters", "clusterclasses", "machines", "machinesets", "machinedeployments", "secrets"}
	for typed, want := range map[string][]string{
		"clustres": {"clusters"}, "machins": {"machines"}, "MachineSet": {"machinesets", "machines"}, "pods": {}, "x": {},
	} {
		if got := nearest(typed, kinds); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", typed, got, want)
		}
	}
}

func TestDistance_IsAMetricOnWords(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[abc]{0,5}`)
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		d := distance(a, b)
		if d != distance(b, a) || (d == 0) != (a == b) || d > max(len(a), len(b)) {
			t.Errorf("distance of %q and %q is %d", a, b, d)
		}
	})
}
