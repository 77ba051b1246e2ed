package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"
)

// MemberHealth is whether an etcd member answers for itself.
type MemberHealth string

const (
	// MemberHealthy means that the member answered, knows a leader and reports no error.
	MemberHealthy MemberHealth = "Healthy"
	// MemberUnhealthy means that the member answered and is not well.
	MemberUnhealthy MemberHealth = "Unhealthy"
	// MemberUnknown means that the member could not be asked: it has no Pod, has not started, or does not answer.
	MemberUnknown MemberHealth = "Unknown"
)

// Alarm is what etcd complains of about a member.
type Alarm string

const (
	// AlarmNoSpace means that the member's storage quota is used up; the cluster accepts no more writes.
	AlarmNoSpace Alarm = "NOSPACE"
	// AlarmCorrupt means that the member's data is corrupt.
	AlarmCorrupt Alarm = "CORRUPT"
)

// Member is a member of a cluster's etcd.
type Member struct {
	// ID is etcd's name for the member; it is never used again.
	ID uint64
	// Name is the name of the member's Node; empty until the member has started.
	Name string
	// PeerURLs and ClientURLs are as the member announced them.
	PeerURLs, ClientURLs []string
	// Learner tells that the member does not vote yet.
	Learner bool
	// Leader tells that the member leads.
	Leader bool
	// Alarms are those that are raised for the member, in order.
	Alarms []Alarm
	// Health and Message are the member's own word on how it does, Message only when it is not well.
	Health  MemberHealth
	Message string
	// Version and DBSize (in bytes) are the member's own word too; empty and zero when Health is Unknown.
	Version string
	DBSize  int64
}

// Etcd is the door to one cluster's etcd. It is for one piece of work: Close it soon.
type Etcd struct {
	clusters *Clusters
	key      types.NamespacedName
	conn     *connection
	contact  *etcdMember
	// status is what the contact said when it was reached; leader is the ID of the leading member.
	status *etcdserverpb.StatusResponse
	leader uint64
}

// Etcd reaches the etcd of a connected cluster through a member whose Pod is well, and not on one of the Nodes to avoid
// (that which is leaving) unless there is no other. It returns ErrNotConnected, ErrEtcdUnmanaged, or, when no member
// answered in time, ErrNoEtcdMember with what each said. The caller must Close what it gets.
func (c *Clusters) Etcd(ctx context.Context, key types.NamespacedName, avoid ...string) (*Etcd, error) {
	conn, err := c.connection(key)
	if err != nil {
		return nil, err
	}
	if err := c.etcdCredentials(ctx, key, conn); err != nil {
		return nil, err
	}
	nodes := contacts(conn.pods.etcdNodes(), avoid)
	failures := []error{fmt.Errorf("cluster %s: %w", key, ErrNoEtcdMember)}
	for _, node := range nodes {
		e := &Etcd{clusters: c, key: key, conn: conn}
		e.contact, e.status, err = e.reach(ctx, node)
		if err == nil {
			e.leader = e.status.Leader
			return e, nil
		}
		failures = append(failures, err)
		if ctx.Err() != nil {
			break
		}
	}
	// Perhaps it is we who are not believed any more: the user may have exchanged etcd's CA.
	conn.etcd.distrust()
	return nil, errors.Join(failures...)
}

// contacts puts Nodes in the order in which their members are tried: those to avoid only when there are no others.
func contacts(nodes, avoid []string) []string {
	others := slices.DeleteFunc(slices.Clone(nodes), func(node string) bool { return slices.Contains(avoid, node) })
	if len(others) == 0 {
		return nodes
	}
	return others
}

// Contact is the Node of the member that is asked.
func (e *Etcd) Contact() string { return e.contact.node }

// Close gives back the connection, which is kept a few seconds for the next caller.
func (e *Etcd) Close() { e.release(e.contact) }

// reach returns a connection to the member on a Node that has just answered. A connection that was lying around may
// have died meanwhile, which says nothing of the member.
func (e *Etcd) reach(ctx context.Context, node string) (*etcdMember, *etcdserverpb.StatusResponse, error) {
	bounded, cancel := context.WithTimeout(ctx, e.clusters.options.EtcdDialTimeout)
	defer cancel()
	for {
		m, used, err := e.conn.etcd.take(node, e.clusters.options)
		if err != nil {
			return nil, nil, fmt.Errorf("etcd member on %s: %w", node, err)
		}
		status, err := m.maintenance.Status(bounded, &etcdserverpb.StatusRequest{})
		if err == nil {
			return m, status, nil
		}
		e.clusters.reapEtcd(e.key, e.conn, time.Time{}, e.conn.etcd.discard(m))
		if !used {
			return nil, nil, fmt.Errorf("etcd member on %s: ask for its status: %w", node, err)
		}
	}
}

func (e *Etcd) release(m *etcdMember) {
	due, stale := e.conn.etcd.giveBack(m, e.clusters.options.Now(), e.clusters.options.EtcdIdle)
	e.clusters.reapEtcd(e.key, e.conn, due, stale)
}

func (e *Etcd) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, e.clusters.options.EtcdCallTimeout)
}

