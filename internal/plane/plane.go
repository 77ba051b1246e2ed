package plane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"slipway.dev/slipway/internal/fault"
	"slipway.dev/slipway/internal/statedir"
)

// lookEvery is how often a running plane looks at its certificates and its disk: a disk fills within minutes.
const lookEvery = 5 * time.Second

// running is a plane while it runs.
type running struct {
	opts  Options
	state *statedir.Dir
	pki   *pki
	etcd  *embed.Etcd
	// quota is the size in bytes at which the store refuses writes.
	quota int64
	api   *apiServer
	house *housekeeping
	gate  gate
	hold  hold
	// beside ends when what Options.Start started has ended; nil when nothing was started.
	beside <-chan error
	// stale tells that certificates were renewed and the kubeconfig was not; warned, that renew has failed and said so.
	stale, warned bool
	// fullness is what was said last of how full the store is.
	fullness string
}

// Run starts a plane and keeps it until ctx ends, then stops it in order. It changes the process's working directory to
// the state directory, for etcd's socket. Its errors are *fault.Error where a user can do something about them.
func Run(ctx context.Context, opts Options) error {
	if opts.Listen == "" {
		opts.Listen = "127.0.0.1"
	}
	dir, err := filepath.Abs(opts.StateDir)
	if err != nil {
		return err
	}
	opts.StateDir = dir
	if opts.Log == nil {
		opts.Log = io.Discard
	}
	begin := time.Now()
	// Whatever a library makes here, sockets too, is for the owner alone.
	syscall.Umask(0o077)
	s, err := statedir.Open(dir, opts.Version, statedir.Source{File: opts.From, MakeStore: makeStore})
	if err != nil {
		return err
	}
	r := &running{opts: opts, state: s, quota: etcdQuota}
	// Everything below runs on a context of its own, so that the parts can be stopped in order.
	inner, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	stopEarly := context.AfterFunc(ctx, func() {
		if !r.gate.open.Load() {
			stop()
		}
	})
	defer stopEarly()
	err = r.start(inner, begin)
	if err == nil {
		err = r.keep(ctx)
	}
	stop()
	return errors.Join(err, r.close())
}

func (r *running) start(ctx context.Context, begin time.Time) error {
	if err := os.Chdir(r.state.Path); err != nil {
		return fault.New(err, "cannot use the state directory", err.Error(), r.state.Path, "run as the user that owns it")
	}
	if err := statedir.MakeLogDir(r.state.Path); err != nil {
		return err
	}
	if err := snapshotBeforeUpgrade(r.state, r.opts.Version, time.Now()); err != nil {
		return err
	}
	var err error
	if r.pki, err = openPKI(r.state, r.opts.Listen, time.Now()); err != nil {
		return err
	}
	r.opts.report("storage", r.state.Path, begin)

	step := time.Now()
	if err := r.startStore(ctx); err != nil {
		return err
	}
	r.opts.report("etcd", "3.7", step)

	step = time.Now()
	ln, err := r.listenAPI()
	if err != nil {
		return err
	}
	if r.api, err = startAPIServer(ctx, r.state, ln, &r.gate, &r.hold, r.opts.Metrics); err != nil {
		return fault.As(err, "cannot start the API server", "slipway logs plane")
	}
	if err := r.writeKubeconfig(); err != nil {
		return err
	}
	r.opts.report("api", r.endpoint(), step)
	return r.startControllers(ctx, begin)
}

func (r *running) startControllers(ctx context.Context, begin time.Time) error {
	if err := bindAdmins(ctx, r.api.loopback); err != nil {
		return err
	}
	var err error
	if r.house, err = startHousekeeping(ctx, r.api.loopback); err != nil {
		return err
	}
	if r.opts.Start != nil {
		api, err := r.webhookDoor()
		if err != nil {
			return err
		}
		if r.beside, err = r.opts.Start(ctx, api); err != nil {
			return fault.As(err, "cannot start the controllers", "slipway logs plane")
		}
	}
	if err := r.recordVersion(); err != nil {
		return err
	}
	r.gate.open.Store(true)
	r.opts.report("ready", r.endpoint(), begin)
	return nil
}

// listenAPI opens the API server's port and remembers where it listens.
func (r *running) listenAPI() (net.Listener, error) {
	wanted := r.opts.Port
	if wanted == 0 {
		wanted = r.state.Record.APIPort
	}
	ln, err := listen(r.opts.Listen, wanted, defaultPort)
	if err != nil {
		return nil, err
	}
	if r.state.Record.APIHost == r.opts.Listen && r.state.Record.APIPort == port(ln) {
		return ln, nil
	}
	r.state.Record.APIHost, r.state.Record.APIPort = r.opts.Listen, port(ln)
	return ln, r.state.Save()
}

// startStore starts etcd. Nobody can write to the store before this returns: the API server gets its port later.
func (r *running) startStore(ctx context.Context) error {
	if err := r.state.BeginStore(); err != nil {
		return cannotStartStore(err, r.state)
	}
	var err error
	if r.etcd, err = startEtcd(ctx, r.state, r.quota, r.opts.Log); err != nil {
		return err
	}
	if err := r.state.StoreStarted(); err != nil {
		return cannotStartStore(err, r.state)
	}
	return r.makeRoom(ctx)
}

