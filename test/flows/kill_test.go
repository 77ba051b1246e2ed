package flows_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/planetest"
	"slipway.dev/slipway/test/crashplan"
	"slipway.dev/slipway/test/endstate"
	"slipway.dev/slipway/test/fleet"
)

const (
	// killsAStep is how many kills fall on a step of the script, about.
	killsAStep = 2
	// hastyWrites are the writes that a step has had before the next one follows in haste.
	hastyWrites = 5
	// manyKills are enough for each controller and operation to be hit twice.
	manyKills  = 40
	hitsWanted = 2
	// silence is how long nothing is written before a fleet counts as settled.
	silence = 3 * time.Second
)

// A plane that is killed right after chosen writes, while clusters are created, scaled, upgraded and deleted, ends in the
// state that an undisturbed one ends in: the same objects with the same owners, specs, conditions and counts, the same Nodes and
// etcd members.
func TestKill_AfterAnyWriteEndsTheSame(t *testing.T) {
	t.Parallel()
	kills := number(t, "SLIPWAY_CRASH_KILLS", 4)
	steps := crashplan.Script(dice(t, 0), max(5, kills/killsAStep))
	undisturbed := newCourse(t, steps)
	for i := range steps {
		undisturbed.step(t, i, nil)
	}
	want := undisturbed.settled(t)
	made := undisturbed.writes.made
	undisturbed.plane.Kill()

	r := newCourse(t, steps)
	// A write that was made before a kill may not be made again after it, nor one of a step that the next followed in haste: with
	// fifty, three in ten were not. Three quarters more are chosen than wanted.
	for i, points := range crashplan.Points(dice(t, 1), kills+kills*3/4, made) {
		r.step(t, i, points)
	}
	r.same(t, want)
	t.Logf("%d kills", r.kills)
	byText := func(a, b crashplan.Site) int { return strings.Compare(a.String(), b.String()) }
	for _, site := range slices.SortedFunc(maps.Keys(r.hits), byText) {
		t.Logf("%2d after %s", r.hits[site], site)
	}
	if kills < manyKills {
		return
	}
	if lacking := r.hits.Lacking(hitsWanted); r.kills < kills || len(lacking) > 0 {
		t.Errorf("%d kills of %d; fewer than %d after writes of: %v", r.kills, kills, hitsWanted, lacking)
	}
}

// course is one run of a script on a plane of its own.
type course struct {
	dir    string
	steps  []crashplan.Step
	writes *writes
	plane  *planetest.Plane
	client client.Client
	kills  int
	hits   crashplan.Coverage
}

func newCourse(t *testing.T, steps []crashplan.Step) *course {
	t.Helper()
	r := &course{dir: t.TempDir(), steps: steps, writes: listen(t, steps), hits: crashplan.Coverage{}}
	r.start(t)
	return r
}

func (r *course) start(t *testing.T) {
	t.Helper()
	r.plane = start(t, r.dir, "--trace-writes", r.writes.socket)
	r.client = clientOf(t, r.plane)
}

// step does a step and kills the plane at the points that come while it lasts.
func (r *course) step(t *testing.T, i int, points []crashplan.Point) {
	t.Helper()
	s := r.steps[i]
	begun := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r.writes.begin(s.Spec.Namespace, i)
	r.writes.await(points)
	done := false
	var last error
	for !done || len(points) > 0 || !s.Hasty {
		select {
		case <-ctx.Done():
			t.Fatalf("%s: not at its end after %s: %v", s, patience, last)
		case made := <-r.writes.hit:
			points = r.kill(t, made, points)
			r.writes.await(points)
			continue
		case <-time.After(glance / 4):
		}
		if !done {
			last = r.do(ctx, s)
			done = last == nil
			continue
		}
		if last = r.ended(ctx, s); last == nil {
			break
		}
		if s.Hasty && len(points) == 0 && r.writes.count(i) >= hastyWrites {
			break
		}
	}
	r.writes.await(nil)
	r.missed(t, points)
	t.Logf("%s: %.1f s", s, time.Since(begun).Seconds())
}

