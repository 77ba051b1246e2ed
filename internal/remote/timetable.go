package remote

import (
	"container/heap"
	"context"
	"slices"
	"time"
)

// never is longer than any wait; the timetable wakes then for nothing.
const never = time.Hour

// burst is the shortest time between two attempts to connect to one cluster.
const burst = 200 * time.Millisecond

// timetable orders clusters by when they are due. It implements heap.Interface.
type timetable []*cluster

// Len implements sort.Interface.
func (t timetable) Len() int { return len(t) }

// Less implements sort.Interface.
func (t timetable) Less(i, j int) bool { return t[i].due.Before(t[j].due) }

// Swap implements sort.Interface.
func (t timetable) Swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].index, t[j].index = i, j
}

// Push implements heap.Interface.
func (t *timetable) Push(x any) {
	cl := x.(*cluster)
	cl.index = len(*t)
	*t = append(*t, cl)
}

// Pop implements heap.Interface.
func (t *timetable) Pop() any {
	last := len(*t) - 1
	cl := (*t)[last]
	(*t)[last] = nil
	*t = (*t)[:last]
	cl.index = -1
	return cl
}

// set makes a cluster due at a time; zero takes it off the timetable.
func (t *timetable) set(cl *cluster, due time.Time) {
	cl.due = due
	switch {
	case due.IsZero():
		t.remove(cl)
	case cl.index < 0:
		heap.Push(t, cl)
	default:
		heap.Fix(t, cl.index)
	}
}

func (t *timetable) remove(cl *cluster) {
	if cl.index >= 0 {
		heap.Remove(t, cl.index)
	}
}

// pool bounds how many clusters of one kind are looked after at once; those beyond wait their turn in order.
type pool struct {
	running int
	waiting []*cluster
}

const (
	answering = iota // the pool of clusters that answered last time
	silent           // the pool of those that did not
)

// keepTime runs the timetable until ctx ends.
func (c *Clusters) keepTime(ctx context.Context) {
	timer := time.NewTimer(never)
	defer timer.Stop()
	for {
		timer.Reset(c.dispatch(ctx))
		select {
		case <-ctx.Done():
			return
		case <-c.wake:
		case <-timer.C:
		}
	}
}

// dispatch gives what is due to workers, as far as there are any free, and returns the time until more is due.
func (c *Clusters) dispatch(ctx context.Context) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.options.Now()
	for len(c.table) > 0 && !c.table[0].due.After(now) {
		cl := heap.Pop(&c.table).(*cluster)
		if !c.needsWorker(cl, now) {
			c.lightWork(cl, now)
			c.reschedule(cl)
			continue
		}
		cl.queued = true
		p := &c.pools[poolOf(cl)]
		p.waiting = append(p.waiting, cl)
	}
	for i := range c.pools {
		c.fill(ctx, &c.pools[i])
	}
	if len(c.table) == 0 {
		return never
	}
	return max(0, c.table[0].due.Sub(now))
}

func poolOf(cl *cluster) int {
	if cl.ConsecutiveFailures > 0 {
		return silent
	}
	return answering
}

// fill starts a worker for each waiting cluster that there is room for.
func (c *Clusters) fill(ctx context.Context, p *pool) {
	for p.running < c.options.Workers && len(p.waiting) > 0 {
		cl := p.waiting[0]
		p.waiting = slices.Delete(p.waiting, 0, 1)
		cl.queued, cl.busy = false, true
		p.running++
		c.runLocked(func() {
			c.visit(ctx, cl)
			c.mu.Lock()
			defer c.mu.Unlock()
			p.running--
			cl.busy = false
			c.reschedule(cl)
			signal(c.wake)
		})
	}
}

// reschedule works out when the cluster is due next.
func (c *Clusters) reschedule(cl *cluster) {
	if cl.busy || cl.queued || c.clusters[cl.key] != cl {
		return
	}
	due := cl.nextDue(c.options.Now())
	c.table.set(cl, due)
	if cl.index == 0 {
		signal(c.wake)
	}
}

// nextDue is the earliest of what a cluster waits for; zero when it waits for nothing.
func (cl *cluster) nextDue(now time.Time) time.Time {
	if cl.changed {
		// News about a cluster that does not answer may come in bursts.
		if again := cl.attempted.Add(burst); cl.conn == nil && again.After(now) {
			return again
		}
		return now
	}
	var due time.Time
	for _, t := range []time.Time{cl.probeDue, cl.retryDue, cl.watchesDue, cl.etcdDue, cl.toldDue} {
		if !t.IsZero() && (due.IsZero() || t.Before(due)) {
			due = t
		}
	}
	return due
}

// needsWorker tells whether anything is due that talks to the cluster.
func (c *Clusters) needsWorker(cl *cluster, now time.Time) bool {
	if cl.changed || reached(cl.retryDue, now) || reached(cl.watchesDue, now) {
		return true
	}
	if !reached(cl.probeDue, now) {
		return false
	}
	// Whoever answered us within the interval need not be asked again.
	if heard := cl.conn.door.lastHeard(); heard.After(cl.failedAt) && now.Sub(heard) < c.options.ProbeInterval {
		c.succeeded(cl, heard)
		cl.probeDue = heard.Add(c.options.ProbeInterval)
		return false
	}
	return true
}

// lightWork does what is due and takes no time.
func (c *Clusters) lightWork(cl *cluster, now time.Time) {
	if reached(cl.toldDue, now) {
		c.tellSilence(cl, now)
	}
	if reached(cl.etcdDue, now) {
		due, unused := cl.conn.etcd.reap(now, c.options.EtcdIdle)
		cl.etcdDue = due
		c.closeEtcd(unused...)
	}
}

func reached(due, now time.Time) bool { return !due.IsZero() && !due.After(now) }
