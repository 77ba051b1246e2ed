// Package config carries the manifests that Slipway installs, embedded in the binary.
package config

import (
	"embed"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

//go:embed crd/*.yaml
var crdFiles embed.FS

// CRDs returns the CustomResourceDefinitions of all kinds in api/, sorted by file name. Each call decodes them anew, so
// the caller may change what it gets.
func CRDs() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	files, err := crdFiles.ReadDir("crd")
	if err != nil {
		return nil, fmt.Errorf("list embedded CRDs: %w", err)
	}
	crds := make([]*apiextensionsv1.CustomResourceDefinition, 0, len(files))
	for _, file := range files {
		raw, err := crdFiles.ReadFile("crd/" + file.Name())
		if err != nil {
			return nil, fmt.Errorf("read embedded CRD %s: %w", file.Name(), err)
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(raw, crd); err != nil {
			return nil, fmt.Errorf("decode embedded CRD %s: %w", file.Name(), err)
		}
		crds = append(crds, crd)
	}
	return crds, nil
}
