package webhooks

import (
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/plan"
)

// deploymentLacks is true of a MachineDeployment that defaultMachineDeployment would change.
const deploymentLacks = setLacks + `
|| !object.?spec.?rollout.?strategy.?type.hasValue()
|| object.?spec.?rollout.?strategy.?type.orValue("") == "RollingUpdate" &&
  !(object.?spec.?rollout.?strategy.?rollingUpdate.?maxSurge.hasValue() && object.?spec.?rollout.?strategy.?rollingUpdate.?maxUnavailable.hasValue())`

func machineDeploymentWebhooks() []Webhook {
	k := kind{version: clusterv1.GroupVersion, singular: "machinedeployment", plural: "machinedeployments"}
	return []Webhook{
		defaulting(k, deploymentLacks, defaultMachineDeployment),
		validating(k, changed+skipsChanged, validator[clusterv1.MachineDeploymentSpec]{check: checkMachineDeployment, change: changeMachineDeployment}),
	}
}

func defaultMachineDeployment(o, old *object[clusterv1.MachineDeploymentSpec]) *field.Error {
	s := &o.Spec
	o.Metadata.setCluster(s.ClusterName)
	var stored *int32
	if old != nil {
		stored = old.Spec.Replicas
	}
	if err := defaultReplicas(&s.Replicas, o.Metadata, stored); err != nil {
		return err
	}
	defaultSelector(&s.Selector, &s.Template.ObjectMeta, clusterv1.MachineDeploymentNameLabel, o.Metadata.Name, s.ClusterName)
	s.Template.Spec.Version = plan.NormalizeVersion(s.Template.Spec.Version)
	defaultStrategy(&s.Rollout.Strategy)
	return nil
}

func defaultStrategy(s *clusterv1.MachineDeploymentRolloutStrategy) {
	if s.Type == "" {
		s.Type = clusterv1.RollingUpdateMachineDeploymentStrategyType
	}
	if s.Type != clusterv1.RollingUpdateMachineDeploymentStrategyType {
		return
	}
	if s.RollingUpdate.MaxSurge == nil {
		s.RollingUpdate.MaxSurge = new(intstr.FromInt32(1))
	}
	if s.RollingUpdate.MaxUnavailable == nil {
		s.RollingUpdate.MaxUnavailable = new(intstr.FromInt32(0))
	}
}

func checkMachineDeployment(o *object[clusterv1.MachineDeploymentSpec]) field.ErrorList {
	at, s := field.NewPath("spec"), &o.Spec
	errs := checkLabelName("MachineDeployment", o.Metadata.Name)
	errs = append(errs, checkReplicas(at.Child("replicas"), s.Replicas)...)
	errs = append(errs, checkSelector(at, s.Selector, s.Template.ObjectMeta.Labels)...)
	errs = append(errs, checkTemplateCluster(at, s.ClusterName, s.Template.Spec.ClusterName)...)
	errs = append(errs, checkTemplateMeta(at.Child("template", "metadata"), s.Template.ObjectMeta)...)
	errs = append(errs, checkMachineSpec(at.Child("template", "spec"), &s.Template.Spec, workerTemplate)...)
	errs = append(errs, checkNaming(at.Child("machineNaming", "template"), s.MachineNaming.Template, plan.MachineSetOwner)...)
	errs = append(errs, checkStrategy(at.Child("rollout", "strategy", "rollingUpdate"), s.Rollout.Strategy)...)
	if s.Remediation.MaxInFlight != nil {
		errs = append(errs, notActedOn(at.Child("remediation"), "Machines are not remediated"))
	}
	return append(errs, checkSkippedChecks(o.Metadata)...)
}

func checkStrategy(at *field.Path, s clusterv1.MachineDeploymentRolloutStrategy) field.ErrorList {
	// How many Machines there are decides nothing about whether the bounds are well-formed.
	const replicas = 100
	if _, _, err := plan.RolloutBounds(s.Type, s.RollingUpdate.MaxSurge, s.RollingUpdate.MaxUnavailable, replicas); err != nil {
		return field.ErrorList{field.Invalid(at, s.RollingUpdate, err.Error())}
	}
	return nil
}

func changeMachineDeployment(o, old *object[clusterv1.MachineDeploymentSpec]) field.ErrorList {
	return keepClusterName("MachineDeployment", o.Spec.ClusterName, old.Spec.ClusterName)
}
