package etcd

import (
	"errors"
	"fmt"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"pgregory.net/rapid"
)

// stateOf builds members from a word: V a living voter, v a dead one, L and l learners, U a voter that has not started.
func stateOf(word string) *State {
	s := &State{ClusterID: 1}
	for i, c := range word {
		m := Member{ID: uint64(i + 1), Name: fmt.Sprintf("m%d", i+1), PeerURLs: []string{fmt.Sprintf("https://10.0.0.%d:2380", i+1)}}
		switch c {
		case 'v':
			m.Down = true
		case 'L':
			m.Learner = true
		case 'l':
			m.Learner, m.Down = true, true
		case 'U':
			m.Name = ""
		}
		s.Members = append(s.Members, m)
	}
	s.elect()
	return s
}

func TestState_RefusesWhatEtcdRefuses(t *testing.T) {
	t.Parallel()
	add := func(learner bool) func(*State) error {
		return func(s *State) error { _, err := s.add([]string{"https://10.0.1.1:2380"}, learner); return err }
	}
	remove := func(id uint64) func(*State) error { return func(s *State) error { return s.remove(id, 1) } }
	promote := func(id uint64) func(*State) error { return func(s *State) error { return s.promote(id) } }
	move := func(id uint64) func(*State) error { return func(s *State) error { return s.moveLeader(id) } }
	for _, tc := range []struct {
		name, members string
		do            func(*State) error
		want          error
	}{
		{"a learner joins one member", "V", add(true), nil},
		{"a voter joins one member", "V", add(false), nil},
		{"a learner joins three", "VVV", add(true), nil},
		{"only one learner at a time", "VVVL", add(true), rpctypes.ErrGRPCTooManyLearners},
		{"a learner joins three of which one is dead", "VVv", add(true), rpctypes.ErrGRPCUnhealthy},
		{"a voter joins two of which one has not started", "VU", add(false), rpctypes.ErrGRPCMemberNotEnoughStarted},
		{"the same peer URL twice", "V", func(s *State) error { _, err := s.add([]string{"https://10.0.0.1:2380"}, true); return err }, rpctypes.ErrGRPCPeerURLExist},
		{"one of three leaves", "VVV", remove(3), nil},
		{"the dead one of three leaves", "VVv", remove(3), nil},
		{"a living one of three leaves when another is dead", "VVv", remove(2), rpctypes.ErrGRPCUnhealthy},
		{"a learner leaves", "VVL", remove(3), nil},
		{"the last member stays", "V", remove(1), rpctypes.ErrGRPCMemberNotEnoughStarted},
		{"one of two leaves", "VV", remove(2), nil},
		{"an unknown member leaves", "VVV", remove(9), rpctypes.ErrGRPCMemberNotFound},
		{"a learner is promoted", "VL", promote(2), nil},
		{"a dead learner is not", "Vl", promote(2), rpctypes.ErrGRPCLearnerNotReady},
		{"nor a voter", "VV", promote(2), rpctypes.ErrGRPCMemberNotLearner},
		{"nor nobody", "V", promote(2), rpctypes.ErrGRPCMemberNotFound},
		{"the lead moves to a voter", "VVV", move(3), nil},
		{"but not to a learner", "VVL", move(3), rpctypes.ErrGRPCBadLeaderTransferee},
		{"nor to a dead one", "VVv", move(3), rpctypes.ErrGRPCTimeoutDueToLeaderFail},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if err := tc.do(stateOf(tc.members)); !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
		})
	}
}

func TestState_ElectsOnlyWithAQuorum(t *testing.T) {
	t.Parallel()
	for word, leader := range map[string]uint64{"V": 1, "VVV": 1, "vVV": 2, "vvV": 0, "VVvv": 0, "vVVV": 2, "LV": 2, "": 0} {
		if got := stateOf(word).Leader; got != leader {
			t.Errorf("%q: leader %d, want %d", word, got, leader)
		}
	}
}

// TestState_NeverLosesItsQuorumByWhatItAllows starts and changes clusters at random: no permitted change of the membership takes
// a quorum away, and no ID comes twice.
func TestState_NeverLosesItsQuorumByWhatItAllows(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := stateOf("V")
		seen := map[uint64]bool{1: true}
		n := 1
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			i := rapid.IntRange(0, len(s.Members)-1).Draw(t, "member")
			id, had := s.Members[i].ID, s.quorum()
			switch rapid.SampledFrom([]string{"add", "start", "promote", "remove", "stop", "run", "move"}).Draw(t, "step") {
			case "add":
				n++
				if m, err := s.add([]string{fmt.Sprintf("https://10.0.0.%d:2380", n)}, true); err == nil {
					if seen[m.ID] {
						t.Fatalf("ID %x came twice", m.ID)
					}
					seen[m.ID] = true
				}
			case "start":
				s.Members[i].Name, s.Members[i].Down = fmt.Sprintf("m%x", id), false
			case "promote":
				_ = s.promote(id) // may be refused
			case "remove":
				if had {
					_ = s.remove(id, s.Leader) // may be refused
				}
			case "stop":
				s.Members[i].Down = true
				had = false
			case "run":
				s.Members[i].Down = false
			case "move":
				_ = s.moveLeader(id) // may be refused
			}
			s.Index++
			s.elect()
			if had && !s.quorum() {
				t.Fatalf("the quorum is lost: %+v", s.Members)
			}
			if s.Leader != 0 && (s.at(s.Leader) < 0 || s.Members[s.at(s.Leader)].Learner || !s.Members[s.at(s.Leader)].alive()) {
				t.Fatalf("%x leads and may not: %+v", s.Leader, s.Members)
			}
		}
	})
}
