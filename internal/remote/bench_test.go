package remote

import (
	"fmt"
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// BenchmarkConnectedClusters connects to clusters of four Nodes each, all served by this process, and reports what one
// costs. The servers' half of the connections is counted along: what is reported is an upper bound.
func BenchmarkConnectedClusters(b *testing.B) {
	for _, clusters := range []int{10, 100, 500} {
		b.Run(fmt.Sprint(clusters), func(b *testing.B) {
			for b.Loop() {
				connectMany(b, clusters)
			}
		})
	}
}

func connectMany(b *testing.B, clusters int) {
	b.StopTimer()
	servers := make([]*workload, clusters)
	for i := range servers {
		servers[i] = newWorkload(b)
		for n := range 4 {
			servers[i].put(likelyNode(fmt.Sprintf("node-%d", n)))
		}
		for _, component := range Components() {
			servers[i].put(staticPod(component, "node-0", "v1.37.2"))
		}
	}
	w := newWorld(b, patient())
	heap, goroutines := footprint(), runtime.NumGoroutine()
	b.StartTimer()
	for i, server := range servers {
		w.admit(fmt.Sprintf("c%d", i), server.kubeconfig(token))
	}
	for range servers {
		if e := <-w.events; e.Change != Opened {
			b.Fatalf("event %v: %+v", e, w.Status(e.Cluster))
		}
	}
	b.StopTimer()
	eventually(b, "all watches are open", func() bool {
		for _, s := range servers {
			s.mu.Lock()
			open := len(s.watchers)
			s.mu.Unlock()
			if open < 2 {
				return false
			}
		}
		return true
	})
	for i := range servers {
		c, err := w.Client(b.Context(), key(fmt.Sprintf("c%d", i)))
		if err != nil {
			b.Fatal(err)
		}
		if err := c.List(b.Context(), &corev1.NodeList{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(footprint()-heap)/float64(clusters)/1024, "KB/cluster")
	b.ReportMetric(float64(runtime.NumGoroutine()-goroutines)/float64(clusters), "goroutines/cluster")
	b.StartTimer()
}

// footprint is the memory in use by objects and stacks.
func footprint() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapInuse + stats.StackInuse
}

func likelyNode(name string) *corev1.Node {
	n := node(name, "sim://"+name)
	n.Labels = map[string]string{}
	for i := range 12 {
		n.Labels[fmt.Sprintf("example.com/label-%d", i)] = "some value"
	}
	for i := range 50 {
		n.Status.Images = append(n.Status.Images, corev1.ContainerImage{Names: []string{fmt.Sprintf("registry.k8s.io/image-%d:v1", i)}})
	}
	for _, kind := range []corev1.NodeConditionType{"Ready", "MemoryPressure", "DiskPressure", "PIDPressure"} {
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: kind, Message: "kubelet has sufficient memory"})
	}
	n.Status.Capacity = corev1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("16Gi")}
	return n
}