// missed tells the points that did not come, and kills at one that came in the last moment.
func (r *course) missed(t *testing.T, points []crashplan.Point) {
	t.Helper()
	select {
	case made := <-r.writes.hit:
		points = r.kill(t, made, points)
	default:
	}
	for _, p := range points {
		t.Logf("not written again: %s (%d before)", p.Site, p.Skip)
	}
}

// kill kills the plane after a write, starts it again and returns the points that are left.
func (r *course) kill(t *testing.T, made hit, points []crashplan.Point) []crashplan.Point {
	t.Helper()
	r.plane.Kill()
	r.kills++
	r.hits[made.point.Site]++
	t.Logf("kill %d during %s, after %s %s/%s", r.kills, r.steps[made.point.Step], made.point.Site, made.Namespace, made.Name)
	r.start(t)
	// A point's site tells which it is: its Skip is counted down.
	i := slices.IndexFunc(points, func(p crashplan.Point) bool { return p.Site == made.point.Site })
	return slices.Delete(points, i, i+1)
}

// do does what the user does in a step. It can be repeated.
func (r *course) do(ctx context.Context, s crashplan.Step) error {
	switch s.Operation {
	case crashplan.Create:
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.Spec.Namespace}}
		if err := r.client.Create(ctx, ns); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
		return s.Spec.Create(ctx, r.client)
	case crashplan.Scale, crashplan.Upgrade:
		return change(ctx, r.client, s.Spec)
	case crashplan.Delete:
		return remove(ctx, r.client, s.Spec)
	}
	return errors.New("no such operation: " + string(s.Operation))
}

// ended returns nil when nothing is left to do for a step.
func (r *course) ended(ctx context.Context, s crashplan.Step) error {
	if s.Operation == crashplan.Delete {
		return gone(ctx, r.client, r.dir, s.Spec.Namespace)
	}
	return whole(ctx, r.client, s.Spec)
}

// finish waits until each cluster is as it shall be in the end.
func (r *course) finish(t *testing.T) {
	t.Helper()
	alive, deleted := crashplan.Survivors(r.steps)
	for name, spec := range alive {
		eventually(t, name+" is as it shall be", func(ctx context.Context) error { return whole(ctx, r.client, spec) })
	}
	for _, name := range deleted {
		eventually(t, name+" is gone", func(ctx context.Context) error { return gone(ctx, r.client, r.dir, name) })
	}
}

// settled waits until nothing changes any more and tells the end state of each cluster.
func (r *course) settled(t *testing.T) map[string][]string {
	t.Helper()
	r.finish(t)
	eventually(t, "nothing is written any more", func(context.Context) error {
		if quiet := r.writes.quietFor(); quiet < silence {
			return fmt.Errorf("the last write was %s ago", quiet)
		}
		return nil
	})
	states := map[string][]string{}
	alive, _ := crashplan.Survivors(r.steps)
	for name, spec := range alive {
		eventually(t, name+" tells its end state", func(ctx context.Context) (err error) {
			states[name], err = r.state(ctx, spec)
			return err
		})
	}
	return states
}

// state is what has become of a cluster: its objects and the members of its etcd. Its Nodes are as its spec says, see whole. What
// the garbage collector has yet to take away, because its owner is gone, is an error.
func (r *course) state(ctx context.Context, s fleet.Spec) ([]string, error) {
	objs, err := objects(ctx, r.client, s.Namespace)
	if err != nil {
		return nil, err
	}
	etcd, err := members(ctx, r.client, s)
	lines := endstate.Normalise(objs)
	if i := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, endstate.OwnerGone) }); i >= 0 {
		return nil, fmt.Errorf("its owner is gone: %s", lines[i])
	}
	return append(lines, etcd...), err
}

// same waits until each cluster is as the undisturbed run left it.
func (r *course) same(t *testing.T, want map[string][]string) {
	t.Helper()
	r.finish(t)
	alive, _ := crashplan.Survivors(r.steps)
	for name, spec := range alive {
		eventually(t, name+" is as without kills", func(ctx context.Context) error {
			have, err := r.state(ctx, spec)
			if err != nil {
				return err
			}
			if diff := cmp.Diff(want[name], have); diff != "" {
				return fmt.Errorf("differs (-undisturbed +killed):\n%s", diff)
			}
			return nil
		})
	}
}
