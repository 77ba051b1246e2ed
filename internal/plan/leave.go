package plan

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// LeaveFacts is everything that decides how a control-plane Machine that is being deleted leaves etcd. It is asked while
// the Machine waits in its pre-terminate hook: the Node is drained, the infrastructure still runs.
type LeaveFacts struct {
	// Machine is the Machine that leaves.
	Machine string
	// Others are the other control-plane Machines.
	Others []LeaveMachine
	// EtcdManaged says that etcd is stacked; Etcd is the etcd cluster.
	EtcdManaged bool
	Etcd        EtcdFacts
	// OtherHooks are the other pre-terminate hooks on the Machine. From Kubernetes 1.31 on the kubelet talks to the API
	// server of its own Machine, which stops when the member is removed: whoever still needs the Node goes first.
	OtherHooks []string
}

// LeaveMachine is another control-plane Machine, as a candidate for leadership.
type LeaveMachine struct {
	// Name and Created are those of the Machine.
	Name    string
	Created time.Time
	// Deleting says that it has a deletion timestamp.
	Deleting bool
}

// LeaveStep is what happens next when a control-plane Machine leaves etcd.
type LeaveStep int8

// The steps of leaving, in their order.
const (
	// LeaveRefused: the member must stay for now; the hook stays too.
	LeaveRefused LeaveStep = iota
	// LeaveWaitHooks: other pre-terminate hooks come first.
	LeaveWaitHooks
	// LeaveMoveLeader: hand leadership to member To.
	LeaveMoveLeader
	// LeaveRemoveMember: remove member Member.
	LeaveRemoveMember
	// LeaveDone: nothing holds the Machine any more; the hook can go.
	LeaveDone
)

// String returns the name of the step.
func (s LeaveStep) String() string {
	return [...]string{"Refused", "WaitHooks", "MoveLeader", "RemoveMember", "Done"}[s]
}

// LeavePlan is the next step of leaving etcd.
type LeavePlan struct {
	// Step is what to do.
	Step LeaveStep
	// Member is the member that leaves (LeaveMoveLeader, LeaveRemoveMember), To the one that shall lead (LeaveMoveLeader).
	Member, To uint64
	// Reason says why, fit for a condition.
	Reason string
}

// LeaveEtcd decides the next step by which a control-plane Machine leaves etcd. Asked again after each step it ends in
// LeaveDone, wherever it was interrupted.
func LeaveEtcd(f LeaveFacts) LeavePlan {
	if len(f.OtherHooks) > 0 {
		return LeavePlan{Step: LeaveWaitHooks, Reason: "Waiting for other pre-terminate hooks to be removed: " + NameList(f.OtherHooks)}
	}
	if why := noNeedToLeave(f); why != "" {
		return LeavePlan{Step: LeaveDone, Reason: why}
	}
	if f.Etcd.Known != True {
		return LeavePlan{Reason: "The etcd members could not be read, so the member of Machine " + f.Machine + " stays"}
	}
	member, found := f.Etcd.MemberOf(f.Machine)
	if !found {
		return LeavePlan{Step: LeaveDone, Reason: "Machine " + f.Machine + " has no etcd member"}
	}
	verdict := MayRemoveMember(f.Etcd, member.ID)
	if !verdict.Allowed {
		return LeavePlan{Member: member.ID, Reason: verdict.Reason}
	}
	if !member.Leader {
		return LeavePlan{Step: LeaveRemoveMember, Member: member.ID, Reason: verdict.Reason}
	}
	to, found := LeadershipTarget(f.Etcd, f.Machine, leaderCandidates(f.Others))
	if !found {
		return LeavePlan{Member: member.ID, Reason: "Machine " + f.Machine + " leads etcd and no healthy voting member on another Machine can take over"}
	}
	return LeavePlan{Step: LeaveMoveLeader, Member: member.ID, To: to.ID, Reason: "Moving etcd leadership to the member of Machine " + to.Machine}
}

func noNeedToLeave(f LeaveFacts) string {
	switch {
	case !f.EtcdManaged:
		return "etcd is external"
	case len(f.Others) == 0:
		return "Machine " + f.Machine + " is the last control plane Machine"
	}
	return ""
}

// leaderCandidates orders the others by preference: those that stay, the newest first, since the oldest are the next to be
// replaced.
func leaderCandidates(others []LeaveMachine) []string {
	sorted := slices.SortedFunc(slices.Values(others), func(a, b LeaveMachine) int {
		return cmp.Or(compareBool(a.Deleting, b.Deleting), b.Created.Compare(a.Created), strings.Compare(a.Name, b.Name))
	})
	list := make([]string, len(sorted))
	for i, m := range sorted {
		list[i] = m.Name
	}
	return list
}