// makeRoom sees to it that a store which is full, or nearly so, can be written again.
func (r *running) makeRoom(ctx context.Context) error {
	fits, err := makeRoom(ctx, r.etcd.Server, r.quota)
	if fits || err != nil {
		return err
	}
	// All of it is objects. To delete some takes writes too, so that it gets room for them beyond its limit.
	r.etcd.Close()
	size := r.etcd.Server.Backend().Size()
	r.quota = size + max(size/10, leastRoom)
	if r.etcd, err = startEtcd(ctx, r.state, r.quota, r.opts.Log); err != nil {
		return err
	}
	_, err = makeRoom(ctx, r.etcd.Server, r.quota)
	return err
}

func cannotStartStore(err error, s *statedir.Dir) *fault.Error {
	return fault.New(err, "cannot start the store", err.Error(), s.Join(statedir.StoreName), "run as the user that owns the state directory, on a disk with room")
}

// recordVersion notes, once all has been brought up to it, that this version wrote the state.
func (r *running) recordVersion() error {
	if r.state.Record.Version == r.opts.Version && r.state.Record.Upgrading == "" {
		return nil
	}
	r.state.Record.Version, r.state.Record.Upgrading = r.opts.Version, ""
	return r.state.Save()
}

// webhookDoor finds a port for webhooks. Nothing outside the plane knows it, so that a taken one is silently replaced.
func (r *running) webhookDoor() (API, error) {
	ln, err := listen("127.0.0.1", 0, r.state.Record.WebhookPort)
	if err != nil {
		return API{}, err
	}
	p := port(ln)
	if err := ln.Close(); err != nil {
		return API{}, err
	}
	if p != r.state.Record.WebhookPort {
		r.state.Record.WebhookPort = p
		if err := r.state.Save(); err != nil {
			return API{}, err
		}
	}
	return API{
		Config: rest.CopyConfig(r.api.loopback), WebhookHost: "127.0.0.1", WebhookPort: p,
		CertDir: r.state.Join("pki", "webhook"), CABundle: r.pki.caPEM, StateDir: r.state.Path,
	}, nil
}

func (r *running) endpoint() string {
	host := r.opts.Listen
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "https://" + net.JoinHostPort(host, fmt.Sprint(r.state.Record.APIPort))
}

// writeKubeconfig writes the admin kubeconfig with its certificates inside.
func (r *running) writeKubeconfig() error {
	cert, err := os.ReadFile(r.pki.file("admin.crt"))
	if err != nil {
		return err
	}
	key, err := os.ReadFile(r.pki.file("admin.key"))
	if err != nil {
		return err
	}
	const name = "slipway"
	cfg := clientcmdapi.NewConfig()
	cfg.Clusters[name] = &clientcmdapi.Cluster{Server: r.endpoint(), CertificateAuthorityData: r.pki.caPEM}
	cfg.AuthInfos[name] = &clientcmdapi.AuthInfo{ClientCertificateData: cert, ClientKeyData: key}
	cfg.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	cfg.CurrentContext = name
	b, err := clientcmd.Write(*cfg)
	if err != nil {
		return err
	}
	return statedir.WriteFile(statedir.AdminKubeconfig(r.state.Path), b)
}

// keep looks after a running plane until ctx ends or a part of it dies.
func (r *running) keep(ctx context.Context) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-r.etcd.Err():
			return statedir.Diagnose(err.Error(), r.state.Path, "etcd: "+err.Error())
		case err := <-r.api.done:
			return fault.New(err, "the management plane stopped", "its API server ended", r.endpoint(), "slipway logs plane")
		case err := <-r.beside:
			r.beside = nil
			return fault.As(err, "the management plane stopped: its controllers ended", "slipway logs plane")
		case <-tick.C:
			if err := r.upkeep(); err != nil {
				return err
			}
		}
	}
}

// upkeep renews certificates in time and watches the disk and the store. Its error ends the plane.
func (r *running) upkeep() error {
	free, err := statedir.FreeBytes(r.state.Path)
	if err == nil && free < statedir.StopFree {
		return statedir.DiskFull(r.state.Path)
	}
	low := err == nil && free < statedir.MinFree
	if was := r.hold.low.Swap(low); low && !was {
		r.opts.report("warning", fmt.Sprintf("only %d MiB are free on the disk of %s: no clusters and machines are created until there are %d; the plane stops below %d MiB",
			free>>20, r.state.Path, statedir.MinFree>>20, statedir.StopFree>>20), time.Now())
	}
	if text := fullness(r.etcd.Server, r.quota); text != r.fullness {
		r.fullness = text
		if text != "" {
			r.opts.report("warning", text, time.Now())
		}
	}
	r.renew(time.Now())
	return nil
}

// renew renews certificates in time, and the kubeconfig with them. What fails is tried again the next time.
func (r *running) renew(now time.Time) {
	renewed, err := r.pki.renew(r.opts.Listen, now)
	// One certificate may be renewed although another was not.
	r.stale = r.stale || renewed
	if err == nil && r.stale {
		err = r.writeKubeconfig()
	}
	if err != nil {
		// Not every few seconds until it works again.
		if !r.warned {
			r.opts.report("warning", err.Error(), now)
		}
		r.warned = true
		return
	}
	r.warned = false
	if r.stale {
		r.stale = false
		r.opts.report("credentials", statedir.AdminKubeconfig(r.state.Path), now)
	}
}

// close stops what was started, in reverse order. The context that everything runs on has ended already.
func (r *running) close() error {
	var err error
	if r.beside != nil {
		err = <-r.beside
	}
	if r.house != nil {
		r.house.wait()
	}
	if r.api != nil {
		<-r.api.done
	}
	if r.etcd != nil {
		r.etcd.Close()
	}
	return errors.Join(err, r.state.Close())
}
