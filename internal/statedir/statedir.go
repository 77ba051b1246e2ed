// Package statedir is the directory that holds everything a management plane knows: its lock, its record and its paths.
package statedir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"slipway.dev/slipway/internal/fault"
)

// stateFormat is the layout of the state directory that this version reads and writes.
const stateFormat = 1

// MinFree is the free space below which a plane refuses to start.
const MinFree = 500 << 20

// LogFile is the path of the plane's log below a state directory.
func LogFile(dir string) string { return filepath.Join(dir, "logs", "plane.log") }

// CrashFile is the path of what a dying plane wrote outside its log, below a state directory.
func CrashFile(dir string) string { return filepath.Join(dir, "logs", "plane.crash.log") }

// AdminKubeconfig is the path of the kubeconfig that reaches the plane with all rights, below a state directory.
func AdminKubeconfig(dir string) string { return filepath.Join(dir, "admin.kubeconfig") }

// Record is the state directory's own file, state.json.
type Record struct {
	// Format is the layout's number.
	Format int `json:"format"`
	// Version is the Slipway that wrote the state last.
	Version string `json:"version"`
	// Created is when the state was made.
	Created time.Time `json:"created"`
	// APIPort is the API server's remembered port, 0 before the first start.
	APIPort int `json:"apiPort,omitempty"`
	// WebhookPort is the webhooks' remembered port.
	WebhookPort int `json:"webhookPort,omitempty"`
}

// Dir is an open, locked state directory.
type Dir struct {
	// Path is the absolute path of the directory.
	Path string
	// Record is the content of state.json; write changes with Save.
	Record Record
	lock   *flock.Flock
}

// Open makes or opens the state directory, takes its lock and checks that this Slipway version may use it. Its errors are
// *fault.Error.
func Open(dir, version string) (*Dir, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fault.New(err, "cannot make the state directory", err.Error(), dir, "slipway up --state-dir DIR with a directory that you may write")
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return nil, fault.New(err, "cannot use the state directory", err.Error(), dir, "run as the user that owns it")
	}
	lock := flock.New(filepath.Join(dir, "lock"), flock.SetPermissions(0o600))
	held, err := lock.TryLock()
	if err != nil {
		return nil, fault.New(err, "cannot lock the state directory", err.Error(), dir, "run as the user that owns it")
	}
	if !held {
		return nil, fault.New(nil, "cannot start the management plane", "another plane is running on this state", dir,
			"slipway status, or slipway up --state-dir OTHER for a second plane")
	}
	s := &Dir{Path: dir, lock: lock}
	if err := s.check(version); err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	return s, nil
}

// WritePID records the process that runs the plane, for those who want to end it.
func (s *Dir) WritePID() error {
	return WriteFile(s.Join("plane.pid"), []byte(strconv.Itoa(os.Getpid())+"\n"))
}

// Running returns the process id of the plane that runs on a state directory, and false when none does: the lock tells,
// so that a file left over from a crash is not believed.
func Running(dir string) (int, bool) {
	lock := flock.New(filepath.Join(dir, "lock"))
	if _, err := os.Stat(lock.Path()); err != nil {
		return 0, false
	}
	free, err := lock.TryLock()
	if err != nil {
		return 0, false
	}
	if free {
		// Nothing was changed; a failure to unlock ends with this process.
		_ = lock.Unlock()
		return 0, false
	}
	b, err := os.ReadFile(filepath.Join(dir, "plane.pid"))
	if err != nil {
		return 0, true
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return 0, true
	}
	return pid, true
}

// Close gives up the lock.
func (s *Dir) Close() error { return s.lock.Unlock() }

// Join returns a path below the directory.
func (s *Dir) Join(elem ...string) string {
	return filepath.Join(append([]string{s.Path}, elem...)...)
}

func (s *Dir) check(version string) error {
	if free, err := FreeBytes(s.Path); err == nil && free < MinFree {
		return fault.New(nil, "cannot start the management plane",
			fmt.Sprintf("only %d MiB are free on the disk of the state directory, %d MiB are needed", free>>20, MinFree>>20),
			s.Path, "free some space, then: slipway up")
	}
	record, err := ReadRecord(s.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, statErr := os.Stat(s.Join("etcd")); statErr == nil {
			return fault.New(err, "cannot read the state", "state.json is missing beside an existing store", s.Path, "restore the file, or: slipway up --from FILE into a new --state-dir")
		}
		s.Record = Record{Format: stateFormat, Version: version, Created: time.Now().UTC()}
		return s.Save()
	case err != nil:
		return fault.New(err, "cannot read the state", err.Error(), s.Join("state.json"), "restore the file, or: slipway up --from FILE into a new --state-dir")
	case record.Format > stateFormat:
		return fault.New(nil, "cannot use this state",
			fmt.Sprintf("it was written by a newer Slipway (%s, format %d; this is %s, format %d)", record.Version, record.Format, version, stateFormat),
			s.Path, "use that version, or another --state-dir")
	}
	s.Record = *record
	return nil
}

// Save writes state.json through a temporary file, so that a crash leaves the old or the new one.
func (s *Dir) Save() error {
	b, err := json.MarshalIndent(s.Record, "", "  ")
	if err != nil {
		return err
	}
	return WriteFile(s.Join("state.json"), b)
}

// ReadRecord reads the state directory's record without locking it.
func ReadRecord(dir string) (*Record, error) {
	b, err := os.ReadFile(filepath.Join(dir, "state.json"))
	if err != nil {
		return nil, err
	}
	r := &Record{}
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("parse state.json: %w", err)
	}
	return r, nil
}

// WriteFile replaces a file by one with mode 0600, through a synced temporary file and a rename.
func WriteFile(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// FreeBytes is the space that an ordinary user may still fill on the disk of dir.
func FreeBytes(dir string) (uint64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return st.Bavail * uint64(st.Bsize), nil
}

// MakeLogDir makes the state directory and the directory of its logs, both for the owner alone.
func MakeLogDir(dir string) error {
	for _, d := range []string{dir, filepath.Dir(LogFile(dir))} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return fault.New(err, "cannot make the state directory", err.Error(), d, "slipway up --state-dir DIR with a directory that you may write")
		}
	}
	return nil
}
