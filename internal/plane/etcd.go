package plane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"slipway.dev/slipway/internal/fault"
	"slipway.dev/slipway/internal/statedir"
)

// The store's limits, as documented in docs/plane.md.
const (
	// etcdQuota is the size at which the store refuses writes: many times what ten thousand machines need.
	etcdQuota = 4 << 30
	// etcdDefragAbove is how much free space in the store's file makes a start defragment it.
	etcdDefragAbove = 128
	// etcdSnapshotCount bounds the raft entries that are kept in memory; with a single member nobody needs to catch up.
	etcdSnapshotCount          = 2000
	etcdSnapshotCatchUpEntries = 100
	etcdStartTimeout           = 60 * time.Second
	// etcdTick and etcdElection are how soon the store's only member elects itself at a start: with etcd's defaults, which are
	// meant for members in several datacentres, it waits for up to a second more.
	etcdTick     = 50 * time.Millisecond
	etcdElection = 250 * time.Millisecond
)

// memberName is the name of the store's only member.
const memberName = "slipway"

// etcdSocket is the path of the client socket below a state directory.
const etcdSocket = "etcd.sock"

// startEtcd starts a single-member etcd that listens on unix sockets in the working directory, which must be the state
// directory: socket paths are limited to 107 bytes, state directories are not.
//
// The store refuses writes above quota bytes.
func startEtcd(ctx context.Context, s *statedir.Dir, quota int64, log io.Writer) (*embed.Etcd, error) {
	for _, sock := range []string{etcdSocket, "etcd-peer.sock"} {
		if err := os.Remove(s.Join(sock)); err != nil && !os.IsNotExist(err) {
			return nil, fault.New(err, "cannot start the store", err.Error(), s.Join(sock), "run as the user that owns the state directory")
		}
	}
	if err := checkStore(s.Join(statedir.StoreName)); err != nil {
		return nil, fault.New(err, "cannot use the state", "the store's file is corrupt: "+err.Error(), s.Join(statedir.StoreName),
			"slipway up --from FILE with your last backup, into a new --state-dir")
	}
	client, peer := unixURL(etcdSocket), unixURL("etcd-peer.sock")
	cfg := embed.NewConfig()
	cfg.Name = memberName
	cfg.Dir = s.Join(statedir.StoreName)
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	cfg.InitialCluster = cfg.Name + "=" + peer.String()
	encoder := zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig())
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.New(zapcore.NewCore(encoder, zapcore.AddSync(log), zapcore.WarnLevel)))
	cfg.TickMs, cfg.ElectionMs = uint(etcdTick.Milliseconds()), uint(etcdElection.Milliseconds())
	cfg.QuotaBackendBytes = quota
	cfg.SnapshotCount, cfg.SnapshotCatchUpEntries = etcdSnapshotCount, etcdSnapshotCatchUpEntries
	cfg.BootstrapDefragThresholdMegabytes = etcdDefragAbove

	etcd, err := embed.StartEtcd(cfg)
	if err != nil {
		return nil, statedir.Diagnose(err.Error(), s.Path, "etcd: "+err.Error())
	}
	select {
	case <-etcd.Server.ReadyNotify():
		return etcd, closeSockets(s)
	case err := <-etcd.Err():
		etcd.Close()
		return nil, statedir.Diagnose(err.Error(), s.Path, "etcd: "+err.Error())
	case <-time.After(etcdStartTimeout):
		etcd.Close()
		return nil, fault.New(nil, "cannot start the store", fmt.Sprintf("it was not ready after %s", etcdStartTimeout), cfg.Dir, "slipway logs plane")
	case <-ctx.Done():
		etcd.Close()
		return nil, context.Cause(ctx)
	}
}

// checkStore makes sure that the store's file is all there. etcd does not look: it would make a lost file anew beside a log
// that goes on from it, and crash at some later time on one that was cut.
func checkStore(dir string) error {
	logs, err := filepath.Glob(filepath.Join(dir, "member", "wal", "*.wal"))
	if err != nil || len(logs) == 0 {
		return err // Nothing was written yet, or the first start was killed before.
	}
	path := filepath.Join(dir, "member", "snap", "db")
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Size() == 0 {
		return errors.New("it is empty")
	}
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true, Timeout: time.Second})
	if err != nil {
		return err
	}
	defer db.Close()
	return db.View(func(tx *bbolt.Tx) error {
		if want := tx.Size(); want > info.Size() {
			return fmt.Errorf("it has %d bytes of %d", info.Size(), want)
		}
		return nil
	})
}

// closeSockets leaves the store's doors to the owner alone, whatever becomes of the directory's mode.
func closeSockets(s *statedir.Dir) error {
	for _, sock := range []string{etcdSocket, "etcd-peer.sock"} {
		if err := os.Chmod(s.Join(sock), 0o600); err != nil {
			return fmt.Errorf("close the store's socket to others: %w", err)
		}
	}
	return nil
}

// unixURL is a URL for a socket relative to the working directory. etcd joins host and path, so the name is the host.
func unixURL(name string) url.URL { return url.URL{Scheme: "unix", Host: name} }
