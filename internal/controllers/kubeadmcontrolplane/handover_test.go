package kubeadmcontrolplane_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	infrav1 "slipway.dev/slipway/api/infrastructure/v1alpha1"
	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
	"slipway.dev/slipway/internal/controllers/cluster"
	"slipway.dev/slipway/internal/controllers/kubeadmconfig"
	"slipway.dev/slipway/internal/controllers/kubeadmcontrolplane"
	"slipway.dev/slipway/internal/controllers/machine"
	"slipway.dev/slipway/internal/planetest"
	"slipway.dev/slipway/internal/planetest/workers"
	"slipway.dev/slipway/internal/providers/sim"
	"slipway.dev/slipway/internal/remote"
)

// surround runs all controllers but the one under test until the test ends.
func (w *world) surround(t testing.TB) {
	t.Helper()
	planetest.Manager(t, w.namespace, func(mgr ctrl.Manager) error {
		clusters, err := w.door(mgr)
		if err != nil {
			return err
		}
		w.clusters = clusters
		o := controller.Options{}
		c, live := mgr.GetClient(), mgr.GetAPIReader()
		return errors.Join(
			(&cluster.Reconciler{Client: c, APIReader: live, Clusters: clusters, Now: time.Now}).SetupWithManager(mgr, o),
			(&machine.Reconciler{Client: c, APIReader: live, Clusters: clusters, Now: time.Now}).SetupWithManager(mgr, o),
			(&kubeadmconfig.Reconciler{Client: c, APIReader: live, Clusters: clusters, Now: time.Now}).SetupWithManager(mgr, o),
			sim.SetupWithManager(mgr, w.dir, o),
		)
	})
}

func (w *world) door(mgr ctrl.Manager) (*remote.Clusters, error) {
	clusters, err := remote.New(remote.Options{Reader: mgr.GetClient(), RetryFirst: 20 * time.Millisecond, RetryMost: 200 * time.Millisecond})
	if err != nil {
		return nil, err
	}
	return clusters, clusters.SetupWithManager(mgr, controller.Options{})
}

// contend runs the controller whenever it leads, with watches that the Lag can hold back.
func (w *world) contend(t testing.TB, lag *planetest.Lag, writes *workers.Writes) *planetest.Contender {
	t.Helper()
	infrastructure, config := &unstructured.Unstructured{}, &unstructured.Unstructured{}
	infrastructure.SetGroupVersionKind(infrav1.GroupVersion.WithKind("SimMachine"))
	config.SetGroupVersionKind(bootstrapv1.GroupVersion.WithKind("KubeadmConfig"))
	return planetest.Contend(t, lag.Config(planetest.Config(t)), w.namespace, func(mgr ctrl.Manager) error {
		clusters, err := w.door(mgr)
		if err != nil {
			return err
		}
		r := &kubeadmcontrolplane.Reconciler{
			Client: writes.Client(mgr.GetClient()), APIReader: mgr.GetAPIReader(), Clusters: clusters, Now: time.Now, Random: rand.IntN,
		}
		return r.SetupWithManager(mgr, controller.Options{})
	}, &clusterv1.Machine{}, &bootstrapv1.KubeadmConfig{}, infrastructure, config, &controlplanev1.KubeadmControlPlane{})
}

func (w *world) count(t testing.TB) (machines, infrastructure *planetest.Census) {
	t.Helper()
	return planetest.Count(t, w, &clusterv1.MachineList{}, client.InNamespace(w.namespace)),
		planetest.Count(t, w, &infrav1.SimMachineList{}, client.InNamespace(w.namespace))
}

// whole waits until etcd has a member for each Machine.
func (w *world) whole(machines []clusterv1.Machine) {
	w.Helper()
	planetest.Eventually(w, func(ctx context.Context) error {
		members, err := w.members(ctx)
		if err != nil || len(members) != len(machines) {
			return fmt.Errorf("members are %v, %w", members, err)
		}
		return nil
	})
}

