package oracle

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	upstreambootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	upstreamcontrolplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	upstreamv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// sample is an object as a user of upstream writes it.
type sample struct {
	name   string
	crd    string
	object any
}

func TestCRD_AcceptsWhatUpstreamUsersWrite(t *testing.T) {
	t.Parallel()
	for _, s := range samples() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			object := asSent(t, s.object)
			if verdict := newJudge(t, ourCRD(t, s.crd)).judge(t.Context(), t, object); !verdict.accepted() {
				t.Errorf("%v\n%s", verdict, encode(t, object))
			}
		})
	}
}

func samples() []sample {
	return []sample{
		{"a cluster of its own", "clusters.cluster.x-k8s.io", plainCluster()},
		{"a cluster with a topology", "clusters.cluster.x-k8s.io", topologyCluster()},
		{"a class with variables and patches", "clusterclasses.cluster.x-k8s.io", class()},
		{"a machine", "machines.cluster.x-k8s.io", &upstreamv1.Machine{ObjectMeta: meta("m"), Spec: machineSpec()}},
		{"a machine set", "machinesets.cluster.x-k8s.io", &upstreamv1.MachineSet{ObjectMeta: meta("ms"), Spec: upstreamv1.MachineSetSpec{
			ClusterName: "demo", Replicas: new(int32(3)), Selector: selector(), Template: machineTemplate(),
			Deletion: upstreamv1.MachineSetDeletionSpec{Order: upstreamv1.NewestMachineSetDeletionOrder},
		}}},
		{"a machine deployment", "machinedeployments.cluster.x-k8s.io", machineDeployment()},
		{"a machine pool", "machinepools.cluster.x-k8s.io", &upstreamv1.MachinePool{ObjectMeta: meta("mp"), Spec: upstreamv1.MachinePoolSpec{
			ClusterName: "demo", Replicas: new(int32(0)), Template: machineTemplate(), FailureDomains: []string{"a", "b"},
		}}},
		{"a health check", "machinehealthchecks.cluster.x-k8s.io", healthCheck()},
		{"a drain rule", "machinedrainrules.cluster.x-k8s.io", drainRule()},
		{"a kubeadm configuration", "kubeadmconfigs.bootstrap.cluster.x-k8s.io", &upstreambootstrapv1.KubeadmConfig{ObjectMeta: meta("kc"), Spec: kubeadmSpec()}},
		{"a kubeadm configuration template", "kubeadmconfigtemplates.bootstrap.cluster.x-k8s.io", &upstreambootstrapv1.KubeadmConfigTemplate{
			ObjectMeta: meta("kct"), Spec: upstreambootstrapv1.KubeadmConfigTemplateSpec{Template: upstreambootstrapv1.KubeadmConfigTemplateResource{Spec: kubeadmSpec()}},
		}},
		{"a control plane", "kubeadmcontrolplanes.controlplane.cluster.x-k8s.io", controlPlane()},
	}
}

func meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: "default", Labels: map[string]string{upstreamv1.ClusterNameLabel: "demo"}}
}

func selector() metav1.LabelSelector {
	return metav1.LabelSelector{MatchLabels: map[string]string{"group": "workers"}}
}

func simRef(kind, name string) upstreamv1.ContractVersionedObjectReference {
	return upstreamv1.ContractVersionedObjectReference{APIGroup: "infrastructure.cluster.x-k8s.io", Kind: kind, Name: name}
}

func machineSpec() upstreamv1.MachineSpec {
	return upstreamv1.MachineSpec{
		ClusterName:       "demo",
		Version:           "v1.36.2",
		Bootstrap:         upstreamv1.Bootstrap{DataSecretName: new("")},
		InfrastructureRef: simRef("SimMachine", "m"),
		Deletion:          upstreamv1.MachineDeletionSpec{NodeDrainTimeoutSeconds: new(int32(0))},
		ReadinessGates:    []upstreamv1.MachineReadinessGate{{ConditionType: "example.com/Checked"}},
		Taints: []upstreamv1.MachineTaint{
			{Key: "dedicated", Value: "gpu", Effect: corev1.TaintEffectNoSchedule, Propagation: upstreamv1.MachineTaintPropagationAlways},
			{Key: "dedicated", Effect: corev1.TaintEffectNoExecute, Propagation: upstreamv1.MachineTaintPropagationOnInitialization},
		},
	}
}

func machineTemplate() upstreamv1.MachineTemplateSpec {
	return upstreamv1.MachineTemplateSpec{
		ObjectMeta: upstreamv1.ObjectMeta{Labels: map[string]string{"group": "workers"}},
		Spec:       machineSpec(),
	}
}

