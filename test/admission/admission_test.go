// Package admission_test shows what the API server, the schemas and the webhooks together let in and keep out.
package admission_test

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
	"slipway.dev/slipway/internal/manager"
	"slipway.dev/slipway/internal/planetest"
)

//go:embed testdata/good.yaml
var good []byte

func TestMain(m *testing.M) { os.Exit(planetest.Main(m)) }

// manifests returns the good manifests in a namespace, by kind and name.
func manifests(t *testing.T, namespace string) map[string]*unstructured.Unstructured {
	t.Helper()
	found := map[string]*unstructured.Unstructured{}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(good), 4096)
	for {
		u := &unstructured.Unstructured{}
		err := decoder.Decode(&u.Object)
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		u.SetNamespace(namespace)
		found[u.GetKind()+"/"+u.GetName()] = u
	}
}

// apply applies a manifest as kubectl apply --server-side does.
func apply(ctx context.Context, c client.Client, u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	u = u.DeepCopy()
	err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner("kubectl"), client.ForceOwnership)
	return u, err
}

// set returns a copy of a manifest with a value at a path of dots; nil removes what is there.
func set(t *testing.T, u *unstructured.Unstructured, path string, value any) *unstructured.Unstructured {
	t.Helper()
	u = u.DeepCopy()
	fields := strings.Split(path, ".")
	if value == nil {
		unstructured.RemoveNestedField(u.Object, fields...)
		return u
	}
	if err := unstructured.SetNestedField(u.Object, value, fields...); err != nil {
		t.Fatal(err)
	}
	return u
}

func TestManifests_AppliedAgainChangeNothing(t *testing.T) {
	t.Parallel()
	c, all := planetest.Client(t), manifests(t, planetest.Namespace(t))
	first := map[string]*unstructured.Unstructured{}
	for name, u := range all {
		stored, err := apply(t.Context(), c, u)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		first[name] = stored
	}
	for name, u := range all {
		again, err := apply(t.Context(), c, u)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if again.GetResourceVersion() != first[name].GetResourceVersion() {
			t.Errorf("%s was written by a second apply", name)
		}
	}
	for name, u := range all {
		replaced := u.DeepCopy()
		replaced.SetResourceVersion(first[name].GetResourceVersion())
		if err := c.Update(t.Context(), replaced, client.FieldOwner("kubectl-replace")); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if replaced.GetGeneration() != first[name].GetGeneration() {
			t.Errorf("the spec of %s was changed by putting the manifest in its place", name)
		}
	}
}

func TestManifests_GetTheirDefaults(t *testing.T) {
	t.Parallel()
	c, all := planetest.Client(t), manifests(t, planetest.Namespace(t))
	for _, row := range []struct{ manifest, path, want string }{
		{"MachineDeployment/plain", "spec.replicas", "1"},
		{"MachineDeployment/plain", "spec.rollout.strategy", "map[rollingUpdate:map[maxSurge:1 maxUnavailable:0] type:RollingUpdate]"},
		{"MachineDeployment/plain", "spec.selector.matchLabels", "map[cluster.x-k8s.io/cluster-name:demo cluster.x-k8s.io/deployment-name:plain]"},
		{"MachineDeployment/plain", "spec.template.metadata.labels", "map[cluster.x-k8s.io/cluster-name:demo cluster.x-k8s.io/deployment-name:plain]"},
		{"MachineDeployment/plain", "spec.template.spec.version", "v1.37.2"},
		{"MachineDeployment/plain", "metadata.labels", "map[cluster.x-k8s.io/cluster-name:demo]"},
		{"MachineDeployment/scaled", "spec.replicas", "2"},
		{"MachineDeployment/scaled", "spec.rollout.strategy.rollingUpdate", "map[maxSurge:1 maxUnavailable:25%]"},
		{"MachineSet/set", "spec.selector.matchLabels", "map[cluster.x-k8s.io/cluster-name:demo cluster.x-k8s.io/set-name:set]"},
		{"Machine/lone", "spec.deletion.nodeDeletionTimeoutSeconds", "10"},
		{"Machine/lone", "spec.version", "v1.37.2"},
		{"KubeadmControlPlane/demo", "spec.rollout.strategy", "map[rollingUpdate:map[maxSurge:1] type:RollingUpdate]"},
		// Nothing is set in here: a KubeadmConfig gets no defaults either.
		{"KubeadmControlPlane/demo", "spec.kubeadmConfigSpec", "map[initConfiguration:map[nodeRegistration:map[taints:[]]]]"},
		{"MachineHealthCheck/check", "spec.checks", "map[nodeStartupTimeoutSeconds:600]"},
	} {
		stored, err := apply(t.Context(), c, all[row.manifest])
		if err != nil {
			t.Fatalf("%s: %v", row.manifest, err)
		}
		value, _, err := unstructured.NestedFieldNoCopy(stored.Object, strings.Split(row.path, ".")...)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(value); got != row.want {
			t.Errorf("%s %s is %s, not %s", row.manifest, row.path, got, row.want)
		}
	}
}

