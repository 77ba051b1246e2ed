package statedir

import (
	"fmt"
	"regexp"
	"strings"

	"slipway.dev/slipway/internal/fault"
)

// symptom is a text that a dying plane leaves, and what it means to a user.
type symptom struct {
	text  string
	cause string
	try   string
}

// symptoms are tried in order; the first whose text occurs in what was said wins.
var symptoms = []symptom{
	{"no space left on device", "the disk of the state directory is full", "free some space (nothing that was acknowledged is lost), then: slipway up"},
	{"disk quota exceeded", "the disk quota of this user is used up", "free some space, then: slipway up"},
	{"mvcc: database space exceeded", "the store has reached its size limit of 4 GiB", "slipway up, which makes room; then delete clusters that are not needed"},
	{"walpb: crc mismatch", "the write-ahead log of the store is corrupt", "slipway up --from FILE with your last backup, into a new --state-dir"},
	{"file is not a database", "the store's file is corrupt", "slipway up --from FILE with your last backup, into a new --state-dir"},
	{"invalid database", "the store's file is corrupt", "slipway up --from FILE with your last backup, into a new --state-dir"},
	{"input/output error", "the disk reports errors", "check the disk (dmesg), then restore your last backup elsewhere"},
	{"permission denied", "a file of the state cannot be read or written by this user", "run as the user that owns the state directory"},
	{"cannot allocate memory", "the machine is out of memory", "free some memory, then: slipway up"},
}

// fatal are the beginnings of the lines that a process writes because it ends: etcd's, Go's and klog's.
var fatal = regexp.MustCompile(`^(\{"level":"(fatal|panic|dpanic)"|panic: |fatal error: |runtime: |F\d{4} )`)

// FatalLines returns the lines of a log that tell why its process ended. What it said before may name the same troubles, but it
// lived on.
func FatalLines(log string) string {
	var found []string
	for line := range strings.Lines(log) {
		if fatal.MatchString(line) {
			found = append(found, line)
		}
	}
	return strings.Join(found, "")
}

// Diagnose turns the words of a dying plane (an error, or FatalLines of its log) and its exit into a *fault.Error. It is for
// planes that died without saying why themselves, as etcd does on its fatal errors.
func Diagnose(said, stateDir, exit string) *fault.Error {
	lower := strings.ToLower(said)
	for _, s := range symptoms {
		if strings.Contains(lower, s.text) {
			return fault.New(nil, "the management plane stopped", s.cause, stateDir, s.try)
		}
	}
	// A plane that died of a full disk could not say so in its log, which is on the same disk.
	if free, err := FreeBytes(stateDir); err == nil && free < StopFree {
		return DiskFull(stateDir)
	}
	return &fault.Error{What: "the management plane stopped", Cause: fmt.Sprintf("its process ended (%s) without saying why", exit), Where: stateDir,
		Try: "slipway logs plane", Code: CodeUnexplained}
}

// CodeUnexplained is the fault.Error's Code of Diagnose when neither the plane nor its log told why it ended.
const CodeUnexplained = "Unexplained"

// DiskFull is the error of a plane that stops because it cannot write any more.
func DiskFull(stateDir string) *fault.Error {
	return fault.New(nil, "the management plane stopped", "the disk of the state directory is full", stateDir,
		fmt.Sprintf("free %d MiB (nothing that was acknowledged is lost), then: slipway up", MinFree>>20))
}