func TestHandOver_InitializesOnceAndNeverMakesTooMany(t *testing.T) {
	t.Parallel()
	for _, held := range [][]string{
		{"machines"},
		{"machines", "simmachines", "kubeadmconfigs", "kubeadmcontrolplanes"},
	} {
		t.Run(fmt.Sprintf("%d watches held", len(held)), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 3)
			w.surround(t)
			machines, infrastructure := w.count(t)
			leader := w.contend(t, &planetest.Lag{}, &workers.Writes{})
			leader.Lead()
			// Each leader loses the lease as soon as it has made a Machine; the next one has not heard of it.
			for made := 1; made <= 3; made++ {
				lag := &planetest.Lag{}
				next := w.contend(t, lag, &workers.Writes{})
				lag.Hold(held...)
				machines.Await(t, func(n planetest.Numbers) bool { return n.All == made })
				leader.Stop()
				next.Lead()
				planetest.WaitOut(t)
				if n := machines.Since(); n.All != made {
					t.Errorf("while the watch was held: %s Machines instead of %d", n, made)
				}
				lag.Release()
				leader = next
			}
			w.whole(w.settled(3))
			w.tidy(3)
			if m, i := machines.Since(), infrastructure.Since(); m.All != 3 || i.All != 3 {
				t.Errorf("Machines: %s; SimMachines: %s", m, i)
			}
		})
	}
}

func TestHandOver_DeletesOneAtATimeAndNeverTooMany(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3)
	w.surround(t)
	leader := w.contend(t, &planetest.Lag{}, &workers.Writes{})
	leader.Lead()
	all := w.settled(3)
	lag := &planetest.Lag{}
	next := w.contend(t, lag, &workers.Writes{})
	lag.Hold("machines")
	machines, _ := w.count(t)
	machines.Await(t, func(n planetest.Numbers) bool { return n.All == 3 })
	machines.Begin()
	last := slices.MaxFunc(all, func(a, b clusterv1.Machine) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	before := last.DeepCopy()
	last.Annotations = map[string]string{clusterv1.DeleteMachineAnnotation: "yes"} // The next leader would choose another.
	w.must(w.Patch(t.Context(), &last, client.MergeFrom(before)))
	w.change(func(kcp *controlplanev1.KubeadmControlPlane) { kcp.Spec.Replicas = new(int32(1)) })
	machines.Await(t, func(n planetest.Numbers) bool { return n.Staying == 2 })
	leader.Stop()
	next.Lead()
	planetest.WaitOut(t)
	if n := machines.Since(); n.Fewest != 2 {
		t.Errorf("while the watch was held: %s", n)
	}
	lag.Release()
	w.whole(w.settled(1))
	if n := machines.Since(); n.Fewest != 1 || n.All != 3 {
		t.Errorf("there were %s", n)
	}
}

func TestHandOver_ReplacesNoMachineForWhatItDoesNotSee(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, func(w *world) { w.kcp.Spec.Rollout = surge(1) })
	w.surround(t)
	leader := w.contend(t, &planetest.Lag{}, &workers.Writes{})
	leader.Lead()
	w.settled(1)
	lag := &planetest.Lag{}
	next := w.contend(t, lag, &workers.Writes{})
	lag.Hold("machines", "simmachines", "kubeadmconfigs")
	machines, infrastructure := w.count(t)
	w.change(func(kcp *controlplanev1.KubeadmControlPlane) { kcp.Spec.Version = newVersion })
	machines.Await(t, func(n planetest.Numbers) bool { return n.All == 2 })
	leader.Stop()
	next.Lead()
	planetest.WaitOut(t)
	if n := machines.Since(); n.All != 2 || n.Fewest > 1 {
		t.Errorf("while the watch was held: %s", n)
	}
	lag.Release()
	w.whole(w.settled(1))
	if m, i := machines.Since(), infrastructure.Since(); m.All != 2 || i.All != 2 {
		t.Errorf("Machines: %s; SimMachines: %s", m, i)
	}
}

func TestMachines_WhoseAnswerIsLostAreNotMadeTwice(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"KubeadmConfig", "SimMachine", "Machine"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 1)
			w.surround(t)
			machines, infrastructure := w.count(t)
			lag, writes := &planetest.Lag{}, &workers.Writes{}
			lost := 0
			writes.Lose(func(obj client.Object) bool {
				if obj.GetObjectKind().GroupVersionKind().Kind != kind || lost > 0 {
					return false
				}
				lost++
				return true
			})
			w.contend(t, lag, writes).Lead()
			lag.Hold("machines", "simmachines", "kubeadmconfigs")
			infrastructure.Await(t, func(n planetest.Numbers) bool { return n.All > 0 })
			planetest.WaitOut(t)
			lag.Release()
			w.settled(1)
			w.tidy(1)
			if m, i := machines.Since(), infrastructure.Since(); m.All != 1 || i.All != 1 {
				t.Errorf("Machines: %s; SimMachines: %s", m, i)
			}
		})
	}
}
