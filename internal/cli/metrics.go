package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"k8s.io/client-go/discovery"

	"slipway.dev/slipway/internal/view"
)

// controllerStatus reads the controllers' own metrics. A management cluster that does not serve them gets no line.
func (a *app) controllerStatus(ctx context.Context) statusPart {
	config, err := a.restConfig()
	if err != nil {
		return statusPart{}
	}
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return statusPart{}
	}
	stream, err := d.RESTClient().Get().AbsPath("/metrics").Stream(ctx)
	if err != nil {
		return statusPart{}
	}
	defer stream.Close()
	m, err := readControllerMetrics(stream)
	if err != nil || len(m.controllers) == 0 {
		return statusPart{}
	}
	message := fmt.Sprintf("%d running, queue %d", len(m.controllers), m.queued)
	if name, seconds := m.slowest(); name != "" {
		message += fmt.Sprintf(", slowest on average %s (%s)", shortSeconds(seconds), name)
	}
	return statusPart{Name: "controllers", State: view.Ready, Message: message}
}

// controllerMetrics are what the status says about the controllers.
type controllerMetrics struct {
	// controllers are the sum and the count of reconcile times by the controller's name.
	controllers map[string][2]float64
	queued      int
}

func (m controllerMetrics) slowest() (string, float64) {
	name, slowest := "", 0.0
	for _, controller := range sortedKeys(m.controllers) {
		if sum, count := m.controllers[controller][0], m.controllers[controller][1]; count > 0 && sum/count > slowest {
			name, slowest = controller, sum/count
		}
	}
	return name, slowest
}

// The metrics of controller-runtime that are read.
const (
	metricTimeSum   = "controller_runtime_reconcile_time_seconds_sum"
	metricTimeCount = "controller_runtime_reconcile_time_seconds_count"
	metricQueued    = "workqueue_depth"
	metricWorkers   = "controller_runtime_max_concurrent_reconciles"
)

// readControllerMetrics reads the few lines that matter of the metrics' text, which is long.
func readControllerMetrics(r io.Reader) (controllerMetrics, error) {
	m := controllerMetrics{controllers: map[string][2]float64{}}
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), 1<<20)
	for lines.Scan() {
		name, labels, value, ok := sample(lines.Text())
		if !ok {
			continue
		}
		controller := label(labels, "controller")
		times := m.controllers[controller]
		switch {
		case name == metricWorkers && controller != "":
			m.controllers[controller] = times
		case name == metricTimeSum:
			m.controllers[controller] = [2]float64{value, times[1]}
		case name == metricTimeCount:
			m.controllers[controller] = [2]float64{times[0], value}
		case name == metricQueued && controller != "":
			m.queued += int(value)
		}
	}
	return m, lines.Err()
}

// sample splits a line such as name{labels} value.
func sample(line string) (name, labels string, value float64, ok bool) {
	head, text, found := cutLast(line, " ")
	if !found || strings.HasPrefix(line, "#") {
		return "", "", 0, false
	}
	value, err := strconv.ParseFloat(text, 64)
	name, labels, _ = strings.Cut(head, "{")
	return name, labels, value, err == nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

func label(labels, name string) string {
	_, rest, found := strings.Cut(labels, name+`="`)
	if !found {
		return ""
	}
	value, _, _ := strings.Cut(rest, `"`)
	return value
}

func shortSeconds(s float64) string {
	if s < 1 {
		return fmt.Sprintf("%.0fms", s*1000)
	}
	return fmt.Sprintf("%.1fs", s)
}
