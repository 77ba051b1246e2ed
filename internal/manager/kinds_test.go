package manager

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// laggingDiscovery knows one more kind with each question, as an API server does after CRDs were established.
type laggingDiscovery struct {
	discovery.ServerResourcesInterface
	plurals []string
	asked   int
}

func (d *laggingDiscovery) ServerResourcesForGroupVersion(string) (*metav1.APIResourceList, error) {
	known := min(d.asked, len(d.plurals))
	d.asked++
	if known == 0 {
		return nil, errors.New("the server could not find the requested resource")
	}
	list := &metav1.APIResourceList{}
	for _, plural := range d.plurals[:known] {
		list.APIResources = append(list.APIResources, metav1.APIResource{Name: plural})
	}
	return list, nil
}

func crdOf(plural string) *apiextensionsv1.CustomResourceDefinition {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	crd.Spec.Group, crd.Spec.Names.Plural = "example.com", plural
	crd.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true}, {Name: "v0"}}
	return crd
}

func TestWaitServed_EndsWhenDiscoveryTellsOfEveryKind(t *testing.T) {
	t.Parallel()
	d := &laggingDiscovery{plurals: []string{"as", "bs", "cs"}}
	if err := waitServed(t.Context(), d, []*apiextensionsv1.CustomResourceDefinition{crdOf("as"), crdOf("bs"), crdOf("cs")}); err != nil {
		t.Fatal(err)
	}
	if d.asked != 4 {
		t.Errorf("asked %d times, want 4: it must not end before the last kind is served", d.asked)
	}
}

func TestWaitServed_NamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := waitServed(ctx, &laggingDiscovery{plurals: []string{"as"}}, []*apiextensionsv1.CustomResourceDefinition{crdOf("zs")})
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "example.com/v1") {
		t.Errorf("%v, want a cancellation that names example.com/v1", err)
	}
}

// restarted is an API server that was killed between accepting a CRD's names and establishing it: it goes on when it sees
// the CRD change.
type restarted struct {
	client.WithWatch
	crd    *apiextensionsv1.CustomResourceDefinition
	events *watch.FakeWatcher
}

func (r *restarted) Get(_ context.Context, _ client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	r.crd.DeepCopyInto(obj.(*apiextensionsv1.CustomResourceDefinition))
	return nil
}

// Apply changes nothing: the CRD is as it is to be.
func (*restarted) Apply(context.Context, runtime.ApplyConfiguration, ...client.ApplyOption) error {
	return nil
}

func (r *restarted) Watch(context.Context, client.ObjectList, ...client.ListOption) (watch.Interface, error) {
	r.events.Add(r.crd.DeepCopy())
	return r.events, nil
}

func (r *restarted) Patch(_ context.Context, _ client.Object, patch client.Patch, _ ...client.PatchOption) error {
	raw, err := patch.Data(nil)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, r.crd); err != nil {
		return err
	}
	r.crd.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue}}
	r.events.Modify(r.crd.DeepCopy())
	return nil
}

func TestInstallKind_EstablishesWhatAKilledServerLeftHalfInstalled(t *testing.T) {
	t.Parallel()
	crd := crdOf("as")
	hash, err := hashOf(crd.Spec)
	if err != nil {
		t.Fatal(err)
	}
	stored := crd.DeepCopy()
	stored.Annotations = map[string]string{schemaHash: hash}
	stored.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.NamesAccepted, Status: apiextensionsv1.ConditionTrue}}
	server := &restarted{crd: stored, events: watch.NewFakeWithChanSize(8, false)}
	if err := installKind(t.Context(), server, crd); err != nil {
		t.Fatal(err)
	}
	if got := server.crd.Annotations[schemaHash]; got != hash {
		t.Errorf("the hash is %q afterwards, not %q", got, hash)
	}
}
