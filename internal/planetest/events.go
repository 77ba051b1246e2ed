package planetest

import (
	"context"
	"fmt"
	"testing"

	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ToldOnce waits until an object has an Event of the reason later, and fails unless it has one of the reason told, which was not
// repeated.
func ToldOnce(t testing.TB, c client.Client, obj client.Object, told, later string) {
	t.Helper()
	Eventually(t, func(ctx context.Context) error {
		var list eventsv1.EventList
		if err := c.List(ctx, &list, client.InNamespace(obj.GetNamespace())); err != nil {
			return err
		}
		ended, times := false, int32(0)
		for _, e := range list.Items {
			if e.Regarding.UID != obj.GetUID() {
				continue
			}
			ended = ended || e.Reason == later
			if e.Reason == told {
				times++
				if e.Series != nil {
					times += e.Series.Count
				}
			}
		}
		if !ended {
			return fmt.Errorf("no Event %s of %s yet", later, obj.GetName())
		}
		if times != 1 {
			t.Errorf("%s of %s was told %d times", told, obj.GetName(), times)
		}
		return nil
	})
}
