package workload_test

import (
	"fmt"
	"io"
	"runtime"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"slipway.dev/slipway/internal/providers/sim/workload"
)

// fill gives a store about forty objects beyond what it starts with, as a cluster of four machines has.
func fill(tb testing.TB, s *workload.Store) {
	tb.Helper()
	objs := []workload.Object{}
	for i := range 4 {
		name := fmt.Sprintf("machine-%d", i)
		objs = append(objs, node(name), pod("kube-system", "kube-proxy-"+name, name, map[string]string{"k8s-app": "kube-proxy"}))
		for _, c := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
			objs = append(objs, pod("kube-system", c+"-"+name, name, map[string]string{"component": c, "tier": "control-plane"}))
		}
	}
	for i := range 6 {
		objs = append(objs, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: fmt.Sprintf("config-%d", i)},
			Data:       map[string]string{"ClusterConfiguration": string(make([]byte, 1500))},
		})
	}
	if _, err := s.Put(objs...); err != nil {
		tb.Fatal(err)
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}

// BenchmarkIdleCluster_Memory opens a hundred clusters of some forty objects and tells what one takes: alone, and with a
// client that watches its nodes (both ends counted).
func BenchmarkIdleCluster_Memory(b *testing.B) {
	const clusters = 100
	server, err := workload.NewServer(workload.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = server.Close() }()
	ca := newAuthority(b, "kubernetes")
	cert, key := ca.issue(b, "kube-apiserver")
	for b.Loop() {
		before := heap()
		var open []*workload.Cluster
		for i := range clusters {
			c, err := server.Open(types.NamespacedName{Namespace: "default", Name: fmt.Sprint(i)}, workload.Config{
				Dir: b.TempDir(), ListenAddr: "127.0.0.1:0", ServingCertPEM: cert, ServingKeyPEM: key, ClientCAPEM: ca.pem, Version: "v1.37.2",
			})
			if err != nil {
				b.Fatal(err)
			}
			fill(b, c.Store())
			open = append(open, c)
		}
		idle := heap()
		b.ReportMetric(float64(idle-before)/clusters/1024, "KiB/idle-cluster")
		w := &world{tb: b, ca: ca}
		for _, c := range open {
			w.cluster = c
			watched, err := kubernetes.NewForConfig(w.admin())
			if err != nil {
				b.Fatal(err)
			}
			watching, err := watched.CoreV1().Nodes().Watch(b.Context(), metav1.ListOptions{})
			if err != nil {
				b.Fatal(err)
			}
			<-watching.ResultChan()
			defer watching.Stop()
		}
		b.ReportMetric(float64(heap()-idle)/clusters/1024, "KiB/watch-both-ends")
		for _, c := range open {
			if err := c.Remove(); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkCreate writes through HTTP and waits for the disk each time.
func BenchmarkCreate(b *testing.B) {
	w := newWorld(b)
	c := w.clientset()
	i := 0
	for b.Loop() {
		i++
		_, err := c.CoreV1().ConfigMaps("default").Create(b.Context(), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("c-", i)}, Data: map[string]string{"a": "b"},
		}, metav1.CreateOptions{})
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPut writes as the simulator does, many clusters' objects at a time in one transaction.
func BenchmarkPut(b *testing.B) {
	w := newWorld(b)
	i := 0
	for b.Loop() {
		i++
		n := node("n")
		n.Labels["i"] = fmt.Sprint(i)
		if _, err := w.cluster.Store().Put(n, pod("default", "p", "n", n.Labels)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkListNodes lists three nodes through HTTP.
func BenchmarkListNodes(b *testing.B) {
	w := newWorld(b, func(c *workload.Config) {
		c.Hooks.Heartbeat = func(string) (time.Time, bool) { return time.Now(), true }
	})
	fill(b, w.cluster.Store())
	c := w.clientset().CoreV1().RESTClient()
	for b.Loop() {
		body, err := c.Get().AbsPath("/api/v1/nodes").Stream(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, body); err != nil {
			b.Fatal(err)
		}
		_ = body.Close() // read to its end
	}
}

// BenchmarkOpen loads a file of some forty objects.
func BenchmarkOpen(b *testing.B) {
	w := newWorld(b)
	fill(b, w.cluster.Store())
	for b.Loop() {
		w.reopen()
	}
}
