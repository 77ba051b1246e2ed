package contract_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/conditions"
	"slipway.dev/slipway/internal/contract"
	"slipway.dev/slipway/internal/outcome"
)

// object returns a Foo of the contract whose spec and status are given as JSON.
func object(t *testing.T, keeps contract.Version, kind, body string) *contract.Object {
	t.Helper()
	u := &unstructured.Unstructured{}
	whole := `{"apiVersion":"` + infraGroup + `/v1","kind":"` + kind + `","metadata":{"name":"n","namespace":"ns","uid":"u"},` + body + `}`
	if err := u.UnmarshalJSON([]byte(whole)); err != nil {
		t.Fatalf("decode %s: %v", whole, err)
	}
	return contract.NewObject(u, keeps)
}

func flag(path string, value *bool) contract.Flag { return contract.Flag{Path: path, Value: value} }

func TestInfrastructureCluster_InBothContracts(t *testing.T) {
	t.Parallel()
	domains := []clusterv1.FailureDomain{
		{Name: "a", ControlPlane: new(true), Attributes: map[string]string{"rack": "1"}},
		{Name: "b"},
	}
	for _, row := range []struct {
		name  string
		keeps contract.Version
		body  string
		want  contract.InfrastructureCluster
	}{
		{"v1beta2, nothing yet", contract.V1Beta2, `"spec":{}`,
			contract.InfrastructureCluster{Provisioned: flag("status.initialization.provisioned", nil)}},
		{"v1beta2, false is not unset", contract.V1Beta2, `"status":{"initialization":{"provisioned":false}}`,
			contract.InfrastructureCluster{Provisioned: flag("status.initialization.provisioned", new(false))}},
		{"v1beta2, all", contract.V1Beta2,
			`"spec":{"controlPlaneEndpoint":{"host":"h","port":6443}},"status":{"ready":false,"failureReason":"X","initialization":{"provisioned":true},
			 "failureDomains":[{"name":"b"},{"name":"a","controlPlane":true,"attributes":{"rack":"1"}}]}`,
			contract.InfrastructureCluster{Provisioned: flag("status.initialization.provisioned", new(true)),
				Endpoint: clusterv1.APIEndpoint{Host: "h", Port: 6443}, FailureDomains: domains}},
		{"v1beta1, all", contract.V1Beta1,
			`"spec":{"controlPlaneEndpoint":{"host":"h","port":6443}},"status":{"ready":true,"failureReason":"X","failureMessage":"m",
			 "initialization":{"provisioned":false},"failureDomains":{"b":{},"a":{"controlPlane":true,"attributes":{"rack":"1"}}}}`,
			contract.InfrastructureCluster{Provisioned: flag("status.ready", new(true)), Endpoint: clusterv1.APIEndpoint{Host: "h", Port: 6443},
				FailureDomains: domains, Failure: contract.Failure{Reason: "X", Message: "m"}}},
		{"nulls are unset", contract.V1Beta1, `"spec":null,"status":{"ready":null,"failureDomains":null}`,
			contract.InfrastructureCluster{Provisioned: flag("status.ready", nil)}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got, err := object(t, row.keeps, "FooCluster", row.body).InfrastructureCluster()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestInfrastructureMachine_InBothContracts(t *testing.T) {
	t.Parallel()
	common := `"spec":{"providerID":"foo://1","failureDomain":"old"},"status":{"ready":true,"initialization":{"provisioned":false},"interruptible":true,
		"failureDomain":"new","addresses":[{"type":"InternalIP","address":"10.0.0.2"},{"type":"Hostname","address":"n"}]}`
	want := contract.InfrastructureMachine{
		Provisioned: flag("status.ready", new(true)), ProviderID: "foo://1", FailureDomain: "new", SpecFailureDomain: "old",
		Interruptible: flag("status.interruptible", new(true)),
		Addresses:     clusterv1.MachineAddresses{{Type: "InternalIP", Address: "10.0.0.2"}, {Type: "Hostname", Address: "n"}},
	}
	got, err := object(t, contract.V1Beta1, "FooMachine", common).InfrastructureMachine()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("v1beta1: -want +got\n%s", diff)
	}
	want.Provisioned = flag("status.initialization.provisioned", new(false))
	if got, err = object(t, contract.V1Beta2, "FooMachine", common).InfrastructureMachine(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("v1beta2: -want +got\n%s", diff)
	}
}

func TestBootstrapConfig_InBothContracts(t *testing.T) {
	t.Parallel()
	body := `"status":{"ready":true,"dataSecretName":"s","initialization":{"dataSecretCreated":false}}`
	for keeps, want := range map[contract.Version]contract.BootstrapConfig{
		contract.V1Beta1: {DataSecretCreated: flag("status.ready", new(true)), DataSecretName: "s"},
		contract.V1Beta2: {DataSecretCreated: flag("status.initialization.dataSecretCreated", new(false)), DataSecretName: "s"},
	} {
		got, err := object(t, keeps, "FooConfig", body).BootstrapConfig()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", keeps, diff)
		}
	}
}

func TestControlPlane_InBothContracts(t *testing.T) {
	t.Parallel()
	body := `"spec":{"version":"v1.37.0","replicas":3,"controlPlaneEndpoint":{"host":"h","port":1}},"status":{"initialized":true,
		"initialization":{"controlPlaneInitialized":false},"version":"v1.36.0","versions":[{"version":"v1.36.0","replicas":2}],"selector":"a=b",
		"replicas":4,"readyReplicas":2,"unavailableReplicas":1,"updatedReplicas":1,"availableReplicas":3,"upToDateReplicas":0,"externalManagedControlPlane":false}`
	want := contract.ControlPlane{
		Initialized: flag("status.initialized", new(true)), Endpoint: clusterv1.APIEndpoint{Host: "h", Port: 1},
		Version: "v1.37.0", ObservedVersion: "v1.36.0", Versions: []clusterv1.StatusVersion{{Version: "v1.36.0", Replicas: new(int32(2))}},
		Selector: "a=b", DesiredReplicas: new(int32(3)), Replicas: new(int32(4)), ReadyReplicas: new(int32(2)),
		AvailableReplicas: new(int32(2)), UpToDateReplicas: new(int32(1)), ExternalManaged: flag("status.externalManagedControlPlane", new(false)),
	}
	got, err := object(t, contract.V1Beta1, "FooControlPlane", body).ControlPlane()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("v1beta1: -want +got\n%s", diff)
	}
	want.Initialized = flag("status.initialization.controlPlaneInitialized", new(false))
	want.AvailableReplicas, want.UpToDateReplicas = new(int32(3)), new(int32(0))
	if got, err = object(t, contract.V1Beta2, "FooControlPlane", body).ControlPlane(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("v1beta2: -want +got\n%s", diff)
	}
}

