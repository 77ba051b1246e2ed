package manager

import (
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// apiWrites counts what the controllers write to the management API server. Its rate on an idle fleet is zero.
var apiWrites = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "slipway_api_writes_total",
	Help: "Writes to the management API server by controller, resource and HTTP status. Events have no controller here.",
}, []string{"controller", "resource", "code"})

// withWriteCounts has a client configuration count its writes. The counter is registered once a process, where
// controller-runtime's metrics are.
func withWriteCounts(cfg *rest.Config) *rest.Config {
	if err := metrics.Registry.Register(apiWrites); err != nil {
		// It is registered already when a test starts a second manager in this process.
		if _, again := err.(prometheus.AlreadyRegisteredError); !again { //nolint:errorlint // Register returns the bare type.
			panic(err)
		}
	}
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return writeCounter{next} })
	return cfg
}

type writeCounter struct{ next http.RoundTripper }

// RoundTrip counts requests that are not reads.
func (w writeCounter) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := w.next.RoundTrip(r)
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return resp, err
	}
	code := "error"
	if err == nil {
		code = http.StatusText(resp.StatusCode)
	}
	apiWrites.WithLabelValues(ControllerOf(writerOf(r)), resourceOf(r.URL.Path), code).Inc()
	return resp, err
}

// ControllerOf is the name in a field manager: machineset of capi-machineset-metadata.
func ControllerOf(fieldManager string) string {
	name := strings.TrimSuffix(fieldManager, "-metadata")
	for _, prefix := range []string{ours, "capi-"} {
		name = strings.TrimPrefix(name, prefix)
	}
	return name
}

// resourceOf is the resource in an API path, such as machines or machines/status.
func resourceOf(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		parts = parts[3:]
	default:
		return "other"
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		parts = parts[2:]
	}
	if len(parts) > 2 {
		return parts[0] + "/" + parts[2]
	}
	return parts[0]
}
