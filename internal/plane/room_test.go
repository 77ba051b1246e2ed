package plane

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
)

// smallQuota is a store's limit that a test reaches in no time.
const smallQuota = 8 << 20

// withStore starts the store of a plane in a state directory, which is the working directory.
func withStore(t *testing.T, dir string) (r *running, store *clientv3.Client) {
	t.Helper()
	r = stopped(t, dir, "127.0.0.1")
	r.opts.Log, r.quota = io.Discard, smallQuota
	if err := r.startStore(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r, v3client.New(r.etcd.Server)
}

// stop stops what withStore started.
func (r *running) stop(t *testing.T, store *clientv3.Client) {
	t.Helper()
	_ = store.Close() // It says that its context has ended, as it should.
	r.etcd.Close()
	r.etcd = nil
	r.mustClose(t)
}

// It is not parallel: the store's sockets are in the working directory.
func TestStore_ThatIsFullCanBeWrittenAfterItsNextStart(t *testing.T) {
	value := string(bytes.Repeat([]byte("x"), 256<<10))
	for name, key := range map[string]func(i int) string{
		"full of history": func(int) string { return "same" },
		"full of objects": func(i int) string { return fmt.Sprint("object-", i) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			t.Chdir(dir)
			r, store := withStore(t, dir)
			for i := 0; !refusesWrites(r.etcd.Server); i++ {
				if _, err := store.Put(t.Context(), key(i), value); err != nil {
					t.Log(i, err)
				}
			}
			if text := fullness(r.etcd.Server, r.quota); !strings.Contains(text, "refuses writes") {
				t.Errorf("it says %q", text)
			}
			r.stop(t, store)

			r, store = withStore(t, dir)
			if _, err := store.Put(t.Context(), "another", "small"); err != nil {
				t.Fatalf("after a restart: %v", err)
			}
			text := fullness(r.etcd.Server, r.quota)
			if full := strings.Contains(name, "objects"); full && r.quota == smallQuota || !full && (r.quota != smallQuota || text != "") {
				t.Errorf("the limit is %d, and it says %q", r.quota, text)
			}
			if _, err := store.Delete(t.Context(), key(0), clientv3.WithPrefix()); err != nil {
				t.Fatal(err)
			}
			for i := 1; ; i++ {
				if deleted, err := store.Delete(t.Context(), key(i)); err != nil {
					t.Fatal(err)
				} else if deleted.Deleted == 0 {
					break
				}
			}
			r.stop(t, store)

			r, store = withStore(t, dir)
			if text := fullness(r.etcd.Server, r.quota); text != "" || r.quota != smallQuota {
				t.Errorf("when all is deleted, the limit is %d, and it says %q", r.quota, text)
			}
			got, err := store.Get(t.Context(), "another")
			if err != nil || got.Count != 1 {
				t.Errorf("what was written: %v, %v", got, err)
			}
			r.stop(t, store)
		})
	}
}
