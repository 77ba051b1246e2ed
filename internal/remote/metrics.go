package remote

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are what the door counts. Only whether a cluster is connected is told a cluster; the rest is for all together,
// since a thousand clusters' histograms would be larger than their connections.
type metrics struct {
	probes   *prometheus.CounterVec
	attempts *prometheus.HistogramVec
}

func newMetrics(c *Clusters, registerer prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		probes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "slipway_remote_probes_total",
			Help: "Probes of workload clusters by result. Clusters in use are not probed.",
		}, []string{"result"}),
		attempts: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "slipway_remote_connect_seconds",
			Help:    "Time that an attempt to connect to a workload cluster took, its first lists included, by result.",
			Buckets: []float64{0.01, 0.05, 0.1, 0.5, 1, 5, 10},
		}, []string{"result"}),
	}
	if registerer == nil {
		return m, nil
	}
	for _, collector := range []prometheus.Collector{m.probes, m.attempts, upCollector{c}} {
		if err := registerer.Register(collector); err != nil {
			return nil, fmt.Errorf("register the metrics of the door to workload clusters: %w", err)
		}
	}
	return m, nil
}

func (m *metrics) probed(err error) { m.probes.WithLabelValues(result(err)).Inc() }

func (m *metrics) attempted(err error, took time.Duration) {
	m.attempts.WithLabelValues(result(err)).Observe(took.Seconds())
}

func result(err error) string {
	if err != nil {
		return "failure"
	}
	return "success"
}

// upCollector reads whether clusters are connected when it is asked, so that nothing is kept a cluster.
type upCollector struct{ clusters *Clusters }

// Describe implements prometheus.Collector.
func (u upCollector) Describe(out chan<- *prometheus.Desc) { out <- upDesc() }

// Collect implements prometheus.Collector.
func (u upCollector) Collect(out chan<- prometheus.Metric) {
	u.clusters.mu.Lock()
	defer u.clusters.mu.Unlock()
	desc := upDesc()
	for key, cl := range u.clusters.clusters {
		up := 0.0
		if cl.conn != nil {
			up = 1
		}
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, up, key.Namespace, key.Name)
	}
}

func upDesc() *prometheus.Desc {
	return prometheus.NewDesc("slipway_remote_connection_up", "Whether the workload cluster is connected.",
		[]string{"cluster_namespace", "cluster_name"}, nil)
}
