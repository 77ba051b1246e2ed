package statedir

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"slipway.dev/slipway/internal/fault"
)

// Names inside an archive. An archive holds either a snapshot of a running store or, taken from a stopped plane, the
// store's own directory.
const (
	// SnapshotName is the snapshot of a running store.
	SnapshotName = "etcd-snapshot.db"
	// StoreName is the store's directory.
	StoreName = "etcd"
)

// archived are the parts of a state directory that an archive holds besides the store. Logs and sockets are left out.
var archived = []string{"state.json", "pki", "sim"}

// Archive writes a state directory to w. With a snapshot (of size bytes) the store's directory is left out; without one
// the plane must not be running.
func Archive(w io.Writer, dir string, snapshot io.Reader, size int64) error {
	zip := gzip.NewWriter(w)
	out := tar.NewWriter(zip)
	parts := archived
	if snapshot == nil {
		parts = append([]string{StoreName}, parts...)
	} else if err := addFile(out, SnapshotName, snapshot, size, time.Now()); err != nil {
		return fmt.Errorf("archive the store: %w", err)
	}
	for _, part := range parts {
		if err := addTree(out, dir, part); err != nil {
			return fmt.Errorf("archive %s: %w", filepath.Join(dir, part), err)
		}
	}
	return errors.Join(out.Close(), zip.Close())
}

func addTree(out *tar.Writer, dir, part string) error {
	return filepath.WalkDir(filepath.Join(dir, part), func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // A part that is not there, or a file that went while we walked.
		}
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		return addPath(out, path, name)
	})
}

// addPath adds a file as long as it is now: one that grows meanwhile is cut there, as a journal may be.
func addPath(out *tar.Writer, path, name string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return addFile(out, name, io.LimitReader(f, info.Size()), info.Size(), info.ModTime())
}

func addFile(out *tar.Writer, name string, r io.Reader, size int64, modified time.Time) error {
	header := &tar.Header{Typeflag: tar.TypeReg, Name: filepath.ToSlash(name), Size: size, Mode: 0o600, ModTime: modified}
	if err := out.WriteHeader(header); err != nil {
		return err
	}
	_, err := io.CopyN(out, r, size)
	return err
}

// Extract lays an archive into an empty directory. Its errors are *fault.Error.
func Extract(file, dir string) error {
	f, err := os.Open(file)
	if err != nil {
		return fault.New(err, "cannot read the backup", err.Error(), file, "give the path of a file that slipway backup wrote")
	}
	defer f.Close()
	if err := emptyDir(dir); err != nil {
		return err
	}
	zip, err := gzip.NewReader(f)
	if err != nil {
		return notABackup(err, file)
	}
	in := tar.NewReader(zip)
	found := false
	for {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return notABackup(err, file)
		}
		found = found || header.Name == "state.json"
		if err := extractOne(in, header, dir); err != nil {
			return fault.New(err, "cannot restore the backup", err.Error(), dir, "free some space, empty the directory, and try again")
		}
	}
	if !found {
		return notABackup(errors.New("it holds no state.json"), file)
	}
	return nil
}

func notABackup(err error, file string) error {
	return fault.New(err, "cannot restore the backup", "the file is not a whole backup: "+err.Error(), file, "use another backup")
}

// emptyDir makes dir, or makes sure that nothing is in it that a restore would overwrite.
func emptyDir(dir string) error {
	if err := MakeLogDir(dir); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fault.New(err, "cannot restore the backup", err.Error(), dir, "give a directory that you may write")
	}
	for _, e := range entries {
		if e.Name() != "logs" && e.Name() != "lock" {
			return fault.New(nil, "cannot restore the backup", "the state directory is not empty", dir,
				"slipway up --from FILE --state-dir NEW, or move the old state away")
		}
	}
	return nil
}

func extractOne(in io.Reader, header *tar.Header, dir string) error {
	if header.Typeflag != tar.TypeReg {
		return nil
	}
	name := filepath.FromSlash(header.Name)
	if !filepath.IsLocal(name) || strings.HasPrefix(header.Name, "../") {
		return fmt.Errorf("the backup names a path outside itself: %s", header.Name)
	}
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, in)
	return errors.Join(err, f.Sync(), f.Close())
}
