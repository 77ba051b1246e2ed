package workload

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// flushWorkers bounds how many clusters' files are synced at once.
const flushWorkers = 4

// errClosed is what writers get after Close.
var errClosed = errors.New("the cluster's store is closed")

// flusher writes the journals of all clusters. Its workers exist only while there is work.
type flusher struct {
	mu      sync.Mutex // guards what follows
	queue   []*journal
	workers int
	idle    sync.WaitGroup
}

// enqueue asks for a journal to be flushed.
func (f *flusher) enqueue(j *journal) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queue = append(f.queue, j)
	if f.workers == flushWorkers {
		return
	}
	f.workers++
	f.idle.Add(1)
	go f.work()
}

// work flushes until nothing is queued.
func (f *flusher) work() {
	defer f.idle.Done()
	for {
		f.mu.Lock()
		if len(f.queue) == 0 {
			f.workers--
			f.queue = nil
			f.mu.Unlock()
			return
		}
		j := f.queue[0]
		f.queue = f.queue[1:]
		f.mu.Unlock()
		if j.flush() {
			f.enqueueAgain(j)
		}
	}
}

func (f *flusher) enqueueAgain(j *journal) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queue = append(f.queue, j)
}

// wait blocks until no worker runs.
func (f *flusher) wait() { f.idle.Wait() }

// append queues a sealed frame and returns the group to wait for. The caller holds the store's lock, so that frames
// stand in the order of their changes.
func (j *journal) append(sealed []byte) *group {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.group == nil {
		j.group = &group{done: make(chan struct{})}
	}
	g := j.group
	if j.closed {
		j.group = nil
		g.err = errClosed
		close(g.done)
		return g
	}
	j.pending = append(j.pending, sealed...)
	if !j.queued {
		j.queued = true
		j.flusher.enqueue(j)
	}
	return g
}

// flush writes and syncs what is pending, and says whether more came meanwhile.
func (j *journal) flush() bool {
	j.mu.Lock()
	data, g := j.pending, j.group
	j.pending, j.group = nil, nil
	// A file that could not be written may end in half a frame: only a rewrite makes it whole again.
	rewrite := j.broken != nil || (j.size > compactFloor && j.size > compactRatio*j.live)
	j.mu.Unlock()

	var err error
	if rewrite {
		err = j.rewrite()
	} else {
		err = j.write(data)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.broken = err
	if g != nil {
		g.err = err
		close(g.done)
	}
	j.queued = len(j.pending) > 0
	if !j.queued {
		j.idle.Broadcast()
	}
	return j.queued
}

// write appends and syncs. Only one worker at a time has the journal.
func (j *journal) write(data []byte) error {
	if len(data) == 0 {
		return nil
	}
	if _, err := j.file.Write(data); err != nil {
		return fmt.Errorf("write state file: %w", err)
	}
	if err := j.file.Sync(); err != nil {
		return fmt.Errorf("sync state file: %w", err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.size += int64(len(data))
	return nil
}

// rewrite replaces the file by one that holds only what is live. The snapshot is taken after the pending frames were
// taken, so it contains them; frames appended later are written behind it and apply again to the same effect.
func (j *journal) rewrite() error {
	content := append([]byte(journalMagic), j.snapshot()...)
	temp := j.path + ".tmp"
	file, err := writeSynced(temp, content)
	if err != nil {
		return fmt.Errorf("rewrite state file: %w", err)
	}
	if err := os.Rename(temp, j.path); err != nil {
		return errors.Join(fmt.Errorf("put rewritten state file in place: %w", err), file.Close(), os.Remove(temp))
	}
	old := j.file
	j.mu.Lock()
	j.file, j.size, j.live = file, int64(len(content)), int64(len(content))
	j.mu.Unlock()
	_ = old.Close() // replaced: nothing of it is needed
	return syncDir(filepath.Dir(j.path))
}

// writeSynced makes a file with this content, on disk when it returns.
func writeSynced(path string, content []byte) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = file.Write(content)
	if err == nil {
		err = file.Sync()
	}
	if err != nil {
		return nil, errors.Join(err, file.Close(), os.Remove(path))
	}
	return file, nil
}

// close waits for what is pending to be written, refuses more, and closes the file.
func (j *journal) close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return nil
	}
	j.closed = true
	for j.queued {
		j.idle.Wait()
	}
	return errors.Join(j.broken, j.file.Close())
}
