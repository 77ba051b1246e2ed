package cluster

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/conditions"
	"slipway.dev/slipway/internal/contract"
	"slipway.dev/slipway/internal/remote"
)

// parts are what a Cluster's conditions are merged from. A test changes one of them.
type parts struct {
	world      *world
	infra      map[string]metav1.Condition
	cp         map[string]metav1.Condition
	deployment *clusterv1.MachineDeployment
	set        *clusterv1.MachineSet
	control    *clusterv1.Machine
	worker     *clusterv1.Machine
}

func good(types ...string) []metav1.Condition {
	var out []metav1.Condition
	for _, t := range types {
		c := conditions.True(t, "", "")
		if conditions.PolarityOf(t) == conditions.Negative {
			c = conditions.False(t, "", "")
		}
		c.LastTransitionTime = metav1.NewTime(time.Unix(1e9, 0))
		out = append(out, c)
	}
	return out
}

func byType(conds []metav1.Condition) map[string]metav1.Condition {
	out := map[string]metav1.Condition{}
	for _, c := range conds {
		out[c.Type] = c
	}
	return out
}

// wellParts are the parts of a Cluster that is as it was asked for.
func wellParts() *parts {
	moving := []string{"RollingOut", "ScalingUp", "ScalingDown"}
	meta := func(name string, owner string) metav1.ObjectMeta {
		o := metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(time.Unix(1e9, 0))}
		if owner != "" {
			o.OwnerReferences = []metav1.OwnerReference{{Kind: owner, Name: "o", Controller: new(true)}}
		}
		return o
	}
	p := &parts{
		infra: byType(good("Ready")), cp: byType(good(append(moving, "Available")...)),
		deployment: &clusterv1.MachineDeployment{ObjectMeta: meta("md", "")},
		set:        &clusterv1.MachineSet{ObjectMeta: meta("ms", "")},
		control:    &clusterv1.Machine{ObjectMeta: meta("control", "KubeadmControlPlane")},
		worker:     &clusterv1.Machine{ObjectMeta: meta("worker", "MachineSet")},
	}
	p.control.Labels = map[string]string{clusterv1.MachineControlPlaneLabel: ""}
	p.deployment.Status.Conditions = good(append(moving, "Available")...)
	p.set.Status.Conditions = good("ScalingUp", "ScalingDown")
	p.control.Status.Conditions, p.worker.Status.Conditions = good("Ready", "Available", "UpToDate"), good("Ready", "Available", "UpToDate")
	now := time.Unix(1e9+3600, 0)
	p.world = &world{
		now:         now,
		cluster:     &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "c", Namespace: "n"}},
		machines:    []*clusterv1.Machine{p.control, p.worker},
		sets:        []*clusterv1.MachineSet{p.set},
		deployments: []*clusterv1.MachineDeployment{p.deployment},
		connection:  remote.Status{State: remote.Connected, LastProbeSuccess: now, ConnectedSince: now}, hasKubeconfig: true,
	}
	p.world.cluster.Status.Initialization = clusterv1.ClusterInitializationStatus{InfrastructureProvisioned: new(true), ControlPlaneInitialized: new(true)}
	return p
}

func externalOf(kind string, conds map[string]metav1.Condition) external {
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": kind, "metadata": map[string]any{"name": "c"}}}
	var list []any
	for _, c := range conds {
		list = append(list, map[string]any{"type": c.Type, "status": string(c.Status), "reason": c.Reason, "message": c.Message, "lastTransitionTime": "2026-01-01T00:00:00Z"})
	}
	u.Object["status"] = map[string]any{"conditions": list}
	return external{
		ref:    clusterv1.ContractVersionedObjectReference{APIGroup: "example.com", Kind: kind, Name: "c"},
		object: contract.NewObject(u, contract.V1Beta2),
	}
}

func (p *parts) conditions() []metav1.Condition {
	p.world.infra, p.world.controlPlane = externalOf("FakeCluster", p.infra), externalOf("FakeControlPlane", p.cp)
	r := &Reconciler{ConnectionGrace: time.Minute}
	conds, _ := r.conditions(p.world, nil, p.world.cluster.Status.Initialization)
	return conds
}

func set(conds *[]metav1.Condition, t string, status metav1.ConditionStatus, message string) {
	conditions.Set(conds, metav1.Condition{Type: t, Status: status, Reason: "Because", Message: message}, 1, time.Unix(1e9, 0))
}

