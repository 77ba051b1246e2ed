package v1beta2_test

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
)

// An empty struct on the wire is rejected by minProperties, and a server-side apply of it would claim the field. Metadata
// alone is always there, as it is for every kind of Kubernetes.
func TestWire_LeavesOutWhatIsUnset(t *testing.T) {
	t.Parallel()
	for name, object := range map[string]any{
		"Cluster": clusterv1.Cluster{}, "Machine": clusterv1.Machine{}, "MachineSet": clusterv1.MachineSet{},
		"MachineDeployment": clusterv1.MachineDeployment{}, "MachinePool": clusterv1.MachinePool{},
		"MachineHealthCheck": clusterv1.MachineHealthCheck{}, "MachineDrainRule": clusterv1.MachineDrainRule{},
		"ClusterClass": clusterv1.ClusterClass{},
	} {
		got, err := json.Marshal(object)
		if err != nil {
			t.Fatalf("encode %s: %v", name, err)
		}
		if want := `{"metadata":{}}`; string(got) != want {
			t.Errorf("an empty %s is %s on the wire, want %s", name, got, want)
		}
	}
}

// Zero means something else than unset for these: try for ever, Available at once, no bootstrap data needed.
func TestWire_KeepsZerosThatAreSet(t *testing.T) {
	t.Parallel()
	const wire = `{"clusterName":"c","bootstrap":{"dataSecretName":""},"minReadySeconds":0,"deletion":{"nodeDeletionTimeoutSeconds":0}}`
	var spec clusterv1.MachineSpec
	if err := json.Unmarshal([]byte(wire), &spec); err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != wire {
		t.Errorf("came back as %s, want %s", got, wire)
	}
}

func TestAddToScheme_KnowsEveryKindAndItsList(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := clusterv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{
		"Cluster", "ClusterClass", "Machine", "MachineDeployment", "MachineDrainRule", "MachineHealthCheck", "MachinePool", "MachineSet",
	} {
		for _, name := range []string{kind, kind + "List"} {
			if !scheme.Recognizes(clusterv1.GroupVersion.WithKind(name)) {
				t.Errorf("%s is not registered", name)
			}
		}
	}
}

func TestAPIEndpoint_IsValidOnlyWithHostAndPort(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		endpoint    clusterv1.APIEndpoint
		valid, zero bool
	}{
		{clusterv1.APIEndpoint{}, false, true},
		{clusterv1.APIEndpoint{Host: "10.0.0.1"}, false, false},
		{clusterv1.APIEndpoint{Port: 6443}, false, false},
		{clusterv1.APIEndpoint{Host: "10.0.0.1", Port: 6443}, true, false},
	} {
		if got := c.endpoint.IsValid(); got != c.valid {
			t.Errorf("%+v: IsValid is %t", c.endpoint, got)
		}
		if got := c.endpoint.IsZero(); got != c.zero {
			t.Errorf("%+v: IsZero is %t", c.endpoint, got)
		}
	}
}
