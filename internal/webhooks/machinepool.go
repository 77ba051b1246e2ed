package webhooks

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/plan"
)

// poolLacks is true of a MachinePool that defaultMachinePool would change.
const poolLacks = lacksClusterLabel + `
|| !object.?spec.?replicas.hasValue()
|| !object.?spec.?template.?spec.?deletion.?nodeDeletionTimeoutSeconds.hasValue()
|| object.?spec.?template.?spec.?version.orValue("v").matches("^[0-9]")`

func machinePoolWebhooks() []Webhook {
	k := kind{version: clusterv1.GroupVersion, singular: "machinepool", plural: "machinepools"}
	return []Webhook{
		defaulting(k, poolLacks, defaultMachinePool),
		validating(k, changed, validator[clusterv1.MachinePoolSpec]{
			check: checkMachinePool, change: changeMachinePool,
			warn: storedOnly[clusterv1.MachinePoolSpec]("MachinePool", "no machines are made from it; create a MachineDeployment instead"),
		}),
	}
}

func defaultMachinePool(o, old *object[clusterv1.MachinePoolSpec]) *field.Error {
	s := &o.Spec
	o.Metadata.setCluster(s.ClusterName)
	var stored *int32
	if old != nil {
		stored = old.Spec.Replicas
	}
	s.Template.Spec.Version = plan.NormalizeVersion(s.Template.Spec.Version)
	defaultNodeDeletionTimeout(&s.Template.Spec.Deletion)
	return defaultReplicas(&s.Replicas, o.Metadata, stored)
}

func checkMachinePool(o *object[clusterv1.MachinePoolSpec]) field.ErrorList {
	at, s := field.NewPath("spec"), &o.Spec
	template := at.Child("template", "spec")
	errs := checkReplicas(at.Child("replicas"), s.Replicas)
	errs = append(errs, checkTemplateCluster(at, s.ClusterName, s.Template.Spec.ClusterName)...)
	errs = append(errs, checkTemplateMeta(at.Child("template", "metadata"), s.Template.ObjectMeta)...)
	errs = append(errs, checkBootstrap(template.Child("bootstrap"), s.Template.Spec.Bootstrap)...)
	errs = append(errs, checkVersion(template.Child("version"), s.Template.Spec.Version)...)
	if len(s.Template.Spec.Taints) > 0 {
		errs = append(errs, field.Forbidden(template.Child("taints"), "the machines of a pool cannot be given taints: leave the field out"))
	}
	return errs
}

func changeMachinePool(o, old *object[clusterv1.MachinePoolSpec]) field.ErrorList {
	return keepClusterName("MachinePool", o.Spec.ClusterName, old.Spec.ClusterName)
}
