package machineset_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
	"slipway.dev/slipway/internal/conditions"
	"slipway.dev/slipway/internal/controllers/machineset"
	"slipway.dev/slipway/internal/planetest"
	"slipway.dev/slipway/internal/planetest/workers"
)

func TestMain(m *testing.M) { os.Exit(planetest.Main(m)) }

// run runs the controller and a stand-in for that of Machines.
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
	r := &machineset.Reconciler{Client: writes.Client(mgr.GetClient()), APIReader: mgr.GetAPIReader(), Now: time.Now, Random: rand.IntN}
	return r.SetupWithManager(mgr, controller.Options{})
}

// settled waits until the set has that many Machines, all available, and its status says so.
func settled(t *testing.T, w *workers.World, set *clusterv1.MachineSet, replicas int) []clusterv1.Machine {
	t.Helper()
	var machines []clusterv1.Machine
	planetest.Eventually(t, func(ctx context.Context) (err error) {
		if machines, err = w.Machines(ctx); err != nil {
			return err
		}
		if err := w.Get(ctx, client.ObjectKeyFromObject(set), set); err != nil {
			return err
		}
		s := set.Status
		if len(machines) != replicas || s.AvailableReplicas == nil || int(*s.AvailableReplicas) != replicas || s.ObservedGeneration != set.Generation {
			return fmt.Errorf("%d Machines, status %+v", len(machines), s)
		}
		if conditions.IsTrue(s.Conditions, clusterv1.ScalingUpCondition) || conditions.IsTrue(s.Conditions, clusterv1.ScalingDownCondition) {
			return fmt.Errorf("conditions %+v", s.Conditions)
		}
		return nil
	})
	return machines
}

func TestMachineSet_MakesMachinesWithTheirObjects(t *testing.T) {
	t.Parallel()
	w := workers.New(t)
	writes, _ := run(t, w)
	set := w.MachineSet("pool", 3)
	set.Spec.Template.ObjectMeta.Annotations = map[string]string{"example.com/note": "hello"}
	w.Make(set)
	machines := settled(t, w, set, 3)
	for i := range machines {
		checkMachine(t, set, &machines[i])
	}
	infrastructure, err := w.Infrastructure(t.Context())
	w.Must(err)
	configs, err := w.Configs(t.Context())
	w.Must(err)
	if len(infrastructure) != 3 || len(configs) != 3 {
		t.Fatalf("%d SimMachines and %d KubeadmConfigs", len(infrastructure), len(configs))
	}
	for _, object := range []client.Object{&infrastructure[0], &configs[0]} {
		if object.GetLabels()[clusterv1.MachineSetNameLabel] != "pool" || object.GetLabels()[clusterv1.ClusterNameLabel] != workers.ClusterName ||
			object.GetLabels()["pool"] != "of-set" || object.GetAnnotations()["example.com/note"] != "hello" ||
			object.GetAnnotations()[clusterv1.TemplateClonedFromNameAnnotation] != "workers" {
			t.Errorf("labels %v, annotations %v", object.GetLabels(), object.GetAnnotations())
		}
	}
	if v := set.Status.Versions; len(v) != 1 || v[0].Version != workers.Version || *v[0].Replicas != 3 {
		t.Errorf("versions %+v", v)
	}
	if !slices.Contains(set.Finalizers, clusterv1.MachineSetFinalizer) || len(set.OwnerReferences) != 1 || set.Status.Deprecated.V1Beta1.FullyLabeledReplicas != 3 {
		t.Errorf("metadata %+v, deprecated %+v", set.ObjectMeta, set.Status.Deprecated.V1Beta1)
	}
	writes.Cease(t)
	made := 0
	for _, line := range writes.Log() {
		if strings.HasPrefix(line, "patch Machine ") || strings.HasPrefix(line, "patch SimMachine ") || strings.HasPrefix(line, "patch KubeadmConfig ") {
			made++
		}
	}
	// How often the status is written depends on how the events come: at most once for each thing that happens to a Machine.
	if made != 9 || len(writes.Log()) > 9+3*6 {
		t.Errorf("%d writes, of which %d for 3 Machines:\n%s", len(writes.Log()), made, strings.Join(writes.Log(), "\n"))
	}
}

