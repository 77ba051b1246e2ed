package machinedeployment_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
	"slipway.dev/slipway/internal/conditions"
	"slipway.dev/slipway/internal/contract"
	"slipway.dev/slipway/internal/controllers/machinedeployment"
	"slipway.dev/slipway/internal/controllers/machineset"
	"slipway.dev/slipway/internal/planetest"
	"slipway.dev/slipway/internal/planetest/fakes"
	"slipway.dev/slipway/internal/planetest/workers"
)

const newer = "v1.37.9"

func TestMain(m *testing.M) { os.Exit(planetest.Main(m)) }

// run runs the controllers of MachineDeployments and MachineSets, whose writes are watched over together, and a stand-in
// for that of Machines.
func run(t *testing.T, w *workers.World) (*workers.Writes, *workers.Keeper) {
	t.Helper()
	writes := &workers.Writes{}
	var keeper *workers.Keeper
	planetest.Manager(t, w.Namespace, func(mgr ctrl.Manager) (err error) {
		if keeper, err = workers.Keep(mgr); err != nil {
			return err
		}
		return setUp(mgr, writes)
	})
	return writes, keeper
}

func setUp(mgr ctrl.Manager, writes *workers.Writes) error {
	return setUpDrawing(mgr, writes, rand.IntN)
}

// setUpDrawing is setUp where the names of MachineSets are drawn so.
func setUpDrawing(mgr ctrl.Manager, writes *workers.Writes, random func(int) int) error {
	c := writes.Client(mgr.GetClient())
	sets := &machineset.Reconciler{Client: c, APIReader: mgr.GetAPIReader(), Now: time.Now, Random: rand.IntN}
	if err := sets.SetupWithManager(mgr, controller.Options{}); err != nil {
		return err
	}
	r := &machinedeployment.Reconciler{Client: c, APIReader: mgr.GetAPIReader(), Now: time.Now, Random: random}
	return r.SetupWithManager(mgr, controller.Options{})
}

// settled waits until the deployment has one MachineSet with that many Machines, all available and of one version.
func settled(t *testing.T, w *workers.World, d *clusterv1.MachineDeployment, replicas int) clusterv1.MachineSet {
	t.Helper()
	var set clusterv1.MachineSet
	planetest.Eventually(t, func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(d), d); err != nil {
			return err
		}
		s := d.Status
		if s.Phase != string(clusterv1.MachineDeploymentPhaseRunning) || s.AvailableReplicas == nil || int(*s.AvailableReplicas) != replicas ||
			s.ObservedGeneration != d.Generation || !conditions.IsTrue(s.Conditions, clusterv1.AvailableCondition) ||
			!conditions.IsFalse(s.Conditions, clusterv1.RollingOutCondition) {
			return fmt.Errorf("status %+v", s)
		}
		machines, err := w.Machines(ctx)
		if err != nil {
			return err
		}
		for _, m := range machines {
			if m.Spec.Version != d.Spec.Template.Spec.Version || len(machines) != replicas {
				return fmt.Errorf("%d Machines, the first of version %s", len(machines), m.Spec.Version)
			}
		}
		sets, err := w.Sets(ctx)
		if err != nil || len(sets) != 1 {
			return fmt.Errorf("%d MachineSets, %w", len(sets), err)
		}
		set = sets[0]
		return nil
	})
	return set
}

