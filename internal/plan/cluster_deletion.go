package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
)

// DescendantKind is a kind of object that a Cluster deletes, spelled as in the API.
type DescendantKind string

// The kinds of workers and control-plane Machines below a Cluster.
const (
	MachinePoolKind       DescendantKind = "MachinePool"
	MachineDeploymentKind DescendantKind = "MachineDeployment"
	MachineSetKind        DescendantKind = "MachineSet"
	MachineKind           DescendantKind = "Machine"
)

// Descendant is one object that goes with its Cluster. Find descendants by the cluster-name label and by owner reference
// both: an object that lost one of them still belongs to the Cluster.
type Descendant struct {
	// Kind and Name say which object it is.
	Kind DescendantKind
	Name string
	// ControlPlane says that it is a Machine with the control-plane label.
	ControlPlane bool
	// Managed says that another existing object of the Cluster controls it and deletes it: the MachineDeployment of a
	// MachineSet, the MachineSet of a Machine, the control plane object of a control-plane Machine.
	Managed bool
	// Deleting says that it has a deletion timestamp.
	Deleting bool
}

// External is an object of a provider that a Cluster or a Machine refers to.
type External struct {
	// Referenced says that there is a reference at all.
	Referenced bool
	// Kind and Name are those of the reference, for messages.
	Kind, Name string
	// Exists says whether the object exists; Unknown when it could not be read.
	Exists Tri
	// Deleting says that it has a deletion timestamp.
	Deleting bool
}

// gone reports whether nothing of the object is left to wait for.
func (e External) gone() bool { return !e.Referenced || e.Exists == False }

// ClusterDeletionFacts is everything that decides the next step of the deletion of a Cluster.
type ClusterDeletionFacts struct {
	// Descendants are the workers and Machines of the Cluster; meaningless unless DescendantsRead is True.
	Descendants     []Descendant
	DescendantsRead Tri
	// ControlPlane and Infrastructure are what the Cluster's references name.
	ControlPlane, Infrastructure External
}

// ClusterDeletionStep is where the deletion of a Cluster stands.
type ClusterDeletionStep int8

// The steps of deleting a Cluster, in their order.
const (
	// DeleteWorkers: delete the workers, wait for them.
	DeleteWorkers ClusterDeletionStep = iota
	// DeleteControlPlane: delete the control plane, wait for it.
	DeleteControlPlane
	// DeleteClusterInfrastructure: delete the infrastructure, wait for it.
	DeleteClusterInfrastructure
	// FinishCluster: nothing is left, remove the finalizer.
	FinishCluster
)

// ClusterDeletionPlan is the next step of the deletion of a Cluster.
type ClusterDeletionPlan struct {
	// Step is where the deletion stands.
	Step ClusterDeletionStep
	// Delete are the workers or control-plane Machines to delete now, in order; those already being deleted are left out.
	Delete []Descendant
	// DeleteObject says to delete the control plane object (DeleteControlPlane) or the infrastructure object
	// (DeleteClusterInfrastructure) now.
	DeleteObject bool
	// Reason and Message are those of the Deleting condition.
	Reason, Message string
}

// ClusterDeletion decides what a Cluster that is being deleted deletes next, and what it waits for: workers, then the
// control plane, then the infrastructure. What could not be read counts as still there.
func ClusterDeletion(f ClusterDeletionFacts) ClusterDeletionPlan {
	if f.DescendantsRead != True {
		return ClusterDeletionPlan{Step: DeleteWorkers, Reason: clusterv1.ClusterDeletingWaitingForWorkersDeletionReason, Message: "Waiting for the workers to be listed"}
	}
	workers, controlPlane := splitDescendants(f)
	switch {
	case len(workers) > 0:
		return ClusterDeletionPlan{
			Step: DeleteWorkers, Delete: deletable(workers),
			Reason: clusterv1.ClusterDeletingWaitingForWorkersDeletionReason, Message: waitingFor(workers),
		}
	case !f.ControlPlane.gone() || len(controlPlane) > 0:
		return deleteControlPlane(f, controlPlane)
	case !f.Infrastructure.gone():
		return ClusterDeletionPlan{
			Step: DeleteClusterInfrastructure, DeleteObject: deleteNow(f.Infrastructure),
			Reason: clusterv1.ClusterDeletingWaitingForInfrastructureDeletionReason, Message: waitingForObject(f.Infrastructure),
		}
	}
	return ClusterDeletionPlan{Step: FinishCluster, Reason: clusterv1.DeletionCompletedReason, Message: "Deletion completed"}
}

// splitDescendants parts the workers from the control-plane Machines. Without a control plane object nothing orders the
// latter, and they go with the workers.
func splitDescendants(f ClusterDeletionFacts) (workers, controlPlane []Descendant) {
	for _, d := range f.Descendants {
		if d.ControlPlane && f.ControlPlane.Referenced {
			controlPlane = append(controlPlane, d)
			continue
		}
		workers = append(workers, d)
	}
	return workers, controlPlane
}

