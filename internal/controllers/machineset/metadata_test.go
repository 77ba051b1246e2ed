package machineset_test

import (
	"context"
	"fmt"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/planetest"
	"slipway.dev/slipway/internal/planetest/workers"
)

// A template may go, or another be referred to, while its clones live on.
func TestMachineSet_LeavesWhatTheTemplateOfAMachineGaveIt(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name  string
		after func(w *workers.World, set *clusterv1.MachineSet)
	}{
		{"the template is gone", func(w *workers.World, _ *clusterv1.MachineSet) {
			w.Must(w.Delete(w.Context(), w.MachineTemplate("first")))
		}},
		{"another template is referred to", func(w *workers.World, set *clusterv1.MachineSet) {
			w.Change(set, func() { set.Spec.Template.Spec.InfrastructureRef.Name = "second" })
		}},
		{"another template is referred to and the first is gone", func(w *workers.World, set *clusterv1.MachineSet) {
			w.Must(w.Delete(w.Context(), w.MachineTemplate("first")))
			w.Change(set, func() { set.Spec.Template.Spec.InfrastructureRef.Name = "second" })
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			w := workers.New(t)
			template, second := w.MachineTemplate("first"), w.MachineTemplate("second")
			template.Spec.Template.ObjectMeta.Annotations = map[string]string{"example.com/zone": "of-template"}
			second.Spec.Template.ObjectMeta.Labels = map[string]string{"example.com/second": "yes"}
			w.Make(template, second)
			writes, _ := run(t, w)
			set := w.MachineSet("pool", 1)
			set.Spec.Template.Spec.InfrastructureRef.Name = "first"
			set.Spec.Template.ObjectMeta.Labels["goes"] = "soon"
			w.Make(set)
			settled(t, w, set, 1)
			row.after(w, set)
			w.Change(set, func() {
				delete(set.Spec.Template.ObjectMeta.Labels, "goes")
				set.Spec.Template.ObjectMeta.Labels["comes"] = "now"
			})
			planetest.Eventually(t, func(ctx context.Context) error {
				infrastructure, err := w.Infrastructure(ctx)
				if err != nil || len(infrastructure) != 1 {
					return fmt.Errorf("%d SimMachines, %w", len(infrastructure), err)
				}
				if l := infrastructure[0].Labels; l["comes"] != "now" || l["goes"] != "" {
					return fmt.Errorf("labels %v", l)
				}
				return nil
			})
			writes.Cease(t)
			infrastructure, err := w.Infrastructure(t.Context())
			w.Must(err)
			o := infrastructure[0]
			if o.Labels["example.com/from-template"] != "yes" || o.Annotations["example.com/zone"] != "of-template" ||
				o.Annotations[clusterv1.TemplateClonedFromNameAnnotation] != "first" || o.Labels["pool"] != "of-set" {
				t.Errorf("SimMachine %s has labels %v, annotations %v", client.ObjectKeyFromObject(&o), o.Labels, o.Annotations)
			}
		})
	}
}
