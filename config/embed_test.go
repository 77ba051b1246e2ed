package config_test

import (
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"

	"slipway.dev/slipway/config"
)

// TestCRDs_PassTheValidationOfAnAPIServer runs what an API server runs on creation: structural schemas, defaults,
// list keys and the cost of CEL rules.
func TestCRDs_PassTheValidationOfAnAPIServer(t *testing.T) {
	t.Parallel()
	for _, crd := range embeddedCRDs(t) {
		t.Run(crd.Name, func(t *testing.T) {
			t.Parallel()
			apiextensionsv1.SetDefaults_CustomResourceDefinition(crd)
			apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&crd.Spec)
			internal := &apiextensions.CustomResourceDefinition{}
			if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(crd, internal, nil); err != nil {
				t.Fatalf("convert: %v", err)
			}
			for _, version := range crd.Spec.Versions {
				if version.Storage {
					internal.Status.StoredVersions = []string{version.Name}
				}
			}
			for _, err := range validation.ValidateCustomResourceDefinition(t.Context(), internal) {
				t.Error(err)
			}
		})
	}
}

// TestCRDs_OfProvidersNameTheirContract guards the labels by which references without a version are resolved.
func TestCRDs_OfProvidersNameTheirContract(t *testing.T) {
	t.Parallel()
	const contract = "cluster.x-k8s.io/v1beta2"
	wanted := map[string]string{
		"cluster.x-k8s.io":                "",
		"bootstrap.cluster.x-k8s.io":      "v1beta2",
		"controlplane.cluster.x-k8s.io":   "v1beta2",
		"infrastructure.cluster.x-k8s.io": "v1alpha1",
	}
	seen := map[string]bool{}
	for _, crd := range embeddedCRDs(t) {
		want, known := wanted[crd.Spec.Group]
		if !known {
			t.Errorf("%s: group %s is unknown to this test", crd.Name, crd.Spec.Group)
		}
		if got := crd.Labels[contract]; got != want {
			t.Errorf("%s: label %s = %q, want %q", crd.Name, contract, got, want)
		}
		seen[crd.Spec.Group] = true
	}
	for group := range wanted {
		if !seen[group] {
			t.Errorf("no CRD of group %s is embedded", group)
		}
	}
}

func embeddedCRDs(t *testing.T) []*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crds, err := config.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	return crds
}
