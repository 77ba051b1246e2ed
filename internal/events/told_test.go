package events_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"slipway.dev/slipway/internal/events"
)

func TestTold_TellsOfChangesOnly(t *testing.T) {
	t.Parallel()
	var told events.Told
	for i, step := range []struct {
		uid          string
		reason, note string
		mended, gone bool
		isNew        bool
	}{
		{uid: "a", reason: "FailedCreate", note: "full", isNew: true},
		{uid: "a", reason: "FailedCreate", note: "full"},
		{uid: "a", reason: "FailedCreate", note: "forbidden", isNew: true},
		{uid: "a", reason: "FailedCreate", note: "full", isNew: true},
		{uid: "a", reason: "FailedScaleDown", note: "full", isNew: true},
		{uid: "b", reason: "FailedCreate", note: "full", isNew: true},
		{uid: "a", reason: "FailedCreate", mended: true},
		{uid: "a", reason: "FailedScaleDown", note: "full"},
		{uid: "a", reason: "FailedCreate", note: "full", isNew: true},
		{uid: "a", gone: true},
		{uid: "a", reason: "FailedCreate", note: "full", isNew: true},
		{uid: "b", reason: "FailedCreate", note: "full"},
		{uid: "c", reason: "FailedCreate", mended: true},
	} {
		uid := types.UID(step.uid)
		switch {
		case step.gone:
			told.Forget(uid)
		case step.mended:
			told.Mended(uid, step.reason)
		default:
			if isNew := told.IsNew(uid, step.reason, step.note); isNew != step.isNew {
				t.Errorf("step %d: new is %t", i, isNew)
			}
		}
	}
}
