// Package replicas looks at the Machines of one owner together: it counts them, says in the owner's conditions how they
// fare, and tells which changes of a Machine matter to that.
package replicas

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
	"slipway.dev/slipway/internal/conditions"
	"slipway.dev/slipway/internal/plan"
)

// Facts returns what matters of a Machine when its owner chooses whom to delete.
func Facts(m *clusterv1.Machine) plan.ScaleMachine {
	_, annotated := m.Annotations[clusterv1.DeleteMachineAnnotation]
	_, updating := m.Annotations[clusterv1.UpdateInProgressAnnotation]
	return plan.ScaleMachine{
		Name:                 m.Name,
		Created:              m.CreationTimestamp.Time,
		Deleting:             !m.DeletionTimestamp.IsZero(),
		DeleteAnnotated:      annotated,
		Updating:             updating || conditions.IsTrue(m.Status.Conditions, clusterv1.MachineUpdatingCondition),
		HasNode:              m.Status.NodeRef.IsDefined(),
		NodeHealthy:          triOf(m, clusterv1.MachineNodeHealthyCondition),
		HealthCheckSucceeded: triOf(m, clusterv1.MachineHealthCheckSucceededCondition),
		Available:            conditions.IsTrue(m.Status.Conditions, clusterv1.AvailableCondition),
	}
}

// AllFacts returns the Facts of each Machine.
func AllFacts(machines []*clusterv1.Machine) []plan.ScaleMachine {
	facts := make([]plan.ScaleMachine, 0, len(machines))
	for _, m := range machines {
		facts = append(facts, Facts(m))
	}
	return facts
}

// Count counts the Machines of an owner with that template. Desired is what the owner asks for; nil counts as 0.
func Count(machines []*clusterv1.Machine, desired *int32, template *clusterv1.MachineTemplateSpec, now time.Time) plan.Counts {
	counted := make([]plan.CountedMachine, 0, len(machines))
	for _, m := range machines {
		since, ready := conditions.TrueSince(m.Status.Conditions, clusterv1.MachineNodeReadyCondition)
		counted = append(counted, plan.CountedMachine{
			Ready:             triOf(m, clusterv1.ReadyCondition),
			Available:         triOf(m, clusterv1.AvailableCondition),
			UpToDate:          triOf(m, clusterv1.MachineUpToDateCondition),
			Version:           version(m),
			HasTemplateLabels: hasAll(m.Labels, template.ObjectMeta.Labels),
			NodeReady:         ready,
			NodeReadySince:    since,
		})
	}
	return plan.CountMachines(counted, valueOf(desired), valueOf(template.Spec.MinReadySeconds), now)
}

// Versions returns counted versions as the wire has them.
func Versions(counts []plan.VersionCount) []clusterv1.StatusVersion {
	var out []clusterv1.StatusVersion
	for _, c := range counts {
		out = append(out, clusterv1.StatusVersion{Version: c.Version, Replicas: new(c.Replicas)})
	}
	return out
}

// Deleting returns the Machines that are being deleted.
func Deleting(machines []*clusterv1.Machine) []*clusterv1.Machine {
	var out []*clusterv1.Machine
	for _, m := range machines {
		if !m.DeletionTimestamp.IsZero() {
			out = append(out, m)
		}
	}
	return out
}

// Names returns the Machines' names in their order.
func Names(machines []*clusterv1.Machine) []string {
	names := make([]string, 0, len(machines))
	for _, m := range machines {
		names = append(names, m.Name)
	}
	return names
}

// version is what runs on the Machine's Node, as far as that is known.
func version(m *clusterv1.Machine) string {
	if m.Status.NodeInfo == nil {
		return ""
	}
	return m.Status.NodeInfo.KubeletVersion
}

func triOf(m *clusterv1.Machine, conditionType string) plan.Tri {
	c := conditions.Find(m.Status.Conditions, conditionType)
	switch {
	case c == nil:
		return plan.Unknown
	case c.Status == metav1.ConditionTrue:
		return plan.True
	case c.Status == metav1.ConditionFalse:
		return plan.False
	default:
		return plan.Unknown
	}
}

func hasAll(labels, wanted map[string]string) bool {
	for k, v := range wanted {
		if labels[k] != v {
			return false
		}
	}
	return true
}

func valueOf(n *int32) int32 {
	if n == nil {
		return 0
	}
	return *n
}

// IsControlPlane reports whether a Machine is one of a control plane: its label says so, or, where that was lost, its owner,
// for every control plane provider's group is the same by the contract.
func IsControlPlane(m metav1.Object) bool {
	if _, labelled := m.GetLabels()[clusterv1.MachineControlPlaneLabel]; labelled {
		return true
	}
	owner := metav1.GetControllerOfNoCopy(m)
	return owner != nil && strings.HasPrefix(owner.APIVersion, controlplanev1.GroupVersion.Group+"/")
}
