package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// etcd returns a cluster of members on Machines cp-1, cp-2, ...: h healthy, d dead, u unknown, l a healthy learner, L a
// dead learner, g a dead voter without Machine, G a learner without name or Machine. The first member leads.
func etcd(members string) EtcdFacts {
	f := EtcdFacts{Known: True}
	for i, kind := range members {
		name := fmt.Sprintf("cp-%d", i+1)
		m := Member{ID: uint64(i + 1), Name: name, Machine: name, Healthy: True, Leader: i == 0}
		switch kind {
		case 'd':
			m.Healthy = False
		case 'u':
			m.Healthy = Unknown
		case 'l':
			m.Learner = true
		case 'L':
			m.Learner, m.Healthy = true, False
		case 'g':
			m.Machine, m.Healthy = "", False
		case 'G':
			m.Machine, m.Name, m.Learner, m.Healthy = "", "", true, False
		}
		f.Members = append(f.Members, m)
	}
	return f
}

func TestMayRemoveMember_ByNumbers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		members string
		id      uint64
		allowed bool
		says    string
	}{
		{"hhh", 1, true, "2 of 2 voting members healthy, 2 needed"},
		{"hhd", 3, true, "2 of 2"},
		{"hhd", 1, false, "1 of 2 voting members healthy, 2 needed"},
		{"hhu", 1, false, "1 of 2"},
		{"hdd", 3, false, "lost its quorum: 1 of 3"},
		{"hh", 2, true, "1 of 1"},
		{"hd", 2, false, "lost its quorum"},
		{"h", 1, false, "last voter"},
		{"hhhh", 1, true, "3 of 3"},
		{"hhhd", 1, true, "2 of 3"},
		{"hhhhh", 1, true, "4 of 4"},
		{"hhhdd", 1, false, "2 of 4"},
		{"hhhdd", 5, true, "3 of 4"},
		{"hhl", 3, true, "learner"},
		{"hhL", 3, true, "learner"},
		{"hhl", 1, false, "joining"},
		{"hhh", 9, true, "not in the list"},
	}
	for _, tt := range tests {
		v := MayRemoveMember(etcd(tt.members), tt.id)
		if v.Allowed != tt.allowed || !strings.Contains(v.Reason, tt.says) {
			t.Errorf("%s without %d: %v %q; want %v and %q", tt.members, tt.id, v.Allowed, v.Reason, tt.allowed, tt.says)
		}
	}
}

func TestMayRemoveMember_NeverUnread(t *testing.T) {
	t.Parallel()
	for _, known := range []Tri{Unknown, False} {
		f := etcd("hhh")
		f.Known = known
		if v := MayRemoveMember(f, 1); v.Allowed {
			t.Errorf("known %s: a member may leave: %s", known, v.Reason)
		}
		if v := MayRemoveMachine(f, "cp-9"); v.Allowed {
			t.Errorf("known %s: a Machine may go: %s", known, v.Reason)
		}
		if _, v := GhostMember(f, False); v.Allowed {
			t.Errorf("known %s: a ghost may go: %s", known, v.Reason)
		}
	}
}

func TestMayRemoveMachine_WithoutMemberTakesNoVote(t *testing.T) {
	t.Parallel()
	// The third Machine never joined, or its member was removed before the controller died.
	if v := MayRemoveMachine(etcd("hh"), "cp-3"); !v.Allowed || !strings.Contains(v.Reason, "2 of 2") {
		t.Errorf("cp-3 of two members: %+v; want allowed", v)
	}
	if v := MayRemoveMachine(etcd("hd"), "cp-3"); v.Allowed {
		t.Errorf("cp-3 while etcd has no quorum: %+v; want refused", v)
	}
	if v := MayRemoveMachine(etcd("hhd"), "cp-3"); !v.Allowed {
		t.Errorf("the dead third: %+v; want allowed", v)
	}
}

func TestGhostMember_OnlyOnceNobodyJoins(t *testing.T) {
	t.Parallel()
	tests := []struct {
		members string
		joining Tri
		want    uint64
	}{
		{"hhhG", False, 4},
		{"hhhG", True, 0},
		{"hhhG", Unknown, 0},
		{"hhh", False, 0},
		{"hhg", False, 3},
		{"hhhgG", False, 5},
		{"hg", False, 0}, // no quorum to agree with
	}
	for _, tt := range tests {
		m, v := GhostMember(etcd(tt.members), tt.joining)
		if v.Allowed != (tt.want != 0) || v.Allowed && m.ID != tt.want || v.Reason == "" {
			t.Errorf("%s, joining %s: member %d, %+v; want %d", tt.members, tt.joining, m.ID, v, tt.want)
		}
	}
}

// drawEtcd draws any etcd cluster.
func drawEtcd(t *rapid.T) EtcdFacts {
	kinds := rapid.SliceOfN(rapid.SampledFrom([]rune("hhhhduulLgG")), 1, 7).Draw(t, "members")
	return etcd(string(kinds))
}