// deleteControlPlane deletes the control plane object, and with it the control-plane Machines that nobody manages: the
// object would never delete them, and the Cluster would wait for ever.
func deleteControlPlane(f ClusterDeletionFacts, controlPlane []Descendant) ClusterDeletionPlan {
	p := ClusterDeletionPlan{
		Step: DeleteControlPlane, DeleteObject: deleteNow(f.ControlPlane), Reason: clusterv1.ClusterDeletingWaitingForControlPlaneDeletionReason,
		Delete: deletable(controlPlane),
	}
	var parts []string
	if !f.ControlPlane.gone() {
		parts = append(parts, waitingForObject(f.ControlPlane))
	}
	if strays := slices.DeleteFunc(slices.Clone(controlPlane), func(d Descendant) bool { return d.Managed }); len(strays) > 0 || f.ControlPlane.gone() {
		parts = append(parts, waitingFor(controlPlane))
	}
	p.Message = strings.Join(parts, "; ")
	return p
}

func deleteNow(e External) bool { return e.Exists == True && !e.Deleting }

func waitingForObject(e External) string {
	if e.Exists == Unknown {
		return fmt.Sprintf("%s %s could not be read", e.Kind, e.Name)
	}
	return fmt.Sprintf("Waiting for %s %s to be deleted", e.Kind, e.Name)
}

// kindOrder is the order in which workers are deleted: owners before what they own.
func kindOrder(k DescendantKind) int {
	switch k {
	case MachinePoolKind:
		return 0
	case MachineDeploymentKind:
		return 1
	case MachineSetKind:
		return 2
	case MachineKind:
		return 3
	}
	return 4
}

func deletable(all []Descendant) []Descendant {
	var list []Descendant
	for _, d := range all {
		if !d.Managed && !d.Deleting {
			list = append(list, d)
		}
	}
	slices.SortFunc(list, func(a, b Descendant) int {
		return cmp.Or(cmp.Compare(kindOrder(a.Kind), kindOrder(b.Kind)), strings.Compare(a.Name, b.Name))
	})
	return list
}

// waitingFor names what is left, kind by kind.
func waitingFor(all []Descendant) string {
	byKind := map[DescendantKind][]string{}
	for _, d := range all {
		byKind[d.Kind] = append(byKind[d.Kind], d.Name)
	}
	var parts []string
	for _, kind := range slices.SortedFunc(maps.Keys(byKind), func(a, b DescendantKind) int { return cmp.Compare(kindOrder(a), kindOrder(b)) }) {
		list := byKind[kind]
		noun := string(kind)
		if len(list) > 1 {
			noun += "s"
		}
		parts = append(parts, fmt.Sprintf("%s %s", noun, NameList(list)))
	}
	return "Waiting for the deletion of " + strings.Join(parts, " and ")
}

// ControlPlaneDeletionPlan is the next step of a control plane that is being deleted.
type ControlPlaneDeletionPlan struct {
	// Wait says that workers still need the control plane: nothing is done to it yet.
	Wait bool
	// Delete names the Machines to delete now; all at once, since nobody needs the quorum any more.
	Delete []string
	// Finish says that nothing is left, and the finalizer can go.
	Finish bool
	// Reason and Message are those of the Deleting condition.
	Reason, Message string
}

// ControlPlaneDeletion decides what a KubeadmControlPlane that is being deleted does: it waits until no worker is left,
// whose Nodes still need an API server to be drained, then deletes its Machines and waits for them. One without Machines
// serves no worker and waits for none: it has none yet, or they were left to others. Workers are the worker Machines and
// MachinePools of the Cluster; while they could not be listed nothing is deleted.
func ControlPlaneDeletion(workers []Descendant, workersRead Tri, machines []ControlPlaneMachine) ControlPlaneDeletionPlan {
	waiting := ControlPlaneDeletionPlan{Wait: true, Reason: controlplanev1.KubeadmControlPlaneDeletingWaitingForWorkersDeletionReason}
	switch {
	case len(machines) == 0:
		return ControlPlaneDeletionPlan{Finish: true, Reason: clusterv1.DeletionCompletedReason, Message: "Deletion completed"}
	case workersRead != True:
		waiting.Message = "Waiting for the workers to be listed"
		return waiting
	case len(workers) > 0:
		waiting.Message = waitingFor(workers)
		return waiting
	}
	p := ControlPlaneDeletionPlan{Reason: controlplanev1.KubeadmControlPlaneDeletingWaitingForMachineDeletionReason, Message: waitForDeletion(names(machines))}
	for _, m := range machines {
		if !m.Deleting {
			p.Delete = append(p.Delete, m.Name)
		}
	}
	slices.Sort(p.Delete)
	return p
}
