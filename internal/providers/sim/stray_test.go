package sim_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "slipway.dev/slipway/api/infrastructure/v1alpha1"
	"slipway.dev/slipway/internal/kubeadm/config"
	"slipway.dev/slipway/internal/planetest"
	"slipway.dev/slipway/internal/providers/sim/world"
	"slipway.dev/slipway/internal/remote"
)

// questions are the reads that go to the API server itself. Its zero value counts them and lets them pass.
type questions struct {
	mu     sync.Mutex // guards what follows
	asked  map[string]int
	answer error
}

func (q *questions) ask(name string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.asked == nil {
		q.asked = map[string]int{}
	}
	q.asked[name]++
	return q.answer
}

// fail has questions be answered with an error; nil lets them pass.
func (q *questions) fail(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.answer = err
}

func (q *questions) about(name string) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.asked[name]
}

type asking struct {
	client.Reader
	*questions
}

// Get counts the question and passes it on.
func (a asking) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if err := a.ask(key.Name); err != nil {
		return err
	}
	return a.Reader.Get(ctx, key, obj, opts...)
}

// blinkers hide objects from who reads through a cache. Their zero value hides nothing.
type blinkers struct {
	mu     sync.Mutex // guards hidden
	hidden map[sight]bool
}

// sight is an object as a reader asks for it.
type sight struct {
	kind reflect.Type
	key  client.ObjectKey
}

// hide hides just these objects.
func (b *blinkers) hide(objects ...client.Object) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hidden = map[sight]bool{}
	for _, obj := range objects {
		b.hidden[sight{reflect.TypeOf(obj), client.ObjectKeyFromObject(obj)}] = true
	}
}

func (b *blinkers) hides(key client.ObjectKey, obj client.Object) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.hidden[sight{reflect.TypeOf(obj), key}]
}

type blinkered struct {
	client.Client
	*blinkers
}

// Get reads what is not hidden.
func (b blinkered) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if b.hides(key, obj) {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	return b.Client.Get(ctx, key, obj, opts...)
}

// abandon removes an object's finalizers and deletes it, before anybody else does something to it.
func (r *rig) abandon(obj client.Object) {
	r.Helper()
	planetest.Eventually(r, func(ctx context.Context) error {
		if err := r.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
			return err
		}
		obj.SetFinalizers(nil)
		if err := r.Update(ctx, obj); err != nil {
			return err
		}
		version, uid := obj.GetResourceVersion(), obj.GetUID()
		return r.Delete(ctx, obj, client.Preconditions{UID: &uid, ResourceVersion: &version})
	})
}

// meanwhile does something while the controllers are at work, or while they are stopped.
func meanwhile() map[string]func(r *rig, do func()) {
	return map[string]func(r *rig, do func()){
		"while it is watched": func(_ *rig, do func()) { do() },
		"while nobody watches": func(r *rig, do func()) {
			r.Helper()
			r.stop()
			do()
			r.start()
		},
	}
}

// files are the directories of simulated clusters.
func (r *rig) files() []string {
	r.Helper()
	all, err := filepath.Glob(filepath.Join(r.dir, "*", "*"))
	r.must(err)
	return all
}

// record is what a machine is in the simulated world, if it is there.
func (r *rig) record(machine string) (world.Record, bool) {
	r.Helper()
	c, err := r.world.Cluster(r.placed())
	r.must(err)
	return c.Machine(machine)
}

func TestMachine_WhoseSimMachineWasTakenByHandStops(t *testing.T) {
	t.Parallel()
	for name, when := range meanwhile() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := started(t)
			r.controlPlane("cp0")
			r.bootstrapped("cp0")
			for _, name := range []string{"cp1", "cp2"} {
				r.machine(name, r.joinData(config.ControlPlane))
			}
			r.worker("w0")
			r.worker("w1")
			r.bootstrapped("cp1", "cp2", "w0", "w1")
			r.connect()
			r.writes.Cease(t)
			when(r, func() {
				for _, name := range []string{"cp2", "w1"} {
					r.abandon(&infrav1.SimMachine{ObjectMeta: r.meta(name)})
				}
			})
			for name, want := range map[string]corev1.ConditionStatus{
				"cp2": corev1.ConditionUnknown, "w1": corev1.ConditionUnknown, "cp0": corev1.ConditionTrue, "cp1": corev1.ConditionTrue, "w0": corev1.ConditionTrue,
			} {
				r.untilNode(name, want)
			}
			planetest.Eventually(t, func(ctx context.Context) error {
				members, err := r.members(ctx)
				if err != nil {
					return err
				}
				for _, m := range members {
					if (m.Health == remote.MemberHealthy) != (m.Name != "cp2") {
						err = errors.Join(err, fmt.Errorf("etcd member %s is %v", m.Name, m.Health))
					}
				}
				return err
			})
			for name, want := range map[string]bool{"cp2": false, "w1": false, "cp0": true, "w0": true} {
				if _, there := r.record(name); there != want {
					t.Errorf("machine %s is there: %t", name, there)
				}
			}
		})
	}
}

