package machine_test

import (
	"context"
	"errors"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/contract"
	"slipway.dev/slipway/internal/manager"
	"slipway.dev/slipway/internal/planetest"
	"slipway.dev/slipway/internal/planetest/fakes"
)

// deafKind is a kind whose conversion webhook nobody serves.
const deafKind = "FakeDeafMachine"

// installDeaf installs the kind, with an object that is stored in another version than the contract's.
func (w *world) installDeaf(name string) *apiextensionsv1.CustomResourceDefinition {
	w.Helper()
	anything := &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)}}
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "fakedeafmachines." + fakes.Group, Labels: map[string]string{"cluster.x-k8s.io/v1beta2": "v2"}},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: fakes.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: deafKind, ListKind: deafKind + "List", Plural: "fakedeafmachines", Singular: "fakedeafmachine"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{
				{Name: "v1", Served: true, Storage: true, Schema: anything}, {Name: "v2", Served: true, Schema: anything},
			},
			Conversion: &apiextensionsv1.CustomResourceConversion{
				Strategy: apiextensionsv1.WebhookConverter,
				Webhook: &apiextensionsv1.WebhookConversion{
					ClientConfig:             &apiextensionsv1.WebhookClientConfig{URL: new("https://127.0.0.1:1/convert")},
					ConversionReviewVersions: []string{"v1"},
				},
			},
		},
	}
	w.must(w.Create(w.Context(), crd))
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(schema.GroupVersionKind{Group: fakes.Group, Version: "v1", Kind: deafKind})
	object.SetNamespace(w.namespace)
	object.SetName(name)
	planetest.Eventually(w, func(ctx context.Context) error { return w.Create(ctx, object.DeepCopy()) })
	return crd
}

// A provider that is broken must not keep others from working, and says itself what is wrong.
func TestMachine_GoesOnBesideAKindThatCannotBeListed(t *testing.T) {
	t.Parallel()
	o := manager.ControllerOptions()
	o.MaxConcurrentReconciles = 1
	w := newWorldBy(t, planetest.Config(t), o, contract.V1Beta2)
	crd := w.installDeaf("stuck")
	stuck := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "stuck"}, Spec: clusterv1.MachineSpec{
		ClusterName: clusterName, Bootstrap: clusterv1.Bootstrap{DataSecretName: new("")},
		InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: fakes.Group, Kind: deafKind, Name: "stuck"},
	}}
	w.must(w.Create(t.Context(), stuck))
	w.running("worker")
	w.until(stuck, func(m *clusterv1.Machine) error {
		return errors.Join(hasReason(m, clusterv1.InfrastructureReadyCondition, contract.KindNotListableReason),
			says(m, clusterv1.InfrastructureReadyCondition, deafKind+"s of "+fakes.Group+"/v2 cannot be listed: "),
			says(m, clusterv1.InfrastructureReadyCondition, "conversion webhook"))
	})
	planetest.Change(t, w, crd, func() {
		crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
	})
	w.until(stuck, func(m *clusterv1.Machine) error {
		return hasReason(m, clusterv1.InfrastructureReadyCondition, clusterv1.NotReadyReason)
	})
}