// Members lists the members, ordered by name and ID, and asks each that can be reached how it does.
func (e *Etcd) Members(ctx context.Context) ([]Member, error) {
	bounded, cancel := e.bound(ctx)
	defer cancel()
	list, err := e.contact.cluster.MemberList(bounded, &etcdserverpb.MemberListRequest{Linearizable: true})
	if err != nil {
		return nil, fmt.Errorf("list etcd members by way of %s: %w", e.contact.node, err)
	}
	alarms, err := e.Alarms(bounded)
	if err != nil {
		return nil, err
	}
	members := make([]Member, len(list.Members))
	var asked errgroup.Group
	asked.SetLimit(8)
	for i, m := range list.Members {
		members[i] = Member{
			ID: m.ID, Name: m.Name, PeerURLs: m.PeerURLs, ClientURLs: m.ClientURLs, Learner: m.IsLearner, Alarms: alarms[m.ID],
			Leader: m.ID == e.leader,
		}
		asked.Go(func() error {
			e.ask(bounded, &members[i])
			return nil
		})
	}
	if err := asked.Wait(); err != nil {
		return nil, err
	}
	slices.SortFunc(members, func(a, b Member) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	return members, nil
}

// ask fills in what a member says of itself.
func (e *Etcd) ask(ctx context.Context, member *Member) {
	member.Health = MemberUnknown
	if member.Name == "" {
		member.Message = "The member has not started"
		return
	}
	status := e.status
	if member.Name != e.contact.node {
		reached, said, err := e.reach(ctx, member.Name)
		if err != nil {
			member.Message = "The member does not answer: " + reason(err)
			return
		}
		defer e.release(reached)
		status = said
	}
	member.Version, member.DBSize = status.Version, status.DbSize
	switch {
	case status.Header != nil && status.Header.MemberId != member.ID:
		member.Health = MemberUnhealthy
		member.Message = fmt.Sprintf("The etcd on Node %s is another member (%x)", member.Name, status.Header.MemberId)
	case status.Leader == 0:
		member.Health, member.Message = MemberUnhealthy, "The member knows no leader"
	case len(status.Errors) > 0:
		member.Health, member.Message = MemberUnhealthy, "The member reports: "+status.Errors[0]
	case len(member.Alarms) > 0:
		member.Health, member.Message = MemberUnhealthy, "The alarm "+string(member.Alarms[0])+" is raised"
	default:
		member.Health = MemberHealthy
	}
}

// Alarms returns the alarms that are raised, by member ID.
func (e *Etcd) Alarms(ctx context.Context) (map[uint64][]Alarm, error) {
	bounded, cancel := e.bound(ctx)
	defer cancel()
	answer, err := e.contact.maintenance.Alarm(bounded, &etcdserverpb.AlarmRequest{
		Action: etcdserverpb.AlarmRequest_GET, Alarm: etcdserverpb.AlarmType_NONE,
	})
	if err != nil {
		return nil, fmt.Errorf("list etcd alarms by way of %s: %w", e.contact.node, err)
	}
	alarms := map[uint64][]Alarm{}
	for _, a := range answer.Alarms {
		if a.Alarm == etcdserverpb.AlarmType_NONE {
			continue
		}
		alarms[a.MemberID] = append(alarms[a.MemberID], Alarm(a.Alarm.String()))
	}
	for id := range alarms {
		slices.Sort(alarms[id])
	}
	return alarms, nil
}

// MoveLeader makes a member the leader; nothing happens when it leads already. The present leader is asked to do so,
// for no other member can, even if it is on a Node to avoid.
func (e *Etcd) MoveLeader(ctx context.Context, to uint64) error {
	bounded, cancel := e.bound(ctx)
	defer cancel()
	leader := e.leader
	if leader == to {
		return nil
	}
	list, err := e.contact.cluster.MemberList(bounded, &etcdserverpb.MemberListRequest{Linearizable: true})
	if err != nil {
		return fmt.Errorf("list etcd members by way of %s: %w", e.contact.node, err)
	}
	at := slices.IndexFunc(list.Members, func(m *etcdserverpb.Member) bool { return m.ID == leader })
	if at < 0 || list.Members[at].Name == "" {
		return fmt.Errorf("move etcd leadership to %x: the leader %x is not among the members", to, leader)
	}
	m := e.contact
	if list.Members[at].Name != e.contact.node {
		if m, _, err = e.reach(bounded, list.Members[at].Name); err != nil {
			return fmt.Errorf("move etcd leadership to %x: %w", to, err)
		}
		defer e.release(m)
	}
	if _, err := m.maintenance.MoveLeader(bounded, &etcdserverpb.MoveLeaderRequest{TargetID: to}); err != nil {
		return fmt.Errorf("move etcd leadership from %x to %x: %w", leader, to, err)
	}
	e.leader = to
	return nil
}

// RemoveMember removes a member; one that is gone already is no error. Whether it may go is not judged here.
func (e *Etcd) RemoveMember(ctx context.Context, id uint64) error {
	bounded, cancel := e.bound(ctx)
	defer cancel()
	_, err := e.contact.cluster.MemberRemove(bounded, &etcdserverpb.MemberRemoveRequest{ID: id})
	if err != nil && !errors.Is(rpctypes.Error(err), rpctypes.ErrMemberNotFound) {
		return fmt.Errorf("remove etcd member %x by way of %s: %w", id, e.contact.node, err)
	}
	return nil
}

// PromoteMember lets a learner vote; one that votes already is no error.
func (e *Etcd) PromoteMember(ctx context.Context, id uint64) error {
	bounded, cancel := e.bound(ctx)
	defer cancel()
	_, err := e.contact.cluster.MemberPromote(bounded, &etcdserverpb.MemberPromoteRequest{ID: id})
	if err != nil && !errors.Is(rpctypes.Error(err), rpctypes.ErrMemberNotLearner) {
		return fmt.Errorf("promote etcd member %x by way of %s: %w", id, e.contact.node, err)
	}
	return nil
}
