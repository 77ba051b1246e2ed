package kubeadmcontrolplane

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/kubeadm/config"
	"slipway.dev/slipway/internal/outcome"
	"slipway.dev/slipway/internal/plan"
	"slipway.dev/slipway/internal/remote"
)

const (
	// insideTimeout bounds what a reconcile asks of a workload cluster.
	insideTimeout = 20 * time.Second
	// etcdInterval is when etcd is asked again while all is well: its members' health makes no event.
	etcdInterval = 5 * time.Minute
	// settleInterval is when to look again while something inside the cluster is on its way.
	settleInterval = 2 * time.Second
	// youth is the age up to which a Machine is expected to come up.
	youth = 5 * time.Minute
	// troubleInterval is when to look again at what is not well and was.
	troubleInterval = 15 * time.Second
)

// inside is what was seen inside the workload cluster.
type inside struct {
	// status is the way into the cluster.
	status remote.Status
	// initialized says that kubeadm init has succeeded, now or once.
	initialized bool
	// nodes are the Nodes and static Pods of Machines, by the Machine's name.
	nodes map[string]nodeView
}

// nodeView is a Machine's Node with its static Pods.
type nodeView struct {
	node *corev1.Node
	pods remote.ControlPlane
	// err is why they could not be read.
	err error
}

// etcdView is the etcd of the cluster.
type etcdView struct {
	// known says that the members were read, remembered that it was some time ago.
	known, remembered bool
	members           []remote.Member
	// err is why they were not read.
	err error
}

// lookInside reads the workload cluster, as far as it answers. Nothing it finds is an error of the reconcile: a cluster
// that does not answer is a fact.
func (r *Reconciler) lookInside(ctx context.Context, s *scene) {
	ctx, cancel := context.WithTimeout(ctx, insideTimeout)
	defer cancel()
	s.inside.status = r.Clusters.Status(s.key)
	s.inside.initialized = isTrue(s.kcp.Status.Initialization.ControlPlaneInitialized) || isTrue(s.cluster.Status.Initialization.ControlPlaneInitialized)
	if !s.connected() {
		return
	}
	if !s.inside.initialized {
		s.inside.initialized = r.initialized(ctx, s)
	}
	s.inside.nodes = make(map[string]nodeView, len(s.machines))
	for _, m := range s.machines {
		if name := m.Status.NodeRef.Name; name != "" {
			s.inside.nodes[m.Name] = r.viewNode(s, name)
		}
	}
	if s.etcdManaged() && s.inside.initialized && len(s.machines) > 0 {
		s.etcd = r.viewEtcd(ctx, s)
	}
}

// initialized reports whether kubeadm init has left its configuration in the cluster, which others join by.
func (r *Reconciler) initialized(ctx context.Context, s *scene) bool {
	if len(s.machines) == 1 && s.machines[0].deleting() {
		return false // What is there goes away with the Machine.
	}
	c, err := r.Clusters.Client(ctx, s.key)
	if err == nil {
		err = c.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: config.ConfigMapName}, &corev1.ConfigMap{})
	}
	if err != nil {
		s.after = outcome.Sooner(s.after, settleInterval)
	}
	return err == nil
}

func (r *Reconciler) viewNode(s *scene, name string) nodeView {
	nodes, err := r.Clusters.Nodes(s.key)
	if err != nil {
		return nodeView{err: err}
	}
	var v nodeView
	if v.node, v.err = nodes.ByName(name); v.err != nil {
		return v
	}
	v.pods, v.err = r.Clusters.ControlPlane(s.key, name)
	return v
}

// viewEtcd returns the members of etcd: as they were when they were read last, if nothing has happened since and nobody
// is to be removed on the strength of it.
func (r *Reconciler) viewEtcd(ctx context.Context, s *scene) etcdView {
	if !s.removing() {
		if members, left := r.members.recall(s.kcp.UID, s.etcdPrint(), s.now); left > 0 {
			s.after = outcome.Sooner(s.after, left)
			return etcdView{known: true, remembered: true, members: members}
		}
	}
	return r.readEtcd(ctx, s)
}

// readEtcd asks etcd for its members, and remembers them when all are well.
func (r *Reconciler) readEtcd(ctx context.Context, s *scene) etcdView {
	members, err := r.askEtcd(ctx, s)
	if err != nil || !s.allWell(members) {
		r.members.forget(s.kcp.UID)
		s.after = outcome.Sooner(s.after, s.settling())
	} else {
		r.members.remember(s.kcp.UID, s.etcdPrint(), members, s.now)
		s.after = outcome.Sooner(s.after, etcdInterval)
	}
	return etcdView{known: err == nil, members: members, err: err}
}

// allWell reports whether every Machine with a Node has a member and every member is well.
func (s *scene) allWell(members []remote.Member) bool {
	joined := 0
	for _, m := range s.machines {
		if m.Status.NodeRef.IsDefined() {
			joined++
		}
	}
	return len(members) == joined && !slices.ContainsFunc(members, func(m remote.Member) bool {
		return m.Learner || m.Health != remote.MemberHealthy
	})
}

