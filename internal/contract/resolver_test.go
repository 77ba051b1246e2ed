package contract_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/source"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/contract"
	"slipway.dev/slipway/internal/outcome"
)

const infraGroup = "infrastructure.cluster.x-k8s.io"

// shelf is a reader of a few CRDs, by name, and objects, by group, version, kind and key.
type shelf struct {
	client.Reader
	crds    map[string]map[string]string
	objects map[string]*unstructured.Unstructured
	broken  error
	// unserved is the answer about every object.
	unserved error
}

func (s *shelf) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	if s.broken != nil {
		return s.broken
	}
	gvk := obj.GetObjectKind().GroupVersionKind()
	missing := apierrors.NewNotFound(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, key.Name)
	if crd, ok := obj.(*metav1.PartialObjectMetadata); ok {
		labels, ok := s.crds[key.Name]
		if !ok {
			return missing
		}
		crd.Labels = labels
		return nil
	}
	if s.unserved != nil {
		return s.unserved
	}
	u, ok := s.objects[gvk.String()+" "+key.String()]
	if !ok {
		return missing
	}
	obj.(*unstructured.Unstructured).Object = u.Object
	return nil
}

func TestCRDName_FollowsFromTheKind(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{
		"AWSMachine":              "awsmachines",
		"AzureClusterIdentity":    "azureclusteridentities",
		"KubeadmControlPlane":     "kubeadmcontrolplanes",
		"SimMachineTemplate":      "simmachinetemplates",
		"IBMPowerVSImage":         "ibmpowervsimages",
		"OpenStackFloatingIPPool": "openstackfloatingippools",
		"VSphereFailureDomain":    "vspherefailuredomains",
		"ProxmoxIPAddress":        "proxmoxipaddresses",
	} {
		if got := contract.CRDName(schema.GroupKind{Group: "g", Kind: kind}); got != want+".g" {
			t.Errorf("CRDName(%s) is %s, want %s.g", kind, got, want)
		}
	}
}

func TestResolve_PicksContractThenVersion(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name     string
		labels   map[string]string
		version  string
		contract contract.Version
		stall    error
	}{
		{name: "one version", labels: map[string]string{"cluster.x-k8s.io/v1beta2": "v1beta1"}, version: "v1beta1", contract: contract.V1Beta2},
		{name: "the newer contract is preferred", labels: map[string]string{"cluster.x-k8s.io/v1beta1": "v1beta2", "cluster.x-k8s.io/v1beta2": "v1beta1"},
			version: "v1beta1", contract: contract.V1Beta2},
		{name: "the older contract is understood", labels: map[string]string{"cluster.x-k8s.io/v1beta1": "v1beta1"}, version: "v1beta1", contract: contract.V1Beta1},
		{name: "the highest version of a list", labels: map[string]string{"cluster.x-k8s.io/v1beta2": "v1beta1_v1beta2"}, version: "v1beta2", contract: contract.V1Beta2},
		{name: "whatever the order of the list", labels: map[string]string{"cluster.x-k8s.io/v1beta2": "v1beta10_v1beta2"}, version: "v1beta10", contract: contract.V1Beta2},
		{name: "stable before beta before alpha", labels: map[string]string{"cluster.x-k8s.io/v1beta2": "v1_v2alpha1_v1beta9"}, version: "v1", contract: contract.V1Beta2},
		{name: "an empty label counts as none", labels: map[string]string{"cluster.x-k8s.io/v1beta2": "", "cluster.x-k8s.io/v1beta1": "v1"}, version: "v1", contract: contract.V1Beta1},
		{name: "a contract of the future", labels: map[string]string{"cluster.x-k8s.io/v1beta3": "v1"}, stall: contract.ErrContractNotSupported},
		{name: "no label", stall: contract.ErrContractNotSupported},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			r := contract.NewResolver(&shelf{crds: map[string]map[string]string{"foomachines." + infraGroup: row.labels}})
			kind, err := r.Resolve(t.Context(), schema.GroupKind{Group: infraGroup, Kind: "FooMachine"})
			if !errors.Is(err, row.stall) || kind.Version != row.version || kind.Contract != row.contract {
				t.Errorf("Resolve returned %v with contract %s, error %v", kind, kind.Contract, err)
			}
			stall, ok := outcome.AsStall(err)
			if ok != (row.stall != nil) || ok && (!strings.Contains(stall.Message, "foomachines."+infraGroup) || stall.Recheck == 0) {
				t.Errorf("the stall does not say how to mend it: %v", err)
			}
		})
	}
}

