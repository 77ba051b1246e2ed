package kubeadmcontrolplane_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
	"slipway.dev/slipway/internal/conditions"
	"slipway.dev/slipway/internal/kubeadm/certs"
)

// externalEtcd makes the control plane use an etcd of the user's, and returns its CA.
func externalEtcd(w *world) *certs.Authority {
	w.Helper()
	w.kcp.Spec.KubeadmConfigSpec.ClusterConfiguration.Etcd.External = bootstrapv1.ExternalEtcd{
		Endpoints: []string{"https://10.9.8.7:2379"},
		CAFile:    "/etc/kubernetes/pki/etcd/ca.crt", CertFile: "/etc/kubernetes/pki/apiserver-etcd-client.crt", KeyFile: "/etc/kubernetes/pki/apiserver-etcd-client.key",
	}
	pair, err := certs.Generate(certs.EtcdCA, certs.Options{Algorithm: certs.ECDSAP256, Now: time.Now()})
	w.must(err)
	ca, err := certs.NewAuthority(pair)
	w.must(err)
	return ca
}

// supply makes a Secret as a user does.
func (w *world) supply(name string, data map[string][]byte) {
	w.Helper()
	w.must(w.Create(w.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: clusterName + "-" + name, Labels: map[string]string{clusterv1.ClusterNameLabel: clusterName}}, Data: data}))
}

// The CA of an external etcd comes without a key, and nobody's etcd is looked into, counted or left.
func TestExternalEtcd_ControlPlaneComesUpRollsOutAndScalesDown(t *testing.T) {
	t.Parallel()
	var ca *certs.Authority
	w := newWorld(t, 1, func(w *world) { ca = externalEtcd(w) })
	w.run(t)
	w.says(controlplanev1.KubeadmControlPlaneCertificatesAvailableCondition, metav1.ConditionFalse, "demo-apiserver-etcd-client, demo-etcd")
	pair, err := ca.Issue(certs.Request{CommonName: "apiserver", Now: time.Now()})
	w.must(err)
	w.supply("etcd", map[string][]byte{corev1.TLSCertKey: ca.PEM})
	w.supply("apiserver-etcd-client", map[string][]byte{corev1.TLSCertKey: pair.Cert, corev1.TLSPrivateKeyKey: pair.Key})
	w.change(func(kcp *controlplanev1.KubeadmControlPlane) { kcp.Spec.Replicas = new(int32(2)) }) // External etcd needs no odd number.
	for _, m := range w.settled(2) {
		for _, g := range m.Spec.ReadinessGates {
			if g.ConditionType == controlplanev1.KubeadmControlPlaneMachineEtcdPodHealthyCondition || g.ConditionType == controlplanev1.KubeadmControlPlaneMachineEtcdMemberHealthyCondition {
				t.Errorf("Machine %s waits for %s", m.Name, g.ConditionType)
			}
		}
	}
	if c := conditions.Find(w.kcp.Status.Conditions, controlplanev1.KubeadmControlPlaneEtcdClusterHealthyCondition); c != nil {
		t.Errorf("tells of an etcd that is not its own: %+v", c)
	}
	if owners := w.secret("etcd").OwnerReferences; len(owners) != 0 {
		t.Errorf("the user's Secret is owned by %v", owners)
	}
	w.change(func(kcp *controlplanev1.KubeadmControlPlane) { kcp.Spec.Version = newVersion })
	w.settled(2)
	w.change(func(kcp *controlplanev1.KubeadmControlPlane) { kcp.Spec.Replicas = new(int32(1)) })
	w.settled(1)
	w.must(w.Delete(t.Context(), w.cluster, client.PropagationPolicy(metav1.DeletePropagationBackground)))
	w.gone(&clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: clusterName}})
}