func TestAggregate_OfAClusterThatIsWellSaysSo(t *testing.T) {
	t.Parallel()
	conds := wellParts().conditions()
	for _, want := range []struct{ conditionType, status, reason string }{
		{"Available", "True", "Available"},
		{"InfrastructureReady", "True", "Ready"},
		{"ControlPlaneInitialized", "True", "Initialized"},
		{"ControlPlaneAvailable", "True", "Available"},
		{"WorkersAvailable", "True", "Available"},
		{"ControlPlaneMachinesReady", "True", "Ready"},
		{"WorkerMachinesReady", "True", "Ready"},
		{"ControlPlaneMachinesUpToDate", "True", "UpToDate"},
		{"WorkerMachinesUpToDate", "True", "UpToDate"},
		{"RemoteConnectionProbe", "True", "ProbeSucceeded"},
		{"RollingOut", "False", "NotRollingOut"},
		{"ScalingUp", "False", "NotScalingUp"},
		{"ScalingDown", "False", "NotScalingDown"},
		{"Remediating", "False", "NotRemediating"},
		{"Deleting", "False", "NotDeleting"},
		{"Paused", "False", "NotPaused"},
	} {
		c := conditions.Find(conds, want.conditionType)
		if c == nil || string(c.Status) != want.status || c.Reason != want.reason || c.Message != "" {
			t.Errorf("%s is %+v, not %s %s", want.conditionType, c, want.status, want.reason)
		}
	}
	if len(conds) != len(owned()) {
		t.Errorf("%d conditions, %d are owned", len(conds), len(owned()))
	}
}

