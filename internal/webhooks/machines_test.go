package webhooks_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
)

func taint(key string) []clusterv1.MachineTaint {
	return []clusterv1.MachineTaint{{Key: key, Effect: corev1.TaintEffectNoSchedule, Propagation: clusterv1.MachineTaintPropagationAlways}}
}

func TestMachine_Rules(t *testing.T) {
	t.Parallel()
	version := func(v string) *clusterv1.Machine { return machine(func(m *clusterv1.Machine) { m.Spec.Version = v }) }
	tainted := func(key string) *clusterv1.Machine {
		return machine(func(m *clusterv1.Machine) { m.Spec.Taints = taint(key) })
	}
	rows := []row{
		{name: "good", obj: machine()},
		{name: "no version", obj: version("")},
		{name: "no bootstrap data", obj: machine(func(m *clusterv1.Machine) { m.Spec.Bootstrap = clusterv1.Bootstrap{DataSecretName: new("")} })},
		{name: "no bootstrap", obj: machine(func(m *clusterv1.Machine) { m.Spec.Bootstrap = clusterv1.Bootstrap{} }), want: []string{
			`spec.bootstrap: Required value: set configRef to a bootstrap configuration, or dataSecretName to the Secret that holds the bootstrap data ("" when the machine needs none)`,
		}},
		{name: "templates", obj: machine(func(m *clusterv1.Machine) {
			m.Spec.Bootstrap.ConfigRef.Kind, m.Spec.InfrastructureRef.Kind = "KubeadmConfigTemplate", "SimMachineTemplate"
		}), want: []string{
			`spec.bootstrap.configRef.kind: Invalid value: "KubeadmConfigTemplate": the object itself is wanted here, not a template for it: refer to a KubeadmConfig`,
			`spec.infrastructureRef.kind: Invalid value: "SimMachineTemplate": the object itself is wanted here, not a template for it: refer to a SimMachine`,
		}},
		{name: "another cluster", obj: machine(func(m *clusterv1.Machine) { m.Spec.ClusterName = "other" }), old: machine(), want: []string{
			`spec.clusterName: Invalid value: "other": a Machine cannot move from Cluster "c" to another: keep the name, or delete it and create one for the other Cluster`,
		}},
		{name: "own taint", obj: tainted("example.com/gpu")},
		{name: "out of service", obj: tainted("node.kubernetes.io/out-of-service")},
		{name: "control plane taint on a control plane machine", obj: machine(func(m *clusterv1.Machine) {
			m.Labels[clusterv1.MachineControlPlaneLabel], m.Spec.Taints = "", taint("node-role.kubernetes.io/control-plane")
		})},
		{name: "control plane taint on a worker", obj: tainted("node-role.kubernetes.io/control-plane"), want: []string{
			`spec.taints[0].key: Invalid value: "node-role.kubernetes.io/control-plane": this taint belongs to control plane machines only: use a key of your own for workers`,
		}},
		{name: "master", obj: tainted("node-role.kubernetes.io/master"), want: []string{
			`spec.taints[0].key: Invalid value: "node-role.kubernetes.io/master": this taint is obsolete: use node-role.kubernetes.io/control-plane on control plane machines`,
		}},
		{name: "uninitialized", obj: tainted("node.cluster.x-k8s.io/uninitialized"), want: []string{
			`spec.taints[0].key: Invalid value: "node.cluster.x-k8s.io/uninitialized": this taint is set and removed by the controllers: use another key`,
		}},
		{name: "outdated revision", obj: tainted("node.cluster.x-k8s.io/outdated-revision"), want: []string{
			`spec.taints[0].key: Invalid value: "node.cluster.x-k8s.io/outdated-revision": this taint is set and removed by the controllers: use another key`,
		}},
		{name: "kubernetes", obj: tainted("node.kubernetes.io/not-ready"), want: []string{
			`spec.taints[0].key: Invalid value: "node.kubernetes.io/not-ready": taints under node.kubernetes.io/ are set by Kubernetes (except node.kubernetes.io/out-of-service): use another key`,
		}},
		{name: "cloud provider", obj: tainted("node.cloudprovider.kubernetes.io/uninitialized"), want: []string{
			`spec.taints[0].key: Invalid value: "node.cloudprovider.kubernetes.io/uninitialized": taints under node.cloudprovider.kubernetes.io/ are set by the cloud provider: use another key`,
		}},
	}
	for _, good := range []string{"v1.30.0+vendor.1", "v1.30.0-rc.1", "v1.37.2"} {
		rows = append(rows, row{name: good, obj: version(good)})
	}
	for bad, mend := range map[string]string{
		"v1":          "write it like v1.37.2",
		"v1.37":       "it lacks the patch number; write all three, as v1.37.0",
		"1.37.2":      "write it with a leading v, as v1.37.2",
		"v1.2.3abc":   "what follows the patch number is malformed; write it like v1.2.3, v1.2.3-rc.1 or v1.2.3+vendor.1",
		"v1.2.3_foo":  "what follows the patch number is malformed; write it like v1.2.3, v1.2.3-rc.1 or v1.2.3+vendor.1",
		"v1.2.3-":     "what follows the patch number is malformed; write it like v1.2.3, v1.2.3-rc.1 or v1.2.3+vendor.1",
		"v1.2.3-01":   "what follows the patch number is malformed; write it like v1.2.3, v1.2.3-rc.1 or v1.2.3+vendor.1",
		"v1.2.3++":    "what follows the patch number is malformed; write it like v1.2.3, v1.2.3-rc.1 or v1.2.3+vendor.1",
		"v1.2.3-a..1": "what follows the patch number is malformed; write it like v1.2.3, v1.2.3-rc.1 or v1.2.3+vendor.1",
		"latest":      "write it like v1.37.2",
	} {
		rows = append(rows, row{name: bad, obj: version(bad), want: []string{
			`spec.version: Invalid value: "` + bad + `": version "` + bad + `" is not a Kubernetes version: ` + mend,
		}})
	}
	checkRows(t, rows)
}

