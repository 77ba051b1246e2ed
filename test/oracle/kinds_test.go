package oracle

import (
	upstreambootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	upstreamcontrolplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	upstreamv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
)

// version is the API version that is compared.
const version = "v1beta2"

// kind is one kind that both sides have.
type kind struct {
	name string
	// crd is the name of its CustomResourceDefinition.
	crd string
	// theirs and ours return a new, empty object.
	theirs func() any
	ours   func() any
}

func newly[T any]() any { return new(T) }

func kinds() []kind {
	return []kind{
		{"Cluster", "clusters.cluster.x-k8s.io", newly[upstreamv1.Cluster], newly[clusterv1.Cluster]},
		{"ClusterClass", "clusterclasses.cluster.x-k8s.io", newly[upstreamv1.ClusterClass], newly[clusterv1.ClusterClass]},
		{"Machine", "machines.cluster.x-k8s.io", newly[upstreamv1.Machine], newly[clusterv1.Machine]},
		{"MachineSet", "machinesets.cluster.x-k8s.io", newly[upstreamv1.MachineSet], newly[clusterv1.MachineSet]},
		{"MachineDeployment", "machinedeployments.cluster.x-k8s.io", newly[upstreamv1.MachineDeployment], newly[clusterv1.MachineDeployment]},
		{"MachinePool", "machinepools.cluster.x-k8s.io", newly[upstreamv1.MachinePool], newly[clusterv1.MachinePool]},
		{"MachineHealthCheck", "machinehealthchecks.cluster.x-k8s.io", newly[upstreamv1.MachineHealthCheck], newly[clusterv1.MachineHealthCheck]},
		{"MachineDrainRule", "machinedrainrules.cluster.x-k8s.io", newly[upstreamv1.MachineDrainRule], newly[clusterv1.MachineDrainRule]},
		{"KubeadmConfig", "kubeadmconfigs.bootstrap.cluster.x-k8s.io", newly[upstreambootstrapv1.KubeadmConfig], newly[bootstrapv1.KubeadmConfig]},
		{"KubeadmConfigTemplate", "kubeadmconfigtemplates.bootstrap.cluster.x-k8s.io", newly[upstreambootstrapv1.KubeadmConfigTemplate], newly[bootstrapv1.KubeadmConfigTemplate]},
		{"KubeadmControlPlane", "kubeadmcontrolplanes.controlplane.cluster.x-k8s.io", newly[upstreamcontrolplanev1.KubeadmControlPlane], newly[controlplanev1.KubeadmControlPlane]},
		{"KubeadmControlPlaneTemplate", "kubeadmcontrolplanetemplates.controlplane.cluster.x-k8s.io", newly[upstreamcontrolplanev1.KubeadmControlPlaneTemplate], newly[controlplanev1.KubeadmControlPlaneTemplate]},
	}
}