func TestMachine_OfAnotherSimMachineOfTheSameNameIsAnother(t *testing.T) {
	t.Parallel()
	for name, when := range meanwhile() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := started(t)
			r.controlPlane("cp")
			r.bootstrapped("cp")
			r.worker("w")
			r.bootstrapped("w")
			r.writes.Cease(t)
			old, _ := r.record("w")
			r.pass(time.Minute)
			sim := &infrav1.SimMachine{ObjectMeta: r.meta("w")}
			when(r, func() {
				r.abandon(sim)
				sim = &infrav1.SimMachine{ObjectMeta: metav1.ObjectMeta{
					Namespace: sim.Namespace, Name: sim.Name, Labels: sim.Labels, OwnerReferences: sim.OwnerReferences,
				}, Spec: infrav1.SimMachineSpec{BootDelay: &metav1.Duration{}}}
				r.must(r.Create(t.Context(), sim))
			})
			r.bootstrapped("w")
			r.untilNode("w", corev1.ConditionTrue)
			if now, ok := r.record("w"); !ok || now.UID != sim.UID || now.UID == old.UID || !now.Booted.After(old.Booted) {
				t.Errorf("the machine is %+v, which was %+v; the SimMachine is %s", now, old, sim.UID)
			}
		})
	}
}

// A cache that has not heard of an object yet, as after a restart with a view of long ago, must cost no machine and no cluster.
func TestNothing_IsTakenAwayBecauseACacheLagsOrNobodyAnswers(t *testing.T) {
	t.Parallel()
	r := started(t)
	r.controlPlane("cp")
	r.bootstrapped("cp")
	r.worker("w")
	r.bootstrapped("w")
	r.writes.Cease(t)
	before, _ := r.record("w")
	sim := r.until("w", isTrue(infrav1.BootstrappedCondition))
	// asked has an object looked at until the look before the last is over, for there is one at a time.
	asked := func(about string, obj client.Object) {
		t.Helper()
		for range 2 {
			until := r.questions.about(about) + 1
			r.nudge(obj)
			planetest.Eventually(t, func(context.Context) error {
				if r.questions.about(about) < until {
					return errors.New("nobody asks about " + about)
				}
				return nil
			})
		}
	}
	for _, answer := range []error{nil, errors.New("the API server does not answer")} {
		r.questions.fail(answer)
		r.cache.hide(sim)
		asked("w", sim)   // by the controller of SimMachines
		asked("w", r.sim) // by that of SimClusters
		r.cache.hide(r.sim)
		asked(clusterName, r.sim)
		r.cache.hide()
	}
	r.questions.fail(nil)
	r.nudge(sim)
	r.untilNode("w", corev1.ConditionTrue)
	if now, ok := r.record("w"); !ok || now.UID != sim.UID || !now.Booted.Equal(before.Booted) {
		t.Errorf("the machine is %+v, which was %+v", now, before)
	}
}

// A SimCluster that was taken by hand takes its machines with it, as a cloud account that is closed does.
func TestCluster_WhoseSimClusterWasTakenByHandEnds(t *testing.T) {
	t.Parallel()
	for name, when := range meanwhile() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := started(t)
			r.controlPlane("cp")
			r.bootstrapped("cp")
			r.writes.Cease(t)
			when(r, func() { r.abandon(r.sim) })
			r.untilNoFiles()
			planetest.Eventually(t, func(context.Context) error {
				ln, err := net.Listen("tcp", r.address())
				if err == nil {
					err = ln.Close()
				}
				return err
			})
			sim := &infrav1.SimMachine{ObjectMeta: r.meta("cp")}
			r.must(r.Delete(t.Context(), sim))
			planetest.Eventually(t, func(ctx context.Context) error {
				err := r.Get(ctx, r.key("cp"), sim)
				if err == nil {
					return errors.New("the SimMachine is there")
				}
				return client.IgnoreNotFound(err)
			})
		})
	}
}

func TestCluster_OfAnotherSimClusterOfTheSameNameIsAnother(t *testing.T) {
	t.Parallel()
	for name, when := range meanwhile() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := started(t, at(t))
			r.controlPlane("cp")
			r.bootstrapped("cp")
			r.writes.Cease(t)
			old := r.sim.UID
			when(r, func() {
				r.abandon(r.sim)
				r.sim = &infrav1.SimCluster{ObjectMeta: metav1.ObjectMeta{
					Namespace: r.sim.Namespace, Name: r.sim.Name, Labels: r.sim.Labels, OwnerReferences: r.sim.OwnerReferences,
				}, Spec: r.sim.Spec}
				r.must(r.Create(t.Context(), r.sim))
			})
			r.untilNode("cp", corev1.ConditionTrue) // It is rebuilt, at the same endpoint.
			planetest.Eventually(t, func(context.Context) error {
				files := r.files()
				if len(files) != 1 || !strings.HasSuffix(files[0], string(r.sim.UID)) || r.sim.UID == old {
					return fmt.Errorf("files are %q, the SimCluster is %s and was %s", files, r.sim.UID, old)
				}
				return nil
			})
		})
	}
}
