package kubeadmcontrolplane_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	infrav1 "slipway.dev/slipway/api/infrastructure/v1alpha1"
	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
	"slipway.dev/slipway/internal/planetest"
)

func (w *world) gvk(kind string) schema.GroupVersionKind { return infrav1.GroupVersion.WithKind(kind) }

func upgrade(kcp *controlplanev1.KubeadmControlPlane) { kcp.Spec.Version = newVersion }

func TestRollout_ReplacesOneMachineAtATime(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name                       string
		replicas                   int32
		surge, fewest, most, total int
	}{
		{"a new one first", 3, 1, 3, 4, 4},
		{"an old one first", 3, 0, 2, 3, 3},
		{"a single one", 1, 1, 1, 2, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, tt.replicas, func(w *world) { w.kcp.Spec.Rollout = surge(tt.surge) })
			w.run(t)
			old := w.settled(int(tt.replicas))
			stop := w.watchNumbers()
			w.change(upgrade)
			fresh := w.settled(int(tt.replicas))
			fewest, most, total := stop()
			if fewest < tt.fewest || most > tt.most || total > tt.total {
				t.Errorf("from %d to %d Machines stayed, %d in all at most", fewest, most, total)
			}
			for i := range fresh {
				if slices.ContainsFunc(old, func(m clusterv1.Machine) bool { return m.Name == fresh[i].Name }) {
					t.Errorf("Machine %s was not replaced", fresh[i].Name)
				}
			}
			w.tidy(int(tt.replicas))
			c, err := w.clusters.Client(t.Context(), w.key())
			w.must(err)
			stored := &corev1.ConfigMap{}
			w.must(c.Get(t.Context(), client.ObjectKey{Namespace: "kube-system", Name: "kubeadm-config"}, stored))
			if !strings.Contains(stored.Data["ClusterConfiguration"], "kubernetesVersion: "+newVersion) {
				t.Errorf("stored configuration:\n%s", stored.Data["ClusterConfiguration"])
			}
		})
	}
}

func TestRollout_TellsTheLowestVersionUntilTheLastOldMachineIsGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.run(t)
	old := w.settled(1)[0]
	const hook = clusterv1.PreTerminateDeleteHookAnnotationPrefix + "/example"
	w.must(w.Patch(t.Context(), &old, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"`+hook+`":"me"}}}`))))
	w.change(upgrade)
	w.says(clusterv1.ScalingDownCondition, metav1.ConditionTrue, "other pre-terminate hooks")
	if w.kcp.Status.Version != oldVersion {
		t.Errorf("version %s while the old API server serves", w.kcp.Status.Version)
	}
	if members, err := w.members(t.Context()); err != nil || len(members) != 2 {
		t.Errorf("members %v, %v: nobody leaves before other hooks", members, err)
	}
	w.must(w.Patch(t.Context(), &old, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"`+hook+`":null}}}`))))
	w.settled(1)
}

func TestRollout_GoesOnWhereItWasKilled(t *testing.T) {
	t.Parallel()
	for _, lives := range []int{1, 3, 5, 6, 7, 8} {
		t.Run(fmt.Sprintf("after %d writes", lives), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 1)
			t.Run("up", func(t *testing.T) {
				w.TB = t
				w.run(t)
				w.settled(1)
			})
			w.TB = t
			w.change(upgrade)
			w.firstLife(t, lives)
			w.TB = t
			w.run(t)
			w.settled(1)
			w.tidy(1)
		})
	}
}

func TestRollout_SpreadsOverFailureDomains(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3, func(w *world) {
		for _, name := range []string{"a", "b", "c"} {
			w.sim.Spec.FailureDomains = append(w.sim.Spec.FailureDomains, infrav1.SimFailureDomain{Name: name, ControlPlane: new(true)})
		}
		w.sim.Spec.FailureDomains = append(w.sim.Spec.FailureDomains, infrav1.SimFailureDomain{Name: "0-workers", ControlPlane: new(false)})
	})
	w.run(t)
	for _, step := range []string{"created", "rolled"} {
		var domains []string
		for _, m := range w.settled(3) {
			domains = append(domains, m.Spec.FailureDomain)
		}
		slices.Sort(domains)
		if !slices.Equal(domains, []string{"a", "b", "c"}) {
			t.Errorf("%s: in %v", step, domains)
		}
		if step == "created" {
			w.change(upgrade)
		}
	}
}

