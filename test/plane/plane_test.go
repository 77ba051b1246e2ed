//go:build linux

// Package plane_test shows how `slipway up` behaves when the world is unkind: killed, on a full disk, beside another, with a
// broken state. It runs the binary as users do and imports none of the API server.
package plane_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"slipway.dev/slipway/internal/planetest"
	"slipway.dev/slipway/internal/statedir"
)

// atOnce bounds the planes that run at a time: each takes some 260 MB.
const atOnce = 3

// patience bounds each command. It is for a machine that is busy with other tests, not for the product.
const patience = 2 * time.Minute

var slots = make(chan struct{}, atOnce)

// user is somebody with a home of his own, in which he runs slipway.
type user struct {
	t      *testing.T
	binary string
	home   string
	// dir is his plane's state directory.
	dir string
	// through is put before each command, such as a program that starts it in another namespace.
	through []string
}

// TestMain keeps the default port for itself: a plane that has it would lose it, while it is down, to another test's.
func TestMain(m *testing.M) {
	if ln, err := net.Listen("tcp", "127.0.0.1:6443"); err == nil {
		defer ln.Close()
	}
	m.Run()
}

// newUser waits for a slot, and ends with the test whatever plane is left.
func newUser(t *testing.T) *user {
	t.Helper()
	binary, err := planetest.Binary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	slots <- struct{}{}
	home := t.TempDir()
	u := &user{t: t, binary: binary, home: home, dir: filepath.Join(home, ".local", "share", "slipway")}
	t.Cleanup(func() {
		u.kill()
		<-slots
	})
	return u
}

// kill ends the plane at once, if one runs, and waits until its state is free.
func (u *user) kill() {
	for {
		pid, running := statedir.Running(u.dir)
		if !running {
			return
		}
		if pid != 0 {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		wait(u.t, 20*time.Millisecond)
	}
}

func wait(t *testing.T, d time.Duration) {
	t.Helper()
	<-time.After(d)
}

// result is what a command left.
type result struct {
	code           int
	stdout, stderr string
}

func (u *user) command(ctx context.Context, args ...string) *exec.Cmd {
	all := append(append([]string{}, u.through...), u.binary)
	all = append(all, args...)
	cmd := exec.CommandContext(ctx, all[0], all[1:]...)
	cmd.Env = append(os.Environ(), "HOME="+u.home, "XDG_DATA_HOME=", "KUBECONFIG=", "SLIPWAY_CONTEXT=", "GOGC=50")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// slipway runs a command to its end.
func (u *user) slipway(args ...string) result {
	u.t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(u.t.Context()), patience)
	defer cancel()
	cmd := u.command(ctx, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		if _, ran := errors.AsType[*exec.ExitError](err); !ran {
			u.t.Fatalf("%v: %v", args, err)
		}
	}
	return result{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

// up starts a plane in the background.
func (u *user) up(args ...string) {
	u.t.Helper()
	if r := u.slipway(append([]string{"up", "--detach"}, args...)...); r.code != 0 {
		u.t.Fatalf("up: exit code %d\n%s%s", r.code, r.stderr, u.log())
	}
}

func (u *user) log() string {
	b, err := os.ReadFile(statedir.LogFile(u.dir))
	if err != nil {
		return ""
	}
	lines := strings.Split(string(b), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}

// refused runs a command that must fail with an error in four parts, which it returns as one text.
func (u *user) refused(args ...string) string {
	u.t.Helper()
	r := u.slipway(args...)
	if r.code == 0 {
		u.t.Fatalf("%v: it did it\n%s", args, r.stderr)
	}
	checkFourParts(u.t, r.stderr)
	return r.stderr
}

func checkFourParts(t *testing.T, text string) {
	t.Helper()
	for _, part := range []string{"error: ", "cause:", "where:", "try:"} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in:\n%s", part, text)
		}
	}
}

// status is the plane's part of `slipway status -o json`.
func (u *user) status(args ...string) (code int, state, message string) {
	u.t.Helper()
	r := u.slipway(append([]string{"status", "-o", "json"}, args...)...)
	var d struct {
		Kind  string `json:"kind"`
		Parts []struct {
			Name, State, Message string
		} `json:"parts"`
	}
	if err := json.Unmarshal([]byte(r.stdout), &d); err != nil || d.Kind != "Status" || len(d.Parts) == 0 {
		u.t.Fatalf("status: %v\n%s%s", err, r.stdout, r.stderr)
	}
	return r.code, d.Parts[0].State, d.Parts[0].Message
}

// contents maps every regular file of a state, but logs and what says who runs, to its bytes.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == "logs" {
			return fs.SkipDir
		}
		if err != nil || !d.Type().IsRegular() || d.Name() == "plane.pid" || d.Name() == "lock" {
			return err
		}
		b, err := os.ReadFile(path)
		all[strings.TrimPrefix(path, dir)] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// sameContents names the files that differ.
func sameContents(t *testing.T, before, after map[string]string) {
	t.Helper()
	for path, content := range before {
		if got, found := after[path]; !found || got != content {
			t.Errorf("%s was changed (%d bytes, then %d, found %t)", path, len(content), len(got), found)
		}
	}
	for path := range after {
		if _, found := before[path]; !found {
			t.Errorf("%s was made", path)
		}
	}
}

func needsRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root may become another user or make namespaces")
	}
}
