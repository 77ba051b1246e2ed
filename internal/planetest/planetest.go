// Package planetest gives tests a real management plane: one process a test binary, a namespace a test. The controllers
// under test run inside the test binary, so that they are race-built and can be stopped between any two writes.
package planetest

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/manager"
	"slipway.dev/slipway/internal/statedir"
)

// binaryEnv names a built slipway binary to use; without it, one is built into bin/ of the module.
const binaryEnv = "SLIPWAY_BIN"

// startTimeout bounds a plane's start on a machine that is busy with other tests.
const startTimeout = 3 * time.Minute

// Plane is a running plane.
type Plane struct {
	// Config reaches it with all rights.
	Config *rest.Config
	// Kubeconfig is the path of a file that does the same.
	Kubeconfig string
	// StateDir is its state directory.
	StateDir string
	cmd      *exec.Cmd
	exited   chan error
}

// shared is the plane of this test binary, set by Main before any test runs.
var shared *Plane

// Main starts a plane without controllers, runs the tests and stops the plane: `os.Exit(planetest.Main(m))`.
func Main(m *testing.M) int { return around(m, "--controllers=false") }

// MainWithControllers is Main with a plane that runs all controllers.
func MainWithControllers(m *testing.M) int { return around(m) }

func around(m *testing.M, args ...string) int {
	flag.Parse()
	if flag.Lookup("test.list").Value.String() != "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "slipway-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "make a state directory:", err)
		return 1
	}
	defer os.RemoveAll(dir)
	if shared, err = Start(context.Background(), dir, args...); err != nil { //nolint:forbidigo // TestMain has no testing.T.
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer shared.Stop()
	return m.Run()
}

// Start runs a plane on a state directory and waits until it is ready. The caller stops it.
func Start(ctx context.Context, stateDir string, args ...string) (*Plane, error) {
	// The plane writes its own log; without a logger, controller-runtime prints a stack into the tests' output.
	ctrl.SetLogger(logr.Discard())
	binary, err := Binary(ctx)
	if err != nil {
		return nil, err
	}
	if err := statedir.MakeLogDir(stateDir); err != nil {
		return nil, err
	}
	log, err := os.OpenFile(statedir.LogFile(stateDir), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(binary, append([]string{"plane", "--state-dir", stateDir}, args...)...)
	cmd.Stdout, cmd.Stderr = log, log
	// A test binary that is killed takes its plane with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the plane: %w", err)
	}
	p := &Plane{StateDir: stateDir, Kubeconfig: statedir.AdminKubeconfig(stateDir), cmd: cmd, exited: make(chan error, 1)}
	go func() { p.exited <- cmd.Wait() }()
	if err := p.waitReady(ctx); err != nil {
		p.Kill()
		return nil, err
	}
	return p, nil
}

func (p *Plane) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if p.answers(ctx) {
			return nil
		}
		select {
		case err := <-p.exited:
			p.exited <- err
			log, readErr := os.ReadFile(statedir.LogFile(p.StateDir))
			return errors.Join(fmt.Errorf("the plane ended: %w\n%s", err, lastLines(string(log), 20)), readErr)
		case <-ctx.Done():
			return fmt.Errorf("the plane is not ready: %w", context.Cause(ctx))
		case <-tick.C:
		}
	}
}

func (p *Plane) answers(ctx context.Context) bool {
	cfg, err := clientcmd.BuildConfigFromFlags("", p.Kubeconfig)
	if err != nil {
		return false
	}
	cfg.QPS, cfg.Burst = -1, 0
	c, err := client.New(cfg, client.Options{Scheme: manager.Scheme()})
	if err != nil {
		return false
	}
	if c.List(ctx, &corev1.NamespaceList{}) != nil {
		return false
	}
	p.Config = cfg
	return true
}

// PID is the plane's process id.
func (p *Plane) PID() int { return p.cmd.Process.Pid }

// Stop ends the plane in order and waits for it.
func (p *Plane) Stop() { p.end(syscall.SIGTERM) }

// Kill ends the plane at once and waits for it.
func (p *Plane) Kill() { p.end(syscall.SIGKILL) }

func (p *Plane) end(sig syscall.Signal) {
	// The process may have ended already, which is what is wanted.
	_ = p.cmd.Process.Signal(sig)
	err := <-p.exited
	p.exited <- err
}

