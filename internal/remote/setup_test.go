package remote

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
)

func TestSetup_HeedsTheKubeconfigSecretsOfClustersAlone(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, label string
		heeded      bool
	}{
		{"one-kubeconfig", "one", true},
		{"one-kubeconfig", "two", false},
		{"one-kubeconfig", "", false},
		{"one-ca", "one", false},
		{"my-kubeconfig-kubeconfig", "my-kubeconfig", true},
	} {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: tc.name, Labels: map[string]string{clusterv1.ClusterNameLabel: tc.label},
		}}
		requests := clusterOfKubeconfig(t.Context(), secret)
		if heeded := len(requests) == 1 && requests[0].Name == tc.label; heeded != tc.heeded {
			t.Errorf("%s of %q: %v", tc.name, tc.label, requests)
		}
	}
}

func TestSetup_HeedsWhatMayOpenTheWay(t *testing.T) {
	t.Parallel()
	machine := func(phase string, controlPlane bool) *clusterv1.Machine {
		m := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{clusterv1.ClusterNameLabel: "one"}}}
		m.Status.Phase = phase
		if controlPlane {
			m.Labels[clusterv1.MachineControlPlaneLabel] = ""
		}
		return m
	}
	comesUp := whenControlPlaneComesUp()
	if !comesUp.Update(event.UpdateEvent{ObjectOld: machine("Provisioning", true), ObjectNew: machine("Provisioned", true)}) {
		t.Error("a control-plane Machine that came up was not heeded")
	}
	if comesUp.Update(event.UpdateEvent{ObjectOld: machine("Provisioning", false), ObjectNew: machine("Provisioned", false)}) {
		t.Error("a worker was heeded")
	}
	if comesUp.Update(event.UpdateEvent{ObjectOld: machine("Running", true), ObjectNew: machine("Running", true)}) {
		t.Error("a Machine in which nothing of interest changed was heeded")
	}
	endpoint := whenEndpointChanges()
	old, now := &clusterv1.Cluster{}, &clusterv1.Cluster{}
	if endpoint.Update(event.UpdateEvent{ObjectOld: old, ObjectNew: now}) {
		t.Error("a Cluster without a change of interest was heeded")
	}
	now.Spec.ControlPlaneEndpoint.Host = "10.0.0.1"
	if !endpoint.Update(event.UpdateEvent{ObjectOld: old, ObjectNew: now}) {
		t.Error("an endpoint was not heeded")
	}
}
