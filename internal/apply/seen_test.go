package apply

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

func TestLags_UntilTheCacheShowsTheLastStatus(t *testing.T) {
	t.Parallel()
	a := New(nil, "test")
	at := func(version string) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{UID: "one", ResourceVersion: version}}
	}
	if a.Lags(at("1")) {
		t.Error("lags behind nothing")
	}
	a.seen.put(keyOf(at("5"), statusSubresource), "5", [32]byte{1})
	for version, want := range map[string]bool{"4": true, "5": false, "6": false} {
		if got := a.Lags(at(version)); got != want {
			t.Errorf("at %s: %t", version, got)
		}
	}
}

func TestSettle_GathersChangesOfAMoment(t *testing.T) {
	t.Parallel()
	s, now := NewSettle[types.UID](time.Second), time.Date(2026, 12, 2, 8, 0, 0, 0, time.UTC)
	if left := s.Hold("one", now); left != time.Second {
		t.Errorf("the first change waits %s", left)
	}
	if left := s.Hold("one", now.Add(400*time.Millisecond)); left != 600*time.Millisecond {
		t.Errorf("the second change waits %s", left)
	}
	if left := s.Hold("one", now.Add(time.Second)); left != 0 {
		t.Errorf("what has settled waits %s", left)
	}
	s.Done("one")
	if left := s.Hold("one", now.Add(2*time.Second)); left != time.Second {
		t.Errorf("the next change waits %s", left)
	}
}
