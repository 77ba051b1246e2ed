package plan

import (
	"cmp"
	"fmt"
	"slices"
)

// Member is one etcd member as the members themselves report it.
type Member struct {
	// ID is etcd's own identity of the member.
	ID uint64
	// Name is its name; empty for a member that was added but has not started.
	Name string
	// Learner says that it does not vote yet.
	Learner bool
	// Healthy says whether it answered and raised no alarm; Unknown counts as not healthy wherever safety is at stake.
	Healthy Tri
	// Leader says that it leads.
	Leader bool
	// Machine is the name of the live Machine that it runs on, found by name or peer URL; empty when none does.
	Machine string
}

// EtcdFacts is the etcd cluster as observed.
type EtcdFacts struct {
	// Members are all members; meaningless unless Known is True.
	Members []Member
	// Known says whether the list could be read.
	Known Tri
}

// Verdict says whether something may be done, and why or why not, in numbers.
type Verdict struct {
	// Allowed says that it may.
	Allowed bool
	// Reason gives the numbers behind the answer, fit for a condition.
	Reason string
}

func allow(format string, args ...any) Verdict {
	return Verdict{Allowed: true, Reason: fmt.Sprintf(format, args...)}
}

func refuse(format string, args ...any) Verdict {
	return Verdict{Reason: fmt.Sprintf(format, args...)}
}

// Majority returns how many of that many voters make a quorum.
func Majority(voters int) int {
	return voters/2 + 1
}

// MemberOf returns the member that runs on the Machine.
func (f EtcdFacts) MemberOf(machine string) (Member, bool) {
	for _, m := range f.Members {
		if machine != "" && m.Machine == machine {
			return m, true
		}
	}
	return Member{}, false
}

// MayRemoveMember decides whether an etcd member may leave. It may, when the members can agree on it now and those that
// stay keep a majority of healthy voters afterwards. While another member is a learner a join is under way, and no voter
// leaves: the learner may become a voter at any moment, which would change the arithmetic.
func MayRemoveMember(f EtcdFacts, id uint64) Verdict {
	if f.Known != True {
		return refuse("The etcd members could not be read, so none is removed")
	}
	i := slices.IndexFunc(f.Members, func(m Member) bool { return m.ID == id })
	if i < 0 {
		return allow("Member %x is not in the list, so nothing is lost", id)
	}
	target := f.Members[i]
	before, after := countVoters(f.Members, 0), countVoters(f.Members, id)
	if !before.quorate() {
		return refuse("etcd has lost its quorum: %s, so no change of members can be agreed on", before)
	}
	if target.Learner {
		return allow("Member %s is a learner without a vote: %s", describeMember(target), before)
	}
	if joining := learners(f.Members); joining > 0 {
		return refuse("%s joining etcd, so no voter leaves before that has ended", are(joining, "member"))
	}
	if after.voters == 0 {
		return refuse("Member %s is the last voter: without it the data is lost", describeMember(target))
	}
	if !after.quorate() {
		return refuse("Without member %s etcd would lose its quorum: %s", describeMember(target), after)
	}
	return allow("Without member %s etcd keeps its quorum: %s", describeMember(target), after)
}

// MayRemoveMachine decides whether a control-plane Machine with a stacked etcd member may go. A Machine that never got a
// member, or has lost it already, takes no vote with it: the others are judged by themselves.
func MayRemoveMachine(f EtcdFacts, machine string) Verdict {
	if f.Known != True {
		return refuse("The etcd members could not be read, so Machine %s stays", machine)
	}
	member, found := f.MemberOf(machine)
	if found {
		return MayRemoveMember(f, member.ID)
	}
	votes := countVoters(f.Members, 0)
	if !votes.quorate() {
		return refuse("etcd has lost its quorum without Machine %s: %s", machine, votes)
	}
	return allow("Machine %s has no etcd member, so etcd keeps its quorum: %s", machine, votes)
}

// GhostMember chooses a member without a Machine to be removed, or says why none is. Such members are left by joins that
// died half-way or by Machines that vanished, and count against every majority. Give joining as whether a Machine is about
// to join: its member has no Machine for a moment and is not a ghost. One is removed at a time, the nameless first.
func GhostMember(f EtcdFacts, joining Tri) (Member, Verdict) {
	var ghosts []Member
	for _, m := range f.Members {
		if m.Machine == "" {
			ghosts = append(ghosts, m)
		}
	}
	switch {
	case f.Known != True:
		return Member{}, refuse("The etcd members could not be read")
	case len(ghosts) == 0:
		return Member{}, refuse("Every etcd member has a Machine")
	case joining != False:
		return Member{}, refuse("A Machine may be joining, so %s without a Machine may be its own", counted(len(ghosts), "etcd member"))
	}
	slices.SortFunc(ghosts, func(a, b Member) int {
		return cmp.Or(compareBool(a.Name != "", b.Name != ""), compareBool(!a.Learner, !b.Learner), cmp.Compare(a.ID, b.ID))
	})
	var first Verdict
	for i, g := range ghosts {
		v := MayRemoveMember(f, g.ID)
		if v.Allowed {
			return g, v
		}
		if i == 0 {
			first = v
		}
	}
	return Member{}, first
}

// LeadershipTarget returns the member that should lead once the Machine has gone: a healthy voter on the first of the
// given Machines that has one. Give the Machines in order of preference.
func LeadershipTarget(f EtcdFacts, leaving string, candidates []string) (Member, bool) {
	for _, name := range candidates {
		m, found := f.MemberOf(name)
		if found && name != leaving && !m.Learner && m.Healthy == True {
			return m, true
		}
	}
	return Member{}, false
}

// votes are voters and how many of them are healthy.
type votes struct {
	voters, healthy int
}

func (v votes) quorate() bool { return v.voters > 0 && v.healthy >= Majority(v.voters) }

func (v votes) String() string {
	return fmt.Sprintf("%d of %d voting members healthy, %d needed", v.healthy, v.voters, Majority(v.voters))
}

// countVoters counts the voters, without the one of that ID.
func countVoters(members []Member, without uint64) votes {
	var v votes
	for _, m := range members {
		if m.Learner || without != 0 && m.ID == without {
			continue
		}
		v.voters++
		if m.Healthy == True {
			v.healthy++
		}
	}
	return v
}

func learners(members []Member) int {
	n := 0
	for _, m := range members {
		if m.Learner {
			n++
		}
	}
	return n
}

func describeMember(m Member) string {
	if m.Name == "" {
		return fmt.Sprintf("%x", m.ID)
	}
	return m.Name
}

func are(n int, noun string) string {
	if n == 1 {
		return counted(n, noun) + " is"
	}
	return counted(n, noun) + " are"
}
