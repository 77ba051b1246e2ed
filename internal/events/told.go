package events

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Told remembers which failures of an object have been told, so that who tries again tells only of a change. Its zero value has told
// of none, and it is safe for concurrent use. Forgetting costs an Event.
type Told struct {
	mu   sync.Mutex // guards last
	last map[types.UID]map[string]string
}

// IsNew notes a failure and reports whether it is another than the object's last one of that reason.
func (t *Told) IsNew(uid types.UID, reason, note string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if last, ok := t.last[uid][reason]; ok && last == note {
		return false
	}
	if t.last == nil {
		t.last = map[types.UID]map[string]string{}
	}
	if t.last[uid] == nil {
		t.last[uid] = map[string]string{}
	}
	t.last[uid][reason] = note
	return true
}

// Mended notes that what failed for a reason has succeeded: the same failure is news again.
func (t *Told) Mended(uid types.UID, reason string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if delete(t.last[uid], reason); len(t.last[uid]) == 0 {
		delete(t.last, uid)
	}
}

// Forget drops what is remembered of an object that is gone.
func (t *Told) Forget(uid types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.last, uid)
}
