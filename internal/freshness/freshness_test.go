package freshness_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"slipway.dev/slipway/internal/freshness"
	"slipway.dev/slipway/internal/outcome"
)

const owner = types.UID("owner")

func child(uid string, version int) *metav1.ObjectMeta {
	return &metav1.ObjectMeta{UID: types.UID(uid), ResourceVersion: strconv.Itoa(version)}
}

func deleting(m *metav1.ObjectMeta) *metav1.ObjectMeta {
	m.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	return m
}

func objects(list ...*metav1.ObjectMeta) []metav1.Object {
	return freshness.Objects(list, func(m **metav1.ObjectMeta) metav1.Object { return *m })
}

// server is what the API server would list, and how often it was asked.
type server struct {
	children []*metav1.ObjectMeta
	asked    int
	err      error
}

func (s *server) list(context.Context) ([]metav1.Object, error) {
	s.asked++
	return objects(s.children...), s.err
}

// looked returns a tracker that has looked at the owner already, with a clock that can be set.
func looked(t *testing.T) (*freshness.Tracker, *time.Time) {
	t.Helper()
	clock := time.Unix(1000, 0)
	tracker := freshness.New(func() time.Time { return clock })
	if err := tracker.Fresh(t.Context(), owner, nil, (&server{}).list); err != nil {
		t.Fatalf("first look at nothing: %v", err)
	}
	return tracker, &clock
}

func isLag(err error) bool {
	w, ok := outcome.AsWait(err)
	return ok && w.Quiet && w.After > 0
}

func TestFresh_WaitsForItsOwnWrites(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name  string
		write func(*freshness.Tracker)
		seen  []metav1.Object
		fresh bool
	}{
		{name: "nothing written", write: func(*freshness.Tracker) {}, fresh: true},
		{name: "a created child is not there yet", write: func(t *freshness.Tracker) { t.Wrote(owner, child("a", 10)) }},
		{name: "a created child is there", write: func(t *freshness.Tracker) { t.Wrote(owner, child("a", 10)) }, seen: objects(child("a", 10)), fresh: true},
		{name: "a child is older than what was written", write: func(t *freshness.Tracker) { t.Wrote(owner, child("a", 10)) }, seen: objects(child("a", 9))},
		{name: "numbers count, not letters", write: func(t *freshness.Tracker) { t.Wrote(owner, child("a", 9)) }, seen: objects(child("a", 10)), fresh: true},
		{name: "the later of two writes counts", write: func(t *freshness.Tracker) { t.Wrote(owner, child("a", 12)); t.Wrote(owner, child("a", 10)) },
			seen: objects(child("a", 11))},
		{name: "a deleted child is still there", write: func(t *freshness.Tracker) { t.Deleted(owner, child("a", 10)) }, seen: objects(child("a", 10))},
		{name: "a deleted child is on its way", write: func(t *freshness.Tracker) { t.Deleted(owner, child("a", 10)) },
			seen: objects(deleting(child("a", 11))), fresh: true},
		{name: "a deleted child is gone", write: func(t *freshness.Tracker) { t.Deleted(owner, child("a", 10)) }, fresh: true},
		{name: "a child that was written and then deleted is gone",
			write: func(t *freshness.Tracker) { t.Wrote(owner, child("a", 10)); t.Deleted(owner, child("a", 10)) }, fresh: true},
		{name: "what was written for another owner does not count", write: func(t *freshness.Tracker) { t.Wrote("other", child("a", 10)) }, fresh: true},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			tracker, _ := looked(t)
			row.write(tracker)
			api := &server{}
			err := tracker.Fresh(t.Context(), owner, row.seen, api.list)
			if (err == nil) != row.fresh || err != nil && !isLag(err) {
				t.Errorf("Fresh returned %v", err)
			}
			if api.asked > 0 {
				t.Error("the API server was asked without need")
			}
		})
	}
}

func TestFresh_LooksOnceBeforeTheFirstAct(t *testing.T) {
	t.Parallel()
	tracker := freshness.New(nil)
	api := &server{children: []*metav1.ObjectMeta{child("a", 5)}}
	if err := tracker.Fresh(t.Context(), owner, nil, api.list); !isLag(err) {
		t.Fatalf("the cache lacks a child that exists, and Fresh returned %v", err)
	}
	if err := tracker.Fresh(t.Context(), owner, objects(child("a", 5)), api.list); err != nil {
		t.Fatalf("the cache has caught up, and Fresh returned %v", err)
	}
	if api.asked != 1 {
		t.Errorf("the API server was asked %d times", api.asked)
	}
}

func TestFresh_DoesNotCountWhatTheFirstLookFindsGone(t *testing.T) {
	t.Parallel()
	tracker := freshness.New(nil)
	api := &server{}
	if err := tracker.Fresh(t.Context(), owner, objects(child("a", 5)), api.list); !isLag(err) {
		t.Fatalf("the cache has a child that is gone, and Fresh returned %v", err)
	}
	if err := tracker.Fresh(t.Context(), owner, nil, api.list); err != nil {
		t.Fatal(err)
	}
}

func TestFresh_LooksAgainAtEveryOwnerAfterAWonLease(t *testing.T) {
	t.Parallel()
	tracker, _ := looked(t)
	tracker.Reset()
	api := &server{}
	if err := tracker.Fresh(t.Context(), owner, nil, api.list); err != nil || api.asked != 1 {
		t.Errorf("Fresh returned %v after asking %d times", err, api.asked)
	}
}

