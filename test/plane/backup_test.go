//go:build linux

package plane_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"slipway.dev/slipway/internal/statedir"
)

func TestBackup_DuringWritesIsWholeAndABrokenOneLeavesNothing(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.up()
	if r := u.slipway("create", "cluster", "before", "--provider", "sim"); r.code != 0 {
		t.Fatal(r.stderr)
	}
	written := make(chan result, 1)
	go func() {
		written <- u.slipway("create", "cluster", "meanwhile", "--provider", "sim", "--workers", "3", "--wait")
	}()
	file := filepath.Join(u.home, "backup")
	if r := u.slipway("backup", file); r.code != 0 {
		t.Fatal(r.stderr)
	}
	if r := <-written; r.code != 0 {
		t.Error(r.stderr)
	}
	u.slipway("down")
	before := contents(t, u.dir)
	u.refused("up", "--detach", "--from", file)
	sameContents(t, before, contents(t, u.dir))

	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	broken, empty := filepath.Join(u.home, "broken"), filepath.Join(u.home, "empty")
	for _, content := range [][]byte{whole[:len(whole)/3], whole[:len(whole)-5], []byte("no backup")} {
		if err := os.WriteFile(broken, content, 0o600); err != nil {
			t.Fatal(err)
		}
		u.refused("up", "--detach", "--from", broken, "--state-dir", empty)
		sameContents(t, nil, contents(t, empty))
	}
	// The first plane is down, so that the second is the only one.
	second := &user{t: t, binary: u.binary, home: u.home, dir: empty}
	t.Cleanup(second.kill)
	second.up("--from", file, "--state-dir", empty)
	if r := u.slipway("get", "clusters", "-o", "name", "--kubeconfig", statedir.AdminKubeconfig(empty)); !strings.Contains(r.stdout, "/before\n") {
		t.Errorf("restored: %s%s", r.stdout, r.stderr)
	}
}

func TestUp_KeepsACopyFromBeforeAnUpgradeAndRefusesToGoBack(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.up()
	u.slipway("down")
	u.rewriteVersion("v0.0.1")
	u.up()
	u.slipway("down")
	copies, err := filepath.Glob(filepath.Join(u.dir, "snapshots", "*.tar.gz"))
	if err != nil || len(copies) != 1 {
		t.Errorf("copies: %v, %v", copies, err)
	}
	u.rewriteVersion("v99.0.0")
	before := contents(t, u.dir)
	if text := u.refused("up", "--detach"); !strings.Contains(text, "newer Slipway") {
		t.Error(text)
	}
	sameContents(t, before, contents(t, u.dir))
}

func (u *user) rewriteVersion(version string) {
	u.t.Helper()
	u.edit("state.json", func(b []byte) []byte {
		var record statedir.Record
		if err := json.Unmarshal(b, &record); err != nil {
			u.t.Fatal(err)
		}
		record.Version = version
		b, err := json.Marshal(record)
		if err != nil {
			u.t.Fatal(err)
		}
		return b
	})
}

func TestPlane_TellsAboutItselfOnlyToThoseItKnows(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.up()
	config, err := clientcmd.BuildConfigFromFlags("", statedir.AdminKubeconfig(u.dir))
	if err != nil {
		t.Fatal(err)
	}
	known, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(config.CAData)
	stranger := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}
	for _, path := range []string{"/metrics", "/healthz", "/readyz", "/livez", "/debug/pprof/", "/version", "/api", "/openapi/v3", "/configz"} {
		if code, _ := get(t, stranger, config.Host+path); code != http.StatusUnauthorized && code != http.StatusForbidden {
			t.Errorf("%s answers a stranger with %d", path, code)
		}
		if path == "/configz" {
			continue
		}
		if code, _ := get(t, known, config.Host+path); code != http.StatusOK {
			t.Errorf("%s answers its owner with %d", path, code)
		}
	}
	if r := u.slipway("create", "cluster", "demo", "--provider", "sim", "--wait"); r.code != 0 {
		t.Fatal(r.stderr)
	}
	_, metrics := get(t, known, config.Host+"/metrics")
	for _, want := range []string{
		"controller_runtime_reconcile_total{", "workqueue_queue_duration_seconds_bucket{", "workqueue_longest_running_processor_seconds{",
		`workqueue_depth{controller="machine"`, `workqueue_depth{name="`, "slipway_remote_", "apiserver_request_total{",
		`slipway_api_writes_total{code="Created",controller="machineset",resource="machines"}`,
	} {
		if !strings.Contains(metrics, "\n"+want) {
			t.Errorf("/metrics has no %s", want)
		}
	}
	_, version := get(t, known, config.Host+"/version")
	if !strings.Contains(version, `"gitVersion": "v1.`) {
		t.Errorf("/version: %s", version)
	}
}

func get(t *testing.T, client *http.Client, url string) (code int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	b, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(b)
}

func TestPlane_RenewsItsCertificatesWhileItRuns(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.up()
	config, err := clientcmd.BuildConfigFromFlags("", statedir.AdminKubeconfig(u.dir))
	if err != nil {
		t.Fatal(err)
	}
	served := func() string {
		c, err := tls.Dial("tcp", strings.TrimPrefix(config.Host, "https://"), &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // It only looks at the certificate.
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		return c.ConnectionState().PeerCertificates[0].SerialNumber.String()
	}
	old, oldConfig := served(), string(config.CertData)
	// A certificate that cannot be used is renewed like one that ends.
	for _, name := range []string{"apiserver.crt", "admin.crt"} {
		if err := os.Remove(filepath.Join(u.dir, "pki", name)); err != nil {
			t.Fatal(err)
		}
	}
	for begun := time.Now(); ; wait(t, 200*time.Millisecond) {
		now, err := clientcmd.BuildConfigFromFlags("", statedir.AdminKubeconfig(u.dir))
		if err == nil && served() != old && string(now.CertData) != oldConfig {
			break
		}
		if time.Since(begun) > patience {
			t.Fatal("it serves the old certificate")
		}
	}
	if _, state, message := u.status("--state-dir", u.dir); state != "Ready" {
		t.Errorf("with the new credentials: %s, %s", state, message)
	}
}
