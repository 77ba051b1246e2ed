package statedir

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gofrs/flock"
)

func lockFile(dir string) string { return filepath.Join(dir, "lock") }

// PIDFile is the path of what says which process runs on a state directory. It is as old as that process.
func PIDFile(dir string) string { return filepath.Join(dir, "plane.pid") }

// Running returns the process id of the plane that runs on a state directory, and false when none does. The lock tells, so
// that a file left over from a crash is not believed. The id is 0 for a moment while a plane begins: a process that does not
// have the lock open is never named, since its id may have been left by another one long ago.
func Running(dir string) (int, bool) {
	lock := flock.New(lockFile(dir))
	if _, err := os.Stat(lock.Path()); err != nil {
		return 0, false
	}
	// Shared, so that two who ask at once do not take each other for a plane.
	free, err := lock.TryRLock()
	if err != nil {
		return 0, false
	}
	if free {
		// Nothing was changed; a failure to unlock ends with this process.
		_ = lock.Unlock()
		return 0, false
	}
	b, err := os.ReadFile(PIDFile(dir))
	if err != nil {
		return 0, true
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || pid <= 0 || !hasOpen(pid, lock.Path()) {
		return 0, true
	}
	return pid, true
}

// hasOpen tells whether a process has a file open. Where there is no /proc, the process is believed.
func hasOpen(pid int, path string) bool {
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		return true
	}
	want, err := os.Stat(path)
	if err != nil {
		return false
	}
	fds := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(fds)
	if err != nil {
		return false
	}
	for _, e := range entries {
		if got, err := os.Stat(filepath.Join(fds, e.Name())); err == nil && os.SameFile(got, want) {
			return true
		}
	}
	return false
}
