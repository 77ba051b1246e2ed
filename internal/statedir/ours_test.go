package statedir_test

import (
	"os"
	"path/filepath"
	"testing"

	"slipway.dev/slipway/internal/statedir"
)

func TestOpen_RefusesADirectoryOfSomethingElseAndLeavesItAsItIs(t *testing.T) {
	t.Parallel()
	for name, file := range map[string]string{
		"any file": "notes.txt", "logs of another program": "logs/access.log", "another program's state": "state.json", "a store": "etcd/db",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, filepath.Join(dir, file), `{"theirs": true}`)
			if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // That is the point.
				t.Fatal(err)
			}
			_, err := statedir.Open(dir, version, statedir.Source{})
			_ = fourParts(t, err)
			_ = fourParts(t, statedir.MakeLogDir(dir))
			info, err := os.Stat(dir)
			if err != nil {
				t.Fatal(err)
			}
			if info.Mode().Perm() != 0o755 {
				t.Errorf("mode %v", info.Mode())
			}
			all, err := filepath.Glob(filepath.Join(dir, "*"))
			if err != nil || len(all) != 1 {
				t.Errorf("it holds %v, %v", all, err)
			}
		})
	}
}

func TestOpen_TakesWhatAStartThatWasKilledLeft(t *testing.T) {
	t.Parallel()
	for name, files := range map[string][]string{
		"its logs":                      {"logs/plane.log", "logs/plane.crash.log", "logs/plane-2026-01-01T00-00-00.000.log"},
		"its lock":                      {"logs/plane.crash.log", "lock", ".plane.pid.123"},
		"the beginning of its record":   {"lock", "plane.pid", ".state.json.123"},
		"half a restore":                {"lock", "plane.pid", ".restoring/etcd/db"},
		"nothing, on a new file system": {"lost+found/x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for _, file := range files {
				write(t, filepath.Join(dir, file), "")
			}
			closed(t, open(t, dir))
		})
	}
}
