package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// ControlPlaneFacts is everything that decides the next step of a KubeadmControlPlane that is not being deleted.
type ControlPlaneFacts struct {
	// Replicas is spec.replicas; MaxSurge is the maxSurge of its rolling update, 0 or 1.
	Replicas, MaxSurge int32
	// Machines are all Machines it controls, those being deleted included.
	Machines []ControlPlaneMachine
	// Domains are the failure domains of the Cluster.
	Domains []FailureDomain
	// Initialized says that kubeadm init has once succeeded.
	Initialized bool
	// InfrastructureReady says that the Cluster's infrastructure is provisioned, CertificatesReady that all certificate
	// authorities exist, EndpointReady that the Cluster has a control-plane endpoint.
	InfrastructureReady, CertificatesReady, EndpointReady bool
	// EtcdManaged says that etcd is stacked on the control-plane Machines.
	EtcdManaged bool
	// Etcd is the etcd cluster; ignored unless EtcdManaged.
	Etcd EtcdFacts
	// Hold is why nothing may be scaled for now (a version the topology is still to write, for instance); empty when
	// nothing holds it.
	Hold string
}

// ControlPlaneMachine is one Machine of a KubeadmControlPlane.
type ControlPlaneMachine struct {
	// Name and Created are those of the Machine; FailureDomain is where it is.
	Name          string
	Created       time.Time
	FailureDomain string
	// Outdated are the reasons for which it has to be replaced; empty when it is up to date.
	Outdated []string
	// Deleting says that it has a deletion timestamp.
	Deleting bool
	// DeleteAnnotated says that it carries the delete-machine annotation.
	DeleteAnnotated bool
	// HasNode says that status.nodeRef is set.
	HasNode bool
	// APIServer, ControllerManager and Scheduler are the health of its static pods, EtcdPod and EtcdMember that of its
	// etcd; the last two are ignored unless etcd is managed.
	APIServer, ControllerManager, Scheduler, EtcdPod, EtcdMember Tri
}

// ActionKind is what a control plane does next.
type ActionKind int8

// The steps of a control plane, one at a time.
const (
	// NoAction: as many Machines as asked for, all up to date.
	NoAction ActionKind = iota
	// WaitAction: something has to happen first.
	WaitAction
	// InitAction: create the first Machine, which runs kubeadm init.
	InitAction
	// ScaleUpAction: create a Machine that joins.
	ScaleUpAction
	// ScaleDownAction: delete a Machine.
	ScaleDownAction
)

// String returns the name of the step.
func (k ActionKind) String() string {
	return [...]string{"None", "Wait", "Init", "ScaleUp", "ScaleDown"}[k]
}

// ControlPlaneAction is the next step of a control plane.
type ControlPlaneAction struct {
	// Kind is the step.
	Kind ActionKind
	// FailureDomain is where to create a Machine (InitAction, ScaleUpAction); empty when there are none.
	FailureDomain string
	// Machine is the Machine to delete (ScaleDownAction), or the one that a refused scale-down would have deleted.
	Machine string
	// Unhealthy says that a WaitAction waits for the health of Machines, which deserves an event.
	Unhealthy bool
	// RollingOut says that the step belongs to a replacement of outdated Machines.
	RollingOut bool
	// Reason says why, fit for a condition.
	Reason string
}

// ControlPlane decides the next step of a KubeadmControlPlane: one Machine at a time, joins only onto a healthy control
// plane, removals never against quorum.
func ControlPlane(f ControlPlaneFacts) ControlPlaneAction {
	if reason := notReady(f); reason != "" {
		return ControlPlaneAction{Kind: WaitAction, Reason: reason}
	}
	if len(f.Machines) == 0 {
		return initialize(f)
	}
	a := resize(f)
	a.RollingOut = len(outdated(f.Machines)) > 0
	return a
}

// notReady names the first thing that has to exist before any Machine is made.
func notReady(f ControlPlaneFacts) string {
	switch {
	case !f.InfrastructureReady:
		return "Waiting for the Cluster's infrastructure to be provisioned"
	case !f.CertificatesReady:
		return "Waiting for the cluster certificates"
	case !f.EndpointReady:
		return "Waiting for the Cluster's control plane endpoint to be set"
	}
	return ""
}

func initialize(f ControlPlaneFacts) ControlPlaneAction {
	switch {
	case f.Hold != "":
		return ControlPlaneAction{Kind: WaitAction, Reason: f.Hold}
	case f.Replicas <= 0:
		return ControlPlaneAction{Kind: WaitAction, Reason: "spec.replicas is 0: set it to 1, 3 or 5"}
	case f.Initialized && f.EtcdManaged:
		return ControlPlaneAction{Kind: WaitAction, Reason: "All control plane Machines are gone and etcd's data with them: restore it from a backup, or delete the Cluster and create it again"}
	case f.Initialized:
		return ControlPlaneAction{Kind: WaitAction, Reason: "All control plane Machines are gone, and a new one could only join one that runs: delete the Cluster and create it again; its data stays in the external etcd"}
	}
	return ControlPlaneAction{
		Kind:          InitAction,
		FailureDomain: DomainForNew(ControlPlaneDomains(f.Domains), nil),
		Reason:        "Creating the first control plane Machine",
	}
}

