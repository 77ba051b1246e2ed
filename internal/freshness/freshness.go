// Package freshness tells a controller whether its cache has caught up with the controller's own writes. Whoever creates
// or deletes on the word of a lagging cache makes one Machine too many, or takes one too many away.
//
// For each owner, the tracker remembers what was written for it until the observed children show it. The first time in a
// process (after a start or a won lease nothing is remembered) it has the children listed from the API server and
// remembers those instead. The cost is one map entry a write in flight and one small entry an owner.
package freshness

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/outcome"
)

const (
	// retryAfter is when to look again if no event comes; events of the awaited children usually come first.
	retryAfter = 250 * time.Millisecond
	// maxLag is how long the cache may lack a write before the API server is asked again. It ends the wait for an object
	// that was created and removed before the cache saw it, or that the selection no longer covers.
	maxLag = 5 * time.Second
	// maxOwners bounds the memory of a controller that never forgets an owner. Above it all are forgotten, which costs
	// each owner another list and is never wrong.
	maxOwners = 1 << 17
)

// ListFunc lists an owner's children from the API server, not from a cache, by the same selection as the observed ones.
type ListFunc func(ctx context.Context) ([]metav1.Object, error)

// Tracker remembers writes that the cache has not shown yet. The zero value is not usable; see New. It is safe for
// concurrent use.
type Tracker struct {
	now func() time.Time

	mu     sync.Mutex // guards owners and what they point to
	owners map[types.UID]*state
}

// state is what is known about one owner. A nil pending map means that nothing is in flight.
type state struct {
	looked  bool
	since   time.Time
	pending map[types.UID]write
}

// write is one write in flight: the resourceVersion that the cache must reach, or gone for a deletion.
type write struct {
	version string
	gone    bool
}

// New returns an empty Tracker. now may be nil for the system's clock.
func New(now func() time.Time) *Tracker {
	if now == nil {
		now = time.Now
	}
	return &Tracker{now: now, owners: map[types.UID]*state{}}
}

// Wrote remembers that obj, a child of the owner, was created or changed and has the given object's UID and
// resourceVersion now. Call it with what the API server returned, and only for children of the kinds that Fresh is shown
// and lists: another object would be waited for in vain and cost a list.
func (t *Tracker) Wrote(owner types.UID, obj metav1.Object) {
	t.remember(owner, obj.GetUID(), write{version: obj.GetResourceVersion()})
}

// Deleted remembers that the deletion of obj was accepted. The cache has seen it when the object is gone or carries a
// deletionTimestamp.
func (t *Tracker) Deleted(owner types.UID, obj metav1.Object) {
	t.remember(owner, obj.GetUID(), write{gone: true})
}

// Failed says that a write for the owner has failed. Unless the API server has refused it, it may have arrived though its
// answer did not: the API server is asked again before the cache is believed.
func (t *Tracker) Failed(owner types.UID, err error) {
	if err == nil || apply.Refused(err) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state(owner).looked = false
}

// Forget drops all that is known about an owner that is gone.
func (t *Tracker) Forget(owner types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.owners, owner)
}

// Reset drops everything, as after a won lease.
func (t *Tracker) Reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.owners)
}

// Fresh returns nil when seen, which are the owner's children as the cache shows them, holds all that was written for
// the owner: then the owner's controller may create and delete on what it saw. Call it right before acting, with the
// children on which the decision rests, neither more nor fewer kinds than the list has. It returns a quiet *outcome.Wait while the cache lags, and the list's error.
// The list is called on the first look at an owner and when the cache has lagged for long.
func (t *Tracker) Fresh(ctx context.Context, owner types.UID, seen []metav1.Object, list ListFunc) error {
	if t.mustLook(owner, seen) {
		live, err := list(ctx)
		if err != nil {
			return fmt.Errorf("list the children of owner %s from the API server: %w", owner, err)
		}
		t.looked(owner, seen, live)
	}
	if n := t.behind(owner, seen); n > 0 {
		return outcome.Quietly(retryAfter, "CacheLag", "the cache has yet to show %d of our own writes", n)
	}
	return nil
}

func (t *Tracker) remember(owner, uid types.UID, w write) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.state(owner)
	if s.pending == nil {
		s.pending, s.since = map[types.UID]write{}, t.now()
	}
	if old, ok := s.pending[uid]; ok && supersedes(old, w) {
		return
	}
	s.pending[uid] = w
}

// supersedes reports whether the older entry asks for at least as much as the newer one.
func supersedes(old, w write) bool {
	return old.gone || !w.gone && reached(old.version, w.version)
}

func (t *Tracker) state(owner types.UID) *state {
	s := t.owners[owner]
	if s == nil {
		if len(t.owners) >= maxOwners {
			clear(t.owners)
		}
		s = &state{}
		t.owners[owner] = s
	}
	return s
}

// mustLook reports whether the API server has to be asked: at the first look, and when a write has been missing from
// the cache for longer than maxLag.
func (t *Tracker) mustLook(owner types.UID, seen []metav1.Object) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.state(owner)
	s.settle(seen)
	return !s.looked || s.pending != nil && t.now().Sub(s.since) > maxLag
}

// looked replaces what was remembered by what the API server has: each child there must show in the cache, and what the
// cache shows beyond that must go from it. The list started after all writes that the tracker knows of, so it holds
// them.
func (t *Tracker) looked(owner types.UID, seen, live []metav1.Object) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.state(owner)
	s.looked, s.since, s.pending = true, t.now(), make(map[types.UID]write, len(live))
	for _, obj := range live {
		s.pending[obj.GetUID()] = write{version: obj.GetResourceVersion()}
	}
	for _, obj := range seen {
		if _, ok := s.pending[obj.GetUID()]; !ok {
			s.pending[obj.GetUID()] = write{gone: true}
		}
	}
}

// behind returns how many writes the cache has yet to show.
func (t *Tracker) behind(owner types.UID, seen []metav1.Object) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.state(owner)
	s.settle(seen)
	return len(s.pending)
}

// settle drops the writes that seen shows.
func (s *state) settle(seen []metav1.Object) {
	if s.pending == nil {
		return
	}
	shown := make(map[types.UID]metav1.Object, len(seen))
	for _, obj := range seen {
		shown[obj.GetUID()] = obj
	}
	for uid, w := range s.pending {
		if w.shownBy(shown[uid]) {
			delete(s.pending, uid)
		}
	}
	if len(s.pending) == 0 {
		s.pending = nil
	}
}

func (w write) shownBy(obj metav1.Object) bool {
	if obj == nil {
		return w.gone
	}
	if w.gone {
		return obj.GetDeletionTimestamp() != nil
	}
	return reached(obj.GetResourceVersion(), w.version)
}

// reached reports whether version is wanted or newer. Versions that are not numbers can only be compared for equality.
func reached(version, wanted string) bool {
	order, err := resourceversion.CompareResourceVersion(version, wanted)
	if err != nil {
		return version == wanted
	}
	return order >= 0
}

// Objects turns a list of values into what Fresh takes: Objects(machines, func(m *Machine) metav1.Object { return m }).
func Objects[T any](items []T, of func(*T) metav1.Object) []metav1.Object {
	out := make([]metav1.Object, 0, len(items))
	for i := range items {
		out = append(out, of(&items[i]))
	}
	return out
}
