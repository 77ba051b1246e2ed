package planetest

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Census counts objects at every moment, by a watch of its own. It is safe for concurrent use.
type Census struct {
	mu    sync.Mutex // guards what follows
	there map[types.UID]bool
	now   Numbers
	span  Numbers // the fewest staying, the most of all and the most staying since the last Begin
}

// Numbers are counts of objects.
type Numbers struct {
	// All counts those being deleted too.
	All int
	// Staying and Fewest count those that are not being deleted; of a span of time, they are the most and the fewest.
	Staying, Fewest int
}

// String tells the numbers.
func (n Numbers) String() string {
	return fmt.Sprintf("%d in all, %d to %d staying", n.All, n.Fewest, n.Staying)
}

// Count starts a Census of the objects of a list's kind, which ends with the test.
func Count(t testing.TB, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) *Census {
	t.Helper()
	events, err := c.Watch(t.Context(), list, opts...)
	if err != nil {
		t.Fatal(err)
	}
	census := &Census{there: map[types.UID]bool{}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for e := range events.ResultChan() {
			census.add(e)
		}
	}()
	t.Cleanup(func() {
		events.Stop()
		<-done
	})
	return census
}

func (c *Census) add(e watch.Event) {
	obj, ok := e.Object.(client.Object)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.Type == watch.Deleted {
		delete(c.there, obj.GetUID())
	} else if e.Type != watch.Bookmark {
		c.there[obj.GetUID()] = obj.GetDeletionTimestamp() == nil
	}
	staying := 0
	for _, stays := range c.there {
		if stays {
			staying++
		}
	}
	c.now = Numbers{All: len(c.there), Staying: staying, Fewest: staying}
	c.span = Numbers{All: max(c.span.All, c.now.All), Staying: max(c.span.Staying, staying), Fewest: min(c.span.Fewest, staying)}
}

// Await waits until the numbers are as wanted, right now.
func (c *Census) Await(t testing.TB, wanted func(Numbers) bool) {
	t.Helper()
	Eventually(t, func(context.Context) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		if !wanted(c.now) {
			return fmt.Errorf("there are %s", c.now)
		}
		return nil
	})
}

// Begin begins a span of time with what there is now.
func (c *Census) Begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.span = c.now
}

// Since returns the extremes since Begin.
func (c *Census) Since() Numbers {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.span
}
