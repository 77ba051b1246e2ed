package cli

import (
	"context"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// outage answers a first look, does not answer the second, has nothing left at the third and ends the watching after it.
type outage struct {
	before, after canned
	// path is what each look asks for once.
	path  string
	looks atomic.Int32
	end   context.CancelFunc
}

func (o *outage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("watch") != "" {
		return // Each watch ends at once.
	}
	if r.URL.Path != o.path {
		o.before.ServeHTTP(w, r)
		return
	}
	switch o.looks.Add(1) {
	case 1:
		o.before.ServeHTTP(w, r)
	case 2:
		w.WriteHeader(http.StatusServiceUnavailable)
	case 3:
		o.after.ServeHTTP(w, r)
	default:
		o.end()
	}
}

func TestGetWatch_OutlivesARestartAndTellsOfDeletions(t *testing.T) {
	t.Parallel()
	const machines, clusters = "/apis/cluster.x-k8s.io/v1beta2/namespaces/default/machines", "/apis/cluster.x-k8s.io/v1beta2/namespaces/default/clusters"
	before := ofCluster(t, "demo", nil)
	before[machines+"?table"] = machineTable()
	after := maps.Clone(before)
	after[machines+"?table"] = metav1.Table{TypeMeta: metav1.TypeMeta{Kind: "Table", APIVersion: "meta.k8s.io/v1"}}
	after[clusters] = list("cluster.x-k8s.io/v1beta2", "ClusterList")
	whole := maps.Clone(before)
	table := machineTable()
	table.Rows[0].Object.Raw = []byte(`{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Machine","metadata":{"name":"demo-md-0-x7k2p","namespace":"default","resourceVersion":"7"}}`)
	whole[machines+"?table"] = table
	for _, r := range []struct {
		args   string
		before canned
		path   string
		first  string
		last   string
	}{
		{"get clusters -w", before, clusters, "default/demo Ready", "default/demo deleted"},
		{"get machines -w", before, machines, "demo-md-0-x7k2p", "default/demo-md-0-x7k2p deleted"},
		{"get machines -w -o jsonl", whole, machines, `"kind":"Machine"`,
			`{"apiVersion":"cli.slipway.dev/v1alpha1","kind":"Change","object":"machine.cluster.x-k8s.io/demo-md-0-x7k2p","namespace":"default","change":"deleted"}`},
	} {
		t.Run(r.args, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			got := runUntil(ctx, t, &outage{before: r.before, after: after, path: r.path, end: cancel}, strings.Fields(r.args)...)
			lines := strings.Split(strings.TrimSpace(got.stdout), "\n")
			if got.code != int(exitInterrupted) || len(lines) != 2 || !strings.Contains(lines[0], r.first) || !strings.HasSuffix(lines[1], r.last) {
				t.Errorf("%s", got)
			}
			if !strings.Contains(got.stderr, "cannot look: ") || !strings.Contains(got.stderr, "answers again") {
				t.Errorf("it does not say that it could not look: %s", got)
			}
		})
	}
}
