package workers

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ErrKilled is what a client returns once it is dead.
var ErrKilled = errors.New("killed")

// ErrLost is what a client returns for a write whose answer was lost.
var ErrLost = errors.New("the answer was lost")

// Writes watches over the writes of one client. Its zero value counts them and lets them pass.
type Writes struct {
	mu     sync.Mutex // guards what follows
	log    []string
	dead   bool
	lives  int // how many writes pass before it dies; none when not mortal
	mortal bool
	refuse func(client.Object) error
	lose   func(client.Object) bool
}

// DieAfter lets that many writes pass. All later ones fail, as if the process had been killed.
func (w *Writes) DieAfter(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mortal, w.lives = true, n
}

// Refuse has the API server answer writes with errors; nil errors let them pass.
func (w *Writes) Refuse(answer func(client.Object) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refuse = answer
}

// Lose has the answers to writes of some objects be lost: the write is done, and the client hears of an error.
func (w *Writes) Lose(which func(client.Object) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lose = which
}

func (w *Writes) answer(obj client.Object, err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil && w.lose != nil && w.lose(obj) {
		return ErrLost
	}
	return err
}

// Dead reports whether a write was refused because of DieAfter.
func (w *Writes) Dead() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dead
}

// Log returns the writes so far, as verb, kind and name.
func (w *Writes) Log() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.log...)
}

// Cease fails the test unless the writes come to an end: within half a minute, in which status writes that are not urgent and the
// clock's may still come on a busy machine, there must be none for longer than such a write is held back.
func (w *Writes) Cease(t testing.TB) {
	t.Helper()
	for range 20 {
		before := len(w.Log())
		select {
		case <-t.Context().Done():
			return
		case <-time.After(1500 * time.Millisecond):
		}
		if len(w.Log()) == before {
			return
		}
	}
	t.Errorf("it goes on writing: %q", w.Log())
}

func (w *Writes) pass(verb string, obj client.Object) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mortal && w.lives == 0 {
		w.dead = true
		return ErrKilled
	}
	w.lives--
	w.log = append(w.log, verb+" "+obj.GetObjectKind().GroupVersionKind().Kind+" "+obj.GetName())
	if w.refuse != nil {
		return w.refuse(obj)
	}
	return nil
}

// Client returns c with its writes watched over.
func (w *Writes) Client(c client.Client) client.Client { return watched{c, w} }

type watched struct {
	client.Client
	writes *Writes
}

func (c watched) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	if err := c.writes.pass("create", obj); err != nil {
		return err
	}
	return c.writes.answer(obj, c.Client.Create(ctx, obj, opts...))
}

func (c watched) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	if err := c.writes.pass("patch", obj); err != nil {
		return err
	}
	return c.writes.answer(obj, c.Client.Patch(ctx, obj, patch, opts...))
}

func (c watched) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	if err := c.writes.pass("delete", obj); err != nil {
		return err
	}
	return c.writes.answer(obj, c.Client.Delete(ctx, obj, opts...))
}

func (c watched) SubResource(name string) client.SubResourceClient {
	return watchedPart{c.Client.SubResource(name), c.writes, name}
}

type watchedPart struct {
	client.SubResourceClient
	writes *Writes
	name   string
}

func (c watchedPart) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	if err := c.writes.pass("patch "+c.name+" of", obj); err != nil {
		return err
	}
	return c.SubResourceClient.Patch(ctx, obj, patch, opts...)
}
