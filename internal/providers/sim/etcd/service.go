package etcd

import (
	"context"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
)

// defaultVersion is told of members that were given none.
const defaultVersion = "3.6.5"

// dbSize is what a member's database takes: an empty etcd's.
const dbSize = 24 << 10

// call is one request, with the member it reached and the state it sees.
type call struct {
	cluster *Cluster
	state   *State
	self    Member
}

// begin finds the member that a request reached. One that is down or was removed answers as a stopped server.
func begin(ctx context.Context) (*call, error) {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return nil, rpctypes.ErrGRPCStopped
	}
	info, ok := p.AuthInfo.(memberInfo)
	if !ok {
		return nil, rpctypes.ErrGRPCStopped
	}
	state := info.cluster.State()
	i := state.named(info.member)
	if i < 0 || state.Members[i].Down {
		return nil, rpctypes.ErrGRPCStopped
	}
	return &call{cluster: info.cluster, state: state, self: state.Members[i]}, nil
}

// beginVoting is begin for what learners do not serve, and waits for a quorum if that is needed.
func beginVoting(ctx context.Context, linearizable bool) (*call, error) {
	c, err := begin(ctx)
	if err != nil {
		return nil, err
	}
	if c.self.Learner {
		return nil, rpctypes.ErrGRPCNotSupportedForLearner
	}
	md, _ := metadata.FromIncomingContext(ctx)
	requireLeader := len(md[rpctypes.MetadataRequireLeaderKey]) > 0
	if !linearizable && !requireLeader {
		return c, nil
	}
	if err := c.cluster.awaitQuorum(ctx, requireLeader); err != nil {
		return nil, err
	}
	c.state = c.cluster.State()
	return c, nil
}

func (c *call) header() *pb.ResponseHeader {
	return &pb.ResponseHeader{ClusterId: c.state.ClusterID, MemberId: c.self.ID, Revision: int64(c.state.Index), RaftTerm: c.state.Term}
}

// change applies a change of the membership and refreshes what the call sees.
func (c *call) change(fn func(*State) error) error {
	err := c.cluster.change(func(s *State) error {
		if !s.quorum() {
			return rpctypes.ErrGRPCNoLeader // it went since it was waited for
		}
		return fn(s)
	})
	c.state = c.cluster.State()
	return err
}

// clusterService is etcd's Cluster service.
type clusterService struct{ pb.UnimplementedClusterServer }

// MemberList lists the members.
func (clusterService) MemberList(ctx context.Context, r *pb.MemberListRequest) (*pb.MemberListResponse, error) {
	c, err := beginVoting(ctx, r.Linearizable)
	if err != nil {
		return nil, err
	}
	return &pb.MemberListResponse{Header: c.header(), Members: c.state.wire()}, nil
}

