// Package statedir is the directory that holds everything a management plane knows: its lock, its record and its paths.
package statedir

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/blang/semver/v4"
	"github.com/gofrs/flock"

	"slipway.dev/slipway/internal/fault"
)

// stateFormat is the layout of the state directory that this version reads and writes.
const stateFormat = 1

// MinFree is the free space below which a plane refuses to start.
const MinFree = 500 << 20

// StopFree is the free space below which a running plane stops in order, while it can still write what is under way.
const StopFree = 32 << 20

// recordName is the name of the state directory's own file.
const recordName = "state.json"

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
	// Upgrading is the version whose first start on this state has begun and not been completed; its snapshot is taken.
	Upgrading string `json:"upgrading,omitempty"`
	// Created is when the state was made.
	Created time.Time `json:"created"`
	// APIHost is the address at which the API server of the last start listens, as it was asked for.
	APIHost string `json:"apiHost,omitempty"`
	// APIPort is the API server's remembered port, 0 before the first start.
	APIPort int `json:"apiPort,omitempty"`
	// StoreUnborn is true from before the store starts for the first time until it has: until then, nothing can have been
	// written to it.
	StoreUnborn bool `json:"storeUnborn,omitempty"`
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
//
// A directory that holds something else is refused as it is. With a Source, its backup is restored into the directory first,
// which must be empty.
func Open(dir, version string, from Source) (*Dir, error) {
	if err := makeOurs(dir); err != nil {
		return nil, err
	}
	if err := onlyOwner(dir); err != nil {
		return nil, fault.New(err, "cannot use the state directory", err.Error(), dir, "run as the user that owns it")
	}
	s, err := lockDir(dir)
	if err != nil {
		return nil, err
	}
	if err := s.prepare(version, from); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// lockPatience is how long Open waits for the lock: somebody who only asks whether a plane runs holds it for a moment.
const lockPatience = time.Second

func lockDir(dir string) (*Dir, error) {
	lock := flock.New(lockFile(dir), flock.SetPermissions(0o600))
	ctx, cancel := context.WithTimeout(context.Background(), lockPatience) //nolint:forbidigo // It is bounded by itself.
	defer cancel()
	held, err := lock.TryLockContext(ctx, 20*time.Millisecond)
	switch {
	case err != nil && !errors.Is(err, context.DeadlineExceeded):
		return nil, fault.New(err, "cannot lock the state directory", err.Error(), dir, "run as the user that owns it")
	case !held:
		return nil, taken(dir)
	}
	s := &Dir{Path: dir, lock: lock}
	// Before anything else, so that those who find the lock held learn by whom.
	if err := WriteFile(PIDFile(dir), []byte(strconv.Itoa(os.Getpid())+"\n")); err != nil {
		return nil, errors.Join(unwritable(err, dir), s.Close())
	}
	return s, nil
}

// taken is the error for a state directory whose lock somebody has: a plane, or a backup of a stopped one.
func taken(dir string) *fault.Error {
	if _, running := Running(dir); running {
		return InUse(dir)
	}
	return fault.New(nil, "cannot start the management plane", "its state is in use: a backup of it is being made", dir, "wait for the backup to end, then: slipway up")
}

// InUse is the error for a state directory that a running plane holds.
func InUse(dir string) *fault.Error {
	cause := "another plane is running on this state"
	if pid, running := Running(dir); running && pid != 0 {
		cause += fmt.Sprintf(", as process %d", pid)
	}
	return &fault.Error{What: "cannot start the management plane", Cause: cause, Where: dir,
		Try: "slipway status, or slipway up --state-dir OTHER for a second plane", Code: CodeInUse}
}

// CodeInUse is the fault.Error's Code of InUse.
const CodeInUse = "InUse"

func unwritable(err error, dir string) *fault.Error {
	if errors.Is(err, syscall.ENOSPC) {
		return fault.New(err, "cannot start the management plane", "the disk is full", dir, "free some space, then: slipway up")
	}
	return fault.New(err, "cannot use the state directory", err.Error(), dir, "run as the user that owns it")
}

// prepare restores a backup when one is given, and checks that this version may use the state.
func (s *Dir) prepare(version string, from Source) error {
	if err := s.finishRestore(); err != nil {
		return unwritable(err, s.Path)
	}
	if err := s.checkSpace(); err != nil {
		return err
	}
	if from.File != "" {
		if err := s.restore(version, from); err != nil {
			return err
		}
	}
	return s.check(version)
}

// Close gives up the lock.
func (s *Dir) Close() error { return s.lock.Unlock() }

// Join returns a path below the directory.
func (s *Dir) Join(elem ...string) string {
	return filepath.Join(append([]string{s.Path}, elem...)...)
}

func (s *Dir) checkSpace() error {
	if free, err := FreeBytes(s.Path); err == nil && free < MinFree {
		return fault.New(nil, "cannot start the management plane",
			fmt.Sprintf("only %d MiB are free on the disk of the state directory, %d MiB are needed", free>>20, MinFree>>20),
			s.Path, "free some space, then: slipway up")
	}
	return nil
}

func (s *Dir) check(version string) error {
	record, err := ReadRecord(s.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		s.Record = Record{Format: stateFormat, Version: version, Created: time.Now().UTC()}
		return s.Save()
	case err != nil:
		return fault.New(err, "cannot read the state", err.Error(), s.Join(recordName), "restore the file, or: slipway up --from FILE into a new --state-dir")
	}
	if err := record.usableBy(version, s.Path); err != nil {
		return err
	}
	s.Record = *record
	return nil
}

// usableBy returns an *fault.Error when a newer Slipway than this version wrote the state.
func (r *Record) usableBy(version, dir string) error {
	var newer string
	switch {
	case r.Format > stateFormat:
		newer = fmt.Sprintf("%s, format %d; this is %s, format %d", r.Version, r.Format, version, stateFormat)
	case isNewer(r.Version, version):
		newer = fmt.Sprintf("%s; this is %s", r.Version, version)
	default:
		return nil
	}
	return fault.New(nil, "cannot use this state", "it was written by a newer Slipway ("+newer+")", dir,
		"use that version; or start this one on a copy from before the upgrade: slipway up --from FILE of snapshots/ there, into a new --state-dir")
}

// isNewer tells whether a version is above another. What is no version, such as that of a build of one's own, is not.
func isNewer(version, than string) bool {
	a, errA := semver.ParseTolerant(version)
	b, errB := semver.ParseTolerant(than)
	return errA == nil && errB == nil && a.GT(b)
}

// Save writes state.json through a temporary file, so that a crash leaves the old or the new one.
func (s *Dir) Save() error {
	b, err := json.MarshalIndent(s.Record, "", "  ")
	if err != nil {
		return err
	}
	return WriteFile(s.Join(recordName), b)
}

// ReadRecord reads the state directory's record without locking it.
func ReadRecord(dir string) (*Record, error) {
	b, err := os.ReadFile(filepath.Join(dir, recordName))
	if err != nil {
		return nil, err
	}
	r := &Record{}
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("parse state.json: %w", err)
	}
	return r, nil
}