func TestControlPlane_NumbersThatAreNotToldStayUnset(t *testing.T) {
	t.Parallel()
	for _, keeps := range []contract.Version{contract.V1Beta1, contract.V1Beta2} {
		got, err := object(t, keeps, "FooControlPlane", `"spec":{"replicas":3}`).ControlPlane()
		if err != nil {
			t.Fatal(err)
		}
		if got.Replicas != nil || got.AvailableReplicas != nil || got.UpToDateReplicas != nil || got.ExternalManaged.IsSet() {
			t.Errorf("%s: numbers out of nothing: %+v", keeps, got)
		}
	}
}

func TestViews_LeaveOutWhatNoStatusCanHold(t *testing.T) {
	t.Parallel()
	machine, err := object(t, contract.V1Beta1, "FooMachine", `"status":{"failureMessage":"`+strings.Repeat("long ", 5000)+`","addresses":[
		{"type":"InternalIP","address":""},{"type":"Imagined","address":"a"},{"type":"Hostname","address":"h"}]}`).InfrastructureMachine()
	if err != nil || len(machine.Addresses) != 1 || machine.Addresses[0].Address != "h" || len(machine.Failure.Message) > 10240 {
		t.Errorf("addresses %+v, failure of %d bytes, %v", machine.Addresses, len(machine.Failure.Message), err)
	}
	cluster, err := object(t, contract.V1Beta2, "FooCluster", `"status":{"failureDomains":[{"name":""},{"name":"b"},{"name":"a"},{"name":"b"}]}`).InfrastructureCluster()
	if err != nil || len(cluster.FailureDomains) != 2 {
		t.Errorf("failure domains %+v, %v", cluster.FailureDomains, err)
	}
	plane, err := object(t, contract.V1Beta2, "FooControlPlane",
		`"status":{"versions":[{"version":"","replicas":1},{"version":"v1.37.2"},{"version":"v1.37.1","replicas":0},{"version":"v1.37.2","replicas":3}]}`).ControlPlane()
	if err != nil || len(plane.Versions) != 1 || *plane.Versions[0].Replicas != 3 {
		t.Errorf("versions %+v, %v", plane.Versions, err)
	}
}