func TestFresh_AsksTheServerWhenAWriteNeverShows(t *testing.T) {
	t.Parallel()
	tracker, clock := looked(t)
	tracker.Wrote(owner, child("a", 10)) // removed by someone before the cache saw it
	api := &server{}
	if err := tracker.Fresh(t.Context(), owner, nil, api.list); !isLag(err) || api.asked != 0 {
		t.Fatalf("Fresh returned %v after asking %d times", err, api.asked)
	}
	*clock = clock.Add(time.Minute)
	if err := tracker.Fresh(t.Context(), owner, nil, api.list); err != nil || api.asked != 1 {
		t.Errorf("Fresh returned %v after asking %d times", err, api.asked)
	}
}

func TestFresh_AFailedLookIsRepeated(t *testing.T) {
	t.Parallel()
	tracker := freshness.New(nil)
	broken := errors.New("broken")
	api := &server{err: broken}
	if err := tracker.Fresh(t.Context(), owner, nil, api.list); !errors.Is(err, broken) {
		t.Fatalf("Fresh returned %v", err)
	}
	api.err = nil
	if err := tracker.Fresh(t.Context(), owner, nil, api.list); err != nil || api.asked != 2 {
		t.Errorf("Fresh returned %v after asking %d times", err, api.asked)
	}
}

// world is a model: an API server, a cache that lags behind it, and a controller that writes.
type world struct {
	version int
	live    map[string]*metav1.ObjectMeta
	cache   map[string]*metav1.ObjectMeta
	written map[string]int
	removed map[string]bool
}

func (w *world) seen() []metav1.Object {
	var out []metav1.Object
	for _, m := range w.cache {
		out = append(out, m)
	}
	return out
}

func (w *world) list(context.Context) ([]metav1.Object, error) {
	var out []metav1.Object
	for _, m := range w.live {
		out = append(out, m)
	}
	return out, nil
}

// stale reports whether the cache hides one of the controller's writes that still stands.
func (w *world) stale() bool {
	for uid, version := range w.written {
		_, exists := w.live[uid]
		if shown := w.cache[uid]; exists && (shown == nil || atoi(shown.ResourceVersion) < version) {
			return true
		}
	}
	for uid := range w.removed {
		if w.cache[uid] != nil {
			return true
		}
	}
	return false
}

func (w *world) step(t *rapid.T, tracker *freshness.Tracker) {
	uid := fmt.Sprint("c", rapid.IntRange(0, 5).Draw(t, "child"))
	w.version++
	switch rapid.SampledFrom([]string{"write", "delete", "foreign delete", "catch up", "restart"}).Draw(t, "step") {
	case "write":
		if w.removed[uid] {
			return // a UID is never used again
		}
		w.live[uid] = child(uid, w.version)
		w.written[uid] = w.version
		tracker.Wrote(owner, w.live[uid])
	case "delete":
		if m := w.live[uid]; m != nil {
			delete(w.live, uid)
			w.removed[uid] = true
			tracker.Deleted(owner, m)
		}
	case "foreign delete":
		if w.live[uid] != nil && w.cache[uid] == nil {
			delete(w.live, uid)
			w.removed[uid] = true
		}
	case "catch up":
		if m := w.live[uid]; m != nil {
			w.cache[uid] = m
		} else {
			delete(w.cache, uid)
		}
	case "restart":
		tracker.Reset()
	}
}

func TestFresh_NeverLetsActOnAStaleCacheAndAlwaysLetsActInTheEnd(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		clock := time.Unix(1000, 0)
		tracker := freshness.New(func() time.Time { return clock })
		w := &world{live: map[string]*metav1.ObjectMeta{}, cache: map[string]*metav1.ObjectMeta{}, written: map[string]int{}, removed: map[string]bool{}}
		for range rapid.IntRange(0, 40).Draw(rt, "steps") {
			w.step(rt, tracker)
			clock = clock.Add(time.Duration(rapid.IntRange(0, 3).Draw(rt, "seconds")) * time.Second)
			if err := tracker.Fresh(t.Context(), owner, w.seen(), w.list); err == nil && w.stale() {
				rt.Fatalf("acted on a stale cache: live %v, cache %v", w.live, w.cache)
			}
		}
		w.cache = w.live
		clock = clock.Add(time.Minute)
		if err := tracker.Fresh(t.Context(), owner, w.seen(), w.list); err != nil {
			rt.Fatalf("the cache shows all there is: %v", err)
		}
	})
}

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

func TestFailed_WithoutAnAnswerHasTheServerAskedAgain(t *testing.T) {
	t.Parallel()
	tracker, _ := looked(t)
	api := &server{children: []*metav1.ObjectMeta{child("a", 5)}}
	if err := tracker.Fresh(t.Context(), owner, nil, api.list); err != nil || api.asked != 0 {
		t.Fatalf("asked %d times, %v", api.asked, err)
	}
	refused := apierrors.NewForbidden(schema.GroupResource{Resource: "machines"}, "a", errors.New("no"))
	for _, err := range []error{nil, refused, fmt.Errorf("create: %w", refused)} {
		tracker.Failed(owner, err)
	}
	if err := tracker.Fresh(t.Context(), owner, nil, api.list); err != nil || api.asked != 0 {
		t.Fatalf("asked %d times though each write was answered, %v", api.asked, err)
	}
	tracker.Failed(owner, errors.New("connection reset by peer"))
	if err := tracker.Fresh(t.Context(), owner, nil, api.list); !isLag(err) || api.asked != 1 {
		t.Errorf("a write that has arrived does not show: asked %d times, %v", api.asked, err)
	}
	if err := tracker.Fresh(t.Context(), owner, objects(child("a", 5)), api.list); err != nil || api.asked != 1 {
		t.Errorf("it shows: asked %d times, %v", api.asked, err)
	}
}
