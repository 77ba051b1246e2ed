package outcome_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"slipway.dev/slipway/internal/outcome"
)

// clock is a queue that notes the timers that are set.
type clock struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	set []time.Duration
}

func (c *clock) AddAfter(_ reconcile.Request, after time.Duration) { c.set = append(c.set, after) }

func TestPunctual_KeepsTheTimerBesideAnError(t *testing.T) {
	t.Parallel()
	broken, soon, minute := errors.New("broken"), outcome.Quietly(time.Millisecond, "R", "m"), outcome.Waiting(time.Minute, "R", "m")
	for _, row := range []struct {
		name string
		in   []error
		want time.Duration
	}{
		{"an error alone is left to the back-off", []error{broken}, 0},
		{"a timer alone is controller-runtime's", []error{minute}, 0},
		{"a timer beside an error", []error{broken, minute}, time.Minute},
		{"no hot loop", []error{errors.Join(broken, soon)}, time.Second},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			queue := &clock{}
			p := &outcome.Punctual{Reconciler: reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
				return outcome.Result(row.in...)
			})}
			if err := p.Source().Start(t.Context(), queue); err != nil {
				t.Fatal(err)
			}
			_, err := p.Reconcile(t.Context(), reconcile.Request{})
			if errors.Is(err, broken) != errors.Is(errors.Join(row.in...), broken) {
				t.Errorf("the error is %v", err)
			}
			if row.want == 0 && len(queue.set) > 0 || row.want > 0 && (len(queue.set) != 1 || queue.set[0] != row.want) {
				t.Errorf("timers %v, want %v", queue.set, row.want)
			}
		})
	}
}