func checkMachine(t *testing.T, set *clusterv1.MachineSet, m *clusterv1.Machine) {
	t.Helper()
	owner := metav1.GetControllerOf(m)
	if owner == nil || owner.UID != set.UID || !slices.Contains(m.Finalizers, clusterv1.MachineFinalizer) {
		t.Errorf("owner %+v, finalizers %v", owner, m.Finalizers)
	}
	if !strings.HasPrefix(m.Name, set.Name+"-") || len(m.Name) != len(set.Name)+6 {
		t.Errorf("name %q", m.Name)
	}
	infrastructure, config := m.Spec.InfrastructureRef, m.Spec.Bootstrap.ConfigRef
	if infrastructure.Kind != "SimMachine" || infrastructure.Name != m.Name || config.Kind != "KubeadmConfig" || config.Name != m.Name {
		t.Errorf("refs %+v, %+v", infrastructure, config)
	}
}

func TestMachineSet_ScalesByItsSubresource(t *testing.T) {
	t.Parallel()
	w := workers.New(t)
	run(t, w)
	set := w.MachineSet("pool", 1)
	w.Make(set)
	first := settled(t, w, set, 1)[0]
	for _, replicas := range []int{3, 1} {
		scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: int32(replicas)}}
		if replicas == 1 {
			w.Change(&first, func() { first.Annotations = map[string]string{clusterv1.DeleteMachineAnnotation: "yes"} })
		}
		w.Must(w.SubResource("scale").Update(t.Context(), set, client.WithSubResourceBody(scale)))
		machines := settled(t, w, set, replicas)
		if replicas == 1 && machines[0].Name == first.Name {
			t.Error("the annotated Machine was kept")
		}
	}
	w.Must(w.SubResource("scale").Get(t.Context(), set, &autoscalingv1.Scale{}))
}

func TestMachineSet_CountsMachinesBeingDeletedFirst(t *testing.T) {
	t.Parallel()
	w := workers.New(t)
	_, keeper := run(t, w)
	set := w.MachineSet("pool", 3)
	set.Spec.Deletion.Order = clusterv1.OldestMachineSetDeletionOrder
	w.Make(set)
	machines := settled(t, w, set, 3)
	keeper.Cling(func(*clusterv1.Machine) bool { return true })
	w.Must(w.Delete(t.Context(), &machines[2]))
	w.Change(set, func() { set.Spec.Replicas = new(int32(2)) })
	planetest.Eventually(t, func(ctx context.Context) error {
		w.Must(w.Get(ctx, client.ObjectKeyFromObject(set), set))
		if !conditions.IsTrue(set.Status.Conditions, clusterv1.ScalingDownCondition) || set.Status.ObservedGeneration != set.Generation {
			return fmt.Errorf("conditions %+v", set.Status.Conditions)
		}
		return nil
	})
	keeper.Cling(nil)
	left := settled(t, w, set, 2)
	if left[0].Name == machines[2].Name || left[1].Name == machines[2].Name || !left[0].DeletionTimestamp.IsZero() || !left[1].DeletionTimestamp.IsZero() {
		t.Errorf("left are %s and %s of %v", left[0].Name, left[1].Name, machines)
	}
}

func TestMachineSet_RefusedMachinesLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	w := workers.New(t)
	writes, _ := run(t, w)
	tries := make(chan struct{}, 100)
	writes.Refuse(func(obj client.Object) error {
		if obj.GetObjectKind().GroupVersionKind().Kind != "SimMachine" {
			return nil
		}
		tries <- struct{}{}
		return apierrors.NewForbidden(schema.GroupResource{Resource: "simmachines"}, obj.GetName(), fmt.Errorf("the quota is used up"))
	})
	set := w.MachineSet("pool", 1)
	w.Make(set)
	for range 6 {
		<-tries
		configs, err := w.Configs(t.Context())
		w.Must(err)
		if len(configs) > 1 {
			t.Fatalf("%d KubeadmConfigs are left", len(configs))
		}
	}
	planetest.Eventually(t, func(ctx context.Context) error {
		w.Must(w.Get(ctx, client.ObjectKeyFromObject(set), set))
		if message := conditions.Message(set.Status.Conditions, clusterv1.ScalingUpCondition); !strings.Contains(message, "the quota is used up") {
			return fmt.Errorf("ScalingUp says %q", message)
		}
		return nil
	})
	writes.Refuse(nil)
	settled(t, w, set, 1)
	configs, err := w.Configs(t.Context())
	w.Must(err)
	if len(configs) != 1 {
		t.Errorf("%d KubeadmConfigs", len(configs))
	}
	planetest.ToldOnce(t, w, set, "FailedCreate", "SuccessfulCreate")
}