func TestBadInput_IsRefusedWithASentenceThatSaysHowToMendIt(t *testing.T) {
	t.Parallel()
	c, all := planetest.Client(t), manifests(t, planetest.Namespace(t))
	workers, controlPlane, demo, lone := all["MachineDeployment/plain"], all["KubeadmControlPlane/demo"], all["Cluster/demo"], all["Machine/lone"]
	const patchMissing = `version "v1.37" is not a Kubernetes version: it lacks the patch number; write all three, as v1.37.0`
	const malformed = `version "v1" is not a Kubernetes version: write it like v1.37.2`
	for _, row := range []struct {
		name string
		obj  *unstructured.Unstructured
		want string
	}{
		{"workers' version without a patch", set(t, workers, "spec.template.spec.version", "1.37"), "spec.template.spec.version: Invalid value: \"v1.37\": " + patchMissing},
		{"workers' version v1", set(t, workers, "spec.template.spec.version", "v1"), "spec.template.spec.version: Invalid value: \"v1\": " + malformed},
		{"control plane's version without a patch", set(t, controlPlane, "spec.version", "1.37"), "spec.version: Invalid value: \"v1.37\": " + patchMissing},
		{"control plane's version v1", set(t, controlPlane, "spec.version", "v1"), "spec.version: Invalid value: \"v1\": " + malformed},
		{"machine's version v1", set(t, lone, "spec.version", "v1"), "spec.version: Invalid value: \"v1\": " + malformed},
		{"negative workers", set(t, workers, "spec.replicas", int64(-1)), "spec.replicas: Invalid value: -1: should be a non-negative integer"},
		{"negative control plane", set(t, controlPlane, "spec.replicas", int64(-1)), "spec.replicas: Invalid value: -1: should be a non-negative integer"},
		{"no surge, none unavailable", set(t, workers, "spec.rollout", map[string]any{"strategy": map[string]any{
			"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxSurge": int64(0), "maxUnavailable": int64(0)},
		}}), "maxSurge and maxUnavailable are both 0, so no Machine could ever be replaced: set one of them to 1 or more"},
		{"long name", set(t, demo, "metadata.name", strings.Repeat("c", 64)), "it has at most 63 characters, and this one has 64: choose a shorter one"},
		{"dot in the name", set(t, demo, "metadata.name", "de.mo"), `the name begins the host names of the machines, where a dot would begin a domain: write dashes for dots, as "de-mo"`},
		{"ranges that overlap", set(t, demo, "spec.clusterNetwork.services.cidrBlocks", []any{"192.168.3.0/24"}),
			"overlaps the pods' range 192.168.0.0/16, so an address could be a pod's and a service's: choose ranges that have no address in common"},
		{"workers from no template", set(t, workers, "spec.template.spec.infrastructureRef.kind", "SimMachine"), "refer to a template, such as a SimMachineTemplate"},
		{"control plane from no template", set(t, controlPlane, "spec.machineTemplate.spec.infrastructureRef.kind", "SimMachine"), "refer to a template, such as a SimMachineTemplate"},
		{"machine from a template", set(t, lone, "spec.infrastructureRef.kind", "SimMachineTemplate"), "refer to a SimMachine"},
		{"two control plane machines", set(t, controlPlane, "spec.replicas", int64(2)), "2 members survive the loss of no more of them than 1 do: write 1 or 3"},
		{"topology", set(t, demo, "spec.topology", map[string]any{"classRef": map[string]any{"name": "a"}, "version": "v1.37.2"}), "spec.topology: Forbidden: nothing acts on it in this version of Slipway"},
		{"ignition", set(t, controlPlane, "spec.kubeadmConfigSpec.format", "ignition"), "spec.kubeadmConfigSpec.format: Forbidden: nothing acts on it in this version of Slipway"},
	} {
		_, err := apply(t.Context(), c, row.obj)
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v\nlacks %q", row.name, err, row.want)
		}
	}
}

