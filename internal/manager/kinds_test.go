package manager

import (
	"context"
	"errors"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
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
