package manager

import (
	"bufio"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
)

func TestWriteOf_TellsWhoWroteWhat(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		method, path, contentType string
		want                      Write
		isWrite                   bool
	}{
		"a read":   {method: http.MethodGet, path: "/api/v1/namespaces/ns/secrets/a"},
		"a create": {http.MethodPost, "/apis/g/v1/namespaces/ns/machines?fieldManager=me", "", Write{"me", "create", "machines", "ns", ""}, true},
		"an apply": {
			http.MethodPatch, "/apis/g/v1/namespaces/ns/machines/m/status?fieldManager=me&force=true", "application/apply-patch+yaml",
			Write{"me", "apply", "machines/status", "ns", "m"}, true,
		},
		"an apply in CBOR": {http.MethodPatch, "/apis/g/v1/namespaces/ns/machines/m", "application/apply-patch+cbor", Write{"", "apply", "machines", "ns", "m"}, true},
		"a merge patch":    {http.MethodPatch, "/api/v1/namespaces/ns/secrets/s", "application/merge-patch+json", Write{"", "patch", "secrets", "ns", "s"}, true},
		"an update":        {http.MethodPut, "/api/v1/namespaces/ns/secrets/s", "", Write{"", "update", "secrets", "ns", "s"}, true},
		"a delete":         {http.MethodDelete, "/api/v1/namespaces/ns/secrets/s", "", Write{"", "delete", "secrets", "ns", "s"}, true},
		"no namespace":     {http.MethodPost, "/apis/g/v1/things", "", Write{"", "create", "things", "", ""}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest(row.method, row.path, nil)
			r.Header.Set("Content-Type", row.contentType)
			got, isWrite := writeOf(r)
			if isWrite != row.isWrite || got != row.want {
				t.Errorf("got %+v (a write: %t), want %+v", got, isWrite, row.want)
			}
		})
	}
}

func TestWriteTrace_HoldsTheAnswerBackUntilHeard(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("unix", filepath.Join(t.TempDir(), "w"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	cfg := &rest.Config{Host: server.URL}
	if err := withWriteTrace(t.Context(), cfg, listener.Addr().String()); err != nil {
		t.Fatal(err)
	}
	heard, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	answered := make(chan error, 1)
	send := func() {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, server.URL+"/api/v1/namespaces/ns/secrets/s", http.NoBody)
		if err != nil {
			answered <- err
			return
		}
		resp, err := client.Do(r)
		if err == nil {
			err = resp.Body.Close()
		}
		answered <- err
	}
	go send()
	line, err := bufio.NewReader(heard).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(`{"verb":"delete","resource":"secrets","namespace":"ns","name":"s"}`+"\n", line); diff != "" {
		t.Errorf("what was heard (-want +got):\n%s", diff)
	}
	select {
	case <-answered:
		t.Fatal("the writer went on before it was heard")
	case <-time.After(50 * time.Millisecond):
	}
	if _, err := heard.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	if err := <-answered; err != nil {
		t.Fatal(err)
	}
	// Without a listener, nothing waits.
	if err := heard.Close(); err != nil {
		t.Fatal(err)
	}
	go send()
	if err := <-answered; err != nil {
		t.Fatal(err)
	}
}
