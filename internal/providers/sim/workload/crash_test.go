package workload_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"slipway.dev/slipway/internal/providers/sim/workload"
)

func configMap(name, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Data: map[string]string{"v": value}}
}

func (w *world) file() string { return filepath.Join(w.config.Dir, "cluster.state") }

// content reads what the cluster's file holds.
func (w *world) content() []byte {
	w.tb.Helper()
	data, err := os.ReadFile(w.file())
	if err != nil {
		w.tb.Fatal(err)
	}
	return data
}

// loadFrom opens the cluster on a file with this content.
func (w *world) loadFrom(content []byte) error {
	w.tb.Helper()
	if w.cluster != nil {
		if err := w.cluster.Close(); err != nil {
			w.tb.Fatal(err)
		}
		w.cluster = nil
	}
	if err := os.WriteFile(w.file(), content, 0o600); err != nil {
		w.tb.Fatal(err)
	}
	c, err := w.server.Open(types.NamespacedName{Namespace: "default", Name: "demo"}, w.config)
	if err == nil {
		w.cluster = c
	}
	return err
}

// TestFile_CutAtAnyByteHoldsAPrefixOfTheWrites writes three transactions and cuts the file within the last two at every byte.
func TestFile_CutAtAnyByteHoldsAPrefixOfTheWrites(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.cluster.Store()
	sizes := []int{}
	versions := []string{}
	for i := range 3 {
		// Two objects a transaction: both come, or neither.
		if _, err := s.Put(configMap(fmt.Sprint("a", i), "x"), configMap(fmt.Sprint("b", i), "x")); err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, len(w.content()))
		versions = append(versions, s.ResourceVersion())
	}
	if err := s.SetValue("etcd", []byte("state")); err != nil {
		t.Fatal(err)
	}
	content := w.content()
	for cut := sizes[0]; cut <= len(content); cut++ {
		if err := w.loadFrom(bytes.Clone(content[:cut])); err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		s := w.cluster.Store()
		whole := 0
		for whole < 3 && sizes[whole] <= cut {
			whole++
		}
		if got := must[[]*corev1.ConfigMap](t)(workload.List[*corev1.ConfigMap](s, "", nil)); len(got) != 2*whole {
			t.Fatalf("cut at %d: %d objects, want %d", cut, len(got), 2*whole)
		}
		if (s.Value("etcd") != nil) != (cut == len(content)) {
			t.Fatalf("cut at %d: value %q", cut, s.Value("etcd"))
		}
		if number(t, s.ResourceVersion()) <= number(t, versions[2]) {
			t.Fatalf("cut at %d: resourceVersion went back from %s to %s", cut, versions[2], s.ResourceVersion())
		}
		// What is written after a torn tail must be readable too.
		if cut%97 == 0 {
			if _, err := s.Put(configMap("after", "x")); err != nil {
				t.Fatal(err)
			}
			w.reopen()
			if !workload.Has[*corev1.ConfigMap](w.cluster.Store(), types.NamespacedName{Namespace: "default", Name: "after"}) {
				t.Fatalf("cut at %d: a write after it was lost", cut)
			}
		}
	}
}

func number(tb testing.TB, rv string) uint64 {
	tb.Helper()
	return must[uint64](tb)(strconv.ParseUint(rv, 10, 64))
}

func TestFile_CutBeforeTheSeedIsANewCluster(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	content := w.content()
	for cut := 0; cut < len(content); cut += 53 {
		if err := w.loadFrom(bytes.Clone(content[:cut])); err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		if !w.cluster.Store().Created() || !workload.Has[*corev1.Namespace](w.cluster.Store(), types.NamespacedName{Name: "kube-system"}) {
			t.Fatalf("cut at %d: not begun anew", cut)
		}
	}
}

func TestIdleClusters_HaveOneGoroutineEach(t *testing.T) {
	w := newWorld(t)
	before := runtime.NumGoroutine()
	const clusters = 40
	for i := range clusters {
		cfg := w.config
		cfg.Dir = t.TempDir()
		must[*workload.Cluster](t)(w.server.Open(types.NamespacedName{Name: fmt.Sprint("idle-", i)}, cfg))
	}
	if got := runtime.NumGoroutine() - before; got > clusters+8 {
		t.Errorf("%d clusters have %d goroutines", clusters, got)
	}
}

