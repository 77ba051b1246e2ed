package flows_test

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/planetest"
	"slipway.dev/slipway/test/fleet"
)

// quiet is how long nothing may be written before a fleet counts as settled.
const quiet = 10 * time.Second

func TestBackupRestore_NothingIsMadeAgain(t *testing.T) {
	t.Parallel()
	old := start(t, t.TempDir())
	c := clientOf(t, old)
	s := fleet.Spec{Namespace: "kept", Name: "one", Version: version, ControlPlane: 3, Workers: 2, ECDSA: true}
	namespace(t, c, s.Namespace)
	if err := s.Create(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	eventually(t, "up", func(ctx context.Context) error { return whole(ctx, c, s) })
	settled(t, c, s.Namespace)
	before, nodesBefore := snapshot(t, c, s.Namespace, uid), nodeUIDs(t, c, s)

	binary, err := planetest.Binary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "slipway.backup")
	if out, err := exec.CommandContext(t.Context(), binary, "backup", file, "--state-dir", old.StateDir).CombinedOutput(); err != nil {
		t.Fatalf("back up: %v\n%s", err, out)
	}
	old.Kill()

	c = clientOf(t, start(t, t.TempDir(), "--from", file))
	nothingComes := comings(t, c, s.Namespace)
	eventually(t, "up again", func(ctx context.Context) error { return whole(ctx, c, s) })
	settled(t, c, s.Namespace)
	nothingComes()
	if diff := cmp.Diff(before, snapshot(t, c, s.Namespace, uid)); diff != "" {
		t.Errorf("objects were made or deleted (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(nodesBefore, nodeUIDs(t, c, s)); diff != "" {
		t.Errorf("Nodes were made or deleted (-before +after):\n%s", diff)
	}
}

// nodeUIDs maps each Node of a cluster to its UID.
func nodeUIDs(t *testing.T, c client.Client, s fleet.Spec) map[string]string {
	t.Helper()
	nodes, err := listNodes(t.Context(), c, s)
	if err != nil {
		t.Fatal(err)
	}
	uids := map[string]string{}
	for i := range nodes.Items {
		uids[nodes.Items[i].Name] = string(nodes.Items[i].UID)
	}
	return uids
}

func snapshot(t *testing.T, c client.Client, namespace string, of func(unstructured.Unstructured) string) map[string]string {
	t.Helper()
	objs, err := objects(t.Context(), c, namespace)
	if err != nil {
		t.Fatal(err)
	}
	return index(objs, of)
}

// settled waits until nothing in a namespace has been written for a while, and nothing is still to be.
func settled(t *testing.T, c client.Client, namespace string) {
	t.Helper()
	last, since := snapshot(t, c, namespace, resourceVersion), time.Now()
	eventually(t, "quiet", func(ctx context.Context) error {
		objs, err := objects(ctx, c, namespace)
		if err != nil {
			return err
		}
		now := index(objs, resourceVersion)
		if diff := cmp.Diff(last, now); diff != "" {
			last, since = now, time.Now()
			return fmt.Errorf("still written to (-before +after):\n%s", diff)
		}
		if time.Since(since) < quiet {
			return fmt.Errorf("quiet since %s", since.Format(time.TimeOnly))
		}
		return fleet.Dated(ctx, c, namespace)
	})
}