func TestMachineDeployment_MakesAMachineSet(t *testing.T) {
	t.Parallel()
	w := workers.New(t)
	writes, _ := run(t, w)
	d := w.MachineDeployment("md", 3)
	d.Annotations = map[string]string{"example.com/owner": "team", clusterv1.AutoscalerMinSizeAnnotation: "1", clusterv1.AutoscalerMaxSizeAnnotation: "5",
		"cluster.x-k8s.io/conversion-data": "{}"}
	w.Make(d)
	set := settled(t, w, d, 3)
	unique := set.Labels[clusterv1.MachineDeploymentUniqueLabel]
	if !strings.HasSuffix(unique, set.Name[len("md"):]) || set.Spec.Selector.MatchLabels[clusterv1.MachineDeploymentUniqueLabel] != unique ||
		set.Labels[clusterv1.MachineDeploymentNameLabel] != "md" || set.Labels["pool"] != "of-deployment" {
		t.Errorf("MachineSet %s has labels %v, selector %v", set.Name, set.Labels, set.Spec.Selector)
	}
	want := map[string]string{
		"example.com/owner": "team", clusterv1.RevisionAnnotation: "1",
		clusterv1.DesiredReplicasAnnotation: "3", clusterv1.MaxReplicasAnnotation: "4", "cluster.x-k8s.io/conversion-data": "",
	}
	for k, v := range want {
		if set.Annotations[k] != v {
			t.Errorf("annotation %s is %q, not %q", k, set.Annotations[k], v)
		}
	}
	machines, err := w.Machines(t.Context())
	w.Must(err)
	for _, m := range machines {
		if m.Labels[clusterv1.MachineDeploymentNameLabel] != "md" || m.Labels[clusterv1.MachineDeploymentUniqueLabel] != unique {
			t.Errorf("Machine %s has labels %v", m.Name, m.Labels)
		}
	}
	if !metav1.IsControlledBy(&set, d) || !slices.Contains(d.Finalizers, clusterv1.MachineDeploymentFinalizer) || d.Annotations[clusterv1.RevisionAnnotation] != "1" ||
		d.Status.Selector == "" || *d.Status.UpToDateReplicas != 3 || d.Status.Deprecated.V1Beta1.UpdatedReplicas != 3 {
		t.Errorf("metadata %+v, status %+v", d.ObjectMeta, d.Status)
	}
	writes.Cease(t)
	// 3 objects a Machine and the set; how often statuses and replicas are written depends on how the events come.
	if log := writes.Log(); len(log) > 9+3*12 {
		t.Errorf("%d writes:\n%s", len(log), strings.Join(log, "\n"))
	}
}

func TestMachineDeployment_TellsWhatItDid(t *testing.T) {
	t.Parallel()
	w := workers.New(t)
	run(t, w)
	d := w.MachineDeployment("md", 2)
	w.Make(d)
	first := settled(t, w, d, 2)
	planetest.Told(t, w, d, "SuccessfulCreate", first.Name)
	w.Change(d, func() { d.Spec.Replicas = new(int32(3)) })
	settled(t, w, d, 3)
	planetest.Told(t, w, d, "SuccessfulScale", "MachineSet "+first.Name+" from 2 to 3")
	w.Change(d, func() { d.Spec.Template.Spec.Version = newer })
	second := settled(t, w, d, 3)
	planetest.Told(t, w, d, "SuccessfulCreate", second.Name)
	planetest.Told(t, w, d, "SuccessfulScale", "MachineSet "+first.Name+" from 1 to 0")
	w.Must(w.Delete(t.Context(), d))
	planetest.Told(t, w, d, "SuccessfulDelete", second.Name)
}

// Templates are those of any provider, whichever contract it keeps.
func TestMachineDeployment_TakesTemplatesOfBothContracts(t *testing.T) {
	t.Parallel()
	for _, c := range []contract.Version{contract.V1Beta1, contract.V1Beta2} {
		t.Run(string(c), func(t *testing.T) {
			t.Parallel()
			w := workers.New(t)
			f := fakes.Install(t, w, w.Namespace, c, "Machine", "MachineTemplate", "Config", "ConfigTemplate")
			for _, role := range []string{"Machine", "Config"} {
				template := f.Fake(role+"Template", "workers")
				w.Must(unstructured.SetNestedField(template.Object, map[string]any{"size": "large"}, "spec", "template", "spec"))
				w.Must(w.Create(t.Context(), template))
			}
			run(t, w)
			d := w.MachineDeployment("md", 1)
			w.Make(d)
			before := settled(t, w, d, 1)
			w.Change(d, func() {
				d.Spec.Template.Spec.InfrastructureRef = f.Ref("MachineTemplate", "workers")
				d.Spec.Template.Spec.Bootstrap.ConfigRef = f.Ref("ConfigTemplate", "workers")
			})
			after := settled(t, w, d, 1)
			machines, err := w.Machines(t.Context())
			w.Must(err)
			if after.Name == before.Name || len(machines) != 1 || machines[0].Spec.InfrastructureRef != f.Ref("Machine", machines[0].Name) {
				t.Errorf("MachineSet %s, then %s, Machines %+v", before.Name, after.Name, machines)
			}
		})
	}
}