func TestGet_TellsAMissingObjectFromAMissingKind(t *testing.T) {
	t.Parallel()
	ref := clusterv1.ContractVersionedObjectReference{APIGroup: infraGroup, Kind: "FooMachine", Name: "m"}
	there := &unstructured.Unstructured{Object: map[string]any{"kind": "FooMachine", "metadata": map[string]any{"name": "m"}}}
	installed := map[string]map[string]string{"foomachines." + infraGroup: {"cluster.x-k8s.io/v1beta2": "v1beta2"}}
	objects := map[string]*unstructured.Unstructured{infraGroup + "/v1beta2, Kind=FooMachine ns/m": there}
	broken := errors.New("broken")
	for _, row := range []struct {
		name     string
		shelf    *shelf
		found    bool
		notFound bool
		is       error
	}{
		{name: "there", shelf: &shelf{crds: installed, objects: objects}, found: true},
		{name: "no such object", shelf: &shelf{crds: installed}, notFound: true},
		{name: "no such kind", shelf: &shelf{objects: objects}, is: contract.ErrKindNotInstalled},
		{name: "the API server is away", shelf: &shelf{broken: broken}, is: broken},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got, err := contract.NewResolver(row.shelf).Get(t.Context(), ref, "ns")
			if (got != nil) != row.found || apierrors.IsNotFound(err) != row.notFound || !errors.Is(err, row.is) && row.is != nil {
				t.Errorf("Get returned %v, %v", got, err)
			}
		})
	}
}

func TestMissing_IsOnlyWhatTheServerHasLookedFor(t *testing.T) {
	t.Parallel()
	ref := clusterv1.ContractVersionedObjectReference{APIGroup: infraGroup, Kind: "FooMachine", Name: "m"}
	there := &unstructured.Unstructured{Object: map[string]any{"kind": "FooMachine", "metadata": map[string]any{"name": "m"}}}
	installed := map[string]map[string]string{"foomachines." + infraGroup: {"cluster.x-k8s.io/v1beta2": "v1beta2"}}
	objects := map[string]*unstructured.Unstructured{infraGroup + "/v1beta2, Kind=FooMachine ns/m": there}
	unserved := apierrors.NewGenericServerResponse(404, "get", schema.GroupResource{Group: infraGroup, Resource: "foomachines"}, "m", "404 page not found", 0, true)
	for _, row := range []struct {
		name    string
		shelf   *shelf
		missing bool
		fails   bool
	}{
		{name: "there", shelf: &shelf{crds: installed, objects: objects}},
		{name: "no such object", shelf: &shelf{crds: installed}, missing: true},
		{name: "no such kind", shelf: &shelf{}, missing: true},
		{name: "a kind without a contract", shelf: &shelf{crds: map[string]map[string]string{"foomachines." + infraGroup: {}}}, fails: true},
		{name: "a path that is not served", shelf: &shelf{crds: installed, unserved: unserved}, fails: true},
		{name: "the API server is away", shelf: &shelf{broken: errors.New("broken")}, fails: true},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			missing, err := contract.NewResolver(row.shelf).Missing(t.Context(), ref, "ns")
			if missing != row.missing || (err != nil) != row.fails {
				t.Errorf("Missing returned %t, %v", missing, err)
			}
		})
	}
}

// watcher counts the watches that a controller is asked for.
type watcher struct {
	controller.Controller
	watches int
	err     error
}

func (w *watcher) Watch(source.Source) error {
	w.watches++
	return w.err
}

func TestWatches_StartOnceAndAreTriedAgainAfterAFailure(t *testing.T) {
	t.Parallel()
	ref := clusterv1.ContractVersionedObjectReference{APIGroup: infraGroup, Kind: "FooMachine", Name: "m"}
	reader := &shelf{crds: map[string]map[string]string{"foomachines." + infraGroup: {"cluster.x-k8s.io/v1beta2": "v1beta2"}}}
	c := &watcher{err: errors.New("broken")}
	watches := contract.NewWatches(contract.NewResolver(reader), c, nil, nil)
	if _, err := watches.Get(t.Context(), ref, "ns"); !errors.Is(err, c.err) {
		t.Fatalf("Get returned %v", err)
	}
	c.err = nil
	for range 3 {
		if _, err := watches.Get(t.Context(), ref, "ns"); !apierrors.IsNotFound(err) {
			t.Fatalf("Get returned %v", err)
		}
	}
	if c.watches != 2 {
		t.Errorf("the controller was asked for %d watches, want one that failed and one that runs", c.watches)
	}
}
