package drain

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/plan"
)

// Rules reads the MachineDrainRules of a namespace of the management cluster.
func Rules(ctx context.Context, reader client.Reader, namespace string) ([]plan.DrainRule, error) {
	list := &clusterv1.MachineDrainRuleList{}
	if err := reader.List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list MachineDrainRules of namespace %s: %w", namespace, err)
	}
	rules := make([]plan.DrainRule, 0, len(list.Items))
	for i := range list.Items {
		rule, err := ruleOf(&list.Items[i])
		if err != nil {
			return nil, fmt.Errorf("read MachineDrainRule %s/%s: %w", namespace, list.Items[i].Name, err)
		}
		rules = append(rules, rule)
	}
	return rules, nil
}

func ruleOf(r *clusterv1.MachineDrainRule) (plan.DrainRule, error) {
	rule := plan.DrainRule{Name: r.Name, Behavior: r.Spec.Drain.Behavior}
	if r.Spec.Drain.Order != nil {
		rule.Order = *r.Spec.Drain.Order
	}
	for _, s := range r.Spec.Machines {
		machine, err := selector(s.Selector)
		if err != nil {
			return rule, err
		}
		cluster, err := selector(s.ClusterSelector)
		if err != nil {
			return rule, err
		}
		rule.Machines = append(rule.Machines, plan.DrainMachineSelector{Machine: machine, Cluster: cluster})
	}
	for _, s := range r.Spec.Pods {
		pod, err := selector(s.Selector)
		if err != nil {
			return rule, err
		}
		namespace, err := selector(s.NamespaceSelector)
		if err != nil {
			return rule, err
		}
		rule.Pods = append(rule.Pods, plan.DrainPodSelector{Pod: pod, Namespace: namespace})
	}
	return rule, nil
}

// selector returns nil, which selects everything, for a selector that is unset.
func selector(s *metav1.LabelSelector) (labels.Selector, error) {
	if s == nil {
		return nil, nil
	}
	return metav1.LabelSelectorAsSelector(s)
}
