package apply

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

func TestSeen_IsBoundedAndKeepsWhatIsInUse(t *testing.T) {
	t.Parallel()
	s := newSeen(100)
	hash := [32]byte{1}
	used := seenKey{uid: "used"}
	s.put(used, "1", hash)
	for i := range 10_000 {
		s.put(seenKey{uid: types.UID(fmt.Sprint(i))}, "1", hash)
		if !s.has(used, "1", hash) {
			t.Fatalf("what is in use was dropped after %d others", i)
		}
		if n := len(s.younger) + len(s.older); n > 201 {
			t.Fatalf("holds %d entries", n)
		}
	}
	if s.has(seenKey{uid: "1"}, "1", hash) {
		t.Error("what is not in use was kept")
	}
}
