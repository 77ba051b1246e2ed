package kubeadmcontrolplane_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
	"slipway.dev/slipway/internal/conditions"
	"slipway.dev/slipway/internal/contract"
	"slipway.dev/slipway/internal/kubeadm/certs"
	"slipway.dev/slipway/internal/kubeadm/kubeconfig"
	"slipway.dev/slipway/internal/plan"
	"slipway.dev/slipway/internal/planetest"
	"slipway.dev/slipway/internal/planetest/fakes"
)

func (w *world) secret(name string) *corev1.Secret {
	w.Helper()
	s := &corev1.Secret{}
	w.must(w.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: clusterName + "-" + name}, s))
	return s
}

func TestCertificates_OfAUserAreUsedAndStayTheUsers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, func(w *world) {
		pair, err := certs.Generate(certs.ClusterCA, certs.Options{Algorithm: certs.ECDSAP256, Now: time.Now()})
		w.must(err)
		// Without the cluster's label, as people make them.
		w.must(w.Create(w.Context(), &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: clusterName + "-ca"}, Type: corev1.SecretTypeTLS,
			Data: map[string][]byte{corev1.TLSCertKey: pair.Cert, corev1.TLSPrivateKeyKey: pair.Key},
		}))
	})
	before := w.secret("ca").Data
	w.run(t)
	w.settled(1)
	after := w.secret("ca")
	if string(after.Data[corev1.TLSCertKey]) != string(before[corev1.TLSCertKey]) || len(after.OwnerReferences) != 0 || after.Labels[clusterv1.ClusterNameLabel] != clusterName {
		t.Errorf("the CA was changed: %+v", after.ObjectMeta)
	}
	facts, err := kubeconfig.Read(w.secret("kubeconfig").Data[kubeconfig.SecretKey])
	w.must(err)
	if string(facts.CA) != string(before[corev1.TLSCertKey]) {
		t.Error("the kubeconfig trusts another CA")
	}
}

func TestCertificates_ThatAreLostAreNeverMadeAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.run(t)
	w.settled(1)
	lost := w.secret("proxy")
	w.must(w.Delete(t.Context(), lost))
	w.says(controlplanev1.KubeadmControlPlaneCertificatesAvailableCondition, metav1.ConditionFalse, "Secret demo-proxy is missing")
	w.says(clusterv1.AvailableCondition, metav1.ConditionFalse, "demo-proxy")
	err := w.Get(t.Context(), client.ObjectKeyFromObject(lost), &corev1.Secret{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the Secret was made again: %v", err)
	}
	lost.ObjectMeta = metav1.ObjectMeta{Namespace: w.namespace, Name: lost.Name, Labels: lost.Labels}
	w.must(w.Create(t.Context(), lost))
	w.settled(1)
	if !metav1.IsControlledBy(w.secret("proxy"), w.kcp) {
		t.Error("the restored Secret was not taken over")
	}
}

func TestKubeconfig_IsRenewedWhenItNoLongerFits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.run(t)
	w.settled(1)
	s := w.secret("kubeconfig")
	good := s.Data[kubeconfig.SecretKey]
	before := s.DeepCopy()
	s.Data[kubeconfig.SecretKey] = []byte(strings.ReplaceAll(string(good), "https://", "https://not."))
	w.must(w.Patch(t.Context(), s, client.MergeFrom(before)))
	planetest.Eventually(t, func(context.Context) error {
		facts, err := kubeconfig.Read(w.secret("kubeconfig").Data[kubeconfig.SecretKey])
		if err != nil || strings.Contains(facts.Server, "not.") {
			return fmt.Errorf("server %s, %w", facts.Server, err)
		}
		return nil
	})
	w.settled(1)
}

// A kubeconfig cannot outlive its CA, and is not made again and again for that.
func TestKubeconfig_OfACAThatEndsSoonIsLeftInPeace(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, func(w *world) { w.kcp.Spec.KubeadmConfigSpec.ClusterConfiguration.CACertificateValidityPeriodDays = 90 })
	writes := w.run(t)
	w.settled(1)
	writes.Cease(t)
}

func TestMachines_ThatAreRefusedLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	writes := w.run(t)
	tries := make(chan struct{}, 100)
	writes.Refuse(func(o client.Object) error {
		if o.GetObjectKind().GroupVersionKind().Kind != "SimMachine" {
			return nil
		}
		tries <- struct{}{}
		return apierrors.NewForbidden(schema.GroupResource{Resource: "simmachines"}, o.GetName(), errors.New("the quota is used up"))
	})
	for range 5 {
		<-tries
		var configs bootstrapv1.KubeadmConfigList
		w.must(w.List(t.Context(), &configs, client.InNamespace(w.namespace)))
		if len(configs.Items) > 1 {
			t.Fatalf("%d KubeadmConfigs are left", len(configs.Items))
		}
	}
	w.says(clusterv1.ScalingUpCondition, metav1.ConditionTrue, "the quota is used up")
	writes.Refuse(nil)
	w.settled(1)
	w.tidy(1)
	planetest.ToldOnce(t, w, w.kcp, "FailedCreate", "SuccessfulCreate")
}

