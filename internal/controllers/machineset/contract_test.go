package machineset_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/contract"
	"slipway.dev/slipway/internal/planetest"
	"slipway.dev/slipway/internal/planetest/fakes"
	"slipway.dev/slipway/internal/planetest/workers"
)

// Templates and control planes are those of any provider, whichever contract it keeps.
func TestMachineSet_TakesProvidersOfBothContracts(t *testing.T) {
	t.Parallel()
	for _, c := range []contract.Version{contract.V1Beta1, contract.V1Beta2} {
		t.Run(string(c), func(t *testing.T) {
			t.Parallel()
			w := workers.Empty(t)
			f := fakes.Install(t, w, w.Namespace, c, "ControlPlane", "Machine", "MachineTemplate", "Config", "ConfigTemplate")
			for _, role := range []string{"Machine", "Config"} {
				template := f.Fake(role+"Template", "workers")
				w.Must(unstructured.SetNestedField(template.Object, "large", "spec", "template", "spec", "size"))
				w.Must(unstructured.SetNestedField(template.Object, "here", "spec", "template", "metadata", "labels", "placed"))
				w.Must(w.Create(t.Context(), template))
			}
			controlPlane := f.Fake("ControlPlane", "cp")
			controlPlane.SetLabels(w.Meta("").Labels)
			w.Must(unstructured.SetNestedField(controlPlane.Object, "v1.36.0", "spec", "version"))
			w.Must(w.Create(t.Context(), controlPlane))
			cluster := w.Cluster()
			cluster.Spec.ControlPlaneRef = f.Ref("ControlPlane", "cp")
			w.Make(cluster)
			run(t, w)
			set := w.MachineSet("pool", 1)
			set.Spec.Template.Spec.InfrastructureRef = f.Ref("MachineTemplate", "workers")
			set.Spec.Template.Spec.Bootstrap.ConfigRef = f.Ref("ConfigTemplate", "workers")
			w.Make(set)
			saysUp(t, w, set, f.Kind("ControlPlane")+" cp is provisioning")
			f.Edit("ControlPlane", "cp", map[string]any{"status.version": "v1.35.0"})
			saysUp(t, w, set, f.Kind("ControlPlane")+" cp is upgrading")
			f.Edit("ControlPlane", "cp", map[string]any{"status.version": "v1.36.0"})
			saysUp(t, w, set, "v1.36.0")
			f.Edit("ControlPlane", "cp", map[string]any{"spec.version": workers.Version})
			f.Edit("ControlPlane", "cp", map[string]any{"status.version": workers.Version})
			m := settled(t, w, set, 1)[0]
			if m.Spec.InfrastructureRef != f.Ref("Machine", m.Name) || m.Spec.Bootstrap.ConfigRef != f.Ref("Config", m.Name) {
				t.Errorf("the Machine refers to %+v and %+v", m.Spec.InfrastructureRef, m.Spec.Bootstrap.ConfigRef)
			}
			for _, role := range []string{"Machine", "Config"} {
				made := f.Fake(role, m.Name)
				w.Must(w.Get(t.Context(), client.ObjectKeyFromObject(made), made))
				size, _, err := unstructured.NestedString(made.Object, "spec", "size")
				if err != nil || size != "large" || made.GetLabels()["placed"] != "here" || made.GetLabels()[clusterv1.ClusterNameLabel] != workers.ClusterName {
					t.Errorf("%s is %v, %v", role, made.Object, err)
				}
			}
			planetest.Told(t, w, set, "SuccessfulCreate", m.Name)
		})
	}
}

func TestMachineSet_SkipsThePreflightChecksThatItsAnnotationNames(t *testing.T) {
	t.Parallel()
	for name, annotate := range map[string]func(*clusterv1.MachineSet, client.Object, map[string]string){
		"on the set":                func(set *clusterv1.MachineSet, _ client.Object, a map[string]string) { set.Annotations = a },
		"on the bootstrap template": func(_ *clusterv1.MachineSet, template client.Object, a map[string]string) { template.SetAnnotations(a) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := workers.Empty(t)
			f := fakes.Install(t, w, w.Namespace, contract.V1Beta2, "ControlPlane")
			controlPlane := f.Fake("ControlPlane", "cp")
			controlPlane.SetLabels(w.Meta("").Labels)
			w.Must(unstructured.SetNestedField(controlPlane.Object, workers.Version, "spec", "version"))
			w.Must(w.Create(t.Context(), controlPlane))
			cluster := w.Cluster()
			cluster.Spec.ControlPlaneRef = f.Ref("ControlPlane", "cp")
			set, config := w.MachineSet("pool", 1), w.ConfigTemplate("workers")
			annotate(set, config, map[string]string{clusterv1.MachineSetSkipPreflightChecksAnnotation: "ControlPlaneIsStable"})
			w.Make(cluster, config, w.MachineTemplate("workers"))
			run(t, w)
			w.Make(set)
			settled(t, w, set, 1)
		})
	}
}

func TestMachineSet_TellsWhatItDid(t *testing.T) {
	t.Parallel()
	w := workers.New(t)
	stray(w)
	run(t, w)
	set := w.MachineSet("pool", 3)
	w.Make(set)
	machines := settled(t, w, set, 3)
	planetest.Told(t, w, set, "SuccessfulAdopt", "stray")
	for i := range machines {
		if m := &machines[i]; m.Name != "stray" {
			planetest.Told(t, w, set, "SuccessfulCreate", m.Name)
		}
	}
	w.Change(set, func() { set.Spec.Replicas = new(int32(0)) })
	settled(t, w, set, 0)
	for i := range machines {
		planetest.Told(t, w, set, "SuccessfulDelete", machines[i].Name)
	}
}