func TestImmutableFields_AreRefused(t *testing.T) {
	t.Parallel()
	c, all := planetest.Client(t), manifests(t, planetest.Namespace(t))
	for _, row := range []struct {
		manifest, path string
		value          any
		want           string
	}{
		{"MachineDeployment/plain", "spec.clusterName", "other", `a MachineDeployment cannot move from Cluster "demo" to another`},
		{"MachineSet/set", "spec.clusterName", "other", `a MachineSet cannot move from Cluster "demo" to another`},
		{"Machine/lone", "spec.clusterName", "other", `a Machine cannot move from Cluster "demo" to another`},
		{"MachineHealthCheck/check", "spec.clusterName", "other", `a MachineHealthCheck cannot move from Cluster "demo" to another`},
		{"Cluster/demo", "spec.controlPlaneRef", nil, "spec.controlPlaneRef: Forbidden: a reference cannot be removed, or KubeadmControlPlane demo would be left behind"},
		{"KubeadmControlPlane/demo", "spec.kubeadmConfigSpec.clusterConfiguration", map[string]any{"certificatesDir": "/pki"}, "spec.kubeadmConfigSpec.clusterConfiguration.certificatesDir: Forbidden"},
		{"KubeadmControlPlane/demo", "spec.version", "v1.39.0", "minor versions go up one at a time; upgrade to v1.38 first"},
	} {
		if _, err := apply(t.Context(), c, all[row.manifest]); err != nil {
			t.Fatalf("%s: %v", row.manifest, err)
		}
		_, err := apply(t.Context(), c, set(t, all[row.manifest], row.path, row.value))
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s %s: %v\nlacks %q", row.manifest, row.path, err, row.want)
		}
	}
}

func TestScale_OfAControlPlaneKeepsItsRules(t *testing.T) {
	t.Parallel()
	c, all := planetest.Client(t), manifests(t, planetest.Namespace(t))
	stored, err := apply(t.Context(), c, all["KubeadmControlPlane/demo"])
	if err != nil {
		t.Fatal(err)
	}
	scale := func(n int32) error {
		// The webhook reads from a cache that may not have seen the control plane yet: it must not matter here.
		return c.SubResource("scale").Update(t.Context(), stored.DeepCopy(), client.WithSubResourceBody(&autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: n}}))
	}
	for n, want := range map[int32]string{
		2: "2 members survive the loss of no more of them than 1 do: write 1 or 3",
		0: "a cluster needs a control plane: write 1, 3 or 5, or delete the Cluster",
	} {
		if err := scale(n); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("scale to %d: %v\nlacks %q", n, err, want)
		}
	}
	if err := scale(5); err != nil {
		t.Errorf("scale to 5: %v", err)
	}
	live := &controlplanev1.KubeadmControlPlane{}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(stored), live); err != nil {
		t.Fatal(err)
	}
	if *live.Spec.Replicas != 5 {
		t.Errorf("%d replicas", *live.Spec.Replicas)
	}
}

func TestLabels_OfTheClusterAreKept(t *testing.T) {
	t.Parallel()
	c, all := planetest.Client(t), manifests(t, planetest.Namespace(t))
	for _, name := range []string{"MachineDeployment/plain", "MachineSet/set", "Machine/lone"} {
		stored, err := apply(t.Context(), c, all[name])
		if err != nil {
			t.Fatal(err)
		}
		without := stored.DeepCopy()
		without.SetLabels(nil)
		if err := c.Patch(t.Context(), without, client.MergeFrom(stored)); err != nil {
			t.Fatal(err)
		}
		if without.GetLabels()[clusterv1.ClusterNameLabel] != "demo" {
			t.Errorf("%s lost its label", name)
		}
	}
}

// warnings collects what the API server warns of.
type warnings struct {
	mu    sync.Mutex
	texts []string
}

// HandleWarningHeader implements rest.WarningHandler.
func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.texts = append(w.texts, text)
}

var _ rest.WarningHandler = &warnings{}

func TestKindsThatNothingActsOn_AreStoredWithAWarning(t *testing.T) {
	t.Parallel()
	all := manifests(t, planetest.Namespace(t))
	cfg, heard := planetest.Config(t), &warnings{}
	cfg.WarningHandler = heard
	c, err := client.New(cfg, client.Options{Scheme: manager.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"MachineHealthCheck/check", "Cluster/demo", "MachineDrainRule/skip", "KubeadmControlPlane/demo"} {
		if _, err := apply(t.Context(), c, all[name]); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"MachineHealthCheck is stored, but nothing acts on it in this version of Slipway: no machine is checked or remediated"}
	if !slices.Equal(heard.texts, want) {
		t.Errorf("warnings: %q", heard.texts)
	}
}
