// Package fakes installs the kinds of providers that keep one of the provider contracts, for tests that play the providers
// themselves. A kind's schema takes any field.
package fakes

import (
	"context"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/contract"
	"slipway.dev/slipway/internal/planetest"
)

// Group is the API group of all kinds of fake providers.
const Group = "fake.slipway.dev"

// Providers are the fake providers of one contract, and their objects in one namespace. The kind of a role such as
// "Machine" or "ControlPlane" is FakeV1beta1Machine or FakeV1beta2Machine.
type Providers struct {
	t         testing.TB
	client    client.Client
	namespace string
	// Contract is the one that they keep.
	Contract contract.Version
}

// Install installs the kinds of the roles, and returns when the API server serves them.
func Install(t testing.TB, c client.Client, namespace string, version contract.Version, roles ...string) *Providers {
	t.Helper()
	p := &Providers{t: t, client: c, namespace: namespace, Contract: version}
	// The API server takes some seconds to serve a kind, so all are created before any is waited for.
	for _, role := range roles {
		if err := c.Create(t.Context(), p.definition(role)); !apierrors.IsAlreadyExists(err) {
			p.must(err)
		}
	}
	for _, role := range roles {
		planetest.Eventually(t, func(ctx context.Context) error {
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(schema.GroupVersionKind{Group: Group, Version: "v1", Kind: p.Kind(role) + "List"})
			return c.List(ctx, list, client.InNamespace(namespace))
		})
	}
	return p
}

func (p *Providers) definition(role string) *apiextensionsv1.CustomResourceDefinition {
	kind := p.Kind(role)
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{
			Name: p.Plural(role) + "." + Group, Labels: map[string]string{"cluster.x-k8s.io/" + string(p.Contract): "v1"},
		},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: kind, ListKind: kind + "List", Plural: p.Plural(role), Singular: strings.ToLower(kind)},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{
					OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)},
				},
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
			}},
		},
	}
}

func (p *Providers) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// Kind is the kind of a role.
func (p *Providers) Kind(role string) string {
	return "Fake" + strings.ToUpper(string(p.Contract[:2])) + string(p.Contract[2:]) + role
}

// Plural is the resource of a role.
func (p *Providers) Plural(role string) string { return strings.ToLower(p.Kind(role)) + "s" }

// Ref refers to an object of a role.
func (p *Providers) Ref(role, name string) clusterv1.ContractVersionedObjectReference {
	return clusterv1.ContractVersionedObjectReference{APIGroup: Group, Kind: p.Kind(role), Name: name}
}

// Fake returns an object of a role, which is to be created or read.
func (p *Providers) Fake(role, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: Group, Version: "v1", Kind: p.Kind(role)})
	u.SetNamespace(p.namespace)
	u.SetName(name)
	return u
}

// Edit sets fields of an object, each by its path, such as "status.ready", and by a write of its own.
func (p *Providers) Edit(role, name string, fields map[string]any) {
	p.t.Helper()
	for path, value := range fields {
		u := p.Fake(role, name)
		p.must(p.client.Get(p.t.Context(), client.ObjectKeyFromObject(u), u))
		before := u.DeepCopy()
		p.must(unstructured.SetNestedField(u.Object, value, strings.Split(path, ".")...))
		if strings.HasPrefix(path, "status.") {
			p.must(p.client.Status().Patch(p.t.Context(), u, client.MergeFrom(before)))
		} else {
			p.must(p.client.Patch(p.t.Context(), u, client.MergeFrom(before)))
		}
	}
}