func TestRollout_NotForWhatChangesInPlace(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, func(w *world) {
		w.kcp.Spec.MachineTemplate.ObjectMeta.Labels = map[string]string{"goes": "soon"}
	})
	writes := w.run(t)
	before := w.settled(1)[0]
	writes.Cease(t)
	count := len(writes.Log())
	foreign := []byte(`{"metadata":{"labels":{"foreign":"stays"}}}`)
	infrastructure := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: before.Name}}
	infrastructure.SetGroupVersionKind(w.gvk("SimMachine"))
	w.must(w.Patch(t.Context(), infrastructure, client.RawPatch("application/merge-patch+json", foreign)))
	// What a third party's admission may do to the object is no reason to replace the machine.
	config := &bootstrapv1.KubeadmConfig{ObjectMeta: infrastructure.ObjectMeta}
	w.must(w.Patch(t.Context(), config, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"preKubeadmCommands":["true"]}}`))))
	w.change(func(kcp *controlplanev1.KubeadmControlPlane) {
		kcp.Spec.MachineTemplate.ObjectMeta = clusterv1.ObjectMeta{Labels: map[string]string{"comes": "now"}, Annotations: map[string]string{"note": "x"}}
		kcp.Spec.MachineTemplate.Spec.Deletion.NodeDrainTimeoutSeconds = new(int32(77))
		kcp.Spec.MachineTemplate.Spec.Taints = []clusterv1.MachineTaint{{Key: "example.com/a", Effect: corev1.TaintEffectNoSchedule, Propagation: clusterv1.MachineTaintPropagationAlways}}
		kcp.Spec.KubeadmConfigSpec.ClusterConfiguration.DNS.ImageTag = "v1.12.1"
	})
	after := w.settled(1)[0]
	w.must(w.Get(t.Context(), client.ObjectKeyFromObject(infrastructure), infrastructure))
	w.must(w.Get(t.Context(), client.ObjectKeyFromObject(config), config))
	if after.UID != before.UID || *after.Spec.Deletion.NodeDrainTimeoutSeconds != 77 || len(after.Spec.Taints) != 1 {
		t.Errorf("Machine %s, spec %+v", after.Name, after.Spec)
	}
	for _, o := range []client.Object{&after, infrastructure, config} {
		if _, stays := o.GetLabels()["goes"]; stays || o.GetLabels()["comes"] != "now" || o.GetAnnotations()["note"] != "x" {
			t.Errorf("%T: labels %v, annotations %v", o, o.GetLabels(), o.GetAnnotations())
		}
	}
	if infrastructure.Labels["foreign"] != "stays" {
		t.Error("a foreign label is gone")
	}
	writes.Cease(t)
	for _, line := range writes.Log()[count:] {
		if strings.HasPrefix(line, "create") || strings.HasPrefix(line, "delete") {
			t.Errorf("written: %s", line)
		}
	}
}

func TestRollout_ForATemplateAndAMomentAndAConfig(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.run(t)
	last := w.settled(1)[0]
	other := w.template("other")
	w.must(w.Create(t.Context(), other))
	for _, tt := range []struct {
		name, says string
		change     func(*controlplanev1.KubeadmControlPlane)
	}{
		{"another template", "Infrastructure from SimMachineTemplate demo, SimMachineTemplate other required", func(kcp *controlplanev1.KubeadmControlPlane) {
			kcp.Spec.MachineTemplate.Spec.InfrastructureRef.Name = "other"
		}},
		{"a moment", "rollout.after", func(kcp *controlplanev1.KubeadmControlPlane) {
			kcp.Spec.Rollout.After = metav1.NewTime(time.Now().Add(time.Second).Truncate(time.Second))
		}},
		{"another configuration", "preKubeadmCommands", func(kcp *controlplanev1.KubeadmControlPlane) {
			kcp.Spec.KubeadmConfigSpec.PreKubeadmCommands = []string{"echo hello"}
		}},
	} {
		release := w.hold(&last)
		w.change(tt.change)
		w.says(clusterv1.RollingOutCondition, metav1.ConditionTrue, tt.says)
		release()
		next := w.settled(1)[0]
		if next.UID == last.UID {
			t.Errorf("%s: Machine %s was not replaced", tt.name, last.Name)
		}
		last = next
	}
}

func TestRollout_AheadOfTheEndOfCertificates(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.run(t)
	first := w.settled(1)[0]
	planetest.Eventually(t, func(ctx context.Context) error {
		w.must(w.Get(ctx, client.ObjectKeyFromObject(&first), &first))
		if left := time.Until(first.Status.CertificatesExpiryDate.Time); left < 300*24*time.Hour {
			return fmt.Errorf("certificates end %v", first.Status.CertificatesExpiryDate)
		}
		return nil
	})
	end := time.Now().Add(20 * 24 * time.Hour).UTC().Format(time.RFC3339)
	w.must(w.Patch(t.Context(), &first, client.RawPatch("application/merge-patch+json",
		[]byte(`{"metadata":{"annotations":{"`+clusterv1.MachineCertificatesExpiryDateAnnotation+`":"`+end+`"}}}`))))
	release := w.hold(&first)
	w.change(func(kcp *controlplanev1.KubeadmControlPlane) { kcp.Spec.Rollout.Before.CertificatesExpiryDays = 30 })
	w.says(clusterv1.RollingOutCondition, metav1.ConditionTrue, "Certificates expire in less than 30 days")
	release()
	w.gone(&first)
	w.settled(1)
}

func TestPropagation_ReachesMachinesThatAreBeingDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3)
	w.run(t)
	m := w.settled(3)[0]
	release := w.hold(&m)
	w.must(w.Delete(t.Context(), &m))
	w.change(func(kcp *controlplanev1.KubeadmControlPlane) {
		kcp.Spec.MachineTemplate.Spec.Deletion.NodeDrainTimeoutSeconds = new(int32(60))
	})
	planetest.Eventually(t, func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(&m), &m); err != nil {
			return err
		}
		if timeout := m.Spec.Deletion.NodeDrainTimeoutSeconds; timeout == nil || *timeout != 60 {
			return fmt.Errorf("deletion %+v", m.Spec.Deletion)
		}
		return nil
	})
	release()
	w.gone(&m)
	w.settled(3)
	w.tidy(3)
}
