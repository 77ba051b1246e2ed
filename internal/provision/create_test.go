package provision_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	infrav1 "slipway.dev/slipway/api/infrastructure/v1alpha1"
	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
	"slipway.dev/slipway/internal/apply"
	corev1ac "slipway.dev/slipway/internal/applyconfigurations/core/v1beta2"
	"slipway.dev/slipway/internal/outcome"
	"slipway.dev/slipway/internal/plan"
	"slipway.dev/slipway/internal/planetest"
	"slipway.dev/slipway/internal/planetest/workers"
	"slipway.dev/slipway/internal/provision"
)

func TestMain(m *testing.M) { os.Exit(planetest.Main(m)) }

const maker = "capi-test"

// bench is a Maker with what it writes.
type bench struct {
	*workers.World
	writes  *workers.Writes
	applier *apply.Applier
	maker   *provision.Maker
	owners  map[string]types.UID
}

func newBench(t *testing.T) *bench {
	t.Helper()
	w := workers.New(t)
	b := &bench{World: w, writes: &workers.Writes{}, owners: map[string]types.UID{}}
	c := b.writes.Client(w)
	b.applier = apply.New(c, maker)
	b.maker = provision.NewMaker(c, b.applier)
	return b
}

// owner is the UID of a MachineSet, which is there: the garbage collector takes what nobody owns.
func (b *bench) owner(name string) types.UID {
	b.Helper()
	if b.owners[name] == "" {
		set := b.MachineSet(name, 0)
		b.Make(set)
		b.owners[name] = set.UID
	}
	return b.owners[name]
}

// objects are those of a machine of an owner.
func (b *bench) objects(name, owner string) provision.Objects {
	b.Helper()
	spec := b.Template("", "").Spec
	spec.InfrastructureRef.Kind, spec.InfrastructureRef.Name = "SimMachine", name
	spec.Bootstrap.ConfigRef.Kind, spec.Bootstrap.ConfigRef.Name = "KubeadmConfig", name
	configuration, err := apply.Convert[corev1ac.MachineSpecApplyConfiguration](&spec)
	b.Must(err)
	ref := provision.OwnerOfMachines(clusterv1.GroupVersion.String(), "MachineSet", owner, b.owner(owner))
	return provision.Objects{
		Bootstrap:      b.part(bootstrapv1.GroupVersion.WithKind("KubeadmConfig"), name, owner),
		Infrastructure: b.part(infrav1.GroupVersion.WithKind("SimMachine"), name, owner),
		Machine: corev1ac.Machine(name, b.Namespace).WithLabels(map[string]string{"owner": owner}).
			WithFinalizers(clusterv1.MachineFinalizer).WithOwnerReferences(apply.OwnerConfiguration(ref)).WithSpec(configuration),
	}
}

func (b *bench) part(gvk schema.GroupVersionKind, name, owner string) *unstructured.Unstructured {
	b.Helper()
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvk)
	u.SetNamespace(b.Namespace)
	u.SetName(name)
	u.SetLabels(map[string]string{"owner": owner})
	u.SetOwnerReferences([]metav1.OwnerReference{provision.Owner(clusterv1.GroupVersion.String(), "MachineSet", owner, b.owner(owner))})
	return u
}

// all are the objects of machines, by kind and name, with what tells whether they were touched.
func (b *bench) all() map[string]string {
	b.Helper()
	found := map[string]string{}
	for _, kind := range []schema.GroupVersionKind{
		clusterv1.GroupVersion.WithKind("Machine"), infrav1.GroupVersion.WithKind("SimMachine"), bootstrapv1.GroupVersion.WithKind("KubeadmConfig"),
	} {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		b.Must(b.List(b.Context(), list, client.InNamespace(b.Namespace)))
		for _, o := range list.Items {
			found[kind.Kind+" "+o.Name] = fmt.Sprintf("%s at %s of %s, deleted %v", o.UID, o.ResourceVersion, o.Labels["owner"], o.DeletionTimestamp)
		}
	}
	return found
}

