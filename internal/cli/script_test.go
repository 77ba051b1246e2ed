package cli

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// binaryEnv names the built program, whose plane the tests start. `make test` sets it.
const binaryEnv = "SLIPWAY_BIN"

// TestMain makes this test binary the program for scripts: its command line is the one under test. It carries no API server,
// so as the plane's process it becomes the built program.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "plane" {
		os.Exit(program())
	}
	run := func() { os.Exit(program()) }
	testscript.Main(m, map[string]func(){"slipway": run, "kubectl-slipway": run, "kubectl_complete-slipway": run})
}

func program() int {
	return Main(Environment{
		Args: os.Args, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv,
		RunPlane: func(context.Context, PlaneOptions) error {
			return syscall.Exec(os.Getenv(binaryEnv), os.Args, os.Environ())
		},
	})
}

// home is a user's home directory with a plane of its own.
type home struct {
	dir, binary string
}

// newHome makes a home directory. Its path is short, since the plane makes sockets below it. Planes that a test leaves there
// are stopped at its end.
func newHome(t *testing.T) home {
	t.Helper()
	binary := os.Getenv(binaryEnv)
	if binary == "" {
		t.Skipf("set %s to the built program, as make test does", binaryEnv)
	}
	dir, err := os.MkdirTemp("", "home") //nolint:usetesting // Its paths may be too long for a socket.
	if err != nil {
		t.Fatal(err)
	}
	h := home{dir, binary}
	t.Cleanup(func() {
		for _, state := range []string{".local/share/slipway", "planes/lab"} {
			h.run(t, "slipway down --state-dir ~/"+state, 0)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return h
}

func (h home) env() []string {
	return []string{"HOME=" + h.dir, "PATH=" + os.Getenv("PATH") + ":" + filepath.Join(h.dir, "bin"), "USER=ada", binaryEnv + "=" + h.binary, "TMPDIR=" + os.TempDir()}
}

// slow bounds a command on a machine that is busy with other tests.
const slow = 4 * time.Minute

// run runs a line of shell in the home directory. With interruptAfter it is interrupted then, as by Ctrl-C.
func (h home) run(t *testing.T, line string, interruptAfter time.Duration) (int, string) {
	t.Helper()
	bound := slow
	if interruptAfter > 0 {
		bound = interruptAfter
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), bound)
	defer cancel()
	// exec makes the shell the command itself, so that a signal reaches it.
	if !strings.ContainsAny(line, ">|") {
		line = "exec " + line
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Dir, cmd.Env = h.dir, h.env()
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = slow
	log, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	// A file and no pipe: a plane that stays would keep a pipe open.
	cmd.Stdout, cmd.Stderr = log, log
	err = cmd.Run()
	out, errRead := os.ReadFile(log.Name())
	if errRead != nil {
		t.Fatal(errRead)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("%s: %v", line, err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

func TestScripts(t *testing.T) {
	h := newHome(t)
	code, up := h.run(t, "slipway up --detach", 0)
	if code != 0 {
		t.Fatalf("up: exit code %d\n%s", code, up)
	}
	_, status := h.run(t, "slipway status", 0)
	running := regexp.MustCompile(`[0-9]+ running`)
	if begun, now := running.FindString(up), running.FindString(status); begun == "" || begun != now {
		t.Errorf("up says %q and status %q of the same controllers", begun, now)
	}
	kubeconfig, err := os.ReadFile(filepath.Join(h.dir, ".kube", "config"))
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(env *testscript.Env) error {
			dir := filepath.Join(env.WorkDir, ".kube")
			env.Setenv("HOME", env.WorkDir)
			env.Setenv(binaryEnv, h.binary)
			return errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "config"), kubeconfig, 0o600))
		},
		// exits checks the exit code of a command: exits 4 slipway delete cluster demo. offers runs a completion until it prints
		// a text: on a busy machine it may give up, which it does in silence.
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "offers": offers},
	})
}

func exits(ts *testscript.TestScript, _ bool, args []string) {
	code := "0"
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		code = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if code != args[0] {
		ts.Fatalf("exit code %s, want %s", code, args[0])
	}
}

func offers(ts *testscript.TestScript, _ bool, args []string) {
	for range 50 {
		err := ts.Exec(args[1], args[2:]...)
		if err == nil && strings.Contains("\n"+ts.ReadFile("stdout"), "\n"+args[0]) {
			return
		}
	}
	ts.Fatalf("it does not offer %s", args[0])
}