func TestMachineSet_GoesOnWhereItWasKilled(t *testing.T) {
	t.Parallel()
	for lives := range 12 {
		t.Run(fmt.Sprintf("after %d writes", lives), func(t *testing.T) {
			t.Parallel()
			w := workers.New(t)
			set := w.MachineSet("pool", 2)
			w.Make(set)
			t.Run("first life", func(t *testing.T) {
				writes, _ := run(t, w)
				writes.DieAfter(lives)
				planetest.Eventually(t, func(ctx context.Context) error {
					w.Must(w.Get(ctx, client.ObjectKeyFromObject(set), set))
					if ready := set.Status.AvailableReplicas; writes.Dead() || ready != nil && *ready == 2 {
						return nil
					}
					return fmt.Errorf("%d writes", len(writes.Log()))
				})
			})
			run(t, w)
			settled(t, w, set, 2)
			planetest.Eventually(t, func(ctx context.Context) error {
				infrastructure, err := w.Infrastructure(ctx)
				if err != nil {
					return err
				}
				configs, err := w.Configs(ctx)
				if err != nil || len(infrastructure) != 2 || len(configs) != 2 {
					return fmt.Errorf("%d SimMachines, %d KubeadmConfigs, %w", len(infrastructure), len(configs), err)
				}
				return nil
			})
		})
	}
}

func TestMachineSet_ChangesInPlace(t *testing.T) {
	t.Parallel()
	w := workers.New(t)
	writes, keeper := run(t, w)
	set := w.MachineSet("pool", 2)
	set.Spec.Template.ObjectMeta.Labels["goes"] = "soon"
	w.Make(set)
	machines := settled(t, w, set, 2)
	foreign, err := w.Infrastructure(t.Context())
	w.Must(err)
	w.Change(&foreign[0], func() { foreign[0].Labels["example.com/foreign"] = "stays" })
	keeper.Cling(func(*clusterv1.Machine) bool { return true })
	w.Must(w.Delete(t.Context(), &machines[0]))
	w.Change(set, func() {
		set.Spec.Replicas = new(int32(2))
		delete(set.Spec.Template.ObjectMeta.Labels, "goes")
		set.Spec.Template.ObjectMeta.Labels["comes"] = "now"
		set.Spec.Template.Spec.Deletion.NodeDrainTimeoutSeconds = new(int32(60))
		set.Spec.Template.Spec.MinReadySeconds = new(int32(7))
		set.Spec.Template.Spec.ReadinessGates = []clusterv1.MachineReadinessGate{{ConditionType: "example.com/Fit"}}
	})
	planetest.Eventually(t, func(ctx context.Context) error { return changedInPlace(ctx, w, machines[0].Name) })
	keeper.Cling(nil)
	settled(t, w, set, 2)
	writes.Cease(t)
}

func changedInPlace(ctx context.Context, w *workers.World, deleted string) error {
	machines, err := w.Machines(ctx)
	if err != nil {
		return err
	}
	var kept string
	for _, m := range machines {
		if got := m.Spec.Deletion.NodeDrainTimeoutSeconds; got == nil || *got != 60 {
			return fmt.Errorf("Machine %s has drain timeout %v", m.Name, got)
		}
		if m.Name == deleted {
			continue
		}
		kept = m.Name
		if m.Labels["comes"] != "now" || m.Labels["goes"] != "" || m.Spec.MinReadySeconds == nil || len(m.Spec.ReadinessGates) != 1 {
			return fmt.Errorf("Machine %s has labels %v, spec %+v", m.Name, m.Labels, m.Spec)
		}
	}
	infrastructure, err := w.Infrastructure(ctx)
	if err != nil {
		return err
	}
	foreign := 0
	for _, o := range infrastructure {
		if o.Labels["example.com/foreign"] != "" {
			foreign++
		}
		if o.Labels["example.com/from-template"] != "yes" || o.Annotations[clusterv1.TemplateClonedFromNameAnnotation] != "workers" {
			return fmt.Errorf("SimMachine %s has lost what is its template's: %v", o.Name, o.Labels)
		}
		if o.Name == kept && (o.Labels["comes"] != "now" || o.Labels["goes"] != "") {
			return fmt.Errorf("SimMachine %s has labels %v", o.Name, o.Labels)
		}
	}
	if foreign != 1 {
		return fmt.Errorf("%d SimMachines carry the foreign label", foreign)
	}
	return nil
}

