package statedir_test

import (
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/internal/statedir"
)

func TestReplaceFile_LeavesTheWholeFileOrTheOldOne(t *testing.T) {
	t.Parallel()
	broken := errors.New("it broke")
	for _, r := range []struct {
		reason, name string
		write        func(io.Writer) error
		fails        bool
	}{
		{reason: "written whole", name: "file"},
		{reason: "a new one", name: "other"},
		{reason: "broken off", name: "file", fails: true, write: func(w io.Writer) error {
			_, err := w.Write([]byte("half"))
			return errors.Join(err, broken)
		}},
		{reason: "not to be renamed", name: "taken", fails: true},
		{reason: "nowhere", name: "missing/file", fails: true},
	} {
		t.Run(r.reason, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, filepath.Join(dir, "file"), "old")
			write(t, filepath.Join(dir, "taken", "by"), "a directory")
			if err := os.Chmod(filepath.Join(dir, "file"), 0o644); err != nil {
				t.Fatal(err)
			}
			want := contents(t, dir)
			path := filepath.Join(dir, r.name)
			if !r.fails {
				want[path] = sha256.Sum256([]byte("new"))
			}
			if r.write == nil {
				r.write = func(w io.Writer) error { _, err := w.Write([]byte("new")); return err }
			}
			err := statedir.ReplaceFile(path, r.write)
			if (err != nil) != r.fails || r.reason == "broken off" && !errors.Is(err, broken) {
				t.Errorf("error %v", err)
			}
			if diff := cmp.Diff(want, contents(t, dir)); diff != "" {
				t.Error(diff)
			}
			if info, err := os.Stat(path); !r.fails && (err != nil || info.Mode() != fs.FileMode(0o600)) {
				t.Errorf("mode %v, %v", info.Mode(), err)
			}
		})
	}
}
