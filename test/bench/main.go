// Command bench prints how fast, how big and how quiet Slipway is, on this machine: `make bench`. It uses a built binary as a
// user would, on state directories of its own, and takes all of them down again.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/manager"
	"slipway.dev/slipway/internal/planetest"
	"slipway.dev/slipway/test/fleet"
)

// barred is the size of fleet that has bars.
const barred = 100

// settle is how long a fleet rests before its memory is read and its writes are counted.
const settle = time.Minute

func main() {
	sizes := flag.String("clusters", "1,10,100,500", "fleet sizes, comma-separated; 500 take a quarter of an hour")
	idle := flag.Duration("idle", 30*time.Second, "how long to watch an idle plane")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	b := bench{out: os.Stdout}
	if err := b.run(ctx, *sizes, *idle); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type bench struct{ out io.Writer }

func (b bench) run(ctx context.Context, sizes string, idle time.Duration) error {
	if err := b.plane(ctx, idle); err != nil {
		return err
	}
	fmt.Fprintf(b.out, "\n%-9s %10s %14s %14s %14s %16s\n", "clusters", "up", "CPU s/cluster", "MiB/cluster", "writes/machine", "idle writes/min")
	for s := range strings.SplitSeq(sizes, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(s))
		if err != nil {
			return fmt.Errorf("fleet size %q: %w", s, err)
		}
		if err := b.fleet(ctx, n); err != nil {
			return err
		}
		if n == barred {
			fmt.Fprintf(b.out, "%9s %8.1f s %14s %14.2f %14s %16d\n", "its bar", 120.0, "", 8.0, "", 0)
			fmt.Fprintf(b.out, "%9s %8.1f s %14s %14.2f\n", "its aim", 60.0, "", 4.0)
		}
	}
	return nil
}

// plane measures an empty plane: its first start, a restart, and what it needs while nothing happens.
func (b bench) plane(ctx context.Context, idle time.Duration) error {
	dir, err := os.MkdirTemp("", "slipway-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	begin := time.Now()
	p, err := planetest.Start(ctx, dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(b.out, "first start  %6.2f s   (bar 8, aim 5)\n", time.Since(begin).Seconds())
	p.Stop()
	begin = time.Now()
	if p, err = planetest.Start(ctx, dir); err != nil {
		return err
	}
	defer p.Stop()
	fmt.Fprintf(b.out, "restart      %6.2f s   (bar 4, aim 2.5)\n", time.Since(begin).Seconds())
	if err := rest(ctx, 10*time.Second); err != nil {
		return err
	}
	before, err := usage(p.PID())
	if err != nil {
		return err
	}
	if err := rest(ctx, idle); err != nil {
		return err
	}
	after, err := usage(p.PID())
	if err != nil {
		return err
	}
	fmt.Fprintf(b.out, "idle memory  %6.0f MiB (bar 300, aim 220)\n", after.mebibytes)
	fmt.Fprintf(b.out, "idle CPU     %6.2f %%   (bar 3, aim 1.5)\n", 100*(after.cpu-before.cpu).Seconds()/idle.Seconds())
	return nil
}

// fleet measures n clusters of one control-plane machine and three workers on a plane of their own.
func (b bench) fleet(ctx context.Context, n int) error {
	dir, err := os.MkdirTemp("", "slipway-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	r, err := start(ctx, dir)
	if err != nil {
		return err
	}
	defer r.plane.Stop()
	empty, writesBefore, err := r.rested(ctx, 5*time.Second)
	if err != nil {
		return err
	}
	took, err := r.raise(ctx, n)
	if err != nil {
		return err
	}
	up, err := usage(r.plane.PID())
	if err != nil {
		return err
	}
	settled, writesUp, err := r.rested(ctx, settle)
	if err != nil {
		return err
	}
	_, writesIdle, err := r.rested(ctx, settle)
	if err != nil {
		return err
	}
	fmt.Fprintf(b.out, "%-9d %8.1f s %14.2f %14.2f %14.1f %16.0f\n", n, took.Seconds(), (up.cpu-empty.cpu).Seconds()/float64(n),
		(settled.mebibytes-empty.mebibytes)/float64(n), (writesUp-writesBefore)/float64(4*n), writesIdle-writesUp)
	return nil
}

// rig is a plane that is measured, and the clients that measure it.
type rig struct {
	plane   *planetest.Plane
	client  client.Client
	metrics *kubernetes.Clientset
}

func start(ctx context.Context, dir string) (*rig, error) {
	p, err := planetest.Start(ctx, dir)
	if err != nil {
		return nil, err
	}
	p.Config.QPS, p.Config.Burst = -1, 0
	c, err := client.New(p.Config, client.Options{Scheme: manager.Scheme()})
	if err != nil {
		p.Stop()
		return nil, err
	}
	metrics, err := kubernetes.NewForConfig(p.Config)
	if err != nil {
		p.Stop()
		return nil, err
	}
	return &rig{plane: p, client: c, metrics: metrics}, nil
}

// raise creates n clusters and waits until all are up; it returns how long that took.
func (r *rig) raise(ctx context.Context, n int) (time.Duration, error) {
	begin := time.Now()
	specs := make([]fleet.Spec, 0, n)
	for i := range n {
		s := fleet.Spec{Namespace: "default", Name: fmt.Sprintf("c%03d", i), ControlPlane: 1, Workers: 3, ECDSA: true}
		if err := s.Create(ctx, r.client); err != nil {
			return 0, err
		}
		specs = append(specs, s)
	}
	for _, s := range specs {
		if err := fleet.Wait(ctx, 100*time.Millisecond, func(ctx context.Context) error { return s.Up(ctx, r.client) }); err != nil {
			return 0, err
		}
	}
	return time.Since(begin), nil
}

// rested lets the plane rest, and returns what it has needed and written since its start.
func (r *rig) rested(ctx context.Context, d time.Duration) (used, float64, error) {
	if err := rest(ctx, d); err != nil {
		return used{}, 0, err
	}
	u, err := usage(r.plane.PID())
	if err != nil {
		return used{}, 0, err
	}
	w, err := writes(ctx, r.metrics)
	return u, w, err
}

// used is what a process has needed.
type used struct {
	mebibytes float64
	cpu       time.Duration
}

// usage reads a process's resident memory and CPU time from /proc.
func usage(pid int) (used, error) {
	const ticksPerSecond = 100 // USER_HZ, fixed on Linux.
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return used{}, err
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	user, err := strconv.Atoi(fields[11])
	if err != nil {
		return used{}, err
	}
	system, err := strconv.Atoi(fields[12])
	if err != nil {
		return used{}, err
	}
	pages, err := strconv.Atoi(fields[21])
	if err != nil {
		return used{}, err
	}
	return used{
		mebibytes: float64(pages) * float64(os.Getpagesize()) / (1 << 20),
		cpu:       time.Duration(user+system) * time.Second / ticksPerSecond,
	}, nil
}

// writes is the number of writes that the controllers have sent so far, leases not counted.
func writes(ctx context.Context, c *kubernetes.Clientset) (float64, error) {
	raw, err := c.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return 0, err
	}
	sum := 0.0
	lines := bufio.NewScanner(strings.NewReader(string(raw)))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if !strings.HasPrefix(line, "slipway_api_writes_total{") || strings.Contains(line, `resource="leases"`) {
			continue
		}
		v, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
		if err != nil {
			return 0, fmt.Errorf("read metric %q: %w", line, err)
		}
		sum += v
	}
	return sum, nil
}

func rest(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
