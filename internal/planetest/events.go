package planetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Told waits until an object has an Event of the reason whose note has the words.
func Told(t testing.TB, c client.Client, obj client.Object, reason, words string) {
	t.Helper()
	Eventually(t, func(ctx context.Context) error {
		list, err := eventsOf(ctx, c, obj)
		if err != nil {
			return err
		}
		var told []string
		for _, e := range list {
			if e.Reason == reason && strings.Contains(e.Note, words) {
				return nil
			}
			told = append(told, e.Reason+": "+e.Note)
		}
		return fmt.Errorf("%s was not told %s with %q, but %q", obj.GetName(), reason, words, told)
	})
}

func eventsOf(ctx context.Context, c client.Client, obj client.Object) ([]eventsv1.Event, error) {
	var list eventsv1.EventList
	if err := c.List(ctx, &list, client.InNamespace(obj.GetNamespace())); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list.Items, func(e eventsv1.Event) bool { return e.Regarding.UID != obj.GetUID() }), nil
}

// ToldOnce waits until an object has an Event of the reason later, and fails unless it has one of the reason told, which was not
// repeated.
func ToldOnce(t testing.TB, c client.Client, obj client.Object, told, later string) {
	t.Helper()
	Eventually(t, func(ctx context.Context) error {
		list, err := eventsOf(ctx, c, obj)
		if err != nil {
			return err
		}
		ended, times := false, int32(0)
		for _, e := range list {
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
