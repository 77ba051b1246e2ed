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

// machineChanged is true of the updates that a rule about Machines looks at. Each Machine's spec is written several times
// on its way, with what was found out about it, and none of that is for us to judge.
const machineChanged = `oldObject == null
|| object.spec.clusterName != oldObject.spec.clusterName
|| object.spec.?version != oldObject.spec.?version
|| object.spec.?taints != oldObject.spec.?taints
|| object.spec.infrastructureRef != oldObject.spec.infrastructureRef
|| object.spec.bootstrap.?configRef != oldObject.spec.bootstrap.?configRef
|| !(object.spec.bootstrap.?configRef.hasValue() || object.spec.bootstrap.?dataSecretName.hasValue())`

func machineWebhooks() []Webhook {
	k := kind{version: clusterv1.GroupVersion, singular: "machine", plural: "machines"}
	return []Webhook{
		defaulting(k, machineLacks, defaultMachine),
		validating(k, machineChanged, validator[clusterv1.MachineSpec]{check: checkMachine, change: changeMachine}),
	}
}

func defaultMachine(o, _ *object[clusterv1.MachineSpec]) *field.Error {
	o.Metadata.setCluster(o.Spec.ClusterName)
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
