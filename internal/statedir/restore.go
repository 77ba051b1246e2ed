package statedir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"slipway.dev/slipway/internal/fault"
)

// Source is a backup to restore.
type Source struct {
	// File is the backup; empty restores nothing.
	File string
	// MakeStore turns the snapshot of a store, where the backup holds one, into the store's directory.
	MakeStore func(snapshot, store string) error
}

// A restore builds the state in restoring and renames it to restored when it is whole. Moving its parts to their places
// is then repeated until it is done: killed anywhere, there is all of the state or nothing of it.
const (
	restoring = ".restoring"
	restored  = ".restored"
)

// restore lays a backup into the directory, which must be empty.
func (s *Dir) restore(version string, from Source) error {
	if err := s.mustBeEmpty(); err != nil {
		return err
	}
	tmp := s.Join(restoring)
	err := buildRestored(tmp, version, from)
	if err == nil {
		// From the rename on it counts as whole, so that it must be so on the disk before.
		if err = errors.Join(syncTree(tmp), os.Rename(tmp, s.Join(restored))); err != nil {
			err = cannotWrite(err, s.Path)
		}
	}
	if err != nil {
		return errors.Join(fault.As(err, "cannot restore the backup", "use another backup"), os.RemoveAll(tmp))
	}
	if err := s.finishRestore(); err != nil {
		return cannotWrite(err, s.Path)
	}
	return nil
}

func buildRestored(tmp, version string, from Source) error {
	if err := os.Mkdir(tmp, 0o700); err != nil {
		return cannotWrite(err, tmp)
	}
	if err := extract(from.File, tmp); err != nil {
		return err
	}
	record, err := ReadRecord(tmp)
	if err != nil {
		return notABackup(err, from.File)
	}
	if err := record.usableBy(version, from.File); err != nil {
		return err
	}
	snapshot := filepath.Join(tmp, SnapshotName)
	if _, err := os.Stat(snapshot); errors.Is(err, fs.ErrNotExist) {
		return nil // The backup of a stopped plane holds the store itself.
	}
	if err := from.MakeStore(snapshot, filepath.Join(tmp, StoreName)); err != nil {
		return err
	}
	return os.Remove(snapshot)
}

// finishRestore moves the parts of a restored state to their places. That the rename to restored is on the disk before the
// parts of it leave, and they before it goes, is what the two syncs are for.
func (s *Dir) finishRestore() error {
	entries, err := os.ReadDir(s.Join(restored))
	if errors.Is(err, fs.ErrNotExist) {
		return os.RemoveAll(s.Join(restoring)) // Killed before it was whole.
	}
	if err != nil {
		return err
	}
	if err := SyncDir(s.Path); err != nil {
		return err
	}
	for _, e := range entries {
		if err := os.Rename(s.Join(restored, e.Name()), s.Join(e.Name())); err != nil {
			return err
		}
	}
	if err := errors.Join(SyncDir(s.Path), SyncDir(s.Join(restored))); err != nil {
		return err
	}
	return errors.Join(os.Remove(s.Join(restored)), SyncDir(s.Path))
}

// mustBeEmpty makes sure that there is nothing that a restore would overwrite.
func (s *Dir) mustBeEmpty() error {
	entries, err := os.ReadDir(s.Path)
	if err != nil {
		return cannotWrite(err, s.Path)
	}
	for _, e := range entries {
		switch e.Name() {
		case "logs", filepath.Base(lockFile(s.Path)), filepath.Base(PIDFile(s.Path)):
		default:
			return fault.New(nil, "cannot restore the backup", "the state directory is not empty", s.Path,
				"slipway up --from FILE --state-dir NEW, or move the old state away")
		}
	}
	return nil
}