func TestMachineDeployment_RollsOut(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name               string
		surge, unavailable intstr.IntOrString
		most, least        int
	}{
		{"by surge", intstr.FromInt32(1), intstr.FromInt32(0), 4, 3},
		{"in place of old Machines", intstr.FromInt32(0), intstr.FromInt32(1), 3, 2},
		{"by percentages", intstr.FromString("35%"), intstr.FromInt32(0), 5, 3},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			w := workers.New(t)
			writes, _ := run(t, w)
			d := w.MachineDeployment("md", 3)
			d.Spec.Rollout.Strategy.Type = clusterv1.RollingUpdateMachineDeploymentStrategyType
			d.Spec.Rollout.Strategy.RollingUpdate.MaxSurge, d.Spec.Rollout.Strategy.RollingUpdate.MaxUnavailable = &row.surge, &row.unavailable
			w.Make(d)
			before := settled(t, w, d, 3)
			stop := watchBounds(t, w, row.most, row.least)
			w.Change(d, func() { d.Spec.Template.Spec.Version = newer })
			after := settled(t, w, d, 3)
			stop()
			if after.Name == before.Name || after.Annotations[clusterv1.RevisionAnnotation] != "2" || d.Annotations[clusterv1.RevisionAnnotation] != "2" {
				t.Errorf("MachineSet %s, then %s with annotations %v", before.Name, after.Name, after.Annotations)
			}
			writes.Cease(t)
		})
	}
}

// watchBounds watches the Machines and fails the test when there are more than most, or fewer than least are available.
func watchBounds(t *testing.T, w *workers.World, most, least int) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	stream, err := w.Watch(ctx, &clusterv1.MachineList{}, client.InNamespace(w.Namespace))
	w.Must(err)
	go func() {
		defer close(done)
		available := map[string]bool{}
		full := false
		for e := range stream.ResultChan() {
			m, ok := e.Object.(*clusterv1.Machine)
			if !ok {
				continue
			}
			available[m.Name] = m.DeletionTimestamp.IsZero() && conditions.IsTrue(m.Status.Conditions, clusterv1.AvailableCondition)
			if e.Type == "DELETED" {
				delete(available, m.Name)
			}
			count := 0
			for ok := range maps.Values(available) {
				if ok {
					count++
				}
			}
			full = full || count >= least // The watch begins with one Machine after the other.
			if len(available) > most || full && count < least {
				t.Errorf("%d Machines, %d of them available", len(available), count)
			}
		}
	}()
	return func() { cancel(); <-done }
}

func TestMachineDeployment_ChangesInPlace(t *testing.T) {
	t.Parallel()
	w := workers.New(t)
	writes, _ := run(t, w)
	d := w.MachineDeployment("md", 2)
	d.Spec.Template.ObjectMeta.Labels["goes"] = "soon"
	w.Make(d)
	before := settled(t, w, d, 2)
	w.Change(d, func() {
		delete(d.Spec.Template.ObjectMeta.Labels, "goes")
		d.Spec.Template.ObjectMeta.Labels["comes"] = "now"
		d.Spec.Template.Spec.Deletion.NodeDrainTimeoutSeconds = new(int32(60))
		d.Spec.Template.Spec.MinReadySeconds = new(int32(0))
		d.Annotations = map[string]string{"example.com/owner": "team"}
	})
	planetest.Eventually(t, func(ctx context.Context) error {
		machines, err := w.Machines(ctx)
		if err != nil {
			return err
		}
		for _, m := range machines {
			if m.Labels["comes"] != "now" || m.Labels["goes"] != "" || m.Spec.Deletion.NodeDrainTimeoutSeconds == nil {
				return fmt.Errorf("Machine %s has labels %v, spec %+v", m.Name, m.Labels, m.Spec)
			}
		}
		return nil
	})
	after := settled(t, w, d, 2)
	if after.UID != before.UID || after.Annotations["example.com/owner"] != "team" || after.Labels["comes"] != "now" || after.Labels["goes"] != "" {
		t.Errorf("MachineSet %s, then %s with %v and %v", before.Name, after.Name, after.Labels, after.Annotations)
	}
	writes.Cease(t)
}

