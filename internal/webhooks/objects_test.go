package webhooks_test

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
)

// The builders return objects as they are stored: valid, with all defaults. Each edit is made to that.

func edited[T any](obj *T, edits []func(*T)) *T {
	for _, edit := range edits {
		edit(obj)
	}
	return obj
}

func meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: "ns", Labels: map[string]string{clusterv1.ClusterNameLabel: "c"}}
}

func infraRef(kind string) clusterv1.ContractVersionedObjectReference {
	return clusterv1.ContractVersionedObjectReference{APIGroup: "infrastructure.cluster.x-k8s.io", Kind: kind, Name: "x"}
}

func configRef(kind string) clusterv1.ContractVersionedObjectReference {
	return clusterv1.ContractVersionedObjectReference{APIGroup: bootstrapv1.GroupVersion.Group, Kind: kind, Name: "x"}
}

func cluster(edits ...func(*clusterv1.Cluster)) *clusterv1.Cluster {
	return edited(&clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: "c", Namespace: "ns"},
		Spec: clusterv1.ClusterSpec{
			ClusterNetwork: clusterv1.ClusterNetwork{
				Pods:     clusterv1.NetworkRanges{CIDRBlocks: []string{"192.168.0.0/16", "fd00:1::/64"}},
				Services: clusterv1.NetworkRanges{CIDRBlocks: []string{"10.96.0.0/12", "fd00:2::/112"}},
			},
			ControlPlaneEndpoint: clusterv1.APIEndpoint{Host: "fd00::10", Port: 6443},
			ControlPlaneRef:      clusterv1.ContractVersionedObjectReference{APIGroup: controlplanev1.GroupVersion.Group, Kind: "KubeadmControlPlane", Name: "c"},
			InfrastructureRef:    infraRef("SimCluster"),
		},
	}, edits)
}

func machine(edits ...func(*clusterv1.Machine)) *clusterv1.Machine {
	return edited(&clusterv1.Machine{
		ObjectMeta: meta("m"),
		Spec: clusterv1.MachineSpec{
			ClusterName: "c", Version: "v1.37.2", Bootstrap: clusterv1.Bootstrap{ConfigRef: configRef("KubeadmConfig")}, InfrastructureRef: infraRef("SimMachine"),
			Deletion: clusterv1.MachineDeletionSpec{NodeDeletionTimeoutSeconds: new(int32(10))},
		},
	}, edits)
}

func template(labels map[string]string) clusterv1.MachineTemplateSpec {
	return clusterv1.MachineTemplateSpec{
		ObjectMeta: clusterv1.ObjectMeta{Labels: labels},
		Spec: clusterv1.MachineSpec{
			ClusterName: "c", Version: "v1.37.2", Bootstrap: clusterv1.Bootstrap{ConfigRef: configRef("KubeadmConfigTemplate")}, InfrastructureRef: infraRef("SimMachineTemplate"),
		},
	}
}

func machineSet(edits ...func(*clusterv1.MachineSet)) *clusterv1.MachineSet {
	return edited(&clusterv1.MachineSet{
		ObjectMeta: meta("s"),
		Spec: clusterv1.MachineSetSpec{
			ClusterName: "c", Replicas: new(int32(1)),
			Selector: metav1.LabelSelector{MatchLabels: map[string]string{clusterv1.ClusterNameLabel: "c", clusterv1.MachineSetNameLabel: "s"}},
			Template: template(map[string]string{clusterv1.ClusterNameLabel: "c", clusterv1.MachineSetNameLabel: "s"}),
		},
	}, edits)
}

func machineDeployment(edits ...func(*clusterv1.MachineDeployment)) *clusterv1.MachineDeployment {
	return edited(&clusterv1.MachineDeployment{
		ObjectMeta: meta("d"),
		Spec: clusterv1.MachineDeploymentSpec{
			ClusterName: "c", Replicas: new(int32(1)),
			Rollout: clusterv1.MachineDeploymentRolloutSpec{Strategy: clusterv1.MachineDeploymentRolloutStrategy{
				Type: clusterv1.RollingUpdateMachineDeploymentStrategyType,
				RollingUpdate: clusterv1.MachineDeploymentRolloutStrategyRollingUpdate{
					MaxSurge: new(intstr.FromInt32(1)), MaxUnavailable: new(intstr.FromInt32(0)),
				},
			}},
			Selector: metav1.LabelSelector{MatchLabels: map[string]string{clusterv1.ClusterNameLabel: "c", clusterv1.MachineDeploymentNameLabel: "d"}},
			Template: template(map[string]string{clusterv1.ClusterNameLabel: "c", clusterv1.MachineDeploymentNameLabel: "d"}),
		},
	}, edits)
}

