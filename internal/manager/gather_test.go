package manager

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestGather_KeepsEachRegistrysMetrics(t *testing.T) {
	t.Parallel()
	registry := func(help string, labels []string, values ...string) *prometheus.Registry {
		r := prometheus.NewRegistry()
		depth := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "workqueue_depth", Help: help}, labels)
		depth.WithLabelValues(values...).Set(float64(len(values)))
		r.MustRegister(depth, prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "go_threads", Help: "Threads."}, func() float64 { return 7 }))
		return r
	}
	both := Gather(registry("Depth.", []string{"name"}, "crd"), registry("Depth by priority.", []string{"controller", "name"}, "machine", "machine"))
	want := `# HELP go_threads Threads.
# TYPE go_threads gauge
go_threads 7
# HELP workqueue_depth Depth.
# TYPE workqueue_depth gauge
workqueue_depth{name="crd"} 1
workqueue_depth{controller="machine",name="machine"} 2
`
	if err := testutil.GatherAndCompare(both, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}

func TestGather_TellsOfOneNameForTwoTypes(t *testing.T) {
	t.Parallel()
	one, other := prometheus.NewRegistry(), prometheus.NewRegistry()
	one.MustRegister(prometheus.NewGauge(prometheus.GaugeOpts{Name: "n", Help: "h"}))
	other.MustRegister(prometheus.NewCounter(prometheus.CounterOpts{Name: "n", Help: "h"}))
	families, err := Gather(one, other).Gather()
	if len(families) != 1 || err == nil || !strings.Contains(err.Error(), "metric n is both GAUGE and COUNTER") {
		t.Errorf("%v, %v", families, err)
	}
}