func machineDeployment() *upstreamv1.MachineDeployment {
	return &upstreamv1.MachineDeployment{ObjectMeta: meta("md"), Spec: upstreamv1.MachineDeploymentSpec{
		ClusterName: "demo", Replicas: new(int32(3)), Selector: selector(), Template: machineTemplate(),
		Rollout: upstreamv1.MachineDeploymentRolloutSpec{
			After: metav1.Unix(1_800_000_000, 0),
			Strategy: upstreamv1.MachineDeploymentRolloutStrategy{
				Type:          upstreamv1.RollingUpdateMachineDeploymentStrategyType,
				RollingUpdate: upstreamv1.MachineDeploymentRolloutStrategyRollingUpdate{MaxSurge: new(intstr.FromInt32(0)), MaxUnavailable: new(intstr.FromString("30%"))},
			},
		},
		Remediation: upstreamv1.MachineDeploymentRemediationSpec{MaxInFlight: new(intstr.FromInt32(1))},
	}}
}

func plainCluster() *upstreamv1.Cluster {
	return &upstreamv1.Cluster{
		ObjectMeta: meta("demo"),
		Spec: upstreamv1.ClusterSpec{
			ClusterNetwork: upstreamv1.ClusterNetwork{
				APIServerPort: 6443,
				Pods:          upstreamv1.NetworkRanges{CIDRBlocks: []string{"192.168.0.0/16", "fd00::/48"}},
			},
			ControlPlaneEndpoint: upstreamv1.APIEndpoint{Host: "10.0.0.1", Port: 6443},
			ControlPlaneRef:      upstreamv1.ContractVersionedObjectReference{APIGroup: "controlplane.cluster.x-k8s.io", Kind: "KubeadmControlPlane", Name: "demo"},
			InfrastructureRef:    simRef("SimCluster", "demo"),
			Paused:               new(false),
		},
		Status: upstreamv1.ClusterStatus{
			Phase: string(upstreamv1.ClusterPhaseProvisioned),
			Conditions: []metav1.Condition{{
				Type: upstreamv1.ClusterAvailableCondition, Status: metav1.ConditionTrue, Reason: upstreamv1.ClusterAvailableReason,
				LastTransitionTime: metav1.Unix(1_700_000_000, 0), ObservedGeneration: 1,
			}},
			FailureDomains: []upstreamv1.FailureDomain{{Name: "a", ControlPlane: new(true)}},
		},
	}
}

func topologyCluster() *upstreamv1.Cluster {
	zone := upstreamv1.ClusterVariable{Name: "zone", Value: apiextensionsv1.JSON{Raw: []byte(`{"name":"a","weight":3}`)}}
	return &upstreamv1.Cluster{ObjectMeta: meta("demo"), Spec: upstreamv1.ClusterSpec{Topology: upstreamv1.Topology{
		ClassRef:  upstreamv1.ClusterClassRef{Name: "sim", Namespace: "classes"},
		Version:   "v1.36.2",
		Variables: []upstreamv1.ClusterVariable{zone},
		ControlPlane: upstreamv1.ControlPlaneTopology{
			Replicas: new(int32(3)),
			HealthCheck: upstreamv1.ControlPlaneTopologyHealthCheck{
				Enabled: new(true),
				Checks: upstreamv1.ControlPlaneTopologyHealthCheckChecks{
					UnhealthyNodeConditions: []upstreamv1.UnhealthyNodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, TimeoutSeconds: new(int32(300))}},
				},
			},
		},
		Workers: upstreamv1.WorkersTopology{MachineDeployments: []upstreamv1.MachineDeploymentTopology{
			{Class: "default", Name: "md-0", Replicas: new(int32(5)), Variables: upstreamv1.MachineDeploymentVariables{Overrides: []upstreamv1.ClusterVariable{zone}}},
			{Class: "default", Name: "md-1"},
		}},
	}}}
}

func class() *upstreamv1.ClusterClass {
	template := func(group, kind string) upstreamv1.ClusterClassTemplateReference {
		return upstreamv1.ClusterClassTemplateReference{APIVersion: group + ".cluster.x-k8s.io/v1beta2", Kind: kind, Name: "sim"}
	}
	return &upstreamv1.ClusterClass{ObjectMeta: meta("sim"), Spec: upstreamv1.ClusterClassSpec{
		Infrastructure: upstreamv1.InfrastructureClass{TemplateRef: template("infrastructure", "SimClusterTemplate")},
		ControlPlane:   upstreamv1.ControlPlaneClass{TemplateRef: template("controlplane", "KubeadmControlPlaneTemplate")},
		Workers: upstreamv1.WorkersClass{MachineDeployments: []upstreamv1.MachineDeploymentClass{{
			Class:          "default",
			Bootstrap:      upstreamv1.MachineDeploymentClassBootstrapTemplate{TemplateRef: template("bootstrap", "KubeadmConfigTemplate")},
			Infrastructure: upstreamv1.MachineDeploymentClassInfrastructureTemplate{TemplateRef: template("infrastructure", "SimMachineTemplate")},
		}}},
		Variables: []upstreamv1.ClusterClassVariable{{
			Name: "zone", Required: new(false),
			Schema: upstreamv1.VariableSchema{OpenAPIV3Schema: upstreamv1.JSONSchemaProps{
				Type: "object",
				Properties: map[string]upstreamv1.JSONSchemaProps{
					"name":   {Type: "string", Enum: []apiextensionsv1.JSON{{Raw: []byte(`"a"`)}, {Raw: []byte(`"b"`)}}},
					"weight": {Type: "integer", Minimum: new(int64(1))},
				},
				XValidations: []upstreamv1.ValidationRule{{Rule: "self.weight > 0", Message: "weight must be above 0"}},
			}},
		}},
		Patches: []upstreamv1.ClusterClassPatch{{
			Name: "zone", EnabledIf: `{{ ne .zone.name "" }}`,
			Definitions: []upstreamv1.PatchDefinition{{
				Selector: upstreamv1.PatchSelector{
					APIVersion: "infrastructure.cluster.x-k8s.io/v1beta2", Kind: "SimMachineTemplate",
					MatchResources: upstreamv1.PatchSelectorMatch{MachineDeploymentClass: &upstreamv1.PatchSelectorMatchMachineDeploymentClass{Names: []string{"*"}}},
				},
				JSONPatches: []upstreamv1.JSONPatch{{Op: "add", Path: "/spec/template/spec/zone", ValueFrom: &upstreamv1.JSONPatchValue{Variable: "zone.name"}}},
			}},
		}},
		KubernetesVersions: []string{"v1.35.4", "v1.36.2"},
	}}
}