// resize compares what exists with what is asked for. While Machines are outdated one more than asked for may exist, if
// maxSurge says so.
func resize(f ControlPlaneFacts) ControlPlaneAction {
	count := int32(len(f.Machines))
	old := outdated(f.Machines)
	limit := f.Replicas
	if len(old) > 0 {
		limit += f.MaxSurge
	}
	switch {
	case count < limit:
		return scaleUp(f, old)
	case count > f.Replicas || len(old) > 0:
		return scaleDown(f, old)
	}
	if gone := deletingNames(f.Machines); len(gone) > 0 {
		return ControlPlaneAction{Kind: WaitAction, Reason: waitForDeletion(gone)}
	}
	if !f.Initialized {
		return ControlPlaneAction{Kind: WaitAction, Reason: waitForInit(f)}
	}
	return ControlPlaneAction{Kind: NoAction, Reason: fmt.Sprintf("All %d control plane Machines exist and are up to date", count)}
}

func scaleUp(f ControlPlaneFacts, old []string) ControlPlaneAction {
	if a := preflight(f, ""); a.Kind == WaitAction {
		return a
	}
	reason := fmt.Sprintf("Scaling up from %d to %d replicas", len(f.Machines), f.Replicas)
	if len(old) > 0 {
		reason = fmt.Sprintf("Replacing %s: %s", counted(len(old), "outdated Machine"), firstReason(f.Machines))
	}
	return ControlPlaneAction{
		Kind:          ScaleUpAction,
		FailureDomain: DomainForNew(ControlPlaneDomains(f.Domains), placed(f.Machines)),
		Reason:        reason,
	}
}

// scaleDown chooses the victim before it looks at health, so that a victim that is half removed does not stand in the way
// of its own removal.
func scaleDown(f ControlPlaneFacts, old []string) ControlPlaneAction {
	victim, why := selectVictim(f)
	if a := preflight(f, victim.Name); a.Kind == WaitAction {
		a.Machine = victim.Name
		return a
	}
	if left := len(f.Machines) - 1; left == 0 {
		return ControlPlaneAction{Kind: WaitAction, Machine: victim.Name,
			Reason: fmt.Sprintf("Machine %s is the only control plane Machine and cannot be replaced without one more: set maxSurge to 1", victim.Name)}
	}
	if f.EtcdManaged {
		if v := MayRemoveMachine(f.Etcd, victim.Name); !v.Allowed {
			return ControlPlaneAction{Kind: WaitAction, Machine: victim.Name, Reason: v.Reason}
		}
	}
	reason := fmt.Sprintf("Scaling down from %d to %d replicas", len(f.Machines), f.Replicas)
	if len(old) > 0 {
		reason = fmt.Sprintf("Replacing %s", counted(len(old), "outdated Machine"))
	}
	return ControlPlaneAction{Kind: ScaleDownAction, Machine: victim.Name, Reason: fmt.Sprintf("%s: Machine %s goes, since %s", reason, victim.Name, why)}
}

// preflight returns a wait when the control plane is in no state to gain or lose a Machine. The victim is not asked for its
// health, nor is a Machine that is being deleted.
func preflight(f ControlPlaneFacts, victim string) ControlPlaneAction {
	if f.Hold != "" {
		return ControlPlaneAction{Kind: WaitAction, Reason: f.Hold}
	}
	if gone := deletingNames(f.Machines); len(gone) > 0 {
		return ControlPlaneAction{Kind: WaitAction, Reason: waitForDeletion(gone)}
	}
	if !f.Initialized {
		return ControlPlaneAction{Kind: WaitAction, Reason: waitForInit(f)}
	}
	if bad := unhealthy(f, victim); len(bad) > 0 {
		return ControlPlaneAction{Kind: WaitAction, Unhealthy: true, Reason: strings.Join(bad, "; ")}
	}
	return ControlPlaneAction{}
}

// unhealthy describes, sorted by Machine, what keeps the control plane from being healthy; at most five are named.
func unhealthy(f ControlPlaneFacts, except string) []string {
	var bad []string
	for _, m := range f.Machines {
		if m.Name == except || m.Deleting {
			continue
		}
		if trouble := troubles(m, f.EtcdManaged); len(trouble) > 0 {
			bad = append(bad, fmt.Sprintf("Machine %s: %s", m.Name, strings.Join(trouble, ", ")))
		}
	}
	slices.Sort(bad)
	if len(bad) > maxListed {
		bad = append(bad[:maxListed], fmt.Sprintf("and %d more", len(bad)-maxListed))
	}
	return bad
}

