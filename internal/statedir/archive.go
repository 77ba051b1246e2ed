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
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"

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
var archived = []string{recordName, "pki", "sim"}

// ArchiveStopped writes the state directory of a plane that does not run to w, and keeps one from starting until that is done.
// Its error is InUse when a plane runs, or is about to.
func ArchiveStopped(w io.Writer, dir string) (err error) {
	// Shared, as by those who only ask whether a plane runs.
	lock := flock.New(lockFile(dir), flock.SetPermissions(0o600))
	held, err := lock.TryRLock()
	if err != nil {
		return fmt.Errorf("lock the state: %w", err)
	}
	if !held {
		return InUse(dir)
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	return Archive(w, dir, nil, 0)
}

// Archive writes a state directory to w. With a snapshot (of size bytes) the store's directory is left out; without one
// the caller holds the state's lock.
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

// extract lays an archive into an empty directory. Its errors are *fault.Error.
func extract(file, dir string) error {
	f, err := os.Open(file)
	if err != nil {
		return fault.New(err, "cannot read the backup", err.Error(), file, "give the path of a file that slipway backup wrote")
	}
	defer f.Close()
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
		found = found || header.Name == recordName
		if err := extractOne(in, header, dir, file); err != nil {
			return err
		}
	}
	// What follows the archive's end is the checksum of all of it.
	if _, err := io.Copy(io.Discard, zip); err != nil {
		return notABackup(err, file)
	}
	if !found {
		return notABackup(errors.New("it holds no "+recordName), file)
	}
	return nil
}

func notABackup(err error, file string) error {
	return fault.New(err, "cannot restore the backup", "the file is not a whole backup: "+err.Error(), file, "use another backup")
}

func extractOne(in io.Reader, header *tar.Header, dir, file string) error {
	name := filepath.FromSlash(header.Name)
	if header.Typeflag != tar.TypeReg || !mayHold(header.Name) || !filepath.IsLocal(name) {
		return notABackup(fmt.Errorf("it holds %s", header.Name), file)
	}
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return cannotWrite(err, dir)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return cannotWrite(err, dir)
	}
	source := &readErrors{Reader: in}
	_, err = io.Copy(f, source)
	err = errors.Join(err, f.Sync(), f.Close())
	switch {
	case source.err != nil:
		return notABackup(source.err, file)
	case err != nil:
		return cannotWrite(err, dir)
	}
	return nil
}

// mayHold tells whether a file of that name belongs into an archive.
func mayHold(name string) bool {
	part, _, _ := strings.Cut(name, "/")
	return part == SnapshotName || part == StoreName || slices.Contains(archived, part)
}

func cannotWrite(err error, dir string) error {
	cause, try := err.Error(), "give a directory that you may write: slipway up --from FILE --state-dir DIR"
	if errors.Is(err, syscall.ENOSPC) {
		cause, try = "the disk is full", "free some space, then try again"
	}
	return fault.New(err, "cannot restore the backup", cause, dir, try)
}

// readErrors keeps the error of its reader apart from that of whoever writes what was read.
type readErrors struct {
	io.Reader
	err error
}

// Read reads on, and keeps an error that is not the end.
func (r *readErrors) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}