func TestMaker_TouchesNothingThatIsThere(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		// there says which objects are there, of which owner.
		there func(provision.Objects) provision.Objects
		owner string
	}{
		{"all objects", func(o provision.Objects) provision.Objects { return o }, "other"},
		{"all objects, and of the same owner", func(o provision.Objects) provision.Objects { return o }, "ours"},
		{"the infrastructure", func(o provision.Objects) provision.Objects { o.Bootstrap, o.Machine = nil, nil; return o }, "other"},
		{"the Machine", func(o provision.Objects) provision.Objects { o.Bootstrap, o.Infrastructure = nil, nil; return o }, "other"},
		{"a Machine that nobody controls", func(o provision.Objects) provision.Objects {
			o.Bootstrap, o.Infrastructure, o.Machine.OwnerReferences = nil, nil, nil
			return o
		}, "other"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.place(row.there(b.objects("m", row.owner)))
			before := b.all()
			_, err := b.maker.Make(t.Context(), b.objects("m", "ours"))
			if !errors.Is(err, provision.ErrTaken) || !apierrors.IsConflict(err) {
				t.Errorf("the error is %v", err)
			}
			if diff := cmp.Diff(before, b.all()); diff != "" {
				t.Errorf("-before +after\n%s", diff)
			}
		})
	}
}

// place puts objects there, as someone else who knows nothing of the Maker.
func (b *bench) place(o provision.Objects) {
	b.Helper()
	other := apply.New(b, maker)
	for _, part := range []*unstructured.Unstructured{o.Bootstrap, o.Infrastructure} {
		if part != nil {
			_, err := other.ApplyObject(b.Context(), nil, part)
			b.Must(err)
		}
	}
	if o.Machine != nil {
		_, err := other.Apply(b.Context(), nil, o.Machine)
		b.Must(err)
	}
}

// What was taken over while the Machine was refused is the other's, and looks like an orphan to nobody.
func TestMaker_RollsBackNothingThatWasTakenOverMeanwhile(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.writes.Refuse(func(o client.Object) error {
		if o.GetObjectKind().GroupVersionKind().Kind != "Machine" {
			return nil
		}
		taken := &infrav1.SimMachine{}
		b.Must(b.Get(t.Context(), b.Key("m"), taken))
		b.Change(taken, func() {
			taken.OwnerReferences = append(taken.OwnerReferences, metav1.OwnerReference{
				APIVersion: clusterv1.GroupVersion.String(), Kind: "MachineSet", Name: "other", UID: b.owner("other"), Controller: new(true),
			})
		})
		return apierrors.NewForbidden(schema.GroupResource{Resource: "machines"}, "m", errors.New("no"))
	})
	if _, err := b.maker.Make(t.Context(), b.objects("m", "ours")); !apierrors.IsForbidden(err) || errors.Is(err, provision.ErrTaken) {
		t.Fatalf("the error is %v", err)
	}
	left := b.all()
	if len(left) != 1 || left["SimMachine m"] == "" {
		t.Errorf("left are %v", left)
	}
	orphans, err := provision.Orphans(t.Context(), b, provision.Search{
		Owner: b.owner("ours"), Infrastructure: infrav1.GroupVersion.WithKind("SimMachine"),
		Options: []client.ListOption{client.InNamespace(b.Namespace)}, Exists: func(string) bool { return false },
	})
	if err != nil || len(orphans) > 0 {
		t.Errorf("orphans %+v, error %v", orphans, err)
	}
}