func TestFile_DamagedBeforeItsEndIsToldAndNotRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 5 {
		if _, err := w.cluster.Store().Put(configMap(fmt.Sprint(i), "x")); err != nil {
			t.Fatal(err)
		}
	}
	content := w.content()
	content[len(content)/2] ^= 1
	err := w.loadFrom(content)
	corrupt, ok := errors.AsType[*workload.CorruptError](err)
	if !ok || corrupt.Path != w.file() {
		t.Fatalf("opened with %v", err)
	}
	if !bytes.Equal(w.content(), content) {
		t.Error("the damaged file was changed")
	}
	if err := os.Remove(w.file()); err != nil {
		t.Fatal(err)
	}
	w.open()
	if !w.cluster.Store().Created() {
		t.Error("a lost file is not noticed")
	}
}

func TestFile_WithADamagedLengthIsNotCutThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	at := len(w.content()) // where the next frame begins
	for i := range 5 {
		if _, err := w.cluster.Store().Put(configMap(fmt.Sprint(i), "x")); err != nil {
			t.Fatal(err)
		}
	}
	whole := w.content()
	for name, length := range map[string]uint32{"none": 0, "one more": binary.LittleEndian.Uint32(whole[at:]) + 1, "beyond the end": 1 << 20, "beyond all bounds": 1 << 31} {
		content := bytes.Clone(whole)
		binary.LittleEndian.PutUint32(content[at:], length)
		corrupt, ok := errors.AsType[*workload.CorruptError](w.loadFrom(content))
		if !ok || corrupt.Offset != int64(at) {
			t.Errorf("%s: opened with %v", name, corrupt)
		}
		if !bytes.Equal(w.content(), content) {
			t.Errorf("%s: the damaged file was changed", name)
		}
	}
}

func TestFile_IsRewrittenWhenItGrowsAndLosesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.cluster.Store()
	keep := must[*corev1.ConfigMap](t)(workload.Create(s, configMap("keep", "me")))
	big := string(bytes.Repeat([]byte("x"), 8<<10))
	largest := 0
	for i := range 200 {
		if _, err := s.Put(configMap("churn", big+fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
		largest = max(largest, len(w.content()))
	}
	if largest > 1<<20 {
		t.Errorf("the file grew to %d bytes", largest)
	}
	w.reopen()
	s = w.cluster.Store()
	for name, want := range map[string]string{"keep": "me", "churn": big + "199"} {
		if got := must[*corev1.ConfigMap](t)(workload.Read[*corev1.ConfigMap](s, types.NamespacedName{Namespace: "default", Name: name})); got.Data["v"] != want {
			t.Errorf("%s: %d bytes", name, len(got.Data["v"]))
		}
	}
	if got := must[*corev1.ConfigMap](t)(workload.Read[*corev1.ConfigMap](s, types.NamespacedName{Namespace: "default", Name: "keep"})); got.UID != keep.UID {
		t.Error("the UID changed")
	}
}

func TestVolatileObjects_AreNotInTheFileButCountAsVersions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	holder := "n"
	size := len(w.content())
	for range 50 {
		if _, err := w.cluster.Store().Put(leaseOf("n", &holder)); err != nil {
			t.Fatal(err)
		}
	}
	if got := len(w.content()); got != size {
		t.Errorf("the file grew by %d bytes", got-size)
	}
	before := number(t, w.cluster.Store().ResourceVersion())
	w.reopen()
	if after := number(t, w.cluster.Store().ResourceVersion()); after < before {
		t.Errorf("resourceVersion went from %d to %d", before, after)
	}
}

// TestWriters_OfOneObjectLoseNothing has many writers count in one object, half through HTTP.
func TestWriters_OfOneObjectLoseNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.cluster.Store()
	must[*corev1.ConfigMap](t)(workload.Create(s, configMap("c", "0")))
	c := w.clientset().CoreV1().ConfigMaps("default")
	const writers, rounds = 8, 20
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() {
			for r := range rounds {
				if i%2 == 0 {
					_, err := c.Patch(t.Context(), "c", types.MergePatchType, fmt.Appendf(nil, `{"data":{"w%d":"%d"}}`, i, r), metav1.PatchOptions{})
					if err != nil {
						t.Error(err)
					}
					continue
				}
				_, err := workload.Modify(s, types.NamespacedName{Namespace: "default", Name: "c"}, func(c *corev1.ConfigMap) error {
					c.Data[fmt.Sprint("w", i)] = fmt.Sprint(r)
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	got := must[*corev1.ConfigMap](t)(workload.Read[*corev1.ConfigMap](s, types.NamespacedName{Namespace: "default", Name: "c"}))
	for i := range writers {
		if got.Data[fmt.Sprint("w", i)] != fmt.Sprint(rounds-1) {
			t.Errorf("writer %d: %q", i, got.Data[fmt.Sprint("w", i)])
		}
	}
}
