package statedir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"slipway.dev/slipway/internal/fault"
)

// mustBeOurs refuses a directory that holds something and is no state directory, before anything is done to it. One that is
// missing or empty will do.
func mustBeOurs(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil // Making it tells what is in its way.
	}
	if err != nil {
		return fault.New(err, "cannot use the state directory", err.Error(), dir, "run as the user that owns it")
	}
	// Looked for after the list was made, since another first start may be under way: it makes all else after its record.
	for _, sign := range []string{recordName, restored} {
		if _, err := os.Lstat(filepath.Join(dir, sign)); err == nil {
			return whoseRecord(dir)
		}
	}
	foreign := slices.IndexFunc(entries, func(e fs.DirEntry) bool { return !early(dir, e) })
	if foreign < 0 {
		return nil
	}
	if _, err := os.Lstat(filepath.Join(dir, StoreName)); err == nil {
		return fault.New(nil, "cannot read the state", "state.json is missing beside an existing store", dir,
			"restore the file, or: slipway up --from FILE into a new --state-dir")
	}
	return notOurs(dir, "it holds "+entries[foreign].Name()+", which is no part of a plane's state")
}

// whoseRecord refuses a directory whose state.json is another program's. One that cannot be read is for check to tell of.
func whoseRecord(dir string) error {
	if record, err := ReadRecord(dir); err == nil && record.Format == 0 {
		return notOurs(dir, "its state.json is another program's")
	}
	return nil
}

func notOurs(dir, cause string) error {
	return fault.New(nil, "cannot use the state directory", cause, dir, "name an empty directory, or one that is still to be made: slipway up --state-dir DIR")
}

// early tells of what a state directory may hold before it has its record: what a start, or a restore, that was killed at
// its very beginning leaves behind, and what a new file system has.
func early(dir string, e fs.DirEntry) bool {
	switch name := e.Name(); name {
	case filepath.Base(lockFile(dir)), filepath.Base(PIDFile(dir)):
		return e.Type().IsRegular()
	case filepath.Base(filepath.Dir(LogFile(dir))):
		return onlyLogs(filepath.Join(dir, name))
	case restoring, "lost+found":
		return true
	default:
		return strings.HasPrefix(name, "."+filepath.Base(PIDFile(dir))+".") || strings.HasPrefix(name, "."+recordName+".")
	}
}

// onlyLogs tells of a directory that holds nothing but a plane's logs.
func onlyLogs(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && !slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return !strings.HasPrefix(e.Name(), "plane.") && !strings.HasPrefix(e.Name(), "plane-")
	})
}
