package outcome

import (
	"context"
	"errors"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// shortestBeside is the shortest timer beside an error, so that one that is set again and again makes no hot loop of it.
const shortestBeside = time.Second

// Failure is the error of a reconcile that has something to do at a time as well.
type Failure struct {
	// Err is what failed.
	Err error
	// After is when to look again whatever the back-off of the error is.
	After time.Duration
}

// Error is the text of what failed.
func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap returns what failed.
func (f *Failure) Unwrap() error { return f.Err }

// Punctual is a Reconciler that keeps its timers when something fails. controller-runtime knows either an error, which is
// tried again with back-off, or a timer: what has nothing to do with the error would be late by the whole back-off.
type Punctual struct {
	// Reconciler does the work. Its errors are those of Result.
	Reconciler reconcile.Reconciler

	// queue is set when the controller starts its sources, before its workers.
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
}

// Source has to be among the sources of the controller.
func (p *Punctual) Source() source.Source {
	return source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		p.queue = queue
		return nil
	})
}

// Reconcile sets the timer beside the error. The queue holds a request once, at the earlier of both times.
func (p *Punctual) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	result, err := p.Reconciler.Reconcile(ctx, req)
	if f, ok := errors.AsType[*Failure](err); ok && p.queue != nil {
		p.queue.AddAfter(req, max(f.After, shortestBeside))
	}
	return result, err
}
