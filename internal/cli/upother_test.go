package cli

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"slipway.dev/slipway/internal/statedir"
)

// heldState is a state in a home that this process holds like a plane, whose API server is a handler.
func heldState(t *testing.T, h home, answer http.HandlerFunc) (*statedir.Dir, *url.URL) {
	t.Helper()
	dir := filepath.Join(h.dir, ".local", "share", "slipway")
	s, err := statedir.Open(dir, Version, statedir.Source{})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	if err := clientcmd.WriteToFile(*admin(server.URL), statedir.AdminKubeconfig(dir)); err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	s.Record.APIHost = at.Hostname()
	if s.Record.APIPort, err = strconv.Atoi(at.Port()); err != nil {
		t.Fatal(err)
	}
	if err := s.Save(); err != nil {
		t.Fatal(err)
	}
	return s, at
}

func TestUp_StartsWhenThePlaneThatHoldsTheStateIsGone(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{"in the foreground": "slipway up", "in the background": "slipway up --detach"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := fakePlane(t, readyStep)
			asked := make(chan struct{}, 1)
			// It takes a connection and answers none, as the kernel does for a process that was killed.
			state, _ := heldState(t, h, func(_ http.ResponseWriter, r *http.Request) {
				select {
				case asked <- struct{}{}:
				default:
				}
				<-r.Context().Done()
			})
			var dying sync.WaitGroup
			defer dying.Wait()
			dying.Go(func() {
				<-asked
				if err := state.Close(); err != nil {
					t.Error(err)
				}
			})
			if code, out := h.run(t, line, 0); code != 0 || !strings.Contains(out, "Ready in") {
				t.Errorf("exit code %d\n%s", code, out)
			}
		})
	}
}

func TestUp_AnswersAtOnceBesideAPlaneThatIsReady(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]struct {
		line, says string
		code       exitCode
	}{
		"in the foreground": {line: "slipway up", code: exitFailed, says: "another plane is running"},
		"in the background": {line: "slipway up --detach", code: exitDone, says: "The plane runs already"},
		"from a backup":     {line: "slipway up --detach --from backup", code: exitFailed, says: "a plane runs on this state directory already"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := fakePlane(t, "exit 1")
			var asked atomic.Int32
			state, _ := heldState(t, h, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
			code, out := h.run(t, r.line, 0)
			if code != int(r.code) || !strings.Contains(out, r.says) || asked.Load() != 1 {
				t.Errorf("exit code %d, it asked %d times:\n%s", code, asked.Load(), out)
			}
			if err := state.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestUp_WaitsNoLongerThanItMustForAPlaneThatIsNotReady(t *testing.T) {
	t.Parallel()
	a, _ := testApp(t, look{})
	h := home{dir: t.TempDir()}
	state, _ := heldState(t, h, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	r := &upRun{app: a, dir: state.Path}
	if got, err := r.awaitOther(t.Context(), time.Millisecond); got != otherUnready {
		t.Errorf("it is %d: %v", got, err)
	}
	if err := state.Close(); err != nil {
		t.Error(err)
	}
}

func TestUp_RefusesToListenElsewhereThanThePlaneThatRuns(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]struct {
		flags string
		// try is empty when the flags are fine.
		try string
	}{
		"as it does":             {flags: "--listen 127.0.0.1 --port PORT"},
		"on another address":     {flags: "--listen 0.0.0.0", try: "slipway down, then: slipway up --detach --listen 0.0.0.0"},
		"on another port":        {flags: "--port 1", try: "slipway down, then: slipway up --detach --port 1"},
		"on the port of another": {flags: "--listen ::1 --port PORT", try: "slipway down, then: slipway up --detach --listen ::1 --port PORT"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := fakePlane(t, "exit 1")
			state, at := heldState(t, h, func(http.ResponseWriter, *http.Request) {})
			withPort := strings.NewReplacer("PORT", at.Port())
			code, out := h.run(t, withPort.Replace("slipway up --detach "+r.flags), 0)
			try := withPort.Replace(r.try)
			if r.try == "" && (code != 0 || !strings.Contains(out, "The plane runs already")) {
				t.Errorf("exit code %d\n%s", code, out)
			}
			if r.try != "" && (code != int(exitFailed) || !strings.Contains(out, "try:   "+try+"\n") || !strings.Contains(out, "listens on "+at.Host)) {
				t.Errorf("exit code %d\n%s", code, out)
			}
			_, err := os.Stat(filepath.Join(h.dir, ".kube", "config"))
			if written := !errors.Is(err, os.ErrNotExist); written != (r.try == "") {
				t.Errorf("the context was written: %t", written)
			}
			if err := state.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
