package flows_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"slipway.dev/slipway/internal/planetest"
)

const infrastructureGroup = "infrastructure.cluster.x-k8s.io"

// mistaken is a Cluster with everything below it, of which each reference to infrastructure goes wrong in the same way.
const mistaken = `
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: NAME}
spec:
  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: NAME}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: PREFIXCluster, name: NAME}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata: {name: NAME}
spec:
  replicas: 1
  version: v1.37.2
  machineTemplate: {spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: PREFIXMachineTemplate, name: NAME}}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: NAME}
spec:
  clusterName: NAME
  template:
    spec:
      clusterName: NAME
      version: v1.37.2
      bootstrap: {dataSecretName: ""}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: PREFIXMachineTemplate, name: NAME}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Machine
metadata: {name: NAME}
spec:
  clusterName: NAME
  version: v1.37.2
  bootstrap: {dataSecretName: ""}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: PREFIXMachine, name: NAME}
`

// What admission cannot see, because the other half may come later, the conditions tell, with what to do about it.
func TestBadInput_ThatOnlyTimeCanTellIsExplainedInConditions(t *testing.T) {
	t.Parallel()
	c := clientOf(t, planetest.Shared(t))
	namespace(t, c, "mistakes")
	for _, kind := range []string{"UnlabelledCluster", "UnlabelledMachine", "UnlabelledMachineTemplate"} {
		unlabelled(t, c, kind)
	}
	for _, row := range []struct {
		name, prefix string
		// sentence is about an object of a kind.
		sentence func(kind string) string
	}{
		{"dangling", "Sim", func(kind string) string {
			return kind + " dangling does not exist; create it, or correct the reference"
		}},
		{"no-such-kind", "Nothing", func(kind string) string {
			return fmt.Sprintf("There is no CustomResourceDefinition %ss.%s for kind %s of group %[2]s; install the provider that serves it, or correct the reference",
				strings.ToLower(kind), infrastructureGroup, kind)
		}},
		{"no-contract", "Unlabelled", func(kind string) string {
			return fmt.Sprintf("CustomResourceDefinition %ss.%s has neither the label cluster.x-k8s.io/v1beta2 nor cluster.x-k8s.io/v1beta1, "+
				"whose value lists the versions that keep the contract; install a version of the provider that has one of them, or add it where the provider is your own",
				strings.ToLower(kind), infrastructureGroup)
		}},
	} {
		for doc := range strings.SplitSeq(strings.NewReplacer("NAME", row.name, "PREFIX", row.prefix).Replace(mistaken), "\n---\n") {
			u := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(doc), &u.Object); err != nil {
				t.Fatal(err)
			}
			u.SetNamespace("mistakes")
			if err := c.Create(t.Context(), u); err != nil {
				t.Fatal(err)
			}
			conditionType, kind := "InfrastructureReady", row.prefix+u.GetKind()
			if u.GetKind() == "KubeadmControlPlane" || u.GetKind() == "MachineDeployment" {
				conditionType, kind = "ScalingUp", row.prefix+"MachineTemplate"
			}
			eventually(t, row.name+" "+u.GetKind(), func(ctx context.Context) error {
				return errors.Join(c.Get(ctx, client.ObjectKeyFromObject(u), u), conditionSays(u, conditionType, row.sentence(kind)))
			})
		}
	}
}

func conditionSays(u *unstructured.Unstructured, conditionType, sentence string) error {
	list, _, err := unstructured.NestedSlice(u.Object, "status", "conditions")
	if err != nil {
		return err
	}
	for _, entry := range list {
		if c := entry.(map[string]any); c["type"] == conditionType && strings.Contains(fmt.Sprint(c["message"]), sentence) {
			return nil
		}
	}
	return fmt.Errorf("%s does not say %q: %v", conditionType, sentence, list)
}

// unlabelled installs a kind of a provider that names no contract.
func unlabelled(t *testing.T, c client.Client, kind string) {
	t.Helper()
	plural := strings.ToLower(kind) + "s"
	err := c.Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": plural + "." + infrastructureGroup},
		"spec": map[string]any{
			"group": infrastructureGroup, "scope": "Namespaced",
			"names": map[string]any{"kind": kind, "listKind": kind + "List", "plural": plural, "singular": strings.ToLower(kind)},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
			}},
		},
	}})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
}
