package webhooks_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	infrav1 "slipway.dev/slipway/api/infrastructure/v1alpha1"
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
		{&infrav1.SimClusterTemplate{ObjectMeta: meta("t")}, []string{"SimClusterTemplate" + tail + "only a ClusterClass uses it; create a SimCluster instead"}},
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

func TestNotYet_ADiscoveryTokenBesideAFileIsRefused(t *testing.T) {
	t.Parallel()
	const want = ".joinConfiguration.discovery.bootstrapToken: Forbidden: with discovery.file set the machine finds its cluster by the file, and the token would be ignored: " +
		"keep one of them (for a token beside the file there is discovery.tlsBootstrapToken)"
	both := func(c *bootstrapv1.KubeadmConfigSpec) {
		c.JoinConfiguration.Discovery.File.KubeConfigPath = "/etc/discovery.conf"
		c.JoinConfiguration.Discovery.BootstrapToken.UnsafeSkipCAVerification = new(true)
	}
	checkRows(t, []row{
		{name: "in a config", obj: kubeadmConfig(func(k *bootstrapv1.KubeadmConfig) { both(&k.Spec) }), want: []string{"spec" + want}},
		{name: "in a template", obj: configTemplate(func(k *bootstrapv1.KubeadmConfigTemplate) { both(&k.Spec.Template.Spec) }), want: []string{"spec.template.spec" + want}},
		{name: "in a control plane", obj: controlPlane(func(k *controlplanev1.KubeadmControlPlane) { both(&k.Spec.KubeadmConfigSpec) }), want: []string{"spec.kubeadmConfigSpec" + want}},
		{name: "only a token for TLS", obj: kubeadmConfig(func(k *bootstrapv1.KubeadmConfig) {
			k.Spec.JoinConfiguration.Discovery.File.KubeConfigPath, k.Spec.JoinConfiguration.Discovery.TLSBootstrapToken = "/etc/discovery.conf", "abcdef.0123456789abcdef"
		})},
	})
}

// A machine whose certificates are always about to expire is always out of date.
func TestControlPlane_IsWarnedOfARolloutWithoutEnd(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name          string
		before, valid int32
		want          []string
	}{
		{name: "a month before", before: 30},
		{name: "a day less than the certificates live", before: 364},
		{name: "as long as the certificates live", before: 365, want: []string{"spec.rollout.before.certificatesExpiryDays is 365, and kubeadm's certificates live for 365 days: " +
			"machines would be replaced for ever; write less, such as 30, or set spec.kubeadmConfigSpec.clusterConfiguration.certificateValidityPeriodDays to more than 365"}},
		{name: "certificates that live longer", before: 400, valid: 800},
	} {
		k := controlPlane(func(k *controlplanev1.KubeadmControlPlane) {
			k.Spec.Rollout.Before.CertificatesExpiryDays = row.before
			k.Spec.KubeadmConfigSpec.ClusterConfiguration.CertificateValidityPeriodDays = row.valid
		})
		for _, old := range []client.Object{nil, controlPlane()} {
			r := ask(t, "validate", k, old)
			if !r.Allowed {
				t.Errorf("%s was refused: %q", row.name, refusals(r))
			}
			if diff := cmp.Diff(row.want, r.Warnings); diff != "" {
				t.Errorf("%s (-want +got):\n%s", row.name, diff)
			}
		}
	}
}

func TestNotYet_AnUpgradeLeavesTheAddOnsAlone(t *testing.T) {
	t.Parallel()
	upgraded := controlPlane(func(k *controlplanev1.KubeadmControlPlane) { k.Spec.Version = "v1.37.9" })
	want := []string{"spec.version changes the machines; kube-proxy and CoreDNS stay as they are in this version of Slipway: once all machines have the version, " +
		"change the images of daemonset kube-system/kube-proxy and deployment kube-system/coredns in the cluster itself"}
	if diff := cmp.Diff(want, ask(t, "validate", upgraded, controlPlane()).Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if r := ask(t, "validate", upgraded, nil); len(r.Warnings) > 0 {
		t.Errorf("a new control plane was warned about: %q", r.Warnings)
	}
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
