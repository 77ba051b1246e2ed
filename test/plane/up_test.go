//go:build linux

package plane_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"slipway.dev/slipway/internal/statedir"
)

func TestUp_TwiceAtOnceStartsOnePlane(t *testing.T) { //nolint:tparallel // The steps build on each other.
	t.Parallel()
	u := newUser(t)
	results := make(chan result, 2)
	for range 2 {
		go func() { results <- u.slipway("up", "--detach") }()
	}
	var said string
	for range 2 {
		r := <-results
		if r.code != 0 {
			t.Errorf("exit code %d\n%s", r.code, r.stderr)
		}
		said += r.stderr
	}
	if strings.Count(said, "Ready in") != 1 || strings.Count(said, "The plane runs already") != 1 {
		t.Errorf("they said:\n%s", said)
	}
	if r := u.slipway("up", "--detach"); r.code != 0 || !strings.Contains(r.stderr, "The plane runs already") {
		t.Errorf("a third: exit code %d\n%s", r.code, r.stderr)
	}
	if text := u.refused("up"); !strings.Contains(text, "another plane is running") {
		t.Error(text)
	}
	t.Run("and down ends it, which may be repeated", func(t *testing.T) {
		if r := u.slipway("down"); r.code != 0 || !strings.Contains(r.stderr, "The plane is down") {
			t.Errorf("exit code %d\n%s", r.code, r.stderr)
		}
		if r := u.slipway("down"); r.code != 0 || !strings.Contains(r.stderr, "No plane runs") {
			t.Errorf("again: exit code %d\n%s", r.code, r.stderr)
		}
		config, err := os.ReadFile(filepath.Join(u.home, ".kube", "config"))
		if err != nil || !strings.Contains(string(config), "name: slipway") {
			t.Errorf("the context went with the plane: %v", err)
		}
	})
}

func TestUp_InTheForegroundEndsCleanlyOnCtrlC(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	cmd := u.command(t.Context(), "up")
	var talk bytes.Buffer
	cmd.Stderr = &talk
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	u.awaitState("Ready")
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil || !strings.Contains(talk.String(), "The plane is down") {
		t.Errorf("%v\n%s", err, talk.String())
	}
	if _, running := statedir.Running(u.dir); running {
		t.Error("the plane runs on")
	}
}

// awaitState waits until status says so.
func (u *user) awaitState(want string) {
	u.t.Helper()
	for begun := time.Now(); ; wait(u.t, 100*time.Millisecond) {
		_, state, message := u.status()
		if state == want {
			return
		}
		if time.Since(begun) > patience {
			u.t.Fatalf("the plane is %s: %s", state, message)
		}
	}
}