func TestMachineDeployment_PassesTimeoutsToMachinesThatHang(t *testing.T) {
	t.Parallel()
	w := workers.New(t)
	_, keeper := run(t, w)
	d := w.MachineDeployment("md", 1)
	w.Make(d)
	settled(t, w, d, 1)
	keeper.Cling(func(*clusterv1.Machine) bool { return true })
	w.Must(w.Delete(t.Context(), d))
	deleting := func(ctx context.Context) (*clusterv1.Machine, error) {
		machines, err := w.Machines(ctx)
		if err != nil || len(machines) != 1 || machines[0].DeletionTimestamp.IsZero() {
			return nil, fmt.Errorf("%d Machines, %w", len(machines), err)
		}
		return &machines[0], nil
	}
	planetest.Eventually(t, func(ctx context.Context) error { _, err := deleting(ctx); return err })
	w.Change(d, func() { d.Spec.Template.Spec.Deletion.NodeDrainTimeoutSeconds = new(int32(60)) })
	planetest.Eventually(t, func(ctx context.Context) error {
		m, err := deleting(ctx)
		if err == nil && m.Spec.Deletion.NodeDrainTimeoutSeconds == nil {
			return fmt.Errorf("deletion %+v", m.Spec.Deletion)
		}
		return err
	})
	keeper.Cling(nil)
	gone(t, w, d)
}

func gone(t *testing.T, w *workers.World, d *clusterv1.MachineDeployment) {
	t.Helper()
	planetest.Eventually(t, func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(d), d); !apierrors.IsNotFound(err) {
			return fmt.Errorf("the MachineDeployment is still there: %w", err)
		}
		return nil
	})
	sets, err := w.Sets(t.Context())
	w.Must(err)
	machines, err := w.Machines(t.Context())
	w.Must(err)
	if len(sets)+len(machines) > 0 {
		t.Errorf("%d MachineSets and %d Machines are left", len(sets), len(machines))
	}
}

func TestMachineDeployment_ReplacesOnDeleteOnly(t *testing.T) {
	t.Parallel()
	w := workers.New(t)
	run(t, w)
	d := w.MachineDeployment("md", 2)
	d.Spec.Rollout.Strategy.Type = clusterv1.OnDeleteMachineDeploymentStrategyType
	w.Make(d)
	settled(t, w, d, 2)
	machines, err := w.Machines(t.Context())
	w.Must(err)
	w.Change(d, func() { d.Spec.Template.Spec.Version = newer })
	for i := range machines {
		planetest.Eventually(t, func(ctx context.Context) error { return versions(ctx, w, 2-i, i) })
		w.Must(w.Delete(t.Context(), &machines[i]))
	}
	settled(t, w, d, 2)
}

// versions returns nil when there are two MachineSets with so many Machines of the old and the new version.
func versions(ctx context.Context, w *workers.World, old, fresh int) error {
	sets, err := w.Sets(ctx)
	if err != nil {
		return err
	}
	machines, err := w.Machines(ctx)
	count := map[string]int{}
	for _, m := range machines {
		count[m.Spec.Version]++
	}
	if err != nil || len(sets) != 2 || count[workers.Version] != old || count[newer] != fresh {
		return fmt.Errorf("%d MachineSets, Machines %v, %w", len(sets), count, err)
	}
	return nil
}