func TestMachineSet_LongNamesMakeValidMachines(t *testing.T) {
	t.Parallel()
	w := workers.New(t)
	run(t, w)
	set := w.MachineSet(strings.Repeat("long", 15)+"abc", 1)
	w.Make(set)
	m := settled(t, w, set, 1)[0]
	if len(m.Name) > 63 || len(m.Labels[clusterv1.MachineSetNameLabel]) > 63 {
		t.Errorf("name %q, labels %v", m.Name, m.Labels)
	}
}

// stray makes a Machine that a set of the workers' labels takes over.
func stray(w *workers.World) {
	m := &clusterv1.Machine{ObjectMeta: w.Meta("stray"), Spec: w.Template("pool", "of-set").Spec}
	m.Labels["pool"] = "of-set"
	m.Finalizers = []string{clusterv1.MachineFinalizer}
	m.Spec.InfrastructureRef.Kind, m.Spec.Bootstrap.ConfigRef.Kind = "SimMachine", "KubeadmConfig"
	w.Make(m)
}

func TestMachineSet_AdoptsMachinesThatNobodyControls(t *testing.T) {
	t.Parallel()
	w := workers.New(t)
	stray(w)
	run(t, w)
	set := w.MachineSet("pool", 2)
	w.Make(set)
	machines := settled(t, w, set, 2)
	if !slices.ContainsFunc(machines, func(m clusterv1.Machine) bool {
		return m.Name == "stray" && metav1.IsControlledBy(&m, set) && m.Labels[clusterv1.MachineSetNameLabel] == "pool"
	}) {
		t.Errorf("Machines are %+v", machines)
	}
}

func TestMachineSet_WaitsForTheControlPlane(t *testing.T) {
	t.Parallel()
	w := workers.Empty(t)
	cluster := w.Cluster()
	cluster.Spec.ControlPlaneRef = clusterv1.ContractVersionedObjectReference{APIGroup: controlplanev1.GroupVersion.Group, Kind: "KubeadmControlPlane", Name: "cp"}
	cp := &controlplanev1.KubeadmControlPlane{ObjectMeta: w.Meta("cp"), Spec: controlplanev1.KubeadmControlPlaneSpec{Version: workers.Version}}
	cp.Spec.MachineTemplate.Spec.InfrastructureRef = w.Template("", "").Spec.InfrastructureRef
	w.Make(cluster, cp, w.ConfigTemplate("workers"), w.MachineTemplate("workers"))
	run(t, w)
	set := w.MachineSet("pool", 1)
	w.Make(set)
	saysUp(t, w, set, "KubeadmControlPlane cp is provisioning")
	cp.Status.Version = workers.Version
	w.Must(w.Status().Update(t.Context(), cp))
	settled(t, w, set, 1)
}

func TestMachineSet_SaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	w := workers.Empty(t)
	run(t, w)
	set := w.MachineSet("pool", 1)
	w.Make(set)
	saysUp(t, w, set, "Cluster demo does not exist")
	w.Make(w.Cluster(), w.ConfigTemplate("workers"))
	saysUp(t, w, set, "SimMachineTemplate workers does not exist")
	w.Make(w.MachineTemplate("workers"))
	settled(t, w, set, 1)
	template := w.MachineTemplate("workers")
	w.Must(w.Get(t.Context(), client.ObjectKeyFromObject(template), template))
	if len(template.OwnerReferences) != 1 || template.OwnerReferences[0].Kind != "Cluster" {
		t.Errorf("the template's owners are %+v", template.OwnerReferences)
	}
}

