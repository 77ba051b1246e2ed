package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"slipway.dev/slipway/internal/fault"
	"slipway.dev/slipway/internal/progress"
	"slipway.dev/slipway/internal/statedir"
)

// storeSocket is the store's socket below a state directory.
const storeSocket = "etcd.sock"

const storeDialTimeout = 10 * time.Second

func backupCommand(a *app) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Save the management plane's state to a file",
		Long: `Save everything that the management plane knows to one file: objects, certificates and the simulated clusters.
It works while the plane runs and while it is down. The file holds secrets: keep it like one. ` + "`slipway up --from FILE`" + ` restores it
into an empty state directory.`,
		Example: `  slipway backup slipway.backup`,
		Args:    oneArg("the file to write"),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := a.stateDir(dir)
			if err != nil {
				return err
			}
			return a.backup(cmd.Context(), path, args[0])
		},
	}
	a.stateDirFlag(cmd.Flags(), &dir)
	return cmd
}

func (a *app) backup(ctx context.Context, dir, file string) error {
	begun := a.now()
	what := "cannot back up the management plane"
	if _, err := statedir.ReadRecord(dir); err != nil {
		return fault.New(err, what, "there is no state: "+err.Error(), dir, "name the state directory with --state-dir")
	}
	target, err := backupFile(file)
	if err != nil {
		return fault.New(err, what, err.Error(), file, "name another file, such as slipway.backup")
	}
	a.say("Saving the state in %s.", a.tilde(dir))
	var size int64
	err = statedir.ReplaceFile(target, func(w io.Writer) error {
		counted := &counter{Writer: w}
		err := writeBackup(ctx, counted, dir, filepath.Dir(target))
		size = counted.n
		return err
	})
	if err != nil {
		return cannotWrite(err, what, file, a.withStateDir("status", dir))
	}
	a.say("Saved %s to %s in %s. It holds keys and secrets: keep it safe.", bytesText(size), file, progress.Duration(a.now().Sub(begun)))
	a.say("\nRestore:  %s", a.try("up --from %s --state-dir DIRECTORY", file))
	return a.printDocument(backupDocument{typeMeta{viewAPIVersion, "Backup"}, file, size, dir})
}

// backupFile is the file that is replaced by a backup: where a link leads, and nothing but a file.
func backupFile(path string) (string, error) {
	if path == "" {
		return "", errors.New("the file has no name")
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return path, nil
	case err != nil:
		return "", err
	case info.IsDir():
		return "", errors.New("it is a directory")
	case !info.Mode().IsRegular():
		return "", errors.New("it is no ordinary file, and a backup would replace it")
	}
	return path, nil
}

// backupDocument is a backup that was made, as JSON.
type backupDocument struct {
	typeMeta
	File     string `json:"file"`
	Bytes    int64  `json:"bytes"`
	StateDir string `json:"stateDir"`
}

// cannotWrite names the file that the user gave: it is written under another name first, which means nothing to anybody.
func cannotWrite(err error, what, file, try string) error {
	path, ok := errors.AsType[*fs.PathError](err)
	if !ok || filepath.Dir(path.Path) != filepath.Dir(file) {
		return fault.As(err, what, try)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fault.New(err, what, "there is no directory "+filepath.Dir(file), file, "mkdir -p "+filepath.Dir(file))
	}
	return fault.New(err, what, path.Err.Error(), file, "name a file that you may write, on a disk with room")
}

// writeBackup archives a state directory, with a snapshot of the store while the plane runs.
func writeBackup(ctx context.Context, w io.Writer, dir, scratch string) error {
	err := statedir.ArchiveStopped(w, dir)
	if known, ok := errors.AsType[*fault.Error](err); !ok || known.Code != statedir.CodeInUse {
		return err // It is made, or failed; a plane that runs is archived through its store.
	}
	// The archive's format wants the snapshot's size first, and it is not known before its end.
	snapshot, err := os.CreateTemp(scratch, ".slipway-snapshot-*")
	if err != nil {
		return err
	}
	defer os.Remove(snapshot.Name())
	defer snapshot.Close()
	size, err := saveSnapshot(ctx, snapshot, dir)
	if err != nil {
		return err
	}
	if _, err := snapshot.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return statedir.Archive(w, dir, snapshot, size)
}

// saveSnapshot streams a snapshot of the running store.
func saveSnapshot(ctx context.Context, w io.Writer, dir string) (int64, error) {
	store, err := clientv3.New(clientv3.Config{
		// The name is never looked up: the dialer knows the socket.
		Endpoints: []string{"passthrough:///slipway"}, DialTimeout: storeDialTimeout, Context: ctx, Logger: zap.NewNop(),
		DialOptions: []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return dialIn(ctx, dir, storeSocket) })},
	})
	if err != nil {
		return 0, fmt.Errorf("open the store: %w", err)
	}
	defer store.Close()
	snapshot, err := store.Snapshot(ctx)
	if err != nil {
		return 0, fmt.Errorf("take a snapshot of the store: %w", err)
	}
	defer snapshot.Close()
	n, err := io.Copy(w, snapshot)
	if err != nil {
		return n, fmt.Errorf("save the snapshot of the store: %w", err)
	}
	return n, nil
}

// dialIn connects to a unix socket in a directory of any length: a socket's path has at most 107 bytes, so it is reached
// through the open directory.
func dialIn(ctx context.Context, dir, socket string) (net.Conn, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return (&net.Dialer{}).DialContext(ctx, "unix", fmt.Sprintf("/proc/self/fd/%d/%s", d.Fd(), socket))
}

// counter counts what is written through it.
type counter struct {
	io.Writer
	n int64
}

// Write counts and writes.
func (c *counter) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.n += int64(n)
	return n, err
}

func bytesText(n int64) string {
	switch {
	case n < 1<<20:
		return fmt.Sprintf("%d KiB", (n+1023)>>10)
	default:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
}
