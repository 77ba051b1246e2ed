package remote

import (
	"cmp"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Options are the settings of a Clusters. Reader alone is required; what is zero gets the default named with it.
type Options struct {
	// Reader reads the Secrets of the management cluster: `<cluster>-kubeconfig` and `<cluster>-etcd`.
	Reader client.Reader
	// Registerer takes the metrics of the door. Nil: none are registered.
	Registerer prometheus.Registerer
	// Log is told of connections coming and going. The zero value is silent.
	Log logr.Logger
	// UserAgent is how requests introduce themselves. Default: slipway.
	UserAgent string

	// Workers is the size of each of the two pools that connect, probe and list. Default: 32.
	Workers int
	// QPS and Burst bound the requests that the clients of one cluster send. Default: 20 and 30.
	QPS   float32
	Burst int
	// Timeout bounds a request that is not a watch, and an attempt to connect. Default: 10 s.
	Timeout time.Duration
	// WatchTimeout is how long the server is asked to keep a watch open at most; it ends between half and all of
	// it. Default: 10 min.
	WatchTimeout time.Duration

	// ProbeInterval is the time between two probes. Default: 10 s.
	ProbeInterval time.Duration
	// ProbeTimeout bounds a probe. Default: 5 s.
	ProbeTimeout time.Duration
	// ProbeFailures is the number of failed probes in a row that ends a connection. Default: 5.
	ProbeFailures int

	// RetryFirst and RetryMost are the first and the longest wait between attempts to connect. Default: 1 s, 30 s.
	RetryFirst time.Duration
	RetryMost  time.Duration

	// EtcdDialTimeout bounds reaching one etcd member. Default: 10 s.
	EtcdDialTimeout time.Duration
	// EtcdCallTimeout bounds one call to an etcd member. Default: 15 s.
	EtcdCallTimeout time.Duration
	// EtcdIdle is how long a connection to an etcd member is kept for the next caller. Default: 5 s.
	EtcdIdle time.Duration

	// Now is the clock. Default: time.Now.
	Now func() time.Time
}

func (o Options) withDefaults() Options {
	o.UserAgent = cmp.Or(o.UserAgent, "slipway")
	o.Workers = cmp.Or(o.Workers, 32)
	o.QPS = cmp.Or(o.QPS, 20)
	o.Burst = cmp.Or(o.Burst, 30)
	o.Timeout = cmp.Or(o.Timeout, 10*time.Second)
	o.WatchTimeout = cmp.Or(o.WatchTimeout, 10*time.Minute)
	o.ProbeInterval = cmp.Or(o.ProbeInterval, 10*time.Second)
	o.ProbeTimeout = cmp.Or(o.ProbeTimeout, 5*time.Second)
	o.ProbeFailures = cmp.Or(o.ProbeFailures, 5)
	o.RetryFirst = cmp.Or(o.RetryFirst, time.Second)
	o.RetryMost = cmp.Or(o.RetryMost, 30*time.Second)
	o.EtcdDialTimeout = cmp.Or(o.EtcdDialTimeout, 10*time.Second)
	o.EtcdCallTimeout = cmp.Or(o.EtcdCallTimeout, 15*time.Second)
	o.EtcdIdle = cmp.Or(o.EtcdIdle, 5*time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}