func saysUp(t *testing.T, w *workers.World, set *clusterv1.MachineSet, text string) {
	t.Helper()
	planetest.Eventually(t, func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(set), set); err != nil {
			return err
		}
		if message := conditions.Message(set.Status.Conditions, clusterv1.ScalingUpCondition); !strings.Contains(message, text) {
			return fmt.Errorf("ScalingUp says %q, not %q", message, text)
		}
		return nil
	})
	machines, err := w.Machines(t.Context())
	w.Must(err)
	if len(machines) > 0 {
		t.Errorf("%d Machines were made", len(machines))
	}
}

func TestMachineSet_PausesAndGoesOn(t *testing.T) {
	t.Parallel()
	w := workers.New(t)
	run(t, w)
	set := w.MachineSet("pool", 1)
	set.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
	w.Make(set)
	planetest.Eventually(t, func(ctx context.Context) error {
		w.Must(w.Get(ctx, client.ObjectKeyFromObject(set), set))
		if !conditions.IsTrue(set.Status.Conditions, clusterv1.PausedCondition) {
			return fmt.Errorf("conditions %+v", set.Status.Conditions)
		}
		return nil
	})
	if len(set.Finalizers) > 0 || len(set.Status.Conditions) != 1 {
		t.Errorf("finalizers %v, conditions %+v", set.Finalizers, set.Status.Conditions)
	}
	w.Change(set, func() { delete(set.Annotations, clusterv1.PausedAnnotation) })
	settled(t, w, set, 1)
}

func TestMachineSet_CreatesNothingWhereThatIsDisabled(t *testing.T) {
	t.Parallel()
	w := workers.New(t)
	run(t, w)
	set := w.MachineSet("pool", 1)
	set.Annotations = map[string]string{clusterv1.DisableMachineCreateAnnotation: "true"}
	w.Make(set)
	saysUp(t, w, set, clusterv1.DisableMachineCreateAnnotation)
	w.Change(set, func() { delete(set.Annotations, clusterv1.DisableMachineCreateAnnotation) })
	settled(t, w, set, 1)
}

func TestMachineSet_WritesALostStatusAgainAndNothingElse(t *testing.T) {
	t.Parallel()
	w := workers.New(t)
	writes, _ := run(t, w)
	set := w.MachineSet("pool", 2)
	w.Make(set)
	settled(t, w, set, 2)
	before := len(writes.Log())
	prior := set.DeepCopy()
	set.Status = clusterv1.MachineSetStatus{Conditions: []metav1.Condition{{
		Type: "example.com/Mine", Status: metav1.ConditionTrue, Reason: "Foreign", LastTransitionTime: metav1.Now(),
	}}}
	// A patch, for the controller may write meanwhile.
	w.Must(w.Status().Patch(t.Context(), set, client.MergeFrom(prior)))
	settled(t, w, set, 2)
	if !conditions.Has(set.Status.Conditions, "example.com/Mine") {
		t.Error("a foreign condition was lost")
	}
	for _, line := range writes.Log()[before:] {
		if !strings.HasPrefix(line, "patch status of") {
			t.Errorf("wrote %q", line)
		}
	}
}

func TestMachineSet_GoesWithItsMachines(t *testing.T) {
	t.Parallel()
	w := workers.New(t)
	_, keeper := run(t, w)
	set := w.MachineSet("pool", 2)
	w.Make(set)
	settled(t, w, set, 2)
	keeper.Cling(func(*clusterv1.Machine) bool { return true })
	w.Must(w.Delete(t.Context(), set))
	planetest.Eventually(t, func(ctx context.Context) error {
		w.Must(w.Get(ctx, client.ObjectKeyFromObject(set), set))
		if message := conditions.Message(set.Status.Conditions, clusterv1.DeletingCondition); !strings.Contains(message, "2 Machines") {
			return fmt.Errorf("Deleting says %q", message)
		}
		return nil
	})
	keeper.Cling(nil)
	planetest.Eventually(t, func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(set), set); !apierrors.IsNotFound(err) {
			return fmt.Errorf("the MachineSet is still there: %w", err)
		}
		return nil
	})
	machines, err := w.Machines(t.Context())
	w.Must(err)
	if len(machines) > 0 {
		t.Errorf("%d Machines are left", len(machines))
	}
}