func troubles(m ControlPlaneMachine, etcdManaged bool) []string {
	if !m.HasNode {
		return []string{"has no Node yet"}
	}
	parts := []struct {
		name   string
		health Tri
	}{{"API server", m.APIServer}, {"controller manager", m.ControllerManager}, {"scheduler", m.Scheduler}}
	if etcdManaged {
		parts = append(parts, struct {
			name   string
			health Tri
		}{"etcd pod", m.EtcdPod}, struct {
			name   string
			health Tri
		}{"etcd member", m.EtcdMember})
	}
	var bad []string
	for _, p := range parts {
		switch p.health {
		case True:
		case False:
			bad = append(bad, p.name+" is not healthy")
		case Unknown:
			bad = append(bad, p.name+"'s health is unknown")
		}
	}
	return bad
}

// selectVictim chooses the Machine to go: marked by hand and outdated, marked by hand, outdated without a working member
// or components, outdated, any; of these, one in the most crowded failure domain; of these, the oldest.
func selectVictim(f ControlPlaneFacts) (ControlPlaneMachine, string) {
	candidates, why := victimClass(f)
	domain := DomainToShrink(ControlPlaneDomains(f.Domains), placed(f.Machines), names(candidates))
	inDomain := slices.DeleteFunc(candidates, func(m ControlPlaneMachine) bool { return m.FailureDomain != domain })
	victim := slices.MinFunc(inDomain, func(a, b ControlPlaneMachine) int {
		return cmp.Or(compareBool(!a.Deleting, !b.Deleting), a.Created.Compare(b.Created), strings.Compare(a.Name, b.Name))
	})
	return victim, why
}

func victimClass(f ControlPlaneFacts) ([]ControlPlaneMachine, string) {
	isOld := func(m ControlPlaneMachine) bool { return len(m.Outdated) > 0 }
	isMarked := func(m ControlPlaneMachine) bool { return m.DeleteAnnotated }
	isBroken := func(m ControlPlaneMachine) bool { return len(troubles(m, f.EtcdManaged)) > 0 }
	classes := []struct {
		belongs func(ControlPlaneMachine) bool
		why     string
	}{
		{func(m ControlPlaneMachine) bool { return isOld(m) && isMarked(m) }, "it is outdated and marked for deletion by annotation"},
		{isMarked, "it is marked for deletion by annotation"},
		{func(m ControlPlaneMachine) bool { return isOld(m) && isBroken(m) }, "it is outdated and not healthy"},
		{isOld, "it is outdated"},
		{isBroken, "it is not healthy"},
	}
	for _, c := range classes {
		var chosen []ControlPlaneMachine
		for _, m := range f.Machines {
			if c.belongs(m) {
				chosen = append(chosen, m)
			}
		}
		if len(chosen) > 0 {
			return chosen, c.why
		}
	}
	return slices.Clone(f.Machines), "it is the oldest in the most crowded failure domain"
}

func outdated(machines []ControlPlaneMachine) []string {
	var list []string
	for _, m := range machines {
		if len(m.Outdated) > 0 {
			list = append(list, m.Name)
		}
	}
	return list
}

// firstReason returns why the first outdated Machine by name is outdated, so that the message is stable.
func firstReason(machines []ControlPlaneMachine) string {
	sorted := slices.SortedFunc(slices.Values(machines), func(a, b ControlPlaneMachine) int { return strings.Compare(a.Name, b.Name) })
	for _, m := range sorted {
		if len(m.Outdated) > 0 {
			return strings.Join(m.Outdated, ", ")
		}
	}
	return ""
}

func placed(machines []ControlPlaneMachine) []PlacedMachine {
	list := make([]PlacedMachine, len(machines))
	for i, m := range machines {
		list[i] = PlacedMachine{Name: m.Name, FailureDomain: m.FailureDomain, UpToDate: len(m.Outdated) == 0, Deleting: m.Deleting}
	}
	return list
}

func names(machines []ControlPlaneMachine) []string {
	list := make([]string, len(machines))
	for i, m := range machines {
		list[i] = m.Name
	}
	return list
}

func deletingNames(machines []ControlPlaneMachine) []string {
	var list []string
	for _, m := range machines {
		if m.Deleting {
			list = append(list, m.Name)
		}
	}
	return list
}

func waitForDeletion(gone []string) string {
	noun := "Machine"
	if len(gone) > 1 {
		noun = "Machines"
	}
	return fmt.Sprintf("Waiting for %s %s to be deleted", noun, NameList(gone))
}

func waitForInit(f ControlPlaneFacts) string {
	return fmt.Sprintf("Waiting for Machine %s to initialize the control plane", NameList(names(f.Machines)))
}
