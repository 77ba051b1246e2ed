package fleet_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
	"slipway.dev/slipway/internal/manager"
	"slipway.dev/slipway/internal/planetest"
	"slipway.dev/slipway/test/fleet"
)

// deprecated are the fields of status.deprecated.v1beta1 of a running cluster's objects, and the conditions in them, all
// of which are True. Fields that tell of a failure, and conditions that tell of a deletion, a health check or a topology,
// are not there while there is none.
func deprecated() []struct {
	name       string
	kind       schema.GroupVersionKind
	labels     []client.ListOption
	conditions string
	counts     map[string]int64
} {
	controlPlane := client.HasLabels{clusterv1.MachineControlPlaneLabel}
	worker := client.HasLabels{clusterv1.MachineDeploymentNameLabel}
	const machine = "Ready BootstrapReady InfrastructureReady NodeHealthy"
	const config = "Ready DataSecretAvailable CertificatesAvailable"
	return []struct {
		name       string
		kind       schema.GroupVersionKind
		labels     []client.ListOption
		conditions string
		counts     map[string]int64
	}{
		{"Cluster", clusterv1.GroupVersion.WithKind("Cluster"), nil, "Ready InfrastructureReady ControlPlaneInitialized ControlPlaneReady", nil},
		{"worker Machine", clusterv1.GroupVersion.WithKind("Machine"), []client.ListOption{worker}, machine, nil},
		{"control plane Machine", clusterv1.GroupVersion.WithKind("Machine"), []client.ListOption{controlPlane},
			machine + " APIServerPodHealthy ControllerManagerPodHealthy SchedulerPodHealthy EtcdPodHealthy EtcdMemberHealthy", nil},
		{"MachineSet", clusterv1.GroupVersion.WithKind("MachineSet"), nil, "Ready MachinesCreated Resized MachinesReady",
			map[string]int64{"fullyLabeledReplicas": 2, "readyReplicas": 2, "availableReplicas": 2}},
		{"MachineDeployment", clusterv1.GroupVersion.WithKind("MachineDeployment"), nil, "Ready Available MachineSetReady",
			map[string]int64{"updatedReplicas": 2, "readyReplicas": 2, "availableReplicas": 2, "unavailableReplicas": 0}},
		{"worker KubeadmConfig", bootstrapv1.GroupVersion.WithKind("KubeadmConfig"), []client.ListOption{worker}, config, nil},
		{"control plane KubeadmConfig", bootstrapv1.GroupVersion.WithKind("KubeadmConfig"), []client.ListOption{controlPlane}, config, nil},
		{"KubeadmControlPlane", controlplanev1.GroupVersion.WithKind("KubeadmControlPlane"), nil,
			"Ready Available MachinesSpecUpToDate Resized MachinesReady CertificatesAvailable ControlPlaneComponentsHealthy EtcdClusterHealthy MachinesCreated",
			map[string]int64{"updatedReplicas": 1, "readyReplicas": 1, "unavailableReplicas": 0}},
	}
}

func TestDeprecatedStatus_OfARunningClusterIsFilled(t *testing.T) {
	t.Parallel()
	plane, err := planetest.Start(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(plane.Stop)
	c, err := client.New(plane.Config, client.Options{Scheme: manager.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	spec := fleet.Spec{Namespace: "default", Name: "old", ControlPlane: 1, Workers: 2, ECDSA: true}
	if err := spec.Create(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	planetest.Eventually(t, func(ctx context.Context) error { return spec.Up(ctx, c) })
	for _, row := range deprecated() {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(row.kind.GroupVersion().WithKind(row.kind.Kind + "List"))
			planetest.Eventually(t, func(ctx context.Context) error {
				if err := c.List(ctx, list, append(row.labels, client.InNamespace("default"))...); err != nil || len(list.Items) == 0 {
					return fmt.Errorf("%d objects, %w", len(list.Items), err)
				}
				for _, u := range list.Items {
					if lacks := missing(u, strings.Fields(row.conditions), row.counts); len(lacks) > 0 {
						return fmt.Errorf("%s: %s", u.GetName(), strings.Join(lacks, "; "))
					}
				}
				return nil
			})
		})
	}
}

// missing returns what the deprecated status has not, and what it has beyond.
func missing(u unstructured.Unstructured, types []string, counts map[string]int64) []string {
	old, _, err := unstructured.NestedMap(u.Object, "status", "deprecated", "v1beta1")
	if err != nil {
		return []string{err.Error()}
	}
	var out []string
	for field, want := range counts {
		if got, ok := old[field]; !ok || got != want {
			out = append(out, fmt.Sprintf("%s is %v, not %d", field, got, want))
		}
	}
	list, _ := old["conditions"].([]any)
	found := map[string]bool{}
	for _, item := range list {
		c, _ := item.(map[string]any)
		t, _ := c["type"].(string)
		since, _ := c["lastTransitionTime"].(string)
		if _, err := time.Parse(time.RFC3339, since); err != nil || c["status"] != "True" {
			out = append(out, fmt.Sprintf("condition %v", c))
		}
		found[t] = true
	}
	for _, t := range types {
		if !found[t] {
			out = append(out, "condition "+t+" is missing")
		}
		delete(found, t)
	}
	for t := range found {
		out = append(out, "condition "+t+" is not expected")
	}
	return out
}