func TestMachines_OfAControlPlaneWithALongName(t *testing.T) {
	t.Parallel()
	long := "control-plane-" + strings.Repeat("x", 66)
	w := newWorld(t, 1, func(w *world) {
		w.kcp.Name = long
		w.cluster.Spec.ControlPlaneRef.Name = long
	})
	w.run(t)
	m := w.settled(1)[0]
	if len(m.Name) > 63 || m.Labels[clusterv1.MachineControlPlaneNameLabel] != plan.LabelValue(long) {
		t.Errorf("Machine %s, labels %v", m.Name, m.Labels)
	}
}

func TestTemplate_ThatIsMissingIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, func(w *world) { w.kcp.Spec.MachineTemplate.Spec.InfrastructureRef.Name = "later" })
	w.run(t)
	w.says(clusterv1.ScalingUpCondition, metav1.ConditionTrue, "SimMachineTemplate later does not exist")
	w.must(w.Create(t.Context(), w.template("later")))
	w.settled(1)
}

func TestTemplate_OfAKindThatIsNotInstalledIsToldAndNothingElseIsBlamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, func(w *world) { w.kcp.Spec.MachineTemplate.Spec.InfrastructureRef.Kind = "NothingTemplate" })
	w.run(t)
	const mend = "There is no CustomResourceDefinition nothingtemplates.infrastructure.cluster.x-k8s.io for kind NothingTemplate of group " +
		"infrastructure.cluster.x-k8s.io; install the provider that serves it, or correct the reference"
	w.says(clusterv1.ScalingUpCondition, metav1.ConditionTrue, mend)
	w.says(controlplanev1.KubeadmControlPlaneCertificatesAvailableCondition, metav1.ConditionFalse,
		"The certificate authorities are made when there is a template to make machines from: "+mend)
}

func TestControlPlane_TellsWhatItDid(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.run(t)
	first := w.settled(1)[0]
	planetest.Told(t, w, w.kcp, "SuccessfulCreate", first.Name)
	w.change(upgrade)
	second := w.settled(1)[0]
	planetest.Told(t, w, w.kcp, "SuccessfulCreate", second.Name)
	planetest.Told(t, w, w.kcp, "SuccessfulDelete", first.Name)
	planetest.Told(t, w, w.kcp, "EtcdMemberRemoved", first.Name)
}

// Infrastructure is that of any provider, whichever contract it keeps.
func TestControlPlane_TakesInfrastructureOfBothContracts(t *testing.T) {
	t.Parallel()
	for _, c := range []contract.Version{contract.V1Beta1, contract.V1Beta2} {
		t.Run(string(c), func(t *testing.T) {
			t.Parallel()
			var f *fakes.Providers
			w := newWorld(t, 1, func(w *world) {
				f = fakes.Install(t, w, w.namespace, c, "Cluster", "Machine", "MachineTemplate")
				template := f.Fake("MachineTemplate", clusterName)
				w.must(unstructured.SetNestedField(template.Object, "large", "spec", "template", "spec", "size"))
				w.must(w.Create(t.Context(), template))
				w.must(w.Create(t.Context(), f.Fake("Cluster", clusterName)))
				w.cluster.Spec.InfrastructureRef = f.Ref("Cluster", clusterName)
				w.kcp.Spec.MachineTemplate.Spec.InfrastructureRef = f.Ref("MachineTemplate", clusterName)
			})
			w.run(t)
			done := map[contract.Version]string{contract.V1Beta1: "status.ready", contract.V1Beta2: "status.initialization.provisioned"}[c]
			f.Edit("Cluster", clusterName, map[string]any{"spec.controlPlaneEndpoint": map[string]any{"host": "127.0.0.1", "port": int64(6443)}})
			f.Edit("Cluster", clusterName, map[string]any{done: true})
			var m *clusterv1.Machine
			planetest.Eventually(t, func(ctx context.Context) error {
				machines, err := w.list(ctx)
				if err != nil || len(machines) != 1 {
					return fmt.Errorf("%d Machines, %w", len(machines), err)
				}
				m = &machines[0]
				if !conditions.IsTrue(m.Status.Conditions, clusterv1.BootstrapConfigReadyCondition) {
					return fmt.Errorf("conditions %+v", m.Status.Conditions)
				}
				return nil
			})
			if m.Spec.InfrastructureRef != f.Ref("Machine", m.Name) {
				t.Errorf("the Machine refers to %+v", m.Spec.InfrastructureRef)
			}
			made := f.Fake("Machine", m.Name)
			w.must(w.Get(t.Context(), client.ObjectKeyFromObject(made), made))
			if size, _, err := unstructured.NestedString(made.Object, "spec", "size"); err != nil || size != "large" {
				t.Errorf("the infrastructure is %v, %v", made.Object, err)
			}
		})
	}
}
