package plane

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"slipway.dev/slipway/internal/statedir"
)

// stopped is a plane whose parts a test starts.
func stopped(t *testing.T, dir, listen string) *running {
	t.Helper()
	s, err := statedir.Open(dir, "v0.1.0", statedir.Source{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	r := &running{opts: Options{StateDir: dir, Listen: listen}, state: s}
	if r.pki, err = openPKI(s, listen, time.Now()); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRenew_WritesTheKubeconfigAgainUntilItIsWritten(t *testing.T) {
	t.Parallel()
	r := stopped(t, t.TempDir(), "127.0.0.1")
	var said []string
	r.opts.Report = func(s Step) { said = append(said, s.Name) }
	config := statedir.AdminKubeconfig(r.state.Path)
	// A directory that is not empty is not replaced by a file.
	if err := os.MkdirAll(filepath.Join(config, "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	later := time.Now().Add(leafLife * 3 / 4)
	r.renew(later)
	r.renew(later)
	if !slices.Equal(said, []string{"warning"}) {
		t.Errorf("while it cannot be written: %v", said)
	}
	if err := os.RemoveAll(config); err != nil {
		t.Fatal(err)
	}
	r.renew(later)
	r.renew(later)
	if !slices.Equal(said, []string{"warning", "credentials"}) {
		t.Errorf("when it can be: %v", said)
	}
	got, err := clientcmd.LoadFromFile(config)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(r.pki.file("admin.crt"))
	if err != nil {
		t.Fatal(err)
	}
	if string(got.AuthInfos["slipway"].ClientCertificateData) != string(want) {
		t.Error("it holds another certificate")
	}
}

func TestCertificate_IsForWhatThePlaneListensOn(t *testing.T) {
	t.Parallel()
	for _, listen := range []string{"127.0.0.1", "127.0.0.2", "0.0.0.0", "192.0.2.7", "2001:db8::7", "localhost", "plane.example", "plane.example."} {
		t.Run(listen, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			stopped(t, dir, "127.0.0.1").mustClose(t)
			// Another address than that of the last start.
			r := stopped(t, dir, listen)
			b, err := os.ReadFile(r.pki.file("apiserver.crt"))
			if err != nil {
				t.Fatal(err)
			}
			cert, err := parseCert(b)
			if err != nil {
				t.Fatal(err)
			}
			host, _, err := net.SplitHostPort(r.endpoint()[len("https://"):])
			if err != nil {
				t.Fatal(err)
			}
			if err := cert.VerifyHostname(host); err != nil {
				t.Error(err)
			}
			if renewed, err := r.pki.renew(listen, time.Now()); renewed || err != nil {
				t.Errorf("it is renewed again: %t, %v", renewed, err)
			}
		})
	}
}

// mustClose gives up the state before the test ends.
func (r *running) mustClose(t *testing.T) {
	t.Helper()
	if err := r.state.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestClose_EndsWhenTheAPIServerNeverServed(t *testing.T) {
	t.Parallel()
	r := stopped(t, t.TempDir(), "127.0.0.1")
	broken := errors.New("it cannot run")
	// Nobody listens there.
	r.api = serve(t.Context(), &rest.Config{Host: "http://127.0.0.1:1"}, func(context.Context) error { return broken })
	if err := r.api.waitServing(t.Context()); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	closed := make(chan error, 1)
	go func() { closed <- r.close() }()
	select {
	case err := <-closed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it waits for ever")
	}
}
