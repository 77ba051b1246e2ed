package statedir_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/internal/fault"
	"slipway.dev/slipway/internal/statedir"
)

const version = "v0.2.0"

func open(t *testing.T, dir string) *statedir.Dir {
	t.Helper()
	s, err := statedir.Open(dir, version, statedir.Source{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func closed(t *testing.T, s *statedir.Dir) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// fourParts fails unless err tells what failed, why, where and what to do.
func fourParts(t *testing.T, err error) *fault.Error {
	t.Helper()
	var e *fault.Error
	if !errors.As(err, &e) {
		t.Fatalf("not an error for people: %v", err)
	}
	if e.What == "" || e.Cause == "" || e.Where == "" || e.Try == "" {
		t.Errorf("a part is missing: %+v", e)
	}
	return e
}

// contents maps every regular file below dir, but those that say who runs, to a hash.
func contents(t *testing.T, dir string) map[string][32]byte {
	t.Helper()
	all := map[string][32]byte{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || d.Name() == "plane.pid" || d.Name() == "lock" {
			return err
		}
		b, err := os.ReadFile(path)
		all[path] = sha256.Sum256(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestOpen_RefusesADirectoryThatAPlaneHolds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	defer closed(t, s)
	_, err := statedir.Open(dir, version, statedir.Source{})
	if e := fourParts(t, err); e.Code != statedir.CodeInUse {
		t.Errorf("code %q", e.Code)
	}
	if pid, running := statedir.Running(dir); !running || pid != os.Getpid() {
		t.Errorf("Running = %d, %t", pid, running)
	}
}

func TestRunning_NeverNamesAProcessThatDoesNotHoldTheState(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	bystander := exec.CommandContext(t.Context(), "sleep", "60")
	if err := bystander.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bystander.Process.Kill(); _ = bystander.Wait() })
	s := open(t, dir)
	write(t, filepath.Join(dir, "plane.pid"), strconv.Itoa(bystander.Process.Pid))
	if pid, running := statedir.Running(dir); !running || pid != 0 {
		t.Errorf("while a plane holds the state: %d, %t", pid, running)
	}
	for _, text := range []string{"", "x", "0", "-1"} {
		write(t, filepath.Join(dir, "plane.pid"), text)
		if pid, running := statedir.Running(dir); !running || pid != 0 {
			t.Errorf("plane.pid %q: %d, %t", text, pid, running)
		}
	}
	closed(t, s)
	write(t, filepath.Join(dir, "plane.pid"), strconv.Itoa(bystander.Process.Pid))
	if pid, running := statedir.Running(dir); running {
		t.Errorf("when nothing holds the state: %d, %t", pid, running)
	}
}

func TestRunning_HindersNoPlaneAndNoOtherWhoAsks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	closed(t, open(t, dir))
	stop, done := make(chan struct{}), make(chan struct{})
	for range 4 {
		go func() {
			defer func() { done <- struct{}{} }()
			for {
				select {
				case <-stop:
					return
				default:
					statedir.Running(dir)
				}
			}
		}()
	}
	for range 50 {
		closed(t, open(t, dir))
	}
	close(stop)
	for range 4 {
		<-done
	}
	if _, running := statedir.Running(dir); running {
		t.Error("it says that a plane runs")
	}
}

func TestOpen_RefusesAStateOfANewerOrAnUnknownSlipwayAndChangesNothing(t *testing.T) {
	t.Parallel()
	for name, record := range map[string]string{
		"newer format":  `{"format": 2, "version": "v0.1.0"}`,
		"newer version": `{"format": 1, "version": "v0.3.0"}`,
		"newer release": `{"format": 1, "version": "v0.2.1-rc.1"}`,
		"lost":          "",
		"broken":        "{",
		"empty":         " ",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, filepath.Join(dir, "etcd", "db"), "data")
			if record != "" {
				write(t, filepath.Join(dir, "state.json"), record)
			}
			before := contents(t, dir)
			_, err := statedir.Open(dir, version, statedir.Source{})
			_ = fourParts(t, err)
			if diff := cmp.Diff(before, contents(t, dir)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOpen_TakesTheDirectoryFromEverybodyElse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	closed(t, open(t, dir))
	info, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v", info.Mode())
	}
}

// archive is the backup of a small stopped plane.
func archive(t *testing.T) (file string, content []byte) {
	t.Helper()
	dir := t.TempDir()
	s := open(t, dir)
	write(t, filepath.Join(dir, "etcd", "member", "db"), string(bytes.Repeat([]byte("data "), 1000)))
	write(t, filepath.Join(dir, "pki", "ca.key"), "key")
	write(t, filepath.Join(dir, "sim", "default", "demo", "store"), "sim")
	closed(t, s)
	var b bytes.Buffer
	if err := statedir.Archive(&b, dir, nil, 0); err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "backup")
	write(t, file, b.String())
	return file, b.Bytes()
}

func TestRestore_GivesBackWhatWasArchived(t *testing.T) {
	t.Parallel()
	file, _ := archive(t)
	dir := t.TempDir()
	s, err := statedir.Open(dir, version, statedir.Source{File: file})
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, s)
	for path, want := range map[string]string{"pki/ca.key": "key", "sim/default/demo/store": "sim"} {
		if got, err := os.ReadFile(filepath.Join(dir, path)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	if s.Record.Version != version {
		t.Errorf("record %+v", s.Record)
	}
}

func TestRestore_LeavesNothingOfABackupThatIsNotWhole(t *testing.T) {
	t.Parallel()
	_, whole := archive(t)
	flipped := bytes.Clone(whole)
	flipped[len(flipped)/2] ^= 0xff
	for name, content := range map[string][]byte{
		"empty": {}, "not one": []byte("hello"), "half": whole[:len(whole)/2], "without its last byte": whole[:len(whole)-1],
		"without its checksum": whole[:len(whole)-8], "with a changed byte": flipped,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, file := t.TempDir(), filepath.Join(t.TempDir(), "backup")
			write(t, file, string(content))
			_, err := statedir.Open(dir, version, statedir.Source{File: file})
			_ = fourParts(t, err)
			if left := contents(t, dir); len(left) > 0 {
				t.Errorf("it left %v", left)
			}
			closed(t, open(t, dir))
		})
	}
}