func TestAggregate_TellsWhatEachPartSays(t *testing.T) {
	t.Parallel()
	const why = "Scaling up from 0 to 2 replicas\n* The quota is used up"
	for _, row := range []struct {
		name, conditionType, status, reason, message string
		change                                       func(*parts)
	}{
		{"a deployment that cannot grow", "ScalingUp", "True", "ScalingUp",
			"* MachineDeployment md:\n  Scaling up from 0 to 2 replicas\n  * The quota is used up",
			func(p *parts) { set(&p.deployment.Status.Conditions, "ScalingUp", "True", why) }},
		{"a set without a deployment that cannot grow", "ScalingUp", "True", "ScalingUp", "* MachineSet ms:\n  Scaling up from 0 to 2 replicas\n  * The quota is used up",
			func(p *parts) { set(&p.set.Status.Conditions, "ScalingUp", "True", why) }},
		{"a control plane that cannot grow", "ScalingUp", "True", "ScalingUp", "* FakeControlPlane c:\n  Scaling up from 0 to 2 replicas\n  * The quota is used up",
			func(p *parts) { p.cp["ScalingUp"] = conditions.True("ScalingUp", "Because", why) }},
		{"a deployment that could not grow", "ScalingUp", "False", "NotScalingUp", "* MachineDeployment md:\n  Scaling up would be held\n  * X is missing",
			func(p *parts) {
				set(&p.deployment.Status.Conditions, "ScalingUp", "False", "Scaling up would be held\n* X is missing")
			}},
		{"a deployment that shrinks", "ScalingDown", "True", "ScalingDown", "* MachineDeployment md: Scaling down from 3 to 1 replicas",
			func(p *parts) {
				set(&p.deployment.Status.Conditions, "ScalingDown", "True", "Scaling down from 3 to 1 replicas")
			}},
		{"a deployment that rolls out", "RollingOut", "True", "RollingOut", "* MachineDeployment md: Rolling out 3 replicas",
			func(p *parts) { set(&p.deployment.Status.Conditions, "RollingOut", "True", "Rolling out 3 replicas") }},
		{"a control plane that does not tell", "RollingOut", "False", "NotRollingOut", "", func(p *parts) { delete(p.cp, "RollingOut") }},
		{"a deployment that has not told whether it grows", "ScalingUp", "Unknown", "ScalingUpUnknown", "* MachineDeployment md: Condition ScalingUp not yet reported",
			func(p *parts) { p.deployment.Status.Conditions = nil }},
		{"a deployment that has not told whether it shrinks", "ScalingDown", "Unknown", "ScalingDownUnknown", "* MachineDeployment md: Condition ScalingDown not yet reported",
			func(p *parts) { p.deployment.Status.Conditions = nil }},
		{"a deployment that has not told whether it rolls out", "RollingOut", "Unknown", "RollingOutUnknown", "* MachineDeployment md: Condition RollingOut not yet reported",
			func(p *parts) { p.deployment.Status.Conditions = nil }},
		{"a deployment that has not told whether it is available", "WorkersAvailable", "Unknown", "AvailableUnknown", "* MachineDeployment md: Condition Available not yet reported",
			func(p *parts) { p.deployment.Status.Conditions = nil }},
		{"a deployment that is not available", "WorkersAvailable", "False", "NotAvailable", "* MachineDeployment md: 1 available replicas, at least 2 required",
			func(p *parts) {
				set(&p.deployment.Status.Conditions, "Available", "False", "1 available replicas, at least 2 required")
			}},
		{"a deployment that is not available makes the Cluster so", "Available", "False", "NotAvailable",
			"* WorkersAvailable:\n  * MachineDeployment md: 1 available replicas, at least 2 required",
			func(p *parts) {
				set(&p.deployment.Status.Conditions, "Available", "False", "1 available replicas, at least 2 required")
			}},
		{"no workers are wanted", "WorkersAvailable", "True", "NoWorkers", "", func(p *parts) { p.world.deployments = nil }},
		{"no worker is there", "WorkerMachinesReady", "True", "NoReplicas", "", func(p *parts) { p.world.machines = []*clusterv1.Machine{p.control} }},
		{"no worker is there to be up to date", "WorkerMachinesUpToDate", "True", "NoReplicas", "", func(p *parts) { p.world.machines = []*clusterv1.Machine{p.control} }},
		{"no control plane machine is there", "ControlPlaneMachinesReady", "True", "NoReplicas", "", func(p *parts) { p.world.machines = nil }},
		{"a worker that is not ready", "WorkerMachinesReady", "False", "NotReady", "* Machine worker:\n  * NodeHealthy: Node is not ready",
			func(p *parts) {
				set(&p.worker.Status.Conditions, "Ready", "False", "* NodeHealthy: Node is not ready")
			}},
		{"a control plane machine that nobody sees", "ControlPlaneMachinesReady", "Unknown", "ReadyUnknown", "* Machine control: No contact",
			func(p *parts) { set(&p.control.Status.Conditions, "Ready", "Unknown", "No contact") }},
		{"a worker of an older template", "WorkerMachinesUpToDate", "False", "NotUpToDate", "* Machine worker: Version v1.36.0, v1.37.0 required",
			func(p *parts) {
				set(&p.worker.Status.Conditions, "UpToDate", "False", "Version v1.36.0, v1.37.0 required")
			}},
		{"a control plane machine of an older spec", "ControlPlaneMachinesUpToDate", "False", "NotUpToDate", "* Machine control: Version v1.36.0, v1.37.0 required",
			func(p *parts) {
				set(&p.control.Status.Conditions, "UpToDate", "False", "Version v1.36.0, v1.37.0 required")
			}},
		{"a machine that is to be replaced", "Remediating", "True", "Remediating", "* Machine worker: Waiting for its owner",
			func(p *parts) {
				set(&p.worker.Status.Conditions, "OwnerRemediated", "False", "Waiting for its owner")
			}},
		{"a machine that is ill and stays", "Remediating", "False", "NotRemediating", "Machine worker is not healthy (not to be remediated)",
			func(p *parts) {
				set(&p.worker.Status.Conditions, "HealthCheckSucceeded", "False", "Node is not ready")
			}},
		{"the infrastructure is not ready", "InfrastructureReady", "False", "Because", "No network",
			func(p *parts) { p.infra["Ready"] = conditions.False("Ready", "Because", "No network") }},
		{"the control plane is not available", "Available", "False", "NotAvailable", "* ControlPlaneAvailable: No quorum",
			func(p *parts) { p.cp["Available"] = conditions.False("Available", "Because", "No quorum") }},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			p := wellParts()
			row.change(p)
			c := conditions.Find(p.conditions(), row.conditionType)
			if c == nil || string(c.Status) != row.status || c.Reason != row.reason || strings.TrimSpace(c.Message) != row.message {
				t.Errorf("%s is %+v", row.conditionType, c)
			}
		})
	}
}