func TestViews_NameTheFieldThatBreaksTheContract(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ body, path string }{
		{`"status":{"ready":"yes"}`, "status.ready is not a boolean"},
		{`"status":"fine"`, "status is not an object"},
		{`"spec":{"controlPlaneEndpoint":{"port":"6443"}}`, "spec.controlPlaneEndpoint.port is not a whole number"},
		{`"spec":{"controlPlaneEndpoint":{"port":6443.5}}`, "spec.controlPlaneEndpoint.port is not a whole number"},
		{`"spec":{"controlPlaneEndpoint":{"port":99999999999}}`, "spec.controlPlaneEndpoint.port is not a whole number"},
		{`"status":{"failureDomains":["a"]}`, "status.failureDomains is not an object"},
		{`"status":{"failureDomains":{"a":{"controlPlane":"yes"}}}`, "status.failureDomains.a.controlPlane is not a boolean"},
	} {
		_, err := object(t, contract.V1Beta1, "FooCluster", row.body).InfrastructureCluster()
		stall, ok := outcome.AsStall(err)
		if !ok || !strings.Contains(stall.Message, row.path) || !strings.Contains(stall.Message, "FooCluster n") {
			t.Errorf("%s: error is %v", row.body, err)
		}
	}
}

func TestConditions_OfBothStyles(t *testing.T) {
	t.Parallel()
	at := `"lastTransitionTime":"2030-01-01T00:00:00Z"`
	since := metav1.NewTime(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	for _, row := range []struct {
		name  string
		keeps contract.Version
		body  string
		want  []metav1.Condition
	}{
		{"none", contract.V1Beta2, `"status":{}`, []metav1.Condition{}},
		{"today's", contract.V1Beta2, `"status":{"conditions":[{"type":"Ready","status":"False","reason":"R","message":"m","observedGeneration":3,` + at + `}]}`,
			[]metav1.Condition{{Type: "Ready", Status: "False", Reason: "R", Message: "m", ObservedGeneration: 3, LastTransitionTime: since}}},
		{"old ones have no reason when True", contract.V1Beta1, `"status":{"conditions":[{"type":"Ready","status":"True",` + at + `}]}`,
			[]metav1.Condition{{Type: "Ready", Status: "True", Reason: "NoReasonReported", LastTransitionTime: since}}},
		{"new ones of an old contract count first", contract.V1Beta1,
			`"status":{"conditions":[{"type":"Ready","status":"True"}],"v1beta2":{"conditions":[{"type":"Ready","status":"False","reason":"R"}]}}`,
			[]metav1.Condition{{Type: "Ready", Status: "False", Reason: "R"}}},
		{"a time that cannot be read is left out", contract.V1Beta2, `"status":{"conditions":[{"type":"Ready","status":"True","reason":"R","lastTransitionTime":"now"}]}`,
			[]metav1.Condition{{Type: "Ready", Status: "True", Reason: "R"}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got, err := object(t, row.keeps, "Foo", row.body).Conditions()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestMirror_FallsBackToTheFlag(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, body string
		want       metav1.Condition
	}{
		{"not there yet", `"status":{}`, conditions.False("InfrastructureReady", "NotReady", "FooCluster status.ready is false")},
		{"the flag is true", `"status":{"ready":true}`, conditions.True("InfrastructureReady", "Ready", "")},
		{"the condition counts more", `"status":{"ready":true,"conditions":[{"type":"Ready","status":"False","reason":"R","message":"m"}]}`,
			conditions.False("InfrastructureReady", "R", "m")},
		{"True without a reason", `"status":{"conditions":[{"type":"Ready","status":"True"}]}`, conditions.True("InfrastructureReady", "Ready", "")},
		{"conditions that cannot be read", `"status":{"conditions":[7]}`, conditions.Unknown("InfrastructureReady", "InvalidConditionReported",
			"FooCluster n reports conditions that cannot be read: status.conditions[0] is not an object but int64")},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			o := object(t, contract.V1Beta1, "FooCluster", row.body)
			view, err := o.InfrastructureCluster()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, o.Mirror("InfrastructureReady", "Ready", view.Provisioned)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestClone(t *testing.T) {
	t.Parallel()
	body := `"spec":{"template":{"metadata":{"labels":{"a":"template","b":"template"},"annotations":{"x":"template"}},"spec":{"size":3,"disks":[{"gb":1}]}}},"status":{"capacity":{}}`
	template := object(t, contract.V1Beta2, "FooMachineTemplate", body)
	owner := metav1.OwnerReference{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "MachineSet", Name: "ms", UID: "1"}
	got, err := template.Clone(contract.Clone{
		Name: "m-1", Namespace: "ns", ClusterName: "c", Owners: []metav1.OwnerReference{owner},
		Labels: map[string]string{"a": "machine"}, Annotations: map[string]string{"y": "machine"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(`{"apiVersion":"`+infraGroup+`/v1","kind":"FooMachine","metadata":{"name":"m-1","namespace":"ns",
		"labels":{"a":"machine","b":"template","cluster.x-k8s.io/cluster-name":"c"},
		"annotations":{"x":"template","y":"machine","cluster.x-k8s.io/cloned-from-name":"n",
			"cluster.x-k8s.io/cloned-from-groupkind":"FooMachineTemplate.`+infraGroup+`"},
		"ownerReferences":[{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"MachineSet","name":"ms","uid":"1"}]},
		"spec":{"size":3,"disks":[{"gb":1}]}}`), &want.Object); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(encoded(t, want), encoded(t, got)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	name, gk, ok := contract.ClonedFrom(got)
	if !ok || name != "n" || gk.Kind != "FooMachineTemplate" || gk.Group != infraGroup {
		t.Errorf("ClonedFrom returned %s, %s, %t", name, gk, ok)
	}
	got.Object["spec"].(map[string]any)["size"] = int64(9)
	again, err := template.Clone(contract.Clone{Name: "m-2"})
	if err != nil {
		t.Fatal(err)
	}
	if size := again.Object["spec"].(map[string]any)["size"]; size != int64(3) {
		t.Errorf("changing a clone changed the template: size is %v", size)
	}
}

func encoded(t *testing.T, u *unstructured.Unstructured) string {
	t.Helper()
	raw, err := json.MarshalIndent(u.Object, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestClone_RefusesWhatIsNoTemplate(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ kind, body string }{
		{"FooMachine", `"spec":{"template":{"spec":{}}}`},
		{"FooMachineTemplate", `"spec":{}`},
		{"FooMachineTemplate", `"spec":{"template":"x"}`},
	} {
		_, err := object(t, contract.V1Beta2, row.kind, row.body).Clone(contract.Clone{Name: "m"})
		if _, ok := outcome.AsStall(err); !ok {
			t.Errorf("%s with %s: error is %v", row.kind, row.body, err)
		}
	}
}

func TestObject_MetadataIsACopy(t *testing.T) {
	t.Parallel()
	u := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"labels": map[string]any{"a": "b"}}}}
	o := contract.NewObject(u, contract.V1Beta2)
	o.Metadata().Labels["a"] = "changed"
	o.Copy().SetLabels(nil)
	if got := o.Labels()["a"]; got != "b" {
		t.Errorf("the object changed: label is %q", got)
	}
}
