package cli

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"slipway.dev/slipway/internal/statedir"
	"slipway.dev/slipway/internal/view"
)

// holdPlane makes a state directory look as if a plane ran on it: this process, or, with pid 0, one that is not known.
func holdPlane(t *testing.T, dir string, pid int, begun time.Time) {
	t.Helper()
	lock, err := os.Create(filepath.Join(dir, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lock.Close() })
	err = errors.Join(syscall.Flock(int(lock.Fd()), syscall.LOCK_EX), statedir.MakeLogDir(dir), os.WriteFile(statedir.CrashFile(dir), nil, 0o600),
		os.Chtimes(statedir.CrashFile(dir), begun, begun))
	if pid != 0 {
		err = errors.Join(err, os.WriteFile(statedir.PIDFile(dir), []byte(fmt.Sprint(pid)), 0o600), os.Chtimes(statedir.PIDFile(dir), begun, begun))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestStatus_JudgesAClusterByTheLocalPlanesProcessOnlyWhenItIsThatPlanes(t *testing.T) {
	t.Parallel()
	answers := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(answers.Close)
	// Nothing listens on port 1.
	const silent, ours, another = "https://127.0.0.1:1", "slipway", "prod"
	process, unknown := os.Getpid(), 0
	long := 2 * otherStart
	rows := []struct {
		name    string
		context string
		server  string
		// pid is the process that runs, running how long it does already, down that none does.
		pid     int
		running time.Duration
		down    bool
		state   view.State
		says    string
		try     string
	}{
		{name: "our plane starts", context: ours, server: silent, pid: process, state: view.Working, says: "is starting"},
		{name: "our plane is about to begin", context: ours, server: silent, pid: unknown, state: view.Working, says: "starting"},
		{name: "our plane is not known and has not come up for long", context: ours, server: silent, pid: unknown, running: long, state: view.Failed, says: "a process runs, but is not ready", try: "logs plane"},
		{name: "our plane has not come up for long", context: ours, server: silent, pid: process, running: long, state: view.Failed, says: "runs, but is not ready", try: "logs plane"},
		{name: "our plane is down", context: ours, server: silent, down: true, state: view.Failed, says: "no plane runs on", try: "up --detach"},
		{name: "our plane is ready", context: ours, server: answers.URL, pid: process, state: view.Ready, says: "MiB"},
		{name: "another is down, our plane starts", context: another, server: silent, pid: process, state: view.Failed, says: "nothing answers", try: "see that its API server runs"},
		{name: "another is down, our plane is about to begin", context: another, server: silent, pid: unknown, state: view.Failed, says: "nothing answers", try: "see that its API server runs"},
		{name: "another is down, and our plane too", context: another, server: silent, down: true, state: view.Failed, says: "nothing answers", try: "see that its API server runs"},
		{name: "another is ready, our plane starts", context: another, server: answers.URL, pid: process, state: view.Ready, says: "context prod"},
		{name: "another is ready, our plane is down", context: another, server: answers.URL, down: true, state: view.Ready, says: "context prod"},
		{name: "no context yet, our plane starts", pid: process, state: view.Working, says: "is starting"},
		{name: "no such context, our plane starts", context: "nowhere", pid: process, state: view.Failed, says: "there is no context"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			a, _ := kubeconfigApp(t, "")
			a.env.Now = time.Now
			dir := t.TempDir()
			if !r.down {
				holdPlane(t, dir, r.pid, time.Now().Add(-r.running))
			}
			a.flags.context = r.context
			if r.server != "" {
				owner := entryOwner{mark: "cluster default/x of y", name: another}
				if r.context == ours {
					owner = a.planeOwner(dir)
				}
				m, err := a.mergeContext(admin(r.server), owner, neverChosen)
				if err != nil {
					t.Fatal(err)
				}
				a.flags.context = m.name
			} else if r.context != "" {
				if _, err := a.mergeContext(admin(silent), ownerOf("work"), neverChosen); err != nil {
					t.Fatal(err)
				}
			}
			p := a.planeStatus(t.Context(), dir)
			if p.State != r.state || !strings.Contains(p.Message, r.says) || !strings.Contains(p.Try, r.try) || r.context == another && strings.Contains(p.Try, "slipway up") {
				t.Errorf("%+v, want %s %q, try %q", p, r.state, r.says, r.try)
			}
		})
	}
}
