package world

import (
	"io"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
	"slipway.dev/slipway/internal/kubeadm/config"
)

// It counts what the whole process has, so that it runs alone.
func TestWorld_KeepsNothingOfFiftyClusters(t *testing.T) { //nolint:paralleltest // See above.
	const clusters = 50
	dir := t.TempDir()
	freePort(t) // The runtime keeps what it needs for its first socket.
	begin, beginOpen := goleak.IgnoreCurrent(), openFiles(t)
	one := newFleet(t, dir)
	warm := one.live()
	one.remove()
	warm()
	running, open := runtime.NumGoroutine(), openFiles(t) // With what all clusters share and the first one starts.
	var fleets []*fleet
	var gone []func()
	for i := range clusters {
		f := &fleet{t: t, world: one.world, cas: one.cas, place: one.place}
		f.place.Key.Name, f.place.ID, f.place.Port = "c"+strconv.Itoa(i), types.UID(strconv.Itoa(i)), freePort(t)
		fleets, gone = append(fleets, f), append(gone, f.live())
		if i%2 == 0 { // So that some come while others go.
			f.remove()
		}
	}
	for i, f := range fleets {
		if i%2 != 0 { // Nobody took their machines away first.
			if err := f.world.Remove(f.place.Key, f.place.ID); err != nil {
				t.Fatal(err)
			}
		}
		gone[i]()
	}
	eventually(t, "no more goroutines and open files than after one cluster", func() bool {
		return runtime.NumGoroutine() <= running && openFiles(t) <= open
	})
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left in the directory: %v, %v", left, err)
	}
	if err := one.world.Close(); err != nil {
		t.Fatal(err)
	}
	goleak.VerifyNone(t, begin)
	if got := openFiles(t); got > beginOpen {
		t.Errorf("%d open files, want %d as in the beginning", got, beginOpen)
	}
}

// openFiles counts the process's open files and sockets, those that listen too.
func openFiles(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skipf("open files cannot be counted here: %v", err)
	}
	return len(list)
}

// live lets a cluster do all that opens something. Its clients do not hang up: clientsGone waits until the cluster does.
func (f *fleet) live() (clientsGone func()) {
	f.t.Helper()
	if _, err := f.cluster().FaultStarts("w0", []string{"SlowBoot"}); err != nil {
		f.t.Fatal(err)
	}
	f.boot("cp0", f.initData(bootstrapv1.KubeadmConfigSpec{}))
	f.boot("w0", f.joinData(config.Worker, f.newToken(time.Hour)))
	for _, a := range []Ailments{{Unreachable: true}, {}} {
		if err := f.cluster().Ail(a); err != nil {
			f.t.Fatal(err)
		}
	}
	nodes, err := f.admin().CoreV1().Nodes().Watch(f.t.Context(), metav1.ListOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	etcd, err := f.cluster().members.Dial(f.t.Context(), "cp0")
	if err != nil {
		f.t.Fatal(err)
	}
	return func() {
		for range nodes.ResultChan() { // Reading is what counts.
		}
		if _, err := io.Copy(io.Discard, etcd); err != nil {
			f.t.Errorf("the connection to etcd did not end in order: %v", err)
		}
		_ = etcd.Close() // The other end is gone.
	}
}

// remove takes the machines away, and then the cluster.
func (f *fleet) remove() {
	f.t.Helper()
	for _, name := range []string{"w0", "cp0"} {
		if err := f.cluster().Delete(name, ""); err != nil {
			f.t.Fatal(err)
		}
	}
	if err := f.world.Remove(f.place.Key, f.place.ID); err != nil {
		f.t.Fatal(err)
	}
}
