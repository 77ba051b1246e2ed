package etcd

import (
	"encoding/binary"
	"hash/fnv"
	"slices"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

// Alarm is what a member complains of: NOSPACE or CORRUPT.
type Alarm string

const (
	// AlarmNoSpace is raised when a member's quota is used up.
	AlarmNoSpace Alarm = "NOSPACE"
	// AlarmCorrupt is raised when a member's data is corrupt.
	AlarmCorrupt Alarm = "CORRUPT"
)

// Member is one member of a cluster.
type Member struct {
	// ID is never used again within a cluster.
	ID uint64 `json:"id"`
	// Name and ClientURLs are empty until the member has started.
	Name       string   `json:"name,omitempty"`
	PeerURLs   []string `json:"peerURLs"`
	ClientURLs []string `json:"clientURLs,omitempty"`
	Learner    bool     `json:"learner,omitempty"`
	// Down says that the member's process does not run.
	Down bool `json:"down,omitempty"`
	// Version is etcd's, such as 3.6.5.
	Version string  `json:"version,omitempty"`
	Alarms  []Alarm `json:"alarms,omitempty"`
}

func (m Member) started() bool { return m.Name != "" }

func (m Member) alive() bool { return m.started() && !m.Down }

// State is what the members of a cluster agree on. Its methods decide as etcd does with strict reconfiguration checks.
type State struct {
	ClusterID uint64   `json:"clusterID"`
	Members   []Member `json:"members"`
	// Leader is 0 while there is none.
	Leader uint64 `json:"leader,omitempty"`
	Term   uint64 `json:"term"`
	// Index counts changes.
	Index uint64 `json:"index"`
}

// maxLearners is etcd's default.
const maxLearners = 1

func (s *State) at(id uint64) int {
	return slices.IndexFunc(s.Members, func(m Member) bool { return m.ID == id })
}

func (s *State) named(name string) int {
	return slices.IndexFunc(s.Members, func(m Member) bool { return m.Name == name && name != "" })
}

// count returns how many voters satisfy a condition.
func (s *State) count(is func(Member) bool) int {
	n := 0
	for _, m := range s.Members {
		if !m.Learner && is(m) {
			n++
		}
	}
	return n
}

func (s *State) voters() int { return s.count(func(Member) bool { return true }) }

func (s *State) living() int { return s.count(Member.alive) }

// quorum says whether enough voters live for anything to be decided.
func (s *State) quorum() bool {
	return s.voters() > 0 && s.living() >= s.voters()/2+1
}

// elect keeps the leader while it lives and votes, and makes the longest-standing living voter the next. Without a quorum there is none.
func (s *State) elect() {
	if !s.quorum() {
		s.Leader = 0
		return
	}
	if i := s.at(s.Leader); i >= 0 && s.Members[i].alive() && !s.Members[i].Learner {
		return
	}
	i := slices.IndexFunc(s.Members, func(m Member) bool { return m.alive() && !m.Learner })
	s.Leader = s.Members[i].ID
	s.Term++
}

// nextID makes an identifier from the peer URLs and the number of changes, so that none comes twice.
func (s *State) nextID(peerURLs []string) uint64 {
	h := fnv.New64a()
	var index [8]byte
	for salt := s.Index; ; salt++ {
		h.Reset()
		binary.LittleEndian.PutUint64(index[:], salt)
		_, _ = h.Write(index[:]) // hashes never fail
		for _, u := range peerURLs {
			_, _ = h.Write([]byte(u)) // as above
		}
		if id := h.Sum64(); id != 0 && s.at(id) < 0 {
			return id
		}
	}
}

// add admits a member that is yet to start.
func (s *State) add(peerURLs []string, learner bool) (Member, error) {
	for _, m := range s.Members {
		if slices.ContainsFunc(m.PeerURLs, func(u string) bool { return slices.Contains(peerURLs, u) }) {
			return Member{}, rpctypes.ErrGRPCPeerURLExist
		}
	}
	voters, started := s.voters(), s.count(Member.started)
	if !learner && voters > 0 && !(voters == 1 && started == 1) && started < (voters+1)/2+1 {
		return Member{}, rpctypes.ErrGRPCMemberNotEnoughStarted
	}
	// The new member counts as absent, even a learner, which will vote one day.
	if voters > 1 && s.living() < (voters+1)/2+1 {
		return Member{}, rpctypes.ErrGRPCUnhealthy
	}
	learners := len(s.Members) - voters
	if learner && learners >= maxLearners {
		return Member{}, rpctypes.ErrGRPCTooManyLearners
	}
	m := Member{ID: s.nextID(peerURLs), PeerURLs: slices.Clone(peerURLs), Learner: learner}
	s.Members = append(s.Members, m)
	return m, nil
}

// remove lets a member go, unless the rest would lose its quorum. via is the member that is asked.
func (s *State) remove(id, via uint64) error {
	i := s.at(id)
	if i < 0 {
		return rpctypes.ErrGRPCMemberNotFound
	}
	m := s.Members[i]
	if !m.Learner {
		rest := s.voters() - 1
		started := s.count(func(o Member) bool { return o.ID != id && o.started() })
		if rest == 0 || started < rest/2+1 {
			return rpctypes.ErrGRPCMemberNotEnoughStarted
		}
		if (m.alive() || id == via) && s.living()-1 < rest/2+1 {
			return rpctypes.ErrGRPCUnhealthy
		}
	}
	s.Members = slices.Delete(s.Members, i, i+1)
	return nil
}

// promote lets a learner vote.
func (s *State) promote(id uint64) error {
	i := s.at(id)
	switch {
	case i < 0:
		return rpctypes.ErrGRPCMemberNotFound
	case !s.Members[i].Learner:
		return rpctypes.ErrGRPCMemberNotLearner
	case !s.Members[i].alive():
		return rpctypes.ErrGRPCLearnerNotReady
	case s.count(Member.started)+1 < (s.voters()+1)/2+1:
		return rpctypes.ErrGRPCMemberNotEnoughStarted
	}
	s.Members[i].Learner = false
	return nil
}

// moveLeader hands the lead to another voter.
func (s *State) moveLeader(to uint64) error {
	i := s.at(to)
	switch {
	case i < 0 || s.Members[i].Learner:
		return rpctypes.ErrGRPCBadLeaderTransferee
	case !s.Members[i].alive():
		return rpctypes.ErrGRPCTimeoutDueToLeaderFail
	}
	if s.Leader != to {
		s.Leader = to
		s.Term++
	}
	return nil
}

// update changes a member's peer URLs.
func (s *State) update(id uint64, peerURLs []string) error {
	i := s.at(id)
	if i < 0 {
		return rpctypes.ErrGRPCMemberNotFound
	}
	for j, m := range s.Members {
		if j != i && slices.ContainsFunc(m.PeerURLs, func(u string) bool { return slices.Contains(peerURLs, u) }) {
			return rpctypes.ErrGRPCPeerURLExist
		}
	}
	s.Members[i].PeerURLs = slices.Clone(peerURLs)
	return nil
}

// clone copies the state deeply.
func (s *State) clone() *State {
	out := *s
	out.Members = make([]Member, len(s.Members))
	for i, m := range s.Members {
		m.PeerURLs, m.ClientURLs, m.Alarms = slices.Clone(m.PeerURLs), slices.Clone(m.ClientURLs), slices.Clone(m.Alarms)
		out.Members[i] = m
	}
	return &out
}

// wire shows the members as etcd's API does.
func (s *State) wire() []*pb.Member {
	out := make([]*pb.Member, 0, len(s.Members))
	for _, m := range s.Members {
		out = append(out, m.wire())
	}
	return out
}

func (m Member) wire() *pb.Member {
	return &pb.Member{ID: m.ID, Name: m.Name, PeerURLs: m.PeerURLs, ClientURLs: m.ClientURLs, IsLearner: m.Learner}
}

// wireAlarms lists the raised alarms.
func (s *State) wireAlarms() []*pb.AlarmMember {
	var out []*pb.AlarmMember
	for _, m := range s.Members {
		for _, a := range m.Alarms {
			out = append(out, &pb.AlarmMember{MemberID: m.ID, Alarm: pb.AlarmType(pb.AlarmType_value[string(a)])})
		}
	}
	return out
}
