package webhooks_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
)

func TestNotYet_KindsThatNothingActsOnAreStoredWithAWarning(t *testing.T) {
	t.Parallel()
	const tail = " is stored, but nothing acts on it in this version of Slipway: "
	for _, row := range []struct {
		obj  client.Object
		want []string
	}{
		{&clusterv1.ClusterClass{}, []string{"ClusterClass" + tail + "no Cluster can use it; create the Cluster's objects themselves instead"}},
		{machinePool(), []string{"MachinePool" + tail + "no machines are made from it; create a MachineDeployment instead"}},
		{healthCheck(), []string{"MachineHealthCheck" + tail + "no machine is checked or remediated"}},
		{controlPlaneTemplate(), []string{"KubeadmControlPlaneTemplate" + tail + "only a ClusterClass uses it; create a KubeadmControlPlane instead"}},
		{cluster(), nil},
		{machine(), nil},
		{machineSet(), nil},
		{machineDeployment(), nil},
		{drainRule(), nil},
		{kubeadmConfig(), nil},
		{configTemplate(), nil},
		{controlPlane(), nil},
	} {
		r := ask(t, "validate", row.obj, nil)
		if !r.Allowed {
			t.Errorf("%T was refused: %q", row.obj, refusals(r))
		}
		if diff := cmp.Diff(row.want, r.Warnings); diff != "" {
			t.Errorf("warnings about %T (-want +got):\n%s", row.obj, diff)
		}
	}
}

func TestNotYet_FieldsThatNothingActsOnAreRefused(t *testing.T) {
	t.Parallel()
	const tail = ": Forbidden: nothing acts on it in this version of Slipway: "
	const cloudConfigOnly = tail + "bootstrap data is written as cloud-config only; leave the field out"
	ignition := bootstrapv1.IgnitionSpec{ContainerLinuxConfig: bootstrapv1.ContainerLinuxConfig{AdditionalConfig: "a"}}
	rows := []row{
		{name: "topology", obj: cluster(func(c *clusterv1.Cluster) {
			c.Spec.Topology.ClassRef.Name, c.Spec.Topology.Version = "class", "v1.37.2"
		}), want: []string{
			"spec.topology" + tail + "no control plane and no machines would be made from the ClusterClass, so create the objects and set controlPlaneRef and infrastructureRef; leave the field out",
		}},
		{name: "remediation of workers", obj: machineDeployment(func(d *clusterv1.MachineDeployment) { d.Spec.Remediation.MaxInFlight = new(intstr.FromInt32(1)) }), want: []string{
			"spec.remediation" + tail + "Machines are not remediated; leave the field out",
		}},
		{name: "remediation of control planes", obj: controlPlane(func(k *controlplanev1.KubeadmControlPlane) { k.Spec.Remediation.MaxRetry = new(int32(1)) }), want: []string{
			"spec.remediation" + tail + "control plane machines are not remediated; leave the field out",
		}},
		{name: "format", obj: kubeadmConfig(func(k *bootstrapv1.KubeadmConfig) { k.Spec.Format = bootstrapv1.Ignition }), want: []string{"spec.format" + cloudConfigOnly}},
		{name: "ignition", obj: kubeadmConfig(func(k *bootstrapv1.KubeadmConfig) { k.Spec.Ignition = ignition }), want: []string{"spec.ignition" + cloudConfigOnly}},
		{name: "both in a template", obj: configTemplate(func(k *bootstrapv1.KubeadmConfigTemplate) {
			k.Spec.Template.Spec.Format, k.Spec.Template.Spec.Ignition = bootstrapv1.Ignition, ignition
		}), want: []string{"spec.template.spec.format" + cloudConfigOnly, "spec.template.spec.ignition" + cloudConfigOnly}},
		{name: "both in a control plane", obj: controlPlane(func(k *controlplanev1.KubeadmControlPlane) {
			k.Spec.KubeadmConfigSpec.Format, k.Spec.KubeadmConfigSpec.Ignition = bootstrapv1.Ignition, ignition
		}), want: []string{"spec.kubeadmConfigSpec.format" + cloudConfigOnly, "spec.kubeadmConfigSpec.ignition" + cloudConfigOnly}},
	}
	checkRows(t, rows)
}

func TestNotYet_ACoreDNSThatRunsIsNotChanged(t *testing.T) {
	t.Parallel()
	changed := controlPlane(func(k *controlplanev1.KubeadmControlPlane) {
		k.Spec.KubeadmConfigSpec.ClusterConfiguration.DNS.ImageTag = "v1.14.6"
	})
	want := []string{"spec.kubeadmConfigSpec.clusterConfiguration.dns is stored, but nothing acts on it in this version of Slipway once the control plane is initialized: change the image of deployment kube-system/coredns in the cluster itself"}
	if diff := cmp.Diff(want, ask(t, "validate", changed, controlPlane()).Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if r := ask(t, "validate", changed, nil); len(r.Warnings) > 0 {
		t.Errorf("a new control plane was warned about: %q", r.Warnings)
	}
}
