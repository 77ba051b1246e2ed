package world

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"slipway.dev/slipway/internal/providers/sim/etcd"
	"slipway.dev/slipway/internal/providers/sim/workload"
)

// Options configure a World.
type Options struct {
	// Dir is where the clusters' files lie.
	Dir string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Logger takes what nobody else is told; nil discards it.
	Logger *slog.Logger
}

// World is all simulated clusters of one process.
type World struct {
	opts     Options
	workload *workload.Server
	etcd     *etcd.Server
	tender   *tender
	doors    doors

	mu       sync.Mutex // guards what follows
	clusters map[types.NamespacedName]*Cluster
	// known are the clusters of a name that have been asked for or have left a file, until they are removed.
	known map[types.NamespacedName]map[types.UID]struct{}
	// removed are those that never come back, whoever still has one in hand.
	removed map[types.UID]struct{}
}

// New makes an empty World. Close it.
func New(opts Options) (*World, error) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	server, err := workload.NewServer(workload.Options{Now: opts.Now, Logger: opts.Logger})
	if err != nil {
		return nil, err
	}
	w := &World{opts: opts, workload: server, etcd: etcd.NewServer(), clusters: map[types.NamespacedName]*Cluster{},
		known: map[types.NamespacedName]map[types.UID]struct{}{}, removed: map[types.UID]struct{}{}}
	w.tender = newTender(opts.Logger)
	return w, nil
}

// Place says where a cluster lives.
type Place struct {
	// Key is the cluster's name.
	Key types.NamespacedName
	// ID tells a cluster from another of the same name, before or after it.
	ID types.UID
	// Host and Port are its API endpoint.
	Host string
	Port int32
}

// Cluster returns the cluster of a place, loading it from its file if it has one. A cluster without any state is one
// whose first machine has yet to run kubeadm init. One whose endpoint cannot be listened on is returned too: it does not
// listen, and Ail tells so until it does. One that was removed is an error.
func (w *World) Cluster(p Place) (*Cluster, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.removed[p.ID]; ok {
		return nil, errRemoved
	}
	if c := w.clusters[p.Key]; c != nil {
		if c.place == p {
			return c, nil
		}
		if err := c.close(); err != nil {
			return nil, err
		}
		delete(w.clusters, p.Key)
	}
	c := &Cluster{world: w, place: p, dir: w.dirOf(p.Key, p.ID), machines: map[string]*machine{}}
	w.know(p.Key, p.ID)
	if _, err := os.Stat(c.dir); err == nil {
		if err := c.load(); isListenError(err) {
			c.unsettled = true // Ail tells of it, and tries again.
		} else if err != nil {
			return nil, errors.Join(fmt.Errorf("load simulated cluster %s: %w", p.Key, err), c.close())
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	w.clusters[p.Key] = c
	return c, nil
}

// errRemoved says that a cluster was removed while somebody still had its SimCluster in hand.
var errRemoved = errors.New("the simulated cluster was removed")

// Reserve holds the port of a place for its cluster, from now until that is removed, or until Release. Its error is a
// *ListenError.
func (w *World) Reserve(p Place) error {
	_, err := w.doors.at(p.address(), p.tenant())
	return err
}

// Release gives the reserved port of a place up, where no cluster came to be.
func (w *World) Release(p Place) { w.doors.shut(p.address(), p.tenant()) }

func (p Place) address() string { return net.JoinHostPort(p.Host, strconv.Itoa(int(p.Port))) }

// Remove ends a cluster for good and deletes its file, and the one that was set aside, whatever its endpoint and whatever is in
// the file. A cluster that is not there is no error.
func (w *World) Remove(key types.NamespacedName, id types.UID) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.removed[id] = struct{}{}
	var err error
	if c := w.clusters[key]; c != nil && c.place.ID == id {
		delete(w.clusters, key)
		err = c.close()
	}
	if w.doors.vacate(tenant{key, id}); err != nil {
		return err
	}
	dir := w.dirOf(key, id)
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := dropSetAside(dir, ""); err != nil {
		return err
	}
	// The namespace's directory goes with its last cluster.
	if err := os.Remove(filepath.Dir(dir)); err != nil && !errors.Is(err, fs.ErrNotExist) && !isNotEmpty(err) {
		return err
	}
	if delete(w.known[key], id); len(w.known[key]) == 0 {
		delete(w.known, key)
	}
	return nil
}

// Close stops serving all clusters; their files stay.
func (w *World) Close() error {
	w.tender.close()
	w.mu.Lock()
	defer w.mu.Unlock()
	var errs []error
	for _, c := range w.clusters {
		errs = append(errs, c.close())
	}
	w.clusters = map[types.NamespacedName]*Cluster{}
	w.etcd.Close()
	errs = append(errs, w.workload.Close())
	w.doors.close()
	return errors.Join(errs...)
}
