package plane

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.uber.org/zap"

	"slipway.dev/slipway/internal/fault"
	"slipway.dev/slipway/internal/statedir"
)

// restoredRevisions is how far the store's revision jumps on a restore, so that no client that saw the lost state takes
// an old resourceVersion for a current one.
const restoredRevisions = 1_000_000

// keptSnapshots is the number of snapshots from before an upgrade that are kept.
const keptSnapshots = 3

// makeStore makes the store's directory of a snapshot.
func makeStore(db, store string) error {
	peer := unixURL("etcd-peer.sock")
	err := snapshot.NewV3(zap.NewNop()).Restore(snapshot.RestoreConfig{
		SnapshotPath: db, Name: memberName, OutputDataDir: store, PeerURLs: []string{peer.String()},
		InitialCluster: memberName + "=" + peer.String(), InitialClusterToken: "slipway", RevisionBump: restoredRevisions, MarkCompacted: true,
	})
	if err != nil {
		return fault.New(err, "cannot restore the backup", "its store is damaged: "+err.Error(), "", "use another backup")
	}
	return nil
}

// snapshotBeforeUpgrade keeps a copy of a state that another version of Slipway wrote, before this one touches it.
func snapshotBeforeUpgrade(s *statedir.Dir, version string, now time.Time) error {
	if s.Record.Version == version || s.Record.Upgrading == version {
		return nil
	}
	if _, err := os.Stat(s.Join(statedir.StoreName)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	dir := s.Join("snapshots")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	name := fmt.Sprintf("%s-before-%s.tar.gz", now.UTC().Format("20060102T150405Z"), version)
	err := statedir.ReplaceFile(filepath.Join(dir, name), func(w io.Writer) error { return statedir.Archive(w, s.Path, nil, 0) })
	// Only when it is on the disk, and its directory too, the state is noted to have its snapshot.
	if err := errors.Join(err, statedir.SyncDir(s.Path)); err != nil {
		return fault.New(err, "cannot keep a snapshot of the state before the upgrade", err.Error(), dir,
			"free some space, or start the Slipway that wrote it: "+s.Record.Version)
	}
	// A start that fails is tried again: its copies of a half migrated state must not push out this one.
	s.Record.Upgrading = version
	return errors.Join(s.Save(), pruneSnapshots(dir))
}

func pruneSnapshots(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var names []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".tar.gz") {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	for len(names) > keptSnapshots {
		if err := os.Remove(filepath.Join(dir, names[0])); err != nil {
			return err
		}
		names = names[1:]
	}
	return nil
}
