package view

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
)

// failed are the machines of one owner that have Failed and that nothing replaces.
type failed struct {
	count int
	// first is the name of the one that failed first, message why, and since when it has.
	first, message string
	since          time.Time
}

// failedAmong returns the machines that have Failed and that nothing replaces, of those that an owner has.
func (c Cluster) failedAmong(owns func(*clusterv1.Machine) bool) failed {
	var f failed
	for i := range c.Machines {
		m := &c.Machines[i]
		if !owns(m) || c.isReplaced(m) {
			continue
		}
		s := OfMachine(m, time.Time{}) // Whether it has failed is no matter of time.
		if s.State != Failed {
			continue
		}
		if f.count++; f.count == 1 || s.Since.Before(f.since) {
			f.first, f.message, f.since = m.Name, s.Message, s.Since
		}
	}
	return f
}

// String is a phrase about the machines.
func (f failed) String() string {
	text := fmt.Sprintf("Machine %s failed", f.first)
	if f.count > 1 {
		text = fmt.Sprintf("%d machines failed, first %s", f.count, f.first)
	}
	if f.message != "" {
		text += ": " + f.message
	}
	return text
}

// isReplaced tells whether a machine is on its way out: it is deleted, remediated, or not what is wanted any more.
func (c Cluster) isReplaced(m *clusterv1.Machine) bool {
	if !m.DeletionTimestamp.IsZero() {
		return true
	}
	for _, kind := range []string{clusterv1.MachineUpToDateCondition, clusterv1.MachineOwnerRemediatedCondition} {
		if meta.IsStatusConditionFalse(m.Status.Conditions, kind) {
			return true
		}
	}
	wanted := m.Spec.Version
	if isControlPlane(m) && c.ControlPlane != nil {
		wanted = c.ControlPlane.Spec.Version
	}
	for i := range c.Deployments {
		if md := &c.Deployments[i]; ownedBy(clusterv1.MachineDeploymentNameLabel, md.Name)(m) {
			wanted = md.Spec.Template.Spec.Version
		}
	}
	return m.Spec.Version != wanted
}

func isControlPlane(m *clusterv1.Machine) bool {
	_, found := m.Labels[clusterv1.MachineControlPlaneLabel]
	return found
}

// ownedBy tells of the workers that carry an owner's name as a label.
func ownedBy(label, name string) func(*clusterv1.Machine) bool {
	return func(m *clusterv1.Machine) bool { return m.Labels[label] == name && !isControlPlane(m) }
}

// isAlone tells of a worker that belongs to no set.
func isAlone(m *clusterv1.Machine) bool {
	return !isControlPlane(m) && m.Labels[clusterv1.MachineSetNameLabel] == "" && m.Labels[clusterv1.MachineDeploymentNameLabel] == ""
}
