package webhooks

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
)

const (
	// nodeStartupTimeoutSeconds is how long a machine may take to become a Node unless the check says.
	nodeStartupTimeoutSeconds = 600
	// minNodeStartupTimeoutSeconds is the least that is not 0, which turns the check off.
	minNodeStartupTimeoutSeconds = 30
)

// healthCheckLacks is true of a MachineHealthCheck that defaultMachineHealthCheck would change.
const healthCheckLacks = lacksClusterLabel + ` || !object.?spec.?checks.?nodeStartupTimeoutSeconds.hasValue()`

func machineHealthCheckWebhooks() []Webhook {
	k := kind{version: clusterv1.GroupVersion, singular: "machinehealthcheck", plural: "machinehealthchecks"}
	return []Webhook{
		defaulting(k, healthCheckLacks, defaultMachineHealthCheck),
		validating(k, changed, validator[clusterv1.MachineHealthCheckSpec]{
			check: checkMachineHealthCheck, change: changeMachineHealthCheck,
			warn: storedOnly[clusterv1.MachineHealthCheckSpec]("MachineHealthCheck", "no machine is checked or remediated"),
		}),
	}
}

func defaultMachineHealthCheck(o, _ *object[clusterv1.MachineHealthCheckSpec]) *field.Error {
	o.Metadata.setCluster(o.Spec.ClusterName)
	if o.Spec.Checks.NodeStartupTimeoutSeconds == nil {
		o.Spec.Checks.NodeStartupTimeoutSeconds = new(int32(nodeStartupTimeoutSeconds))
	}
	return nil
}

func checkMachineHealthCheck(o *object[clusterv1.MachineHealthCheckSpec]) field.ErrorList {
	at, s := field.NewPath("spec"), &o.Spec
	var errs field.ErrorList
	if len(s.Selector.MatchLabels) == 0 && len(s.Selector.MatchExpressions) == 0 {
		errs = append(errs, field.Required(at.Child("selector"), "give the labels of the Machines to check"))
	}
	errs = append(errs, checkSelectorSyntax(at.Child("selector"), &s.Selector)...)
	if name, ok := s.Selector.MatchLabels[clusterv1.ClusterNameLabel]; ok && name != s.ClusterName {
		errs = append(errs, field.Invalid(at.Child("selector", "matchLabels").Key(clusterv1.ClusterNameLabel), name,
			fmt.Sprintf("spec.clusterName is %q and only Machines of that Cluster are checked: leave the label out", s.ClusterName)))
	}
	if t := s.Checks.NodeStartupTimeoutSeconds; t != nil && *t > 0 && *t < minNodeStartupTimeoutSeconds {
		errs = append(errs, field.Invalid(at.Child("checks", "nodeStartupTimeoutSeconds"), *t,
			fmt.Sprintf("no machine becomes a Node that fast: write %d or more, or 0 to check for no Node", minNodeStartupTimeoutSeconds)))
	}
	if n := s.Remediation.TriggerIf.UnhealthyLessThanOrEqualTo; n != nil {
		if _, err := intstr.GetScaledValueFromIntOrPercent(n, 100, false); err != nil {
			errs = append(errs, field.Invalid(at.Child("remediation", "triggerIf", "unhealthyLessThanOrEqualTo"), n.String(),
				`neither a number nor a percentage: write it as 1 or "40%"`))
		}
	}
	return errs
}

func changeMachineHealthCheck(o, old *object[clusterv1.MachineHealthCheckSpec]) field.ErrorList {
	return keepClusterName("MachineHealthCheck", o.Spec.ClusterName, old.Spec.ClusterName)
}
