package cli

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
	"slipway.dev/slipway/internal/view"
)

const (
	// gather is how long changes are gathered before the objects are read again.
	gather = 100 * time.Millisecond
	// rewatch is the pause before a watch that ended is opened again.
	rewatch = time.Second
)

// watched is one list of objects to watch.
type watched struct {
	list client.ObjectList
	opts []client.ListOption
}

// watchesOf are the lists whose changes can change what the tree of a cluster shows.
func watchesOf(key types.NamespacedName) []watched {
	namespace := client.InNamespace(key.Namespace)
	ofCluster := client.MatchingLabels{clusterv1.ClusterNameLabel: key.Name}
	return []watched{
		{&clusterv1.ClusterList{}, []client.ListOption{namespace, client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("metadata.name", key.Name)}}},
		{&controlplanev1.KubeadmControlPlaneList{}, []client.ListOption{namespace}},
		{&clusterv1.MachineDeploymentList{}, []client.ListOption{namespace, ofCluster}},
		{&clusterv1.MachineSetList{}, []client.ListOption{namespace, ofCluster}},
		{&clusterv1.MachineList{}, []client.ListOption{namespace, ofCluster}},
	}
}

// changes tells when any of the watched objects has changed. Several changes are one signal.
type changes struct {
	signal chan struct{}
	cancel context.CancelFunc
	all    sync.WaitGroup
}

func watchChanges(ctx context.Context, c client.WithWatch, lists []watched) *changes {
	var all []openWatch
	for _, l := range lists {
		all = append(all, func(ctx context.Context) (watch.Interface, error) { return c.Watch(ctx, l.list, l.opts...) })
	}
	return follow(ctx, all...)
}

// openWatch opens a watch, which ends with the context.
type openWatch func(context.Context) (watch.Interface, error)

// follow notes changes until it is stopped, and opens each watch anew whenever it ends.
func follow(ctx context.Context, watches ...openWatch) *changes {
	ctx, cancel := context.WithCancel(ctx)
	w := &changes{signal: make(chan struct{}, 1), cancel: cancel}
	for _, open := range watches {
		w.all.Go(func() { w.follow(ctx, open) })
	}
	return w
}

// stop ends the watches and waits for them.
func (w *changes) stop() {
	w.cancel()
	w.all.Wait()
}

func (w *changes) note() {
	select {
	case w.signal <- struct{}{}:
	default:
	}
}

// next waits for the next change, and for those that come right after it.
func (w *changes) next(ctx context.Context) error {
	select {
	case <-w.signal:
		pause(ctx, gather)
		return nil
	case <-ctx.Done():
		return interrupted()
	}
}

func (w *changes) follow(ctx context.Context, open openWatch) {
	for ctx.Err() == nil {
		if watcher, err := open(ctx); err == nil {
			w.drain(ctx, watcher)
		}
		// What happened between two watches is found by reading again.
		if pause(ctx, rewatch) {
			w.note()
		}
	}
}

func (w *changes) drain(ctx context.Context, watcher watch.Interface) {
	defer watcher.Stop()
	for {
		select {
		case event, open := <-watcher.ResultChan():
			if !open || event.Type == watch.Error {
				return
			}
			if event.Type != watch.Bookmark {
				w.note()
			}
		case <-ctx.Done():
			return
		}
	}
}

// observation is one look at a cluster.
type observation struct {
	snapshot *view.Snapshot
	err      error
	// again says that nothing has changed since the look before, as far as the watches tell.
	again bool
}

// observe looks at a cluster at once and after each change, until look returns true or ctx ends. Between changes it looks
// once a second at the clock alone, so that ages and bounds move. A user's signal asks for what is open.
func (a *app) observe(ctx context.Context, c client.WithWatch, key types.NamespacedName, withObjects bool, look func(observation) bool, asked func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, inquiries()...)
	defer signal.Stop(signals)
	w := watchChanges(ctx, c, watchesOf(key))
	defer w.stop()
	clock := time.NewTicker(time.Second)
	defer clock.Stop()
	var last observation
	read := func() bool {
		s, err := view.Load(ctx, c, key, withObjects)
		if ctx.Err() != nil {
			return true
		}
		last = observation{snapshot: s, err: err}
		over := look(last)
		last.again = true
		return over
	}
	if read() {
		return
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-signals:
			asked()
		case <-clock.C:
			if look(last) {
				return
			}
		case <-w.signal:
			if !pause(ctx, gather) || read() {
				return
			}
		}
	}
}

// pause waits and tells whether ctx is still alive.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
