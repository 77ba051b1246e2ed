package remote

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Clusters holds the connections to all workload clusters. Its methods may be called from any goroutine, and none but
// Start and Etcd waits for a remote end.
type Clusters struct {
	options Options
	kinds   kinds
	codecs  serializer.CodecFactory
	metrics *metrics

	connections subscriptions[ConnectionEvent]
	nodeChanges subscriptions[NodeEvent]

	wake     chan struct{} // tells the timetable that something is due sooner than it thought
	stopping chan struct{} // closed when Start is told to end
	tasks    sync.WaitGroup

	mu       sync.Mutex // guards what follows, and every cluster in it
	clusters map[types.NamespacedName]*cluster
	table    timetable
	pools    [2]pool
	stopped  bool
}

// cluster is what is known of one cluster; Clusters.mu guards it.
type cluster struct {
	Status
	key  types.NamespacedName
	conn *connection

	// due is when a worker is to look after the cluster next; zero for never. index is its place in the timetable.
	due   time.Time
	index int
	// busy is set while a worker looks after the cluster, queued while it waits for one.
	busy, queued bool
	// changed is set when the kubeconfig is to be read again.
	changed bool
	// lost holds the watches that have ended and are to be taken up again, and since how many attempts.
	lost       []*watched
	lostTries  int
	probeDue   time.Time
	retryDue   time.Time
	watchesDue time.Time
	etcdDue    time.Time
	// attempted and failedAt are when it was last tried to connect and when a probe or an attempt last failed.
	attempted, failedAt time.Time
	// told is the longest silence that subscribers have been told of since the cluster last answered.
	told       time.Duration
	toldDue    time.Time
	toldBroken bool
}

// New makes a Clusters. It does nothing until Start runs; until then every cluster is not connected.
func New(options Options) (*Clusters, error) {
	options = options.withDefaults()
	if options.Reader == nil {
		return nil, errors.New("make the door to workload clusters: a reader of the management cluster is required")
	}
	known, err := newKinds()
	if err != nil {
		return nil, err
	}
	c := &Clusters{
		options:  options,
		kinds:    known,
		codecs:   serializer.NewCodecFactory(known.scheme),
		wake:     make(chan struct{}, 1),
		stopping: make(chan struct{}),
		clusters: map[types.NamespacedName]*cluster{},
	}
	if c.metrics, err = newMetrics(c, options.Registerer); err != nil {
		return nil, err
	}
	return c, nil
}

// Start implements manager.Runnable: it keeps the connections until ctx ends, then closes them all and returns when
// nothing of it runs any more. It can be called once.
func (c *Clusters) Start(ctx context.Context) error {
	c.keepTime(ctx)

	c.mu.Lock()
	c.stopped = true
	close(c.stopping)
	for _, cl := range c.clusters {
		c.disconnect(cl)
	}
	c.mu.Unlock()
	c.tasks.Wait()
	return nil
}

// Changed says that something may have happened to a cluster that matters for the way into it: its kubeconfig Secret
// came, changed or went, its endpoint is known, a control-plane Machine has booted. The kubeconfig is read again, and
// an attempt that was waiting for its time is made at once. Calling it too often costs little.
func (c *Clusters) Changed(key types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	cl, ok := c.clusters[key]
	if !ok {
		cl = &cluster{key: key, Status: Status{State: Absent}, index: -1}
		c.clusters[key] = cl
	}
	cl.changed = true
	c.reschedule(cl)
}

// Forget says that a Cluster is gone. Its connection is closed, and all that was known of it is dropped.
func (c *Clusters) Forget(key types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	cl, ok := c.clusters[key]
	if !ok {
		return
	}
	delete(c.clusters, key)
	c.table.remove(cl)
	c.disconnect(cl)
}

// Client returns a client of a connected workload cluster, or ErrNotConnected at once. It reads from the API server,
// never from a cache, and knows the kinds listed in kinds.go. It is safe to keep for one reconcile; when the connection
// closes, its calls return ErrNotConnected.
func (c *Clusters) Client(_ context.Context, key types.NamespacedName) (client.Client, error) {
	conn, err := c.connection(key)
	if err != nil {
		return nil, err
	}
	return conn.client()
}

func (c *Clusters) connection(key types.NamespacedName) (*connection, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	cl, ok := c.clusters[key]
	if !ok || cl.conn == nil {
		return nil, fmt.Errorf("cluster %s: %w", key, ErrNotConnected)
	}
	return cl.conn, nil
}

// run starts a goroutine that Start waits for; it does nothing once everything is being stopped.
func (c *Clusters) run(task func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.runLocked(task)
}

// runLocked is run for a caller that holds c.mu; it tells whether the goroutine was started.
func (c *Clusters) runLocked(task func()) bool {
	if c.stopped {
		return false
	}
	c.tasks.Go(task)
	return true
}

// disconnect closes the connection of a cluster, if it has one, and tells of it.
func (c *Clusters) disconnect(cl *cluster) {
	if cl.conn == nil {
		return
	}
	conn := cl.conn
	cl.conn, cl.lost, cl.lostTries = nil, nil, 0
	cl.ConnectedSince, cl.probeDue, cl.watchesDue, cl.etcdDue = time.Time{}, time.Time{}, time.Time{}, time.Time{}
	c.closeEtcd(conn.close()...)
	c.options.Log.V(1).Info("connection closed", "cluster", cl.key)
	c.connections.publish(ConnectionEvent{Cluster: cl.key, Change: Closed})
}