func TestMachineDeployment_PausedWithoutAMatchingSetReportsAndWaits(t *testing.T) {
	t.Parallel()
	w := workers.New(t)
	run(t, w)
	d := w.MachineDeployment("md", 2)
	w.Make(d)
	before := settled(t, w, d, 2)
	w.Change(d, func() {
		d.Spec.Paused = new(true)
		d.Spec.Template.Spec.Version = newer
		d.Spec.Replicas = new(int32(3))
	})
	planetest.Eventually(t, func(ctx context.Context) error {
		w.Must(w.Get(ctx, client.ObjectKeyFromObject(d), d))
		if s := d.Status; s.ObservedGeneration != d.Generation || *s.AvailableReplicas != 3 || !conditions.IsTrue(s.Conditions, clusterv1.RollingOutCondition) {
			return fmt.Errorf("status %+v", s)
		}
		return nil
	})
	sets, err := w.Sets(t.Context())
	w.Must(err)
	if len(sets) != 1 || sets[0].UID != before.UID {
		t.Errorf("MachineSets are %+v", sets)
	}
	w.Change(d, func() { d.Spec.Paused = nil })
	settled(t, w, d, 3)
}

func TestMachineDeployment_RolloutAfterReplacesOnce(t *testing.T) {
	t.Parallel()
	w := workers.New(t)
	writes, _ := run(t, w)
	d := w.MachineDeployment("md", 1)
	w.Make(d)
	before := settled(t, w, d, 1)
	after := metav1.NewTime(before.CreationTimestamp.Add(5 * time.Second))
	w.Change(d, func() { d.Spec.Rollout.After = after })
	var replaced clusterv1.MachineSet
	planetest.Eventually(t, func(ctx context.Context) error {
		sets, err := w.Sets(ctx)
		if err != nil || len(sets) != 1 || sets[0].UID == before.UID {
			return fmt.Errorf("%d MachineSets, %w", len(sets), err)
		}
		replaced = sets[0]
		return nil
	})
	if replaced.CreationTimestamp.Before(&after) {
		t.Errorf("replaced at %s, before %s", replaced.CreationTimestamp, after)
	}
	if again := settled(t, w, d, 1); again.UID != replaced.UID {
		t.Error("replaced twice")
	}
	writes.Cease(t)
}

func TestMachineDeployment_KeepsWorkersWhileNewOnesAreHeld(t *testing.T) {
	t.Parallel()
	w := workers.Empty(t)
	cluster := w.Cluster()
	cluster.Spec.ControlPlaneRef = clusterv1.ContractVersionedObjectReference{APIGroup: controlplanev1.GroupVersion.Group, Kind: "KubeadmControlPlane", Name: "cp"}
	cp := &controlplanev1.KubeadmControlPlane{ObjectMeta: w.Meta("cp"), Spec: controlplanev1.KubeadmControlPlaneSpec{Version: workers.Version}}
	cp.Spec.MachineTemplate.Spec.InfrastructureRef = w.Template("", "").Spec.InfrastructureRef
	w.Make(cluster, cp, w.ConfigTemplate("workers"), w.MachineTemplate("workers"))
	cp.Status.Version = workers.Version
	w.Must(w.Status().Update(t.Context(), cp))
	run(t, w)
	d := w.MachineDeployment("md", 2)
	d.Spec.Rollout.Strategy.Type = clusterv1.RollingUpdateMachineDeploymentStrategyType
	d.Spec.Rollout.Strategy.RollingUpdate.MaxSurge, d.Spec.Rollout.Strategy.RollingUpdate.MaxUnavailable = new(intstr.FromInt32(0)), new(intstr.FromInt32(1))
	w.Make(d)
	settled(t, w, d, 2)
	w.Change(cp, func() { cp.Spec.Version = newer })
	w.Change(d, func() { d.Spec.Template.Spec.Version = newer })
	planetest.Eventually(t, func(ctx context.Context) error {
		w.Must(w.Get(ctx, client.ObjectKeyFromObject(d), d))
		if message := conditions.Message(d.Status.Conditions, clusterv1.RollingOutCondition); !strings.Contains(message, "is upgrading") {
			return fmt.Errorf("RollingOut says %q", message)
		}
		return versions(ctx, w, 2, 0)
	})
	w.Must(w.Get(t.Context(), client.ObjectKeyFromObject(cp), cp))
	cp.Status.Version = newer
	w.Must(w.Status().Update(t.Context(), cp))
	settled(t, w, d, 2)
}

