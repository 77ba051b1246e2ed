package workload

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

const (
	minWatch       = 30 * time.Minute // a watch that names no timeout ends after one to two of these
	bookmarkPeriod = time.Minute
)

// watching is one running watch.
type watching struct {
	*request
	sel       *selection
	form      form
	watcher   *watcher
	rv        uint64 // everything up to here was sent
	bookmarks bool
	marked    uint64 // the version the client knows from events and bookmarks
	buf       []byte
}

// watch streams changes until the client, the timeout or the cluster ends it.
func (q *request) watch() error {
	w := &watching{request: q, bookmarks: q.query.Get("allowWatchBookmarks") == "true"}
	var err error
	if w.form, err = q.accepted(); err != nil {
		return err
	}
	if w.sel, err = q.selection(); err != nil {
		return err
	}
	// Subscribed before anything is read, so that nothing falls in between.
	w.watcher = q.store.subscribe(q.kind)
	defer q.store.unsubscribe(w.watcher)
	initial, err := w.start()
	if err != nil {
		return err
	}
	q.w.Header().Set("Content-Type", runtime.ContentTypeJSON)
	q.w.WriteHeader(http.StatusOK)
	if err := w.sendInitial(initial); err != nil {
		return quiet(err)
	}
	return quiet(w.run())
}

// start finds where the watch begins, and which objects are sent first.
func (w *watching) start() ([]*entry, error) {
	asked, err := w.askedVersion()
	if err != nil {
		return nil, err
	}
	initial := w.query.Get("sendInitialEvents")
	if initial == "true" && !w.bookmarks {
		return nil, apierrors.NewBadRequest("sendInitialEvents is forbidden without allowWatchBookmarks")
	}
	entries, now := w.store.list(w.kind, w.namespace)
	switch {
	case asked > now:
		return nil, tooLarge(asked, now)
	case asked == 0 || initial == "true":
		w.rv = now
		if initial == "false" {
			return nil, nil
		}
		return w.sel.filter(entries)
	case asked < w.store.compactedVersion(w.kind):
		return nil, expired()
	}
	w.rv = asked
	return nil, nil
}

// askedVersion is the version that the client names; 0 for none, or any.
func (w *watching) askedVersion() (uint64, error) {
	text := w.query.Get("resourceVersion")
	if text == "" {
		return 0, nil
	}
	rv, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, apierrors.NewBadRequest("resourceVersion: not a number")
	}
	return rv, nil
}

// sendInitial sends the present as additions and, when asked, marks its end.
func (w *watching) sendInitial(entries []*entry) error {
	for _, e := range entries {
		if err := w.event(watch.Added, e); err != nil {
			return err
		}
	}
	if w.query.Get("sendInitialEvents") == "true" {
		if err := w.bookmark(true); err != nil {
			return err
		}
	}
	return w.flush()
}

// run sends changes as they come.
func (w *watching) run() error {
	timeout := time.NewTimer(w.timeout())
	defer timeout.Stop()
	// The bookmark timer runs only while there is something to tell, so that an idle watch costs nothing.
	bookmark := time.NewTimer(bookmarkPeriod)
	bookmark.Stop()
	defer bookmark.Stop()
	armed := false
	for {
		if err := w.catchUp(); err != nil {
			return err
		}
		if w.bookmarks && !armed && w.rv > w.marked {
			armed = true
			bookmark.Reset(bookmarkPeriod)
		}
		select {
		case <-w.watcher.signal:
		case <-bookmark.C:
			armed = false
			if err := w.bookmarkIfDue(); err != nil {
				return err
			}
		case <-timeout.C:
			return w.bookmarkIfDue()
		case <-w.watcher.done:
			return nil
		case <-w.r.Context().Done():
			return w.r.Context().Err()
		}
	}
}

func (w *watching) timeout() time.Duration {
	seconds, err := strconv.Atoi(w.query.Get("timeoutSeconds"))
	if err == nil && seconds > 0 {
		return time.Duration(seconds) * time.Second
	}
	return minWatch + rand.N(minWatch)
}