func TestMachineDeployment_Rules(t *testing.T) {
	t.Parallel()
	bounds := func(surge, unavailable intstr.IntOrString) *clusterv1.MachineDeployment {
		return machineDeployment(func(d *clusterv1.MachineDeployment) {
			d.Spec.Rollout.Strategy.RollingUpdate = clusterv1.MachineDeploymentRolloutStrategyRollingUpdate{MaxSurge: &surge, MaxUnavailable: &unavailable}
		})
	}
	checkRows(t, []row{
		{name: "good", obj: machineDeployment()},
		{name: "none", obj: machineDeployment(func(d *clusterv1.MachineDeployment) { d.Spec.Replicas = new(int32(0)) })},
		{name: "negative", obj: machineDeployment(func(d *clusterv1.MachineDeployment) { d.Spec.Replicas = new(int32(-1)) }), want: []string{
			"spec.replicas: Invalid value: -1: the number of Machines cannot be negative: write 0 or more",
		}},
		{name: "long name", obj: machineDeployment(func(d *clusterv1.MachineDeployment) { d.Name = strings.Repeat("d", 64) }), want: []string{
			`metadata.name: Invalid value: "` + strings.Repeat("d", 64) + `": the name of a MachineDeployment is the value of a label on its objects, so it has at most 63 characters, and this one has 64: choose a shorter one`,
		}},
		{name: "surge and unavailable zero", obj: bounds(intstr.FromInt32(0), intstr.FromString("0%")), want: []string{
			`spec.rollout.strategy.rollingUpdate: Invalid value: {"maxUnavailable":"0%","maxSurge":0}: maxSurge and maxUnavailable are both 0, so no Machine could ever be replaced: set one of them to 1 or more`,
		}},
		{name: "no percentage", obj: bounds(intstr.FromString("some"), intstr.FromInt32(0)), want: []string{
			`spec.rollout.strategy.rollingUpdate: Invalid value: {"maxUnavailable":0,"maxSurge":"some"}: maxSurge "some" is neither a number nor a percentage: write it as 1 or "25%"`,
		}},
		{name: "negative bound", obj: bounds(intstr.FromInt32(1), intstr.FromInt32(-1)), want: []string{
			`spec.rollout.strategy.rollingUpdate: Invalid value: {"maxUnavailable":-1,"maxSurge":1}: maxUnavailable -1 is negative: write 0 or more`,
		}},
		{name: "no template", obj: machineDeployment(func(d *clusterv1.MachineDeployment) {
			d.Spec.Template.Spec.InfrastructureRef.Kind, d.Spec.Template.Spec.Bootstrap.ConfigRef.Kind = "SimMachine", "KubeadmConfig"
		}), want: []string{
			`spec.template.spec.bootstrap.configRef.kind: Invalid value: "KubeadmConfig": each Machine gets an object of its own, made from a template: refer to a template, such as a KubeadmConfigTemplate`,
			`spec.template.spec.infrastructureRef.kind: Invalid value: "SimMachine": each Machine gets an object of its own, made from a template: refer to a template, such as a SimMachineTemplate`,
		}},
		{name: "selects nothing of its own", obj: machineDeployment(func(d *clusterv1.MachineDeployment) { d.Spec.Selector.MatchLabels = map[string]string{"a": "b"} }), want: []string{
			`spec.template.metadata.labels: Invalid value: {"cluster.x-k8s.io/cluster-name":"c","cluster.x-k8s.io/deployment-name":"d"}: spec.selector (a=b) does not select the Machines made from this template: give them the labels it asks for`,
		}},
		{name: "malformed selector", obj: machineDeployment(func(d *clusterv1.MachineDeployment) {
			d.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}
		}), want: []string{
			`spec.selector.matchExpressions[0].operator: Invalid value: "Near": not a valid selector operator`,
		}},
		{name: "two clusters", obj: machineDeployment(func(d *clusterv1.MachineDeployment) { d.Spec.Template.Spec.ClusterName = "other" }), want: []string{
			`spec.template.spec.clusterName: Invalid value: "other": spec.clusterName is "c" and the Machines belong to the same Cluster: write the same name in both`,
		}},
		{name: "another cluster", obj: machineDeployment(func(d *clusterv1.MachineDeployment) {
			d.Spec.ClusterName, d.Spec.Template.Spec.ClusterName = "other", "other"
		}), old: machineDeployment(), want: []string{
			`spec.clusterName: Invalid value: "other": a MachineDeployment cannot move from Cluster "c" to another: keep the name, or delete it and create one for the other Cluster`,
		}},
		{name: "malformed labels", obj: machineDeployment(func(d *clusterv1.MachineDeployment) {
			d.Spec.Template.ObjectMeta.Annotations = map[string]string{"a b": "c"}
		}), want: []string{
			`spec.template.metadata.annotations: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
		}},
		{name: "names that repeat", obj: machineDeployment(func(d *clusterv1.MachineDeployment) { d.Spec.MachineNaming.Template = "{{ .machineSet.name }}" }), want: []string{
			`spec.machineNaming.template: Invalid value: "{{ .machineSet.name }}": name template "{{ .machineSet.name }}" gives every Machine the same name: add {{ .random }}`,
		}},
		{name: "unknown check", obj: machineDeployment(func(d *clusterv1.MachineDeployment) {
			d.Annotations = map[string]string{clusterv1.MachineSetSkipPreflightChecksAnnotation: "All,Some,Few"}
		}), want: []string{
			`metadata.annotations[machineset.cluster.x-k8s.io/skip-preflight-checks]: Invalid value: "All,Some,Few": no check is called Some or Few: write All, ControlPlaneIsStable, KubernetesVersionSkew, KubeadmVersionSkew, ControlPlaneVersionSkew, several with commas between`,
		}},
		{name: "several mistakes", obj: machineDeployment(func(d *clusterv1.MachineDeployment) {
			d.Spec.Replicas, d.Spec.Template.Spec.Version, d.Spec.Template.Spec.Taints = new(int32(-1)), "v1", taint("node-role.kubernetes.io/control-plane")
		}), want: []string{
			"spec.replicas: Invalid value: -1: the number of Machines cannot be negative: write 0 or more",
			`spec.template.spec.version: Invalid value: "v1": version "v1" is not a Kubernetes version: write it like v1.37.2`,
			`spec.template.spec.taints[0].key: Invalid value: "node-role.kubernetes.io/control-plane": this taint belongs to control plane machines only: use a key of your own for workers`,
		}},
	})
}

func TestMachineSet_Rules(t *testing.T) {
	t.Parallel()
	checkRows(t, []row{
		{name: "good", obj: machineSet()},
		{name: "long name", obj: machineSet(func(s *clusterv1.MachineSet) { s.Name = strings.Repeat("s", 80) })},
		{name: "negative", obj: machineSet(func(s *clusterv1.MachineSet) { s.Spec.Replicas = new(int32(-1)) }), want: []string{
			"spec.replicas: Invalid value: -1: the number of Machines cannot be negative: write 0 or more",
		}},
		{name: "no template", obj: machineSet(func(s *clusterv1.MachineSet) { s.Spec.Template.Spec.InfrastructureRef.Kind = "SimMachine" }), want: []string{
			`spec.template.spec.infrastructureRef.kind: Invalid value: "SimMachine": each Machine gets an object of its own, made from a template: refer to a template, such as a SimMachineTemplate`,
		}},
		{name: "two clusters", obj: machineSet(func(s *clusterv1.MachineSet) { s.Spec.Template.Spec.ClusterName = "other" }), want: []string{
			`spec.template.spec.clusterName: Invalid value: "other": spec.clusterName is "c" and the Machines belong to the same Cluster: write the same name in both`,
		}},
		{name: "another cluster", obj: machineSet(func(s *clusterv1.MachineSet) { s.Spec.ClusterName, s.Spec.Template.Spec.ClusterName = "other", "other" }), old: machineSet(), want: []string{
			`spec.clusterName: Invalid value: "other": a MachineSet cannot move from Cluster "c" to another: keep the name, or delete it and create one for the other Cluster`,
		}},
		{name: "names that repeat", obj: machineSet(func(s *clusterv1.MachineSet) { s.Spec.MachineNaming.Template = "a" }), want: []string{
			`spec.machineNaming.template: Invalid value: "a": name template "a" gives every Machine the same name: add {{ .random }}`,
		}},
		{name: "few names", obj: machineSet(fewNames), want: []string{
			`spec.machineNaming.template: Invalid value: "s-{{ slice .random 0 1 }}": name template "s-{{ slice .random 0 1 }}" has .random in another form than {{ .random }}: write it exactly so`,
		}},
		{name: "few names that were accepted before", obj: machineSet(fewNames, func(s *clusterv1.MachineSet) { s.Spec.Replicas = new(int32(7)) }), old: machineSet(fewNames)},
		{name: "few names of a deployment that was accepted before", obj: machineSet(fewNames, func(s *clusterv1.MachineSet) {
			s.Labels = map[string]string{clusterv1.MachineDeploymentNameLabel: "md"}
		})},
	})
}

func fewNames(s *clusterv1.MachineSet) { s.Spec.MachineNaming.Template = "s-{{ slice .random 0 1 }}" }

func TestMachinePool_Rules(t *testing.T) {
	t.Parallel()
	checkRows(t, []row{
		{name: "good", obj: machinePool()},
		{name: "negative", obj: machinePool(func(p *clusterv1.MachinePool) { p.Spec.Replicas = new(int32(-1)) }), want: []string{
			"spec.replicas: Invalid value: -1: the number of Machines cannot be negative: write 0 or more",
		}},
		{name: "several mistakes", obj: machinePool(func(p *clusterv1.MachinePool) {
			p.Spec.Template.Spec.Bootstrap, p.Spec.Template.Spec.Version, p.Spec.Template.Spec.Taints = clusterv1.Bootstrap{}, "v1", taint("a")
		}), want: []string{
			`spec.template.spec.bootstrap: Required value: set configRef to a bootstrap configuration, or dataSecretName to the Secret that holds the bootstrap data ("" when the machine needs none)`,
			`spec.template.spec.version: Invalid value: "v1": version "v1" is not a Kubernetes version: write it like v1.37.2`,
			"spec.template.spec.taints: Forbidden: the machines of a pool cannot be given taints: leave the field out",
		}},
		{name: "another cluster", obj: machinePool(func(p *clusterv1.MachinePool) {
			p.Spec.ClusterName, p.Spec.Template.Spec.ClusterName = "other", "other"
		}), old: machinePool(), want: []string{
			`spec.clusterName: Invalid value: "other": a MachinePool cannot move from Cluster "c" to another: keep the name, or delete it and create one for the other Cluster`,
		}},
	})
}

func TestMachineHealthCheck_Rules(t *testing.T) {
	t.Parallel()
	startup := func(seconds int32) *clusterv1.MachineHealthCheck {
		return healthCheck(func(h *clusterv1.MachineHealthCheck) { h.Spec.Checks.NodeStartupTimeoutSeconds = &seconds })
	}
	checkRows(t, []row{
		{name: "good", obj: healthCheck()},
		{name: "no startup check", obj: startup(0)},
		{name: "short", obj: startup(29), want: []string{
			"spec.checks.nodeStartupTimeoutSeconds: Invalid value: 29: no machine becomes a Node that fast: write 30 or more, or 0 to check for no Node",
		}},
		{name: "no selector", obj: healthCheck(func(h *clusterv1.MachineHealthCheck) { h.Spec.Selector = metav1.LabelSelector{} }), want: []string{
			"spec.selector: Required value: give the labels of the Machines to check",
		}},
		{name: "another's machines", obj: healthCheck(func(h *clusterv1.MachineHealthCheck) {
			h.Spec.Selector.MatchLabels[clusterv1.ClusterNameLabel] = "other"
		}), want: []string{
			`spec.selector.matchLabels[cluster.x-k8s.io/cluster-name]: Invalid value: "other": spec.clusterName is "c" and only Machines of that Cluster are checked: leave the label out`,
		}},
		{name: "no percentage", obj: healthCheck(func(h *clusterv1.MachineHealthCheck) {
			h.Spec.Remediation.TriggerIf.UnhealthyLessThanOrEqualTo = new(intstr.FromString("some"))
		}), want: []string{
			`spec.remediation.triggerIf.unhealthyLessThanOrEqualTo: Invalid value: "some": neither a number nor a percentage: write it as 1 or "40%"`,
		}},
		{name: "another cluster", obj: healthCheck(func(h *clusterv1.MachineHealthCheck) { h.Spec.ClusterName = "other" }), old: healthCheck(), want: []string{
			`spec.clusterName: Invalid value: "other": a MachineHealthCheck cannot move from Cluster "c" to another: keep the name, or delete it and create one for the other Cluster`,
		}},
	})
}

func TestMachineDrainRule_Rules(t *testing.T) {
	t.Parallel()
	malformed := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}
	checkRows(t, []row{
		{name: "good", obj: drainRule()},
		{name: "order of what is skipped", obj: drainRule(func(r *clusterv1.MachineDrainRule) {
			r.Spec.Drain.Behavior = clusterv1.MachineDrainRuleDrainBehaviorSkip
		}), want: []string{
			"spec.drain.order: Invalid value: 1: only pods that are drained have an order: leave it out, or set behavior to Drain",
		}},
		{name: "malformed selectors", obj: drainRule(func(r *clusterv1.MachineDrainRule) {
			r.Spec.Machines = []clusterv1.MachineDrainRuleMachineSelector{{Selector: malformed}, {ClusterSelector: malformed}}
			r.Spec.Pods = []clusterv1.MachineDrainRulePodSelector{{Selector: malformed}, {NamespaceSelector: malformed}}
		}), want: []string{
			`spec.machines[0].selector.matchExpressions[0].operator: Invalid value: "Near": not a valid selector operator`,
			`spec.machines[1].clusterSelector.matchExpressions[0].operator: Invalid value: "Near": not a valid selector operator`,
			`spec.pods[0].selector.matchExpressions[0].operator: Invalid value: "Near": not a valid selector operator`,
			`spec.pods[1].namespaceSelector.matchExpressions[0].operator: Invalid value: "Near": not a valid selector operator`,
		}},
	})
}
