package v1beta2_test

import (
	"encoding/json"
	"testing"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
)

func TestJSON_KeepsAnyValueAsItWasWritten(t *testing.T) {
	t.Parallel()
	for _, wire := range []string{
		`{"name":"a","value":{"b":1.50,"c":[null,""]}}`, `{"name":"a","value":"1"}`, `{"name":"a","value":0}`,
		`{"name":"a","value":false}`, `{"name":"a","value":[]}`, `{"name":"a"}`,
	} {
		var variable clusterv1.ClusterVariable
		if err := json.Unmarshal([]byte(wire), &variable); err != nil {
			t.Errorf("decode %s: %v", wire, err)
			continue
		}
		got, err := json.Marshal(variable)
		if err != nil || string(got) != wire {
			t.Errorf("got %s, %v, want %s", got, err, wire)
		}
	}
}

func TestJSON_TakesNullForNothingWritten(t *testing.T) {
	t.Parallel()
	value := clusterv1.JSON{Raw: []byte(`1`)}
	if err := json.Unmarshal([]byte(`null`), &value); err != nil || value.Raw != nil {
		t.Errorf("got %q, %v, want nothing", value.Raw, err)
	}
	if got, err := json.Marshal(value); err != nil || string(got) != "null" {
		t.Errorf("got %s, %v, want null", got, err)
	}
}

func TestJSON_KeepsItsOwnCopy(t *testing.T) {
	t.Parallel()
	wire := []byte(`"a"`)
	var value clusterv1.JSON
	if err := value.UnmarshalJSON(wire); err != nil {
		t.Fatal(err)
	}
	wire[1] = 'b'
	if string(value.Raw) != `"a"` {
		t.Errorf("got %s after the source changed, want \"a\"", value.Raw)
	}
}

func TestTopology_IsDefinedOnceAnythingIsSet(t *testing.T) {
	t.Parallel()
	replicas := int32(0)
	for name, topology := range map[string]clusterv1.Topology{
		"class":     {ClassRef: clusterv1.ClusterClassRef{Name: "a"}},
		"version":   {Version: "v1.36.2"},
		"replicas":  {ControlPlane: clusterv1.ControlPlaneTopology{Replicas: &replicas}},
		"workers":   {Workers: clusterv1.WorkersTopology{MachinePools: []clusterv1.MachinePoolTopology{{}}}},
		"variables": {Variables: []clusterv1.ClusterVariable{{Name: "a"}}},
	} {
		if !topology.IsDefined() {
			t.Errorf("a topology with its %s set counts as undefined", name)
		}
	}
	if (&clusterv1.Topology{}).IsDefined() || (*clusterv1.Topology)(nil).IsDefined() {
		t.Error("an empty topology counts as defined")
	}
}

func TestTemplateReference_NamesAnExactVersion(t *testing.T) {
	t.Parallel()
	reference := clusterv1.TemplateReference{APIVersion: "infrastructure.cluster.x-k8s.io/v1beta2", Kind: "SimMachineTemplate", Name: "a"}
	if got := reference.GroupVersionKind().String(); got != "infrastructure.cluster.x-k8s.io/v1beta2, Kind=SimMachineTemplate" {
		t.Errorf("got %s", got)
	}
	if !reference.IsDefined() || (clusterv1.TemplateReference{}).IsDefined() {
		t.Error("only a reference that names something is defined")
	}
}