// bookmarkIfDue tells the version reached, if the client wants to know and does not.
func (w *watching) bookmarkIfDue() error {
	if !w.bookmarks || w.rv == w.marked {
		return nil
	}
	if err := w.bookmark(false); err != nil {
		return err
	}
	return w.flush()
}

// catchUp sends what happened since the last time. A watch that fell behind the log ends with 410.
func (w *watching) catchUp() error {
	changes, reached, ok := w.store.changesSince(w.watcher, w.rv)
	if !ok {
		return w.gone()
	}
	sent := false
	for _, c := range changes {
		did, err := w.change(c)
		if err != nil {
			return err
		}
		sent = sent || did
	}
	w.rv = reached
	if !sent {
		return nil
	}
	return w.flush()
}

// change sends one change as this watch's selection sees it.
func (w *watching) change(c change) (bool, error) {
	is, err := w.sel.matches(c.cur)
	if err != nil {
		return false, err
	}
	was := false
	if c.prev != nil {
		if was, err = w.sel.matches(c.prev); err != nil {
			return false, err
		}
	}
	switch {
	case c.typ == watch.Deleted && was:
		return true, w.event(watch.Deleted, c.cur)
	case c.typ == watch.Deleted:
		return false, nil
	case is && was:
		return true, w.event(watch.Modified, c.cur)
	case is:
		return true, w.event(watch.Added, c.cur)
	case was:
		// The client sees the last state that it knew, at the version that took it away.
		last := *c.prev
		last.rv = c.cur.rv
		return true, w.event(watch.Deleted, &last)
	}
	return false, nil
}

// event writes one event.
func (w *watching) event(typ watch.EventType, e *entry) error {
	buf := fmt.Appendf(w.buf[:0], `{"type":%q,"object":`, typ)
	buf, err := w.show(buf, e, w.form)
	if err != nil {
		return err
	}
	w.marked = max(w.marked, e.rv)
	return w.line(buf)
}

func (w *watching) line(buf []byte) error {
	w.buf = append(buf, '}', '\n')
	_, err := w.w.Write(w.buf)
	if cap(w.buf) > 64<<10 {
		w.buf = nil // one large object must not stay for the life of a watch
	}
	return err
}

// bookmark tells the version reached.
func (w *watching) bookmark(initialEnd bool) error {
	w.marked = w.rv
	m := metav1.ObjectMeta{ResourceVersion: strconv.FormatUint(w.rv, 10)}
	if initialEnd {
		m.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	obj := w.bookmarkObject(m)
	buf, err := appendMarshal(fmt.Appendf(w.buf[:0], `{"type":%q,"object":`, watch.Bookmark), obj)
	if err != nil {
		return err
	}
	return w.line(buf)
}

func (w *watching) bookmarkObject(m metav1.ObjectMeta) any {
	type bare struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        metav1.ObjectMeta `json:"metadata"`
	}
	b := bare{TypeMeta: metav1.TypeMeta{Kind: w.kind.gvk.Kind, APIVersion: w.gv.String()}, Metadata: m}
	switch w.form {
	case formMetadata:
		b.TypeMeta = metav1.TypeMeta{Kind: "PartialObjectMetadata", APIVersion: "meta.k8s.io/v1"}
	case formTable:
		t := newTable(metav1.ListMeta{ResourceVersion: m.ResourceVersion})
		t.ColumnDefinitions = w.kind.definitions()
		return t
	case formObject:
	}
	return b
}

// gone ends the watch with 410 as its last event.
func (w *watching) gone() error {
	status := apierrors.NewResourceExpired("too old resource version").Status()
	status.Kind, status.APIVersion = "Status", "v1"
	buf, err := appendMarshal(fmt.Appendf(w.buf[:0], `{"type":%q,"object":`, watch.Error), status)
	if err != nil {
		return err
	}
	if err := w.line(buf); err != nil {
		return err
	}
	if err := w.flush(); err != nil {
		return err
	}
	return errExpiredWatch
}

// errExpiredWatch ends a watch that was told 410.
var errExpiredWatch = fmt.Errorf("the watch fell behind")

func (w *watching) flush() error { return http.NewResponseController(w.w).Flush() }
