package flows_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/planetest"
	"slipway.dev/slipway/internal/statedir"
	"slipway.dev/slipway/test/fleet"
)

// longestLife is the longest that a plane lives before it is killed; within it a small cluster comes up.
const longestLife = 6 * time.Second

// living is how many clusters there are at once, at most.
const living = 3

func TestKill_AnyMomentEndsTheSame(t *testing.T) {
	t.Parallel()
	kills := number(t, "SLIPWAY_CRASH_KILLS", 10)
	k := &killing{dir: t.TempDir(), dice: dice(t, 0), clusters: map[string]fleet.Spec{}, followed: map[string]int{}}
	k.start(t)
	for i := range kills {
		k.round(t, i)
	}
	for _, s := range k.clusters {
		eventually(t, s.Name+" is as it shall be", func(ctx context.Context) error { return whole(ctx, k.client, s) })
	}
	for _, name := range k.deleted {
		eventually(t, name+" is gone", func(ctx context.Context) error { return gone(ctx, k.client, k.dir, name) })
	}
	for _, writer := range slices.Sorted(maps.Keys(k.followed)) {
		t.Logf("%2d kills followed a write of %s", k.followed[writer], writer)
	}
}

// killing is a plane that is killed again and again, and what shall be true of it in the end.
type killing struct {
	dir      string
	dice     *rand.Rand
	plane    *planetest.Plane
	client   client.WithWatch
	writes   *lastWrite
	clusters map[string]fleet.Spec
	deleted  []string
	made     int
	// followed counts kills by who wrote last before them.
	followed map[string]int
}

func (k *killing) start(t *testing.T) {
	t.Helper()
	k.plane = start(t, k.dir)
	k.client = clientOf(t, k.plane)
	k.writes = follow(t, k.client)
}

// round does one thing that a user does, lets the plane live for a moment, kills it and starts it again.
func (k *killing) round(t *testing.T, i int) {
	t.Helper()
	what := k.act(t)
	pause(t.Context(), time.Duration(k.dice.Int64N(int64(longestLife))))
	k.plane.Kill()
	last, writer := k.writes.end()
	k.followed[writer]++
	t.Logf("kill %d, after %s: last write: %s; last log line: %s", i+1, what, last, lastLine(k.dir))
	k.start(t)
}

// act does what the dice say to a cluster that they choose, and remembers what follows for the end.
func (k *killing) act(t *testing.T) string {
	t.Helper()
	names := slices.Sorted(maps.Keys(k.clusters))
	if len(names) == 0 || len(names) < living && k.dice.IntN(3) == 0 {
		return k.create(t)
	}
	s := k.clusters[names[k.dice.IntN(len(names))]]
	what := ""
	switch k.dice.IntN(6) {
	case 0, 1:
		s.Workers, what = 1+s.Workers%3, "scaling the workers of "
	case 2:
		s.ControlPlane, what = 4-s.ControlPlane, "scaling the control plane of "
	case 3, 4:
		if s.Version == upgraded {
			return k.delete(t, s)
		}
		s.Version, what = upgraded, "upgrading "
	default:
		return k.delete(t, s)
	}
	k.try(t, func(ctx context.Context) error { return change(ctx, k.client, s) })
	k.clusters[s.Name] = s
	return what + s.Name
}

func (k *killing) create(t *testing.T) string {
	t.Helper()
	k.made++
	name := fmt.Sprintf("c%d", k.made)
	s := fleet.Spec{Namespace: name, Name: name, Version: version, ControlPlane: 1, Workers: 1, ECDSA: true}
	namespace(t, k.client, name)
	k.try(t, func(ctx context.Context) error { return s.Create(ctx, k.client) })
	k.clusters[name] = s
	return "creating " + name
}

func (k *killing) delete(t *testing.T, s fleet.Spec) string {
	t.Helper()
	k.try(t, func(ctx context.Context) error { return remove(ctx, k.client, s) })
	delete(k.clusters, s.Name)
	k.deleted = append(k.deleted, s.Name)
	return "deleting " + s.Name
}

// try repeats what a plane that has just started may not yet take: its webhooks come a moment after its API.
func (k *killing) try(t *testing.T, do func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := fleet.Wait(ctx, glance, do); err != nil {
		t.Fatal(err)
	}
}

func lastLine(dir string) string {
	log, err := os.ReadFile(statedir.LogFile(dir))
	if err != nil {
		return err.Error()
	}
	text := strings.TrimSpace(string(log))
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// lastWrite watches every kind of object and knows the last change.
type lastWrite struct {
	watches []watch.Interface
	running sync.WaitGroup

	mu           sync.Mutex // guards what follows
	what, writer string
}

func follow(t *testing.T, c client.WithWatch) *lastWrite {
	t.Helper()
	l := &lastWrite{what: "none", writer: "nobody"}
	for _, kind := range kinds() {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := c.List(t.Context(), list); err != nil {
			t.Fatalf("list every %s: %v", kind.Kind, err)
		}
		w, err := c.Watch(t.Context(), list, &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.GetResourceVersion()}})
		if err != nil {
			t.Fatalf("watch every %s: %v", kind.Kind, err)
		}
		l.watches = append(l.watches, w)
		l.running.Go(func() {
			for event := range w.ResultChan() {
				l.note(event)
			}
		})
	}
	return l
}

func (l *lastWrite) note(event watch.Event) {
	obj, ok := event.Object.(*unstructured.Unstructured)
	if !ok {
		return
	}
	writer := "the garbage collector or a deletion"
	if event.Type != watch.Deleted {
		writer = lastManager(obj)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.what, l.writer = fmt.Sprintf("%s %s %s by %s", event.Type, obj.GetKind(), obj.GetName(), writer), writer
}

// end stops the watches, which a killed plane has ended, and returns the last change and who made it.
func (l *lastWrite) end() (what, writer string) {
	for _, w := range l.watches {
		w.Stop()
	}
	l.running.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.what, l.writer
}

// lastManager is who wrote an object last, as far as its field ownership tells; its times are whole seconds.
func lastManager(obj *unstructured.Unstructured) string {
	var last time.Time
	writer := "nobody known"
	for _, m := range obj.GetManagedFields() {
		if m.Time != nil && !m.Time.Time.Before(last) {
			last, writer = m.Time.Time, strings.TrimSpace(m.Manager+" "+m.Subresource)
		}
	}
	return writer
}
