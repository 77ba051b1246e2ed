package webhooks

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/plan"
)

// machineLacks is true of a Machine that defaultMachine would change.
const machineLacks = lacksClusterLabel + `
|| !object.?spec.?deletion.?nodeDeletionTimeoutSeconds.hasValue()
|| object.?spec.?version.orValue("v").matches("^[0-9]")`

// lacksClusterLabel is true of an object whose label does not name its Cluster.
const lacksClusterLabel = `object.metadata.?labels[?"cluster.x-k8s.io/cluster-name"] != object.?spec.?clusterName`

func machineWebhooks() []Webhook {
	k := kind{version: clusterv1.GroupVersion, singular: "machine", plural: "machines"}
	return []Webhook{
		defaulting(k, machineLacks, defaultMachine),
		validating(k, changed, validator[clusterv1.MachineSpec]{check: checkMachine, change: changeMachine}),
	}
}

func defaultMachine(o, _ *object[clusterv1.MachineSpec]) error {
	o.Metadata.setLabel(clusterv1.ClusterNameLabel, o.Spec.ClusterName)
	o.Spec.Version = plan.NormalizeVersion(o.Spec.Version)
	defaultNodeDeletionTimeout(&o.Spec.Deletion)
	return nil
}

func defaultNodeDeletionTimeout(d *clusterv1.MachineDeletionSpec) {
	if d.NodeDeletionTimeoutSeconds == nil {
		d.NodeDeletionTimeoutSeconds = new(int32(nodeDeletionTimeoutSeconds))
	}
}

func checkMachine(o *object[clusterv1.MachineSpec]) field.ErrorList {
	use := singleMachine
	if _, ok := o.Metadata.Labels[clusterv1.MachineControlPlaneLabel]; ok {
		use = controlPlaneMachine
	}
	return checkMachineSpec(field.NewPath("spec"), &o.Spec, use)
}

func changeMachine(o, old *object[clusterv1.MachineSpec]) field.ErrorList {
	return keepClusterName("Machine", o.Spec.ClusterName, old.Spec.ClusterName)
}