func healthCheck() *upstreamv1.MachineHealthCheck {
	return &upstreamv1.MachineHealthCheck{ObjectMeta: meta("mhc"), Spec: upstreamv1.MachineHealthCheckSpec{
		ClusterName: "demo", Selector: selector(),
		Checks: upstreamv1.MachineHealthCheckChecks{
			NodeStartupTimeoutSeconds:  new(int32(0)),
			UnhealthyMachineConditions: []upstreamv1.UnhealthyMachineCondition{{Type: "example.com/DiskHealthy", Status: metav1.ConditionFalse, TimeoutSeconds: new(int32(0))}},
		},
		Remediation: upstreamv1.MachineHealthCheckRemediation{
			TriggerIf: upstreamv1.MachineHealthCheckRemediationTriggerIf{UnhealthyLessThanOrEqualTo: new(intstr.FromString("40%")), UnhealthyInRange: "[1-3]"},
		},
	}}
}

func drainRule() *upstreamv1.MachineDrainRule {
	return &upstreamv1.MachineDrainRule{ObjectMeta: meta("last"), Spec: upstreamv1.MachineDrainRuleSpec{
		Drain:    upstreamv1.MachineDrainRuleDrainConfig{Behavior: upstreamv1.MachineDrainRuleDrainBehaviorDrain, Order: new(int32(-5))},
		Machines: []upstreamv1.MachineDrainRuleMachineSelector{{Selector: &metav1.LabelSelector{}}, {ClusterSelector: new(selector())}},
		Pods:     []upstreamv1.MachineDrainRulePodSelector{{Selector: new(selector()), NamespaceSelector: &metav1.LabelSelector{}}},
	}}
}

func kubeadmSpec() upstreambootstrapv1.KubeadmConfigSpec {
	return upstreambootstrapv1.KubeadmConfigSpec{
		ClusterConfiguration: upstreambootstrapv1.ClusterConfiguration{
			APIServer: upstreambootstrapv1.APIServer{ExtraArgs: []upstreambootstrapv1.Arg{{Name: "v", Value: new("")}, {Name: "audit-log-maxage", Value: new("7")}}},
		},
		JoinConfiguration: upstreambootstrapv1.JoinConfiguration{
			NodeRegistration: upstreambootstrapv1.NodeRegistrationOptions{Taints: &[]corev1.Taint{}, KubeletExtraArgs: []upstreambootstrapv1.Arg{{Name: "node-labels", Value: new("a=b")}}},
		},
		Files:              []upstreambootstrapv1.File{{Path: "/etc/x", Content: "x", Permissions: "0644"}},
		PreKubeadmCommands: []string{"true"},
		Format:             upstreambootstrapv1.CloudConfig,
	}
}

func controlPlane() *upstreamcontrolplanev1.KubeadmControlPlane {
	return &upstreamcontrolplanev1.KubeadmControlPlane{ObjectMeta: meta("demo"), Spec: upstreamcontrolplanev1.KubeadmControlPlaneSpec{
		Replicas: new(int32(3)), Version: "v1.36.2", KubeadmConfigSpec: kubeadmSpec(),
		MachineTemplate: upstreamcontrolplanev1.KubeadmControlPlaneMachineTemplate{
			Spec: upstreamcontrolplanev1.KubeadmControlPlaneMachineTemplateSpec{InfrastructureRef: simRef("SimMachineTemplate", "demo")},
		},
		Remediation: upstreamcontrolplanev1.KubeadmControlPlaneRemediationSpec{MaxRetry: new(int32(3)), RetryPeriodSeconds: new(int32(0))},
	}}
}