// slowMayLeave is the rule by brute force: put every pair of a majority of voters to the vote.
func slowMayLeave(members []Member, id uint64) bool {
	agree := func(list []Member) bool {
		voters, yes := 0, 0
		for _, m := range list {
			if !m.Learner {
				voters++
				if m.Healthy == True {
					yes++
				}
			}
		}
		return voters > 0 && yes > voters-yes
	}
	i := slices.IndexFunc(members, func(m Member) bool { return m.ID == id })
	rest := slices.Delete(slices.Clone(members), i, i+1)
	if !agree(members) || !agree(rest) {
		return false
	}
	return members[i].Learner || !slices.ContainsFunc(members, func(m Member) bool { return m.Learner })
}

func TestMayRemoveMember_AgreesWithTheObviousCount(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := drawEtcd(t)
		for _, m := range f.Members {
			v := MayRemoveMember(f, m.ID)
			if v.Allowed != slowMayLeave(f.Members, m.ID) {
				t.Fatalf("member %d of %+v: %+v", m.ID, f.Members, v)
			}
		}
	})
}

// Safety: whatever sequence of allowed removals is made, while nothing else fails, etcd never loses its quorum and never
// its last voter.
func TestMayRemoveMember_NeverBreaksQuorum(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := drawEtcd(t)
		started := countVoters(f.Members, 0).quorate()
		for range 10 {
			if len(f.Members) == 0 {
				break
			}
			i := rapid.IntRange(0, len(f.Members)-1).Draw(t, "leaves")
			if MayRemoveMember(f, f.Members[i].ID).Allowed {
				f.Members = slices.Delete(f.Members, i, i+1)
			}
		}
		if v := countVoters(f.Members, 0); started && !v.quorate() {
			t.Fatalf("quorum lost: %s", v)
		}
	})
}

func TestLeaveEtcd_StepByStep(t *testing.T) {
	t.Parallel()
	others := []LeaveMachine{{Name: "cp-2", Created: at(2)}, {Name: "cp-3", Created: at(3)}}
	tests := []struct {
		name   string
		change func(*LeaveFacts)
		want   LeavePlan
	}{
		{"a leader hands over to the newest first", func(*LeaveFacts) {}, LeavePlan{Step: LeaveMoveLeader, Member: 1, To: 3}},
		{"not to one that is going", func(f *LeaveFacts) {
			f.Others = []LeaveMachine{others[0], {Name: "cp-3", Created: at(3), Deleting: true}}
		},
			LeavePlan{Step: LeaveMoveLeader, Member: 1, To: 2}},
		{"not to an unhealthy one", func(f *LeaveFacts) {
			f.Etcd = etcd("hhhd")
			f.Others = append(others, LeaveMachine{Name: "cp-4", Created: at(4)})
		},
			LeavePlan{Step: LeaveMoveLeader, Member: 1, To: 3}},
		{"a follower is removed", func(f *LeaveFacts) { f.Machine = "cp-2"; f.Others = []LeaveMachine{{Name: "cp-1"}, others[1]} }, LeavePlan{Step: LeaveRemoveMember, Member: 2}},
		{"a removed one is done", func(f *LeaveFacts) { f.Machine = "cp-4" }, LeavePlan{Step: LeaveDone}},
		{"other hooks come first", func(f *LeaveFacts) { f.OtherHooks = []string{"backup"} }, LeavePlan{Step: LeaveWaitHooks}},
		{"the last Machine just goes", func(f *LeaveFacts) { f.Others, f.Etcd = nil, etcd("h") }, LeavePlan{Step: LeaveDone}},
		{"external etcd stays", func(f *LeaveFacts) { f.EtcdManaged = false }, LeavePlan{Step: LeaveDone}},
		{"unknown members hold", func(f *LeaveFacts) { f.Etcd.Known = Unknown }, LeavePlan{Step: LeaveRefused}},
		{"a needed vote holds", func(f *LeaveFacts) { f.Etcd = etcd("hhd") }, LeavePlan{Step: LeaveRefused, Member: 1}},
		{"a learner holds", func(f *LeaveFacts) { f.Etcd = etcd("hhl") }, LeavePlan{Step: LeaveRefused, Member: 1}},
		{"a leader without successor holds", func(f *LeaveFacts) { f.Others = []LeaveMachine{{Name: "cp-9"}} }, LeavePlan{Step: LeaveRefused, Member: 1}},
	}
	for _, tt := range tests {
		f := LeaveFacts{Machine: "cp-1", Others: slices.Clone(others), EtcdManaged: true, Etcd: etcd("hhh")}
		tt.change(&f)
		got := LeaveEtcd(f)
		if got.Reason == "" {
			t.Errorf("%s: no reason", tt.name)
		}
		if got.Reason = ""; got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}