func machinePool(edits ...func(*clusterv1.MachinePool)) *clusterv1.MachinePool {
	pool := &clusterv1.MachinePool{ObjectMeta: meta("p"), Spec: clusterv1.MachinePoolSpec{ClusterName: "c", Replicas: new(int32(1)), Template: template(nil)}}
	pool.Spec.Template.Spec.Deletion.NodeDeletionTimeoutSeconds = new(int32(10))
	return edited(pool, edits)
}

func healthCheck(edits ...func(*clusterv1.MachineHealthCheck)) *clusterv1.MachineHealthCheck {
	return edited(&clusterv1.MachineHealthCheck{
		ObjectMeta: meta("h"),
		Spec: clusterv1.MachineHealthCheckSpec{
			ClusterName: "c", Selector: metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
			Checks: clusterv1.MachineHealthCheckChecks{NodeStartupTimeoutSeconds: new(int32(600))},
		},
	}, edits)
}

func drainRule(edits ...func(*clusterv1.MachineDrainRule)) *clusterv1.MachineDrainRule {
	return edited(&clusterv1.MachineDrainRule{
		ObjectMeta: meta("r"),
		Spec: clusterv1.MachineDrainRuleSpec{
			Drain: clusterv1.MachineDrainRuleDrainConfig{Behavior: clusterv1.MachineDrainRuleDrainBehaviorDrain, Order: new(int32(1))},
			Pods:  []clusterv1.MachineDrainRulePodSelector{{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}}},
		},
	}, edits)
}

func kubeadmConfig(edits ...func(*bootstrapv1.KubeadmConfig)) *bootstrapv1.KubeadmConfig {
	return edited(&bootstrapv1.KubeadmConfig{
		ObjectMeta: meta("k"),
		Spec: bootstrapv1.KubeadmConfigSpec{
			JoinConfiguration: bootstrapv1.JoinConfiguration{CACertPath: "/ca"},
			Format:            bootstrapv1.CloudConfig,
			Files:             []bootstrapv1.File{{Path: "/a", Content: "a"}, {Path: "/b", ContentFrom: bootstrapv1.FileSource{Secret: bootstrapv1.SecretFileSource{Name: "s", Key: "k"}}}},
		},
	}, edits)
}

func controlPlane(edits ...func(*controlplanev1.KubeadmControlPlane)) *controlplanev1.KubeadmControlPlane {
	return edited(&controlplanev1.KubeadmControlPlane{
		ObjectMeta: meta("k"),
		Spec: controlplanev1.KubeadmControlPlaneSpec{
			Replicas: new(int32(3)), Version: "v1.37.2",
			MachineTemplate: controlplanev1.KubeadmControlPlaneMachineTemplate{Spec: controlplanev1.KubeadmControlPlaneMachineTemplateSpec{InfrastructureRef: infraRef("SimMachineTemplate")}},
			Rollout:         controlPlaneRollout(1),
		},
	}, edits)
}

func controlPlaneRollout(surge int32) controlplanev1.KubeadmControlPlaneRolloutSpec {
	return controlplanev1.KubeadmControlPlaneRolloutSpec{Strategy: controlplanev1.KubeadmControlPlaneRolloutStrategy{
		Type:          controlplanev1.RollingUpdateStrategyType,
		RollingUpdate: controlplanev1.KubeadmControlPlaneRolloutStrategyRollingUpdate{MaxSurge: new(intstr.FromInt32(surge))},
	}}
}

func controlPlaneTemplate(edits ...func(*controlplanev1.KubeadmControlPlaneTemplate)) *controlplanev1.KubeadmControlPlaneTemplate {
	return edited(&controlplanev1.KubeadmControlPlaneTemplate{
		ObjectMeta: meta("t"),
		Spec: controlplanev1.KubeadmControlPlaneTemplateSpec{Template: controlplanev1.KubeadmControlPlaneTemplateResource{
			Spec: controlplanev1.KubeadmControlPlaneTemplateResourceSpec{
				KubeadmConfigSpec: bootstrapv1.KubeadmConfigSpec{Verbosity: new(int32(2))},
			},
		}},
	}, edits)
}

func configTemplate(edits ...func(*bootstrapv1.KubeadmConfigTemplate)) *bootstrapv1.KubeadmConfigTemplate {
	return edited(&bootstrapv1.KubeadmConfigTemplate{
		ObjectMeta: meta("t"),
		Spec: bootstrapv1.KubeadmConfigTemplateSpec{Template: bootstrapv1.KubeadmConfigTemplateResource{
			Spec: bootstrapv1.KubeadmConfigSpec{Verbosity: new(int32(2))},
		}},
	}, edits)
}