// Binary returns the path of a slipway binary, building it when the environment names none.
func Binary(ctx context.Context) (string, error) {
	if path := os.Getenv(binaryEnv); path != "" {
		return path, nil
	}
	root, err := output(exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "slipway.dev/slipway"))
	if err != nil {
		return "", err
	}
	path := filepath.Join(root, "bin", "slipway")
	flags, err := output(exec.CommandContext(ctx, filepath.Join(root, "hack", "versionflags.sh")))
	if err != nil {
		return "", err
	}
	build := exec.CommandContext(ctx, "go", "build", "-ldflags", "-s -w "+flags, "-o", path, "./cmd/slipway")
	build.Dir = root
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	_, err = output(build)
	return path, err
}

func output(cmd *exec.Cmd) (string, error) {
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, errs.String())
	}
	return strings.TrimSpace(out.String()), nil
}

func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return strings.Join(lines, "\n")
}

// Shared is the test binary's plane; tests leave it alive.
func Shared(t testing.TB) *Plane {
	t.Helper()
	if shared == nil {
		t.Fatal("no plane: TestMain of this package must call planetest.Main")
	}
	return shared
}

// Config reaches the test binary's plane with all rights.
func Config(t testing.TB) *rest.Config {
	t.Helper()
	return rest.CopyConfig(Shared(t).Config)
}

// Client returns an uncached client of the test binary's plane that knows every kind.
func Client(t testing.TB) client.WithWatch {
	t.Helper()
	c, err := client.NewWithWatch(Config(t), client.Options{Scheme: manager.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Namespace makes a namespace for one test; it is deleted when the test ends.
func Namespace(t testing.TB) string {
	t.Helper()
	c := Client(t)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	if err := c.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// The plane goes with the test binary; what a namespace leaves there is no concern of the next test.
		_ = c.Delete(context.WithoutCancel(t.Context()), ns)
	})
	return ns.Name
}

// Manager runs controllers on one namespace of the test binary's plane until the test ends. Setup adds them.
func Manager(t testing.TB, namespace string, setup func(ctrl.Manager) error) ctrl.Manager {
	t.Helper()
	mgr, _ := StartManager(t, namespace, setup)
	return mgr
}

// ManagerFor is Manager for controllers that reach the plane by a config of their own.
func ManagerFor(t testing.TB, cfg *rest.Config, namespace string, setup func(ctrl.Manager) error) {
	t.Helper()
	run(t, cfg, namespace, func(*ctrl.Options) {}, setup)
}

// StartManager is Manager for tests that stop it before they end.
func StartManager(t testing.TB, namespace string, setup func(ctrl.Manager) error) (mgr ctrl.Manager, stop func()) {
	t.Helper()
	mgr, stop = run(t, Config(t), namespace, func(*ctrl.Options) {}, setup)
	fill(t, mgr)
	return mgr, stop
}

// run starts a manager that stop ends, which may be called again; the test's end does it too.
func run(t testing.TB, cfg *rest.Config, namespace string, change func(*ctrl.Options), setup func(ctrl.Manager) error) (mgr ctrl.Manager, stop func()) {
	t.Helper()
	settings, err := manager.Settings(manager.Scheme())
	if err != nil {
		t.Fatal(err)
	}
	settings.Cache.DefaultNamespaces = map[string]cache.Config{namespace: {}}
	change(&settings)
	if mgr, err = ctrl.NewManager(cfg, settings); err != nil {
		t.Fatal(err)
	}
	if err := setup(mgr); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			// What does not end is found nowhere else.
			stacks := make([]byte, 4<<20)
			t.Errorf("run the controllers: %v\n%s", err, stacks[:runtime.Stack(stacks, true)])
		}
	})
	t.Cleanup(stop)
	return mgr, stop
}

// fill waits until a manager's cache holds what is there.
func fill(t testing.TB, mgr ctrl.Manager) {
	t.Helper()
	if !mgr.GetCache().WaitForCacheSync(t.Context()) {
		t.Fatal("the caches did not fill")
	}
}

// Change changes an object by a merge patch of what change makes different from what is stored.
func Change(t testing.TB, c client.Client, obj client.Object, change func()) {
	t.Helper()
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(obj), obj); err != nil {
		t.Fatal(err)
	}
	before, ok := obj.DeepCopyObject().(client.Object)
	if !ok {
		t.Fatalf("%T is no object", obj)
	}
	change()
	if err := c.Patch(t.Context(), obj, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

// Eventually waits until check returns nil and fails the test with its last error after two minutes: long enough for a busy
// machine, and paid only by a test that fails. It looks at once, soon, and then ever less often: every look is work for the
// plane that others wait for.
func Eventually(t testing.TB, check func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for pause := 20 * time.Millisecond; ; pause = min(pause*5/4, 100*time.Millisecond) {
		err := check(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("still not so after two minutes: %v", err)
		case <-time.After(pause):
		}
	}
}
