package workload

import (
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestJournal_AfterARefusedWriteIsRewrittenWhole has the disk refuse once: the writer is told, and the next write brings both to disk.
func TestJournal_AfterARefusedWriteIsRewrittenWhole(t *testing.T) {
	t.Parallel()
	c, err := newCatalog()
	if err != nil {
		t.Fatal(err)
	}
	sh := &shared{catalog: c, writer: newWriter(c)}
	path := filepath.Join(t.TempDir(), "cluster.state")
	s, err := openStore(path, sh, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.seed(); err != nil {
		t.Fatal(err)
	}
	put := func(name string) error {
		_, err := s.Put(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}})
		return err
	}
	if err := s.journal.file.Close(); err != nil {
		t.Fatal(err)
	}
	if err := put("refused"); err == nil {
		t.Fatal("a write to a closed file succeeded")
	}
	if err := put("after"); err != nil {
		t.Fatal(err)
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	if err := put("late"); err == nil {
		t.Error("a write after close succeeded")
	}
	s, err = openStore(path, sh, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"refused", "after"} {
		if !Has[*corev1.ConfigMap](s, types.NamespacedName{Namespace: "default", Name: name}) {
			t.Errorf("%s is not in the file", name)
		}
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
}