// FreeBytes is the space that an ordinary user may still fill on the disk of dir.
func FreeBytes(dir string) (uint64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return st.Bavail * uint64(st.Bsize), nil
}

// onlyOwner takes a directory from everybody else. One that is right already is left alone.
func onlyOwner(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if info.Mode().Perm() == 0o700 {
		return nil
	}
	return os.Chmod(dir, 0o700)
}

// makeOurs makes the state directory, or makes sure that one which is there is a state directory.
func makeOurs(dir string) error {
	if err := mustBeOurs(dir); err != nil {
		return err
	}
	err := os.Mkdir(dir, 0o700)
	switch {
	case err == nil:
		err = SyncDir(filepath.Dir(dir))
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrExist):
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return unmakable(err, dir)
	}
	return nil
}

func unmakable(err error, dir string) error {
	return fault.New(err, "cannot make the state directory", err.Error(), dir, "slipway up --state-dir DIR with a directory that you may write")
}

// MakeLogDir makes the state directory and the directory of its logs, both for the owner alone. Like Open, it refuses a
// directory that holds something else.
func MakeLogDir(dir string) error {
	if err := makeOurs(dir); err != nil {
		return err
	}
	logs := filepath.Dir(LogFile(dir))
	if err := os.MkdirAll(logs, 0o700); err != nil {
		return unmakable(err, logs)
	}
	return nil
}
