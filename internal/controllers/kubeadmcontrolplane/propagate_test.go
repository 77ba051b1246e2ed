package kubeadmcontrolplane_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "slipway.dev/slipway/api/infrastructure/v1alpha1"
	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
	"slipway.dev/slipway/internal/planetest"
)

// While a rollout to another template is held up, the Machines of the first keep what it gave them.
func TestPropagation_LeavesWhatAnotherTemplateGave(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, func(w *world) {
		w.machines.Spec.Template.ObjectMeta.Annotations = map[string]string{"example.com/zone": "of-template"}
		w.kcp.Spec.MachineTemplate.ObjectMeta.Labels = map[string]string{"goes": "soon"}
	})
	w.must(w.Create(t.Context(), w.template("other")))
	writes := w.run(t)
	m := w.settled(1)[0]
	writes.Refuse(func(o client.Object) error {
		if o.GetObjectKind().GroupVersionKind().Kind != "SimMachine" || o.GetName() == m.Name {
			return nil
		}
		return apierrors.NewForbidden(schema.GroupResource{Resource: "simmachines"}, o.GetName(), errors.New("the quota is used up"))
	})
	w.change(func(kcp *controlplanev1.KubeadmControlPlane) {
		kcp.Spec.MachineTemplate.Spec.InfrastructureRef.Name = "other"
		kcp.Spec.MachineTemplate.ObjectMeta.Labels = map[string]string{"comes": "now"}
	})
	o := &infrav1.SimMachine{}
	planetest.Eventually(t, func(ctx context.Context) error {
		w.must(w.Get(ctx, client.ObjectKeyFromObject(&m), o))
		if o.Labels["comes"] != "now" || o.Labels["goes"] != "" {
			return fmt.Errorf("labels %v", o.Labels)
		}
		return nil
	})
	if o.Annotations["example.com/zone"] != "of-template" {
		t.Errorf("annotations %v", o.Annotations)
	}
	writes.Refuse(nil)
	w.settled(1)
}
