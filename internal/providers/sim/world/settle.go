package world

import (
	"errors"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"slipway.dev/slipway/internal/providers/sim/workload"
)

// Ail sets what is wrong with the cluster as a whole. An endpoint that cannot be listened on is a *ListenError, until it can.
func (c *Cluster) Ail(a Ailments) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return errClosed
	}
	_, unheard := c.world.doors.at(c.place.address(), c.place.tenant())
	if c.ailing.equal(a) && !c.unsettled {
		return unheard
	}
	if err := c.remember(ailingValue, a, a.equal(Ailments{})); err != nil {
		return err
	}
	c.ailing = a
	return errors.Join(unheard, c.settle())
}

// AilMachine sets what is wrong with a machine. A machine that has not run kubeadm yet is no error: there is nothing to see
// of it from outside. Nor is another machine of that name.
func (c *Cluster) AilMachine(name string, uid types.UID, a MachineAilments) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	m, ok := c.machines[name]
	if !ok || !m.Is(uid) || m.UID == uid && m.Lost == a.Lost && m.EtcdDead == a.EtcdDead && (m.Gone || !a.Gone) && !c.unsettled {
		return nil
	}
	m.UID, m.Lost, m.EtcdDead, m.Gone = uid, a.Lost, a.EtcdDead, m.Gone || a.Gone
	return c.settle()
}

// Delete takes a machine away. Its Node stays, as it does when a virtual machine is deleted; whoever deletes the Node ends
// its Pods. A machine that is not there is no error, and another of that name stays.
func (c *Cluster) Delete(name string, uid types.UID) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return errClosed
	}
	m, ok := c.machines[name]
	if !ok || !m.Is(uid) || c.api == nil {
		return nil
	}
	delete(c.machines, name)
	if err := c.saveMachines(); err != nil {
		c.machines[name] = m
		return err
	}
	if m.ControlPlane && c.members != nil {
		if err := c.members.SetAlive(m.Node, false); err != nil {
			return err
		}
	}
	return c.settle()
}

// settle writes down what the machines are and makes the world show which are alive: heartbeats, Ready conditions, etcd
// members, the endpoint. The caller holds mu. It is idempotent and runs after every change. An endpoint that cannot be listened
// on keeps nobody from anything else: it is no error here, Ail tells of it.
func (c *Cluster) settle() error {
	if c.api == nil {
		return nil
	}
	now := c.world.opts.Now()
	silent, alive, reachable, errs := c.callRoll(now)
	errs = append(errs, c.saveMachines(), c.showNodes(alive, silent, now))
	c.hearts.set(silent)
	if v := c.lowestVersion(); v != "" {
		c.api.SetVersion(v)
	}
	served := c.api.SetReachable(reachable && !c.ailing.Unreachable)
	c.world.tender.add(c)
	err := errors.Join(errs...)
	c.unsettled = served != nil || err != nil
	if isListenError(served) {
		return err
	}
	return errors.Join(err, served)
}

// callRoll tells since when which Nodes are silent, which Nodes have a machine, and whether an API server runs on one. It has the etcd
// members follow their machines. The caller holds mu.
func (c *Cluster) callRoll(now time.Time) (silent map[string]time.Time, alive map[string]bool, reachable bool, errs []error) {
	silent, alive = map[string]time.Time{}, map[string]bool{}
	for _, m := range c.machines {
		up := c.alive(m)
		alive[m.Node] = true
		if !up {
			silent[m.Node] = m.silentSince(now)
		} else {
			m.LostSince = time.Time{}
		}
		if m.ControlPlane {
			running := up || m.Lost && c.powered(m) // A kubelet that is not heard of leaves its Pods running.
			reachable = reachable || running
			if c.members != nil {
				errs = append(errs, c.members.SetAlive(m.Node, running && !m.EtcdDead))
			}
		}
	}
	return silent, alive, reachable, errs
}

// powered tells whether a machine is there and its zone has power.
func (c *Cluster) powered(m *machine) bool {
	return !m.Gone && (m.Zone == "" || !slices.Contains(c.ailing.ZonesDown, m.Zone))
}

func (c *Cluster) alive(m *machine) bool { return c.powered(m) && !m.Lost }

// silentSince remembers when a machine was last heard of.
func (m *machine) silentSince(now time.Time) time.Time {
	if m.LostSince.IsZero() {
		m.LostSince = now
	}
	return m.LostSince
}

// showNodes gives Nodes the Ready condition that a real cluster's node controller would, without its 40 seconds of grace.
// Nodes whose machine is gone become silent too.
func (c *Cluster) showNodes(known map[string]bool, silent map[string]time.Time, now time.Time) error {
	nodes, err := workload.List[*corev1.Node](c.api.Store(), "", nil)
	if err != nil {
		return err
	}
	var errs []error
	for _, node := range nodes {
		// Leases are not in the file, so that a restart begins without them.
		if lease := newLease(node, now); known[node.Name] && !workload.Has[*coordinationv1.Lease](c.api.Store(), types.NamespacedName{Namespace: lease.Namespace, Name: lease.Name}) {
			_, err := c.api.Store().Put(lease)
			errs = append(errs, err)
		}
		if !known[node.Name] {
			silent[node.Name] = lastReady(node, now)
		}
		_, quiet := silent[node.Name]
		if quiet == (readyStatus(node) == corev1.ConditionUnknown) {
			continue
		}
		_, err := workload.Modify(c.api.Store(), types.NamespacedName{Name: node.Name}, func(n *corev1.Node) error {
			setReady(n, quiet, now)
			return nil
		})
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func lastReady(node *corev1.Node, now time.Time) time.Time {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status == corev1.ConditionUnknown {
			return c.LastTransitionTime.Time
		}
	}
	return now
}

func readyStatus(node *corev1.Node) corev1.ConditionStatus {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status
		}
	}
	return ""
}

// setReady changes every condition of a Node to what its kubelet says, or to what is said of a kubelet that is silent.
func setReady(node *corev1.Node, silent bool, now time.Time) {
	node.Status.Conditions = nodeConditions(node.CreationTimestamp.Time)
	for i := range node.Status.Conditions {
		c := &node.Status.Conditions[i]
		c.LastTransitionTime = metav1.NewTime(now)
		if silent {
			c.Status, c.Reason, c.Message = corev1.ConditionUnknown, "NodeStatusUnknown", "Kubelet stopped posting node status."
		}
	}
	node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeUnreachable })
	if silent {
		at := metav1.NewTime(now)
		node.Spec.Taints = append(node.Spec.Taints,
			corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoSchedule, TimeAdded: &at},
			corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute, TimeAdded: &at})
	}
}
