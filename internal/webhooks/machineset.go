package webhooks

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/plan"
)

// setLacks is true of a MachineSet or MachineDeployment of which what they have in common wants defaults.
const setLacks = lacksClusterLabel + `
|| !object.?spec.?replicas.hasValue()
|| object.?spec.?selector.?matchLabels[?"cluster.x-k8s.io/cluster-name"] != object.?spec.?clusterName
|| object.?spec.?template.?metadata.?labels[?"cluster.x-k8s.io/cluster-name"] != object.?spec.?clusterName
|| object.?spec.?selector.?matchLabels.orValue({}).size() + object.?spec.?selector.?matchExpressions.orValue([]).size() == 0
|| object.?spec.?template.?spec.?version.orValue("v").matches("^[0-9]")`

// skipsChanged is true of updates of the annotation that names checks to skip.
const skipsChanged = ` || object.metadata.?annotations[?"machineset.cluster.x-k8s.io/skip-preflight-checks"] !=
oldObject.metadata.?annotations[?"machineset.cluster.x-k8s.io/skip-preflight-checks"]`

func machineSetWebhooks() []Webhook {
	k := kind{version: clusterv1.GroupVersion, singular: "machineset", plural: "machinesets"}
	return []Webhook{
		defaulting(k, setLacks, defaultMachineSet),
		validating(k, changed+skipsChanged, validator[clusterv1.MachineSetSpec]{check: checkMachineSet, change: changeMachineSet}),
	}
}

func defaultMachineSet(o, old *object[clusterv1.MachineSetSpec]) *field.Error {
	s := &o.Spec
	o.Metadata.setCluster(s.ClusterName)
	var stored *int32
	if old != nil {
		stored = old.Spec.Replicas
	}
	if err := defaultReplicas(&s.Replicas, o.Metadata, stored); err != nil {
		return err
	}
	defaultSelector(&s.Selector, &s.Template.ObjectMeta, clusterv1.MachineSetNameLabel, o.Metadata.Name, s.ClusterName)
	s.Template.Spec.Version = plan.NormalizeVersion(s.Template.Spec.Version)
	return nil
}

func checkMachineSet(o *object[clusterv1.MachineSetSpec]) field.ErrorList {
	at, s := field.NewPath("spec"), &o.Spec
	errs := checkReplicas(at.Child("replicas"), s.Replicas)
	errs = append(errs, checkSelector(at, s.Selector, s.Template.ObjectMeta.Labels)...)
	errs = append(errs, checkTemplateCluster(at, s.ClusterName, s.Template.Spec.ClusterName)...)
	errs = append(errs, checkTemplateMeta(at.Child("template", "metadata"), s.Template.ObjectMeta)...)
	errs = append(errs, checkMachineSpec(at.Child("template", "spec"), &s.Template.Spec, workerTemplate)...)
	if o.Metadata.Labels[clusterv1.MachineDeploymentNameLabel] == "" {
		// Of a MachineDeployment's set, the template was judged there, and one of before today's rules still rolls out.
		errs = append(errs, checkNaming(at.Child("machineNaming", "template"), s.MachineNaming.Template, plan.MachineSetOwner)...)
	}
	return append(errs, checkSkippedChecks(o.Metadata)...)
}

func checkSkippedChecks(m metadata) field.ErrorList {
	value := m.Annotations[clusterv1.MachineSetSkipPreflightChecksAnnotation]
	_, unknown := plan.SkippedChecks(value)
	if len(unknown) == 0 {
		return nil
	}
	at := field.NewPath("metadata", "annotations").Key(clusterv1.MachineSetSkipPreflightChecksAnnotation)
	return field.ErrorList{field.Invalid(at, value, fmt.Sprintf(
		"no check is called %s: write %s, several with commas between", strings.Join(unknown, " or "), strings.Join([]string{
			string(clusterv1.MachineSetPreflightCheckAll), string(clusterv1.MachineSetPreflightCheckControlPlaneIsStable),
			string(clusterv1.MachineSetPreflightCheckKubernetesVersionSkew), string(clusterv1.MachineSetPreflightCheckKubeadmVersionSkew),
			string(clusterv1.MachineSetPreflightCheckControlPlaneVersionSkew),
		}, ", ")))}
}

func changeMachineSet(o, old *object[clusterv1.MachineSetSpec]) field.ErrorList {
	return keepClusterName("MachineSet", o.Spec.ClusterName, old.Spec.ClusterName)
}
