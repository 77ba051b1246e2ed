package remote

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func TestMetrics_TellWhichClustersAreConnected(t *testing.T) {
	t.Parallel()
	options := patient()
	registry := prometheus.NewRegistry()
	options.Registerer = registry
	server, w := newWorkload(t), newWorld(t, options)
	one := w.admit("one", server.kubeconfig(token))
	w.expect(t, ConnectionEvent{one, Opened})
	w.Changed(key("absent"))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	up := map[string]float64{}
	for _, family := range families {
		if family.GetName() == "slipway_remote_connection_up" {
			for _, m := range family.GetMetric() {
				up[m.GetLabel()[0].GetValue()] = m.GetGauge().GetValue()
			}
		}
	}
	if len(up) != 2 || up["one"] != 1 || up["absent"] != 0 {
		t.Errorf("up: %v", up)
	}
	w.Forget(key("absent"))
	w.Forget(one)
}
