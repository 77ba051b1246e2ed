package contract

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/outcome"
)

const (
	// patience is how long reads wait for the first list of a kind, all together; shortPatience is how long each waits then.
	patience      = 10 * time.Second
	shortPatience = 20 * time.Millisecond
	// listRecheck is how soon an object of a kind that cannot be listed is looked at again.
	listRecheck = 10 * time.Second
	// causeTimeout bounds asking why a kind cannot be listed, causeKept for how long the answer holds.
	causeTimeout = 2 * time.Second
	causeKept    = 30 * time.Second
	// causePage is how many objects are asked for then.
	causePage = 500
)

// KindNotListableReason says that the API server does not list the objects of a kind.
const KindNotListableReason = "KindNotListable"

// ErrKindNotListable is in the Stall for a kind whose objects the API server does not list.
var ErrKindNotListable = errors.New("kind cannot be listed")

// listings remembers the kinds that the cache waits for: a read of one waits until its first list has come, which it never
// does while a provider's conversion webhook is down, and would keep a worker of its controller for as long.
type listings struct {
	mu    sync.Mutex // guards kinds
	kinds map[schema.GroupVersionKind]*listing
}

// listing is a kind that is waited for.
type listing struct {
	since time.Time
	// cause is why it cannot be listed, as found out when asked.
	cause string
	asked time.Time
}

// patience is for how long a read of the kind may wait.
func (l *listings) patience(kind schema.GroupVersionKind, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if waited, ok := l.kinds[kind]; ok {
		return max(shortPatience, waited.since.Add(patience).Sub(now))
	}
	return patience
}

// came notes that the kind was read.
func (l *listings) came(kind schema.GroupVersionKind) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.kinds, kind)
}

// waited notes that a read that began then has waited in vain. It returns why, as far as known, and whether it is time to
// ask; then nobody else is told so.
func (l *listings) waited(kind schema.GroupVersionKind, began, now time.Time) (cause string, ask bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.kinds == nil {
		l.kinds = map[schema.GroupVersionKind]*listing{}
	}
	waited := l.kinds[kind]
	if waited == nil {
		waited = &listing{since: began}
		l.kinds[kind] = waited
	}
	if ask = now.Sub(waited.asked) > causeKept; ask {
		waited.asked = now
	}
	return waited.cause, ask
}

func (l *listings) explain(kind schema.GroupVersionKind, cause string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if waited := l.kinds[kind]; waited != nil {
		waited.cause = cause
	}
}

// notListable is the Stall for a kind that is waited for in vain.
func (r *Resolver) notListable(ctx context.Context, kind schema.GroupVersionKind, began time.Time) error {
	now := time.Now()
	cause, ask := r.listings.waited(kind, began, now)
	if ask && r.live != nil {
		cause = r.whyNotListable(ctx, kind)
		r.listings.explain(kind, cause)
	}
	if cause == "" {
		cause = "the controller's log says why"
	}
	return &outcome.Stall{
		Reason:  KindNotListableReason,
		Message: fmt.Sprintf("%ss of %s cannot be listed: %s", kind.Kind, kind.GroupVersion(), cause),
		Recheck: listRecheck,
		Err:     ErrKindNotListable,
	}
}

// whyNotListable asks the API server for a part of the list, to hear what it says; empty when it says nothing.
func (r *Resolver) whyNotListable(ctx context.Context, kind schema.GroupVersionKind) string {
	ctx, cancel := context.WithTimeout(ctx, causeTimeout)
	defer cancel()
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	err := r.live.List(ctx, list, client.Limit(causePage))
	switch {
	case err == nil:
		return ""
	case ctx.Err() != nil:
		return "the API server does not answer in time; is the provider's conversion webhook there?"
	default:
		return err.Error()
	}
}