func TestMaker_OwnsWhatItMakesAndKnowsIt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	o := b.objects("m", "ours")
	made, err := b.maker.Make(t.Context(), o)
	b.Must(err)
	m := &clusterv1.Machine{}
	b.Must(b.Get(t.Context(), b.Key("m"), m))
	if m.UID != made.Machine.UID || m.ResourceVersion != made.Machine.ResourceVersion {
		t.Errorf("made %+v, is %+v", made.Machine, m.ObjectMeta)
	}
	for _, entry := range m.ManagedFields {
		if entry.Manager != maker || entry.Operation != metav1.ManagedFieldsOperationApply {
			t.Errorf("managed fields %+v", entry)
		}
	}
	if result, err := b.applier.Ensure(t.Context(), m, o.Machine, false); err != nil || !result.Skipped {
		t.Errorf("the same intent again: %+v, %v", result, err)
	}
	o.Machine.Labels = nil
	_, err = b.applier.Ensure(t.Context(), m, o.Machine, false)
	b.Must(err)
	b.Must(b.Get(t.Context(), b.Key("m"), m))
	if _, ok := m.Labels["owner"]; ok {
		t.Errorf("a label that was given up is still there: %v", m.Labels)
	}
	if n := len(b.writes.Log()); n != 4 {
		t.Errorf("writes %q", b.writes.Log())
	}
}

func (b *bench) naming(template string, pick func(int) int) provision.Naming {
	return provision.Naming{Namespace: b.Namespace, Pick: pick, Facts: plan.NameFacts{
		Template: template, Cluster: workers.ClusterName, Owner: plan.MachineSetOwner, OwnerName: "ours",
	}}
}

// script picks the letters one after the other for all of a suffix.
func script(letters ...int) func(int) int {
	n := 0
	return func(int) int {
		n++
		return letters[min((n-1)/plan.SuffixLength, len(letters)-1)]
	}
}

func TestNamed_DrawsUntilANameIsFree(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.place(b.objects("m-bbbbb", "other"))
	var tried []string
	name, err := b.maker.Named(t.Context(), provision.Orphan{}, b.naming("m-{{ .random }}", script(0, 1, 2)), func(o provision.Orphan) error {
		tried = append(tried, o.Name)
		if o.Name == "m-ccccc" {
			return fmt.Errorf("make it: %w", provision.ErrTaken) // The cache has not shown it.
		}
		return nil
	})
	if diff := cmp.Diff([]string{"m-ccccc", "m-ddddd"}, tried); err != nil || name != "m-ddddd" || diff != "" {
		t.Errorf("%q, %v, -want +tried\n%s", name, err, diff)
	}
}

func TestNamed_DiscardsWhatIsBegunUnderATakenName(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	begun := b.part(bootstrapv1.GroupVersion.WithKind("KubeadmConfig"), "m-bbbbb", "ours")
	b.place(provision.Objects{Bootstrap: begun, Infrastructure: b.part(infrav1.GroupVersion.WithKind("SimMachine"), "m-bbbbb", "other")})
	b.Must(b.Get(t.Context(), b.Key("m-bbbbb"), begun))
	theirs := b.all()["SimMachine m-bbbbb"]
	name, err := b.maker.Named(t.Context(), provision.Orphan{Name: "m-bbbbb", Bootstrap: begun}, b.naming("m-{{ .random }}", script(1)), func(o provision.Orphan) error {
		objects := b.objects(o.Name, "ours")
		if o.Bootstrap != nil {
			objects.Bootstrap = nil
		}
		_, err := b.maker.Make(t.Context(), objects)
		return err
	})
	all := b.all()
	if err != nil || name != "m-ccccc" || len(all) != 4 || all["SimMachine m-bbbbb"] != theirs {
		t.Errorf("%q, %v, there are %v", name, err, all)
	}
}

func TestNamed_GivesUpATemplateWhoseNamesAreAllTaken(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tries := 0
	const template = "m-{{ slice .random 0 1 }}"
	_, err := b.maker.Named(t.Context(), provision.Orphan{}, b.naming(template, script(0)), func(provision.Orphan) error {
		tries++
		return provision.ErrTaken
	})
	stall, ok := outcome.AsStall(err)
	if !ok || stall.Recheck == 0 || !strings.Contains(stall.Message, template) || tries > 100 {
		t.Errorf("after %d tries: %v", tries, err)
	}
}
