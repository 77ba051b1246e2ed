package webhooks

import (
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
)

func kubeadmControlPlaneTemplateWebhooks() []Webhook {
	k := kind{version: controlplanev1.GroupVersion, singular: "kubeadmcontrolplanetemplate", plural: "kubeadmcontrolplanetemplates"}
	return []Webhook{validating(k, changed, validator[controlplanev1.KubeadmControlPlaneTemplateSpec]{
		check: checkControlPlaneTemplate, change: changeControlPlaneTemplate,
		warn: storedOnly[controlplanev1.KubeadmControlPlaneTemplateSpec]("KubeadmControlPlaneTemplate",
			"only a ClusterClass uses it; create a KubeadmControlPlane instead"),
	})}
}

func checkControlPlaneTemplate(o *object[controlplanev1.KubeadmControlPlaneTemplateSpec]) field.ErrorList {
	at, s := field.NewPath("spec", "template"), &o.Spec.Template.Spec
	errs := checkTemplateMeta(at.Child("metadata"), o.Spec.Template.ObjectMeta)
	at = at.Child("spec")
	errs = append(errs, checkTemplateMeta(at.Child("machineTemplate", "metadata"), s.MachineTemplate.ObjectMeta)...)
	errs = append(errs, checkTaints(at.Child("machineTemplate", "spec", "taints"), s.MachineTemplate.Spec.Taints, true)...)
	errs = append(errs, checkSurge(at.Child("rollout", "strategy", "rollingUpdate", "maxSurge"), s.Rollout, nil)...)
	return append(errs, checkControlPlaneParts(at, &controlPlaneParts{
		config: &s.KubeadmConfigSpec, rollout: s.Rollout, naming: s.MachineNaming,
	})...)
}

// changeControlPlaneTemplate refuses every change but of metadata. A default that only one of them spells out is no change.
func changeControlPlaneTemplate(o, old *object[controlplanev1.KubeadmControlPlaneTemplateSpec]) field.ErrorList {
	is, was := o.Spec.Template.Spec, old.Spec.Template.Spec
	defaultControlPlaneRollout(&is.Rollout)
	defaultControlPlaneRollout(&was.Rollout)
	if equality.Semantic.DeepEqual(is, was) {
		return nil
	}
	return field.ErrorList{field.Forbidden(field.NewPath("spec", "template", "spec"),
		"a template cannot be changed while others may rely on it: create a template under another name and refer to that")}
}
