package remote

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
)

const (
	pageSize = 500
	// maxPages bounds a list: a quarter of a million objects is beyond what any cluster holds.
	maxPages = 500
)

var errTooManyPages = errors.New("the list does not end")

// watched is a kind of object of one cluster that is kept in a store: listed by a worker of the pool, then watched by a
// goroutine that lives as long as the watch does. When a watch ends that cannot be taken up again, the next list is a
// matter for the timetable, not for this goroutine: that bounds how many lists are made at once.
type watched struct {
	connection *connection
	resource   string
	namespace  string
	labels     string

	newList func() runtime.Object
	replace func([]runtime.Object)
	put     func(runtime.Object)
	remove  func(metav1.Object)
	// denied tells whether the connection can do without this kind when listing it ends in err. Nil: it never can.
	denied func(err error) bool

	// version is where to watch from; empty when a list is needed first. It is touched by the goroutine of the
	// watch while there is one and by the worker otherwise, never by both.
	version string
	// skipped is set when the kind is done without.
	skipped bool
}

// list reads all objects into the store.
func (w *watched) list(ctx context.Context) error {
	options := metav1.ListOptions{LabelSelector: w.labels, Limit: pageSize}
	var pages []runtime.Object
	for range maxPages {
		page := w.newList()
		err := w.connection.core.Get().NamespaceIfScoped(w.namespace, w.namespace != "").Resource(w.resource).
			VersionedParams(&options, scheme.ParameterCodec).Do(ctx).Into(page)
		if err != nil && w.denied != nil && w.denied(err) {
			w.skipped = true
			return nil
		}
		if err != nil {
			return fmt.Errorf("list %s: %w", w.resource, err)
		}
		list, err := meta.ListAccessor(page)
		if err != nil {
			return fmt.Errorf("list %s: %w", w.resource, err)
		}
		pages = append(pages, page)
		if options.Continue = list.GetContinue(); options.Continue == "" {
			w.replace(pages)
			w.version = list.GetResourceVersion()
			return nil
		}
	}
	return fmt.Errorf("list %s: %w", w.resource, errTooManyPages)
}

// follow keeps the store up to date until the watch is lost or ctx ends. A server that ends a watch after its time is
// asked for the next one at once.
func (w *watched) follow(ctx context.Context, options Options) error {
	for {
		before := w.version
		seconds := int64(options.WatchTimeout.Seconds() * (0.5 + rand.Float64()/2)) //nolint:gosec // spreads load, hides nothing
		err := w.stream(ctx, max(seconds, 1))
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return err
		case before == w.version:
			// A watch that ends without a word may be a server that cannot watch; the timetable slows us down.
			return fmt.Errorf("watch %s: %w", w.resource, errSilentWatch)
		}
	}
}

var errSilentWatch = errors.New("the server ended the watch without sending anything")

// stream follows one watch to its end.
func (w *watched) stream(ctx context.Context, seconds int64) error {
	events, err := w.connection.core.Get().NamespaceIfScoped(w.namespace, w.namespace != "").Resource(w.resource).
		VersionedParams(&metav1.ListOptions{
			Watch: true, AllowWatchBookmarks: true, LabelSelector: w.labels, ResourceVersion: w.version, TimeoutSeconds: &seconds,
		}, scheme.ParameterCodec).Watch(ctx)
	if err != nil {
		return w.lost(err)
	}
	defer events.Stop()
	for event := range events.ResultChan() {
		if err := w.apply(event); err != nil {
			return w.lost(err)
		}
		w.connection.door.heard.Store(w.connection.door.now().UnixNano())
	}
	return nil
}

// apply brings one event into the store.
func (w *watched) apply(event watch.Event) error {
	if event.Type == watch.Error {
		return apierrors.FromObject(event.Object)
	}
	object, err := meta.Accessor(event.Object)
	if err != nil {
		return fmt.Errorf("read an event: %w", err)
	}
	switch event.Type {
	case watch.Added, watch.Modified:
		w.put(event.Object)
	case watch.Deleted:
		w.remove(object)
	case watch.Bookmark, watch.Error:
	}
	w.version = object.GetResourceVersion()
	return nil
}

// lost notes what a watch's failure means for the next: a version that is too old makes a list necessary, as does any
// refusal that may be due to the version.
func (w *watched) lost(err error) error {
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Code >= http.StatusBadRequest {
		w.version = ""
	}
	return fmt.Errorf("watch %s: %w", w.resource, err)
}