// MemberAdd admits a member.
func (clusterService) MemberAdd(ctx context.Context, r *pb.MemberAddRequest) (*pb.MemberAddResponse, error) {
	if !validURLs(r.PeerURLs) {
		return nil, rpctypes.ErrGRPCMemberBadURLs
	}
	c, err := beginVoting(ctx, true)
	if err != nil {
		return nil, err
	}
	var m Member
	err = c.change(func(s *State) error {
		m, err = s.add(r.PeerURLs, r.IsLearner)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &pb.MemberAddResponse{Header: c.header(), Member: m.wire(), Members: c.state.wire()}, nil
}

// MemberRemove lets a member go.
func (clusterService) MemberRemove(ctx context.Context, r *pb.MemberRemoveRequest) (*pb.MemberRemoveResponse, error) {
	c, err := beginVoting(ctx, true)
	if err != nil {
		return nil, err
	}
	if err := c.change(func(s *State) error { return s.remove(r.ID, c.self.ID) }); err != nil {
		return nil, err
	}
	return &pb.MemberRemoveResponse{Header: c.header(), Members: c.state.wire()}, nil
}

// MemberUpdate changes a member's peer URLs.
func (clusterService) MemberUpdate(ctx context.Context, r *pb.MemberUpdateRequest) (*pb.MemberUpdateResponse, error) {
	if !validURLs(r.PeerURLs) {
		return nil, rpctypes.ErrGRPCMemberBadURLs
	}
	c, err := beginVoting(ctx, true)
	if err != nil {
		return nil, err
	}
	if err := c.change(func(s *State) error { return s.update(r.ID, r.PeerURLs) }); err != nil {
		return nil, err
	}
	return &pb.MemberUpdateResponse{Header: c.header(), Members: c.state.wire()}, nil
}

// MemberPromote lets a learner vote.
func (clusterService) MemberPromote(ctx context.Context, r *pb.MemberPromoteRequest) (*pb.MemberPromoteResponse, error) {
	c, err := beginVoting(ctx, true)
	if err != nil {
		return nil, err
	}
	if err := c.change(func(s *State) error { return s.promote(r.ID) }); err != nil {
		return nil, err
	}
	return &pb.MemberPromoteResponse{Header: c.header(), Members: c.state.wire()}, nil
}

func validURLs(urls []string) bool {
	for _, u := range urls {
		if !strings.HasPrefix(u, "http://") && !strings.HasPrefix(u, "https://") {
			return false
		}
	}
	return len(urls) > 0
}

// maintenanceService is etcd's Maintenance service, without snapshots and hashes.
type maintenanceService struct {
	pb.UnimplementedMaintenanceServer
}

// Status is the member's own word on itself, which needs no quorum.
func (maintenanceService) Status(ctx context.Context, _ *pb.StatusRequest) (*pb.StatusResponse, error) {
	c, err := begin(ctx)
	if err != nil {
		return nil, err
	}
	version := c.self.Version
	if version == "" {
		version = defaultVersion
	}
	r := &pb.StatusResponse{
		Header: c.header(), Version: version, DbSize: dbSize, DbSizeInUse: dbSize, Leader: c.state.Leader, RaftTerm: c.state.Term,
		RaftIndex: c.state.Index, RaftAppliedIndex: c.state.Index, IsLearner: c.self.Learner,
	}
	if r.Leader == 0 {
		r.Errors = append(r.Errors, rpctypes.ErrorDesc(rpctypes.ErrGRPCNoLeader))
	}
	for _, a := range c.state.wireAlarms() {
		r.Errors = append(r.Errors, a.String())
	}
	return r, nil
}

// Alarm lists, raises and clears alarms.
func (maintenanceService) Alarm(ctx context.Context, r *pb.AlarmRequest) (*pb.AlarmResponse, error) {
	c, err := beginVoting(ctx, true) // even a list of alarms is agreed on
	if err != nil {
		return nil, err
	}
	if r.Action != pb.AlarmRequest_GET {
		if err := c.change(func(s *State) error { return s.setAlarm(r) }); err != nil {
			return nil, err
		}
	}
	return &pb.AlarmResponse{Header: c.header(), Alarms: c.state.wireAlarms()}, nil
}

// setAlarm raises or clears an alarm of a member.
func (s *State) setAlarm(r *pb.AlarmRequest) error {
	i := s.at(r.MemberID)
	if i < 0 {
		return rpctypes.ErrGRPCMemberNotFound
	}
	name := Alarm(r.Alarm.String())
	var kept []Alarm
	for _, a := range s.Members[i].Alarms {
		if a != name {
			kept = append(kept, a)
		}
	}
	if r.Action == pb.AlarmRequest_ACTIVATE {
		kept = append(kept, name)
	}
	s.Members[i].Alarms = kept
	return nil
}

// MoveLeader hands the lead to another member; only the leader does.
func (maintenanceService) MoveLeader(ctx context.Context, r *pb.MoveLeaderRequest) (*pb.MoveLeaderResponse, error) {
	c, err := beginVoting(ctx, false)
	if err != nil {
		return nil, err
	}
	if c.state.Leader != c.self.ID {
		return nil, rpctypes.ErrGRPCNotLeader
	}
	if err := c.change(func(s *State) error { return s.moveLeader(r.TargetID) }); err != nil {
		return nil, err
	}
	return &pb.MoveLeaderResponse{Header: c.header()}, nil
}

// Defragment has nothing to do.
func (maintenanceService) Defragment(ctx context.Context, _ *pb.DefragmentRequest) (*pb.DefragmentResponse, error) {
	c, err := beginVoting(ctx, false)
	if err != nil {
		return nil, err
	}
	return &pb.DefragmentResponse{Header: c.header()}, nil
}

// kvService answers reads, which is how etcd's health is often asked; there are no keys.
type kvService struct{ pb.UnimplementedKVServer }

// Range finds nothing.
func (kvService) Range(ctx context.Context, r *pb.RangeRequest) (*pb.RangeResponse, error) {
	c, err := begin(ctx)
	if err == nil && !r.Serializable {
		c, err = beginVoting(ctx, true)
	}
	if err != nil {
		return nil, err
	}
	return &pb.RangeResponse{Header: c.header()}, nil
}