func TestMachineDeployment_GoesOnWhereItWasKilled(t *testing.T) {
	t.Parallel()
	for lives := 1; lives < 40; lives += 3 {
		t.Run(fmt.Sprintf("after %d writes", lives), func(t *testing.T) {
			t.Parallel()
			w := workers.New(t)
			d := w.MachineDeployment("md", 2)
			w.Make(d)
			t.Run("first life", func(t *testing.T) {
				run(t, w)
				settled(t, w, d, 2)
			})
			w.Change(d, func() { d.Spec.Template.Spec.Version = newer })
			t.Run("second life", func(t *testing.T) {
				writes, _ := run(t, w)
				writes.DieAfter(lives)
				planetest.Eventually(t, func(ctx context.Context) error {
					w.Must(w.Get(ctx, client.ObjectKeyFromObject(d), d))
					if writes.Dead() || d.Annotations[clusterv1.RevisionAnnotation] == "2" && d.Status.ObservedGeneration == d.Generation {
						return nil
					}
					return fmt.Errorf("%d writes", len(writes.Log()))
				})
			})
			run(t, w)
			if set := settled(t, w, d, 2); set.Annotations[clusterv1.RevisionAnnotation] != "2" {
				t.Errorf("annotations %v", set.Annotations)
			}
			infrastructure, err := w.Infrastructure(t.Context())
			w.Must(err)
			if len(infrastructure) != 2 {
				t.Errorf("%d SimMachines", len(infrastructure))
			}
		})
	}
}

func TestMachineDeployment_ScalesByItsSubresource(t *testing.T) {
	t.Parallel()
	w := workers.New(t)
	run(t, w)
	d := w.MachineDeployment("md", 1)
	w.Make(d)
	before := settled(t, w, d, 1)
	for _, replicas := range []int{3, 0} {
		scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: int32(replicas)}}
		w.Must(w.SubResource("scale").Update(t.Context(), d, client.WithSubResourceBody(scale)))
		if set := settled(t, w, d, replicas); set.UID != before.UID {
			t.Error("scaling made a new MachineSet")
		}
	}
}

func TestMachineDeployment_WritesALostStatusAgainAndNothingElse(t *testing.T) {
	t.Parallel()
	w := workers.New(t)
	writes, _ := run(t, w)
	d := w.MachineDeployment("md", 2)
	w.Make(d)
	settled(t, w, d, 2)
	writes.Cease(t)
	before := len(writes.Log())
	w.Must(w.Get(t.Context(), client.ObjectKeyFromObject(d), d))
	prior := d.DeepCopy()
	d.Status = clusterv1.MachineDeploymentStatus{Phase: string(clusterv1.MachineDeploymentPhaseUnknown)}
	// A patch, for the controller may write meanwhile.
	w.Must(w.Status().Patch(t.Context(), d, client.MergeFrom(prior)))
	settled(t, w, d, 2)
	for _, line := range writes.Log()[before:] {
		if !strings.HasPrefix(line, "patch status of") {
			t.Errorf("wrote %q", line)
		}
	}
}

func TestMachineDeployment_AdoptsItsMachineSetAgain(t *testing.T) { //nolint:tparallel // Its lives follow each other.
	t.Parallel()
	w := workers.New(t)
	d := w.MachineDeployment("md", 1)
	w.Make(d)
	var before clusterv1.MachineSet
	t.Run("first life", func(t *testing.T) {
		run(t, w)
		before = settled(t, w, d, 1)
	})
	w.Change(&before, func() { before.OwnerReferences = nil })
	run(t, w)
	planetest.Eventually(t, func(ctx context.Context) error {
		w.Must(w.Get(ctx, client.ObjectKeyFromObject(&before), &before))
		if !metav1.IsControlledBy(&before, d) {
			return fmt.Errorf("owners %+v", before.OwnerReferences)
		}
		return nil
	})
	if after := settled(t, w, d, 1); after.UID != before.UID {
		t.Error("another MachineSet was made")
	}
}
