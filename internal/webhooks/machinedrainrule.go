package webhooks

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
)

func machineDrainRuleWebhooks() []Webhook {
	k := kind{version: clusterv1.GroupVersion, singular: "machinedrainrule", plural: "machinedrainrules"}
	return []Webhook{validating(k, changed, validator[clusterv1.MachineDrainRuleSpec]{check: checkMachineDrainRule})}
}

func checkMachineDrainRule(o *object[clusterv1.MachineDrainRuleSpec]) field.ErrorList {
	at, s := field.NewPath("spec"), &o.Spec
	var errs field.ErrorList
	if s.Drain.Order != nil && s.Drain.Behavior != clusterv1.MachineDrainRuleDrainBehaviorDrain {
		errs = append(errs, field.Invalid(at.Child("drain", "order"), *s.Drain.Order,
			"only pods that are drained have an order: leave it out, or set behavior to Drain"))
	}
	for i, m := range s.Machines {
		here := at.Child("machines").Index(i)
		errs = append(errs, checkSelectorSyntax(here.Child("selector"), m.Selector)...)
		errs = append(errs, checkSelectorSyntax(here.Child("clusterSelector"), m.ClusterSelector)...)
	}
	for i, p := range s.Pods {
		here := at.Child("pods").Index(i)
		errs = append(errs, checkSelectorSyntax(here.Child("selector"), p.Selector)...)
		errs = append(errs, checkSelectorSyntax(here.Child("namespaceSelector"), p.NamespaceSelector)...)
	}
	return errs
}