// settling is when to look again at something that makes no event and is not well: soon while Machines are new.
func (s *scene) settling() time.Duration {
	for _, m := range s.machines {
		if s.now.Sub(m.CreationTimestamp.Time) < youth {
			return settleInterval
		}
	}
	return troubleInterval
}

// removing reports whether a Machine is about to go.
func (s *scene) removing() bool {
	return len(s.machines) > int(replicasOf(s.kcp)) || slices.ContainsFunc(s.machines, func(m *machine) bool {
		return m.deleting() || len(m.outdated) > 0
	})
}

// etcdPrint is different whenever etcd is worth being asked again.
func (s *scene) etcdPrint() string {
	var b strings.Builder
	for _, m := range s.machines {
		v := s.inside.nodes[m.Name]
		fmt.Fprintf(&b, "%s/%s/%s/%t;", m.Name, m.Status.NodeRef.Name, v.pods.Etcd.Health, v.err != nil)
	}
	return b.String()
}

// askEtcd reads the members of etcd, by way of one that stays.
func (r *Reconciler) askEtcd(ctx context.Context, s *scene) ([]remote.Member, error) {
	door, err := r.Clusters.Etcd(ctx, s.key, s.leavingNodes()...)
	if err != nil {
		return nil, err
	}
	defer door.Close()
	return door.Members(ctx)
}

// leavingNodes are the Nodes of Machines that are being deleted.
func (s *scene) leavingNodes() []string {
	var list []string
	for _, m := range s.machines {
		if m.deleting() && m.Status.NodeRef.Name != "" {
			list = append(list, m.Status.NodeRef.Name)
		}
	}
	return list
}

// etcdFacts are the members as the plan wants them.
func (s *scene) etcdFacts(members []remote.Member, known bool) plan.EtcdFacts {
	f := plan.EtcdFacts{Known: plan.Unknown}
	if !known {
		return f
	}
	f.Known = plan.True
	for _, m := range members {
		f.Members = append(f.Members, plan.Member{
			ID: m.ID, Name: m.Name, Learner: m.Learner, Leader: m.Leader, Healthy: memberHealth(m), Machine: s.machineOf(m),
		})
	}
	return f
}

func memberHealth(m remote.Member) plan.Tri {
	switch m.Health {
	case remote.MemberHealthy:
		return plan.True
	case remote.MemberUnhealthy:
		return plan.False
	case remote.MemberUnknown:
	}
	return plan.Unknown
}

// machineOf returns the name of the Machine that an etcd member runs on: by its Node, by its own name for a Machine whose
// Node is not known yet, or by the address that the member is reached at, which no two members share. A Machine with a Node
// has no member of another name: that one was there before, at the same address.
func (s *scene) machineOf(member remote.Member) string {
	if m := s.memberMachine(member); m != nil {
		return m.Name
	}
	return ""
}

func (s *scene) memberMachine(member remote.Member) *machine {
	for _, match := range []func(*machine) bool{
		func(m *machine) bool { return member.Name != "" && m.Status.NodeRef.Name == member.Name },
		func(m *machine) bool {
			return member.Name != "" && !m.Status.NodeRef.IsDefined() && m.Name == member.Name
		},
		func(m *machine) bool {
			return (member.Name == "" || !m.Status.NodeRef.IsDefined()) && hasAddress(m, member.PeerURLs)
		},
	} {
		if i := slices.IndexFunc(s.machines, match); i >= 0 {
			return s.machines[i]
		}
	}
	return nil
}

func hasAddress(m *machine, urls []string) bool {
	for _, raw := range urls {
		u, err := url.Parse(raw)
		if err != nil {
			continue
		}
		for _, a := range m.Status.Addresses {
			if a.Address == u.Hostname() {
				return true
			}
		}
	}
	return false
}

// memberLog remembers the members of etcds that were well, so that the many reconciles while Machines come up do not each
// open connections into the cluster. It is safe for concurrent use.
type memberLog struct {
	mu   sync.Mutex // guards seen
	seen map[types.UID]memberRecord
}

type memberRecord struct {
	print   string
	at      time.Time
	members []remote.Member
}

func newMemberLog() *memberLog { return &memberLog{seen: map[types.UID]memberRecord{}} }

// recall returns the members and for how long they may still be relied on; not at all when that is 0.
func (l *memberLog) recall(owner types.UID, print string, now time.Time) ([]remote.Member, time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	rec, ok := l.seen[owner]
	left := rec.at.Add(etcdInterval).Sub(now)
	if !ok || rec.print != print || left <= 0 {
		return nil, 0
	}
	return rec.members, left
}

func (l *memberLog) remember(owner types.UID, print string, members []remote.Member, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen[owner] = memberRecord{print: print, at: now, members: members}
}

func (l *memberLog) forget(owner types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.seen, owner)
}
