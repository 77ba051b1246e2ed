package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MachineDrainRuleDrainBehavior says what draining a Node does with a Pod.
// +kubebuilder:validation:Enum=Drain;Skip;WaitCompleted
type MachineDrainRuleDrainBehavior string

const (
	// MachineDrainRuleDrainBehaviorDrain evicts the Pod and waits until it is gone.
	MachineDrainRuleDrainBehaviorDrain MachineDrainRuleDrainBehavior = "Drain"

	// MachineDrainRuleDrainBehaviorSkip leaves the Pod where it is and does not wait for it.
	MachineDrainRuleDrainBehaviorSkip MachineDrainRuleDrainBehavior = "Skip"

	// MachineDrainRuleDrainBehaviorWaitCompleted leaves the Pod running and waits until it ends by itself.
	MachineDrainRuleDrainBehaviorWaitCompleted MachineDrainRuleDrainBehavior = "WaitCompleted"
)

// MachineDrainRuleSpec says what draining does with which Pods on the Nodes of which Machines.
type MachineDrainRuleSpec struct {
	// drain says what is done with the Pods that the rule applies to.
	// +required
	Drain MachineDrainRuleDrainConfig `json:"drain,omitempty,omitzero"`

	// machines chooses the Machines, all in the namespace of the rule. A Machine that any entry matches is chosen. When
	// unset, every Machine of the namespace is.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.exists_one(y, x == y))",message="entries in machines must be unique"
	Machines []MachineDrainRuleMachineSelector `json:"machines,omitempty"`

	// pods chooses the Pods on the Nodes of those Machines. A Pod that any entry matches is chosen. When unset, every
	// Pod is.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.exists_one(y, x == y))",message="entries in pods must be unique"
	Pods []MachineDrainRulePodSelector `json:"pods,omitempty"`
}

// MachineDrainRuleDrainConfig says what is done with a Pod, and when.
type MachineDrainRuleDrainConfig struct {
	// behavior says what is done: Drain evicts the Pod, Skip ignores it, WaitCompleted waits for its end without
	// evicting it.
	// +required
	Behavior MachineDrainRuleDrainBehavior `json:"behavior,omitempty"`

	// order places the Pod among the others: Pods with a lower order are evicted first, and those with a higher order
	// wait until they are gone. It may be set with behavior Drain only. Unset means 0.
	// +optional
	Order *int32 `json:"order,omitempty"`
}

// MachineDrainRuleMachineSelector chooses Machines. Both selectors must match; one that is unset matches everything.
// +kubebuilder:validation:MinProperties=1
type MachineDrainRuleMachineSelector struct {
	// selector chooses Machines by their labels. When unset or empty, every Machine matches.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`

	// clusterSelector chooses Machines by the labels of their Cluster. When unset or empty, every Cluster matches.
	// +optional
	ClusterSelector *metav1.LabelSelector `json:"clusterSelector,omitempty"`
}

// MachineDrainRulePodSelector chooses Pods. Both selectors must match; one that is unset matches everything.
// +kubebuilder:validation:MinProperties=1
type MachineDrainRulePodSelector struct {
	// selector chooses Pods by their labels. When unset or empty, every Pod matches.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`

	// namespaceSelector chooses Pods by the labels of their Namespace. When unset or empty, every Namespace matches.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
}

// MachineDrainRule changes how Pods are treated when the Node of a Machine is drained. If several rules match a Pod,
// the first by name in alphabetical order applies.
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=machinedrainrules,scope=Namespaced,categories=cluster-api
// +kubebuilder:storageversion
// +kubebuilder:printcolumn:name="Behavior",type="string",JSONPath=".spec.drain.behavior",description="What draining does with the pods"
// +kubebuilder:printcolumn:name="Order",type="string",JSONPath=".spec.drain.order",description="Place among the other pods"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
type MachineDrainRule struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	// +required
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what draining does with which Pods.
	// +required
	Spec MachineDrainRuleSpec `json:"spec,omitempty,omitzero"`
}

// MachineDrainRuleList is a list of MachineDrainRules.
// +kubebuilder:object:root=true
type MachineDrainRuleList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list's metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// items lists the MachineDrainRules.
	Items []MachineDrainRule `json:"items"`
}
