package plane

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"time"

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
)

// memberName is the name of the store's only member.
const memberName = "slipway"

// etcdSocket is the path of the client socket below a state directory.
const etcdSocket = "etcd.sock"

// startEtcd starts a single-member etcd that listens on unix sockets in the working directory, which must be the state
// directory: socket paths are limited to 107 bytes, state directories are not.
func startEtcd(ctx context.Context, s *statedir.Dir, log io.Writer) (*embed.Etcd, error) {
	for _, sock := range []string{etcdSocket, "etcd-peer.sock"} {
		if err := os.Remove(s.Join(sock)); err != nil && !os.IsNotExist(err) {
			return nil, fault.New(err, "cannot start the store", err.Error(), s.Join(sock), "run as the user that owns the state directory")
		}
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
	cfg.QuotaBackendBytes = etcdQuota
	cfg.SnapshotCount, cfg.SnapshotCatchUpEntries = etcdSnapshotCount, etcdSnapshotCatchUpEntries
	cfg.BootstrapDefragThresholdMegabytes = etcdDefragAbove

	etcd, err := embed.StartEtcd(cfg)
	if err != nil {
		return nil, statedir.Diagnose(err.Error(), s.Path, "etcd: "+err.Error())
	}
	select {
	case <-etcd.Server.ReadyNotify():
		return etcd, nil
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

// unixURL is a URL for a socket relative to the working directory. etcd joins host and path, so the name is the host.
func unixURL(name string) url.URL { return url.URL{Scheme: "unix", Host: name} }
