package statedir_test

import (
	"io"
	"strings"
	"sync"
	"testing"

	"slipway.dev/slipway/internal/statedir"
)

// blocking takes its first byte and then waits, until it is let go on.
type blocking struct {
	once        sync.Once
	begun, goOn chan struct{}
}

func (b *blocking) Write(p []byte) (int, error) {
	b.once.Do(func() { close(b.begun) })
	<-b.goOn
	return len(p), nil
}

func TestArchiveStopped_KeepsAPlaneFromStarting(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	closed(t, open(t, dir))
	w := &blocking{begun: make(chan struct{}), goOn: make(chan struct{})}
	done := make(chan error, 1)
	go func() { done <- statedir.ArchiveStopped(w, dir) }()
	<-w.begun
	_, err := statedir.Open(dir, version, statedir.Source{})
	if e := fourParts(t, err); !strings.Contains(e.Cause, "in use") {
		t.Errorf("cause %q", e.Cause)
	}
	if err := statedir.ArchiveStopped(io.Discard, dir); err != nil {
		t.Errorf("a second backup at the same time: %v", err)
	}
	close(w.goOn)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	s := open(t, dir)
	defer closed(t, s)
	if e := fourParts(t, statedir.ArchiveStopped(io.Discard, dir)); e.Code != statedir.CodeInUse {
		t.Errorf("while a plane runs: %+v", e)
	}
}
