package remote

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// ConnectionChange is what happened to the way into a cluster.
type ConnectionChange string

const (
	// Opened means that the cluster is connected now and that its stores answer.
	Opened ConnectionChange = "Opened"
	// Closed means that the connection is gone.
	Closed ConnectionChange = "Closed"
	// Failing means that the cluster has not answered for as long as the subscriber asked to be told of, or, when it has
	// never answered, that as many attempts have failed in a row as would end a connection.
	Failing ConnectionChange = "Failing"
	// Recovered means that a cluster answers again after a Failing, without the connection having been lost.
	Recovered ConnectionChange = "Recovered"
)

// ConnectionEvent tells of a change of the way into a cluster.
type ConnectionEvent struct {
	Cluster types.NamespacedName
	Change  ConnectionChange
}

// NodeEvent tells that a Node of a connected cluster, or a static Pod on it, appeared, changed or went. Heartbeats make
// no event, nor do the Nodes that are there when a connection opens: the event Opened stands for them all.
type NodeEvent struct {
	Cluster types.NamespacedName
	// Name is the Node's name.
	Name string
	// ProviderID is the Node's spec.providerID; empty when it has none. A Node whose ID changes makes an event for each.
	ProviderID string
}

// Source returns an event source for a controller: requests is called with each change of the way into a cluster, and
// what it returns is queued. Each of failingAfter is a time without an answer after which an event Failing is wanted.
func (c *Clusters) Source(
	requests func(context.Context, ConnectionEvent) []reconcile.Request, failingAfter ...time.Duration,
) source.Source {
	slices.Sort(failingAfter)
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		s := newSubscription[ConnectionEvent]()
		s.failingAfter = failingAfter
		c.connections.add(s)
		c.run(func() {
			defer c.connections.remove(s)
			s.deliver(ctx, c.stopping, queue, requests)
		})
		return nil
	})
}

// NodeSource returns an event source for a controller: requests is called with each change of a Node of a connected
// cluster, and what it returns is queued.
func (c *Clusters) NodeSource(requests func(context.Context, NodeEvent) []reconcile.Request) source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		s := newSubscription[NodeEvent]()
		c.nodeChanges.add(s)
		c.run(func() {
			defer c.nodeChanges.remove(s)
			s.deliver(ctx, c.stopping, queue, requests)
		})
		return nil
	})
}

// subscription holds what one subscriber has yet to be told. It is a set, so that it is never larger than the number
// of things that can change, however slow the subscriber.
type subscription[E comparable] struct {
	failingAfter []time.Duration

	mu      sync.Mutex // guards pending
	pending map[E]struct{}
	wake    chan struct{}
}

func newSubscription[E comparable]() *subscription[E] {
	return &subscription[E]{pending: map[E]struct{}{}, wake: make(chan struct{}, 1)}
}

func (s *subscription[E]) put(e E) {
	s.mu.Lock()
	s.pending[e] = struct{}{}
	s.mu.Unlock()
	signal(s.wake)
}

func (s *subscription[E]) take() map[E]struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.pending) == 0 {
		return nil
	}
	taken := s.pending
	s.pending = map[E]struct{}{}
	return taken
}

func (s *subscription[E]) deliver(
	ctx context.Context,
	stopping <-chan struct{},
	queue workqueue.TypedRateLimitingInterface[reconcile.Request],
	requests func(context.Context, E) []reconcile.Request,
) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-stopping:
			return
		case <-s.wake:
		}
		for e := range s.take() {
			for _, r := range requests(ctx, e) {
				queue.Add(r)
			}
		}
	}
}

// subscriptions are those who want to know of one kind of event.
type subscriptions[E comparable] struct {
	mu  sync.RWMutex // guards all
	all []*subscription[E]
}

func (s *subscriptions[E]) add(sub *subscription[E]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, sub)
}

func (s *subscriptions[E]) remove(sub *subscription[E]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = slices.DeleteFunc(s.all, func(other *subscription[E]) bool { return other == sub })
}

// publish never blocks on a subscriber.
func (s *subscriptions[E]) publish(e E) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, sub := range s.all {
		sub.put(e)
	}
}

// publishFailing tells those who asked to be told after a silence longer than before and at most as long as now.
func (s *subscriptions[E]) publishFailing(e E, before, now time.Duration) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, sub := range s.all {
		for _, after := range sub.failingAfter {
			if before < after && after <= now {
				sub.put(e)
				break
			}
		}
	}
}

// nextFailing is the shortest silence longer than before that somebody wants to be told of; zero when there is none.
func (s *subscriptions[E]) nextFailing(before time.Duration) time.Duration {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var next time.Duration
	for _, sub := range s.all {
		for _, after := range sub.failingAfter {
			if after > before && (next == 0 || after < next) {
				next = after
			}
		}
	}
	return next
}

// signal wakes a goroutine that waits on a channel of capacity one, which holds a wake-up that is not yet seen.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