func TestStatus_TellsWhetherAPlaneIsDownStartingOrReady(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	if code, state, message := u.status(); code != 3 || state != "Failed" || !strings.Contains(message, "no plane runs") {
		t.Errorf("before the first start: %d %s %q", code, state, message)
	}
	cmd := u.command(t.Context(), "up", "--detach")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	seen := false
	for begun := time.Now(); time.Since(begun) < patience; {
		_, state, message := u.status()
		seen = seen || state == "Working" && strings.Contains(message, "starting")
		if state == "Ready" {
			break
		}
	}
	if !seen {
		t.Error("it was never said to be starting")
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if code, state, message := u.status("--state-dir", u.dir); code != 0 || state != "Ready" || !strings.Contains(message, "MiB") {
		t.Errorf("running: %d %s %q", code, state, message)
	}
	u.kill()
	// The process id is another's now.
	bystander := exec.CommandContext(t.Context(), "sleep", "600")
	if err := bystander.Start(); err != nil {
		t.Fatal(err)
	}
	pid := bystander.Process.Pid
	t.Cleanup(func() { _ = bystander.Process.Kill(); _ = bystander.Wait() })
	if err := os.WriteFile(filepath.Join(u.dir, "plane.pid"), []byte(strconv.Itoa(pid)), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, state, message := u.status(); code != 3 || state != "Failed" || !strings.Contains(message, "no plane runs") {
		t.Errorf("killed: %d %s %q", code, state, message)
	}
	if r := u.slipway("down"); r.code != 0 || !strings.Contains(r.stderr, "No plane runs") {
		t.Errorf("down: exit code %d\n%s", r.code, r.stderr)
	}
	if err := syscall.Kill(pid, 0); err != nil {
		t.Errorf("down ended another's process: %v", err)
	}
}

func TestUp_StartsWhileItsPlaneDies(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.up()
	for _, args := range [][]string{{"up", "--detach"}, {"up"}} {
		pid, running := statedir.Running(u.dir)
		if !running || pid == 0 {
			t.Fatalf("no plane runs: %d", pid)
		}
		// Like one whose memory is freed, it holds its lock and answers nobody.
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		cmd := u.command(t.Context(), args...)
		talk, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		readUntil(t, talk, "holds the state")
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		readUntil(t, talk, "Ready in")
		if len(args) == 1 {
			err = cmd.Process.Signal(syscall.SIGINT)
		}
		if err := errors.Join(err, cmd.Wait()); err != nil {
			t.Errorf("%v: %v", args, err)
		}
	}
}

// readUntil reads what a command says until it has said a text.
func readUntil(t *testing.T, talk io.Reader, text string) {
	t.Helper()
	var said strings.Builder
	for b := make([]byte, 4096); !strings.Contains(said.String(), text); {
		n, err := talk.Read(b)
		said.Write(b[:n])
		if err != nil {
			t.Fatalf("it ended before %q:\n%s", text, said.String())
		}
	}
}

func TestUp_ListensWhereItWasToldAndRefusesToMove(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.up("--listen", "0.0.0.0")
	u.up("--listen", "0.0.0.0")
	if text := u.refused("up", "--detach", "--listen", "127.0.0.1"); !strings.Contains(text, "listens on 0.0.0.0:") || !strings.Contains(text, "slipway down, then: slipway up --detach --listen 127.0.0.1") {
		t.Error(text)
	}
	if text := u.refused("up", "--detach", "--port", "1"); !strings.Contains(text, "--port 1") {
		t.Error(text)
	}
	u.up()
}

func TestUp_NamesWhoHasItsPort(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	_, port, err := net.SplitHostPort(ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	text := u.refused("up", "--port", port)
	if want := fmt.Sprintf("port %s is taken by plane.test (pid %d)", port, os.Getpid()); !strings.Contains(text, want) {
		t.Errorf("no %q in:\n%s", want, text)
	}
	if _, running := statedir.Running(u.dir); running {
		t.Error("something runs")
	}
}

func TestUp_LeavesADirectoryOfSomethingElseAsItIs(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.dir = filepath.Join(u.home, "theirs")
	if err := os.Mkdir(u.dir, 0o755); err != nil { //nolint:gosec // That is the point.
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(u.dir, "notes"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"up", "--detach"}, {"plane"}} {
		text := u.slipway(append(args, "--state-dir", u.dir)...)
		if text.code == 0 || !strings.Contains(text.stderr, "notes") {
			t.Errorf("%v: exit code %d\n%s", args, text.code, text.stderr)
		}
	}
	info, err := os.Stat(u.dir)
	if err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if entries, err := os.ReadDir(u.dir); err != nil || len(entries) != 1 {
		t.Errorf("it holds %v, %v", entries, err)
	}
}

func TestUp_ASecondPlaneWorksBesideTheFirst(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.up()
	second := &user{t: t, binary: u.binary, home: u.home, dir: filepath.Join(u.home, "lab")}
	t.Cleanup(second.kill)
	second.up("--state-dir", second.dir)
	for _, dir := range []string{u.dir, second.dir} {
		if _, state, message := u.status("--state-dir", dir); state != "Ready" {
			t.Errorf("%s: %s, %s", dir, state, message)
		}
	}
	if r := u.slipway("down"); r.code != 0 {
		t.Error(r.stderr)
	}
	if _, state, message := u.status("--state-dir", second.dir); state != "Ready" {
		t.Errorf("the second, when the first is down: %s, %s", state, message)
	}
}

func TestUp_NeedsNoNetwork(t *testing.T) {
	t.Parallel()
	needsRoot(t)
	if err := exec.CommandContext(t.Context(), "unshare", "-n", "ip", "link", "set", "lo", "up").Run(); err != nil {
		t.Skipf("no network namespaces here: %v", err)
	}
	u := newUser(t)
	script := `ip link set lo up && "$0" up --detach && "$0" status -o json; code=$?; "$0" down; exit $code`
	u.through = []string{"unshare", "-n", "sh", "-c", script}
	if r := u.slipway(); r.code != 0 {
		t.Errorf("exit code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
}

func TestUp_RotatesItsLogInTheStateDirectory(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	if err := statedir.MakeLogDir(u.dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(statedir.LogFile(u.dir), bytes.Repeat([]byte("an old line\n"), 20<<20/12), 0o600); err != nil {
		t.Fatal(err)
	}
	u.up()
	logs, err := filepath.Glob(filepath.Join(u.dir, "logs", "plane-*.log"))
	if err != nil || len(logs) != 1 {
		t.Errorf("old logs: %v, %v", logs, err)
	}
}