func TestRestore_RefusesAStateThatIsThereAndChangesNothing(t *testing.T) {
	t.Parallel()
	file, _ := archive(t)
	dir := t.TempDir()
	closed(t, open(t, dir))
	before := contents(t, dir)
	_, err := statedir.Open(dir, version, statedir.Source{File: file})
	_ = fourParts(t, err)
	if diff := cmp.Diff(before, contents(t, dir)); diff != "" {
		t.Error(diff)
	}
}

func TestRestore_RefusesABackupOfANewerSlipway(t *testing.T) {
	t.Parallel()
	file, _ := archive(t)
	dir := t.TempDir()
	_, err := statedir.Open(dir, "v0.1.0", statedir.Source{File: file})
	_ = fourParts(t, err)
	if left := contents(t, dir); len(left) > 0 {
		t.Errorf("it left %v", left)
	}
}

func TestOpen_FinishesARestoreThatWasKilled(t *testing.T) {
	t.Parallel()
	record, err := json.Marshal(statedir.Record{Format: 1, Version: version, APIPort: 7000})
	if err != nil {
		t.Fatal(err)
	}
	for name, files := range map[string]map[string]string{
		"before a part was moved": {".restored/state.json": string(record), ".restored/etcd/db": "data"},
		"after one was":           {".restored/state.json": string(record), "etcd/db": "data"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for path, content := range files {
				write(t, filepath.Join(dir, path), content)
			}
			s := open(t, dir)
			defer closed(t, s)
			if s.Record.APIPort != 7000 {
				t.Errorf("record %+v", s.Record)
			}
			if got, err := os.ReadFile(filepath.Join(dir, "etcd", "db")); err != nil || string(got) != "data" {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

func TestDiagnose_SaysWhatADyingPlaneMeant(t *testing.T) {
	t.Parallel()
	for text, cause := range map[string]string{
		"write x: no space left on device":  "the disk of the state directory is full",
		"walpb: crc mismatch":               "the write-ahead log of the store is corrupt",
		"panic: invalid database":           "the store's file is corrupt",
		"fork: cannot allocate memory":      "the machine is out of memory",
		"something else altogether, sorry.": "its process ended (exit status 2) without saying why",
	} {
		if e := fourParts(t, statedir.Diagnose(text, t.TempDir(), "exit status 2")); e.Cause != cause || (e.Code == statedir.CodeUnexplained) != strings.HasSuffix(cause, "without saying why") {
			t.Errorf("%s: %s, code %q", text, e.Cause, e.Code)
		}
	}
}
