package manager

import (
	"testing"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
)

// What is mended after hours has to be noticed in half a minute, not in a quarter of an hour.
func TestBackOff_IsNeverLongerThanAPersonWaits(t *testing.T) {
	t.Parallel()
	limiter, last := backOff(), time.Duration(0)
	for range 100 {
		next := limiter.When(ctrl.Request{})
		if next < last || next > 30*time.Second {
			t.Fatalf("%s after %s", next, last)
		}
		last = next
	}
	if last != 30*time.Second {
		t.Errorf("the longest is %s", last)
	}
}
