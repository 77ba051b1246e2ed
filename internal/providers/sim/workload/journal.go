package workload

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// The file of a cluster: a magic, then frames. A frame is one transaction:
//
//	length uint32 │ crc32c uint32 │ operations…
//
// An operation is one byte and length-prefixed strings. What follows the last whole frame is a torn tail and is cut off. When
// there are whole frames behind something that is none, that is damage: then nothing is cut.
const (
	journalMagic = "slipway-sim-workload-1\n"
	frameHeader  = 8
	maxFrame     = 64 << 20

	compactFloor = 128 << 10 // a file smaller than this is never rewritten
	compactRatio = 4         // rewritten when this much larger than what is live
)

type opCode byte

const (
	opPut        opCode = 1
	opDelete     opCode = 2
	opBlob       opCode = 3
	opBlobDelete opCode = 4
	opReserve    opCode = 5
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// CorruptError says that a cluster's file is damaged before its end, which no crash does, or that another version wrote what
// this one does not know. The file is left as it is; the caller may set it aside and rebuild the cluster.
type CorruptError struct {
	Path   string
	Offset int64
	Reason string
}

// Error implements error.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("state file %s is damaged at byte %d: %s; move it away to have the cluster rebuilt", e.Path, e.Offset, e.Reason)
}

// journal is the file of one cluster.
type journal struct {
	path    string
	flusher *flusher

	mu      sync.Mutex // guards what follows
	file    *os.File
	pending []byte // encoded frames not yet written
	group   *group // who waits for pending
	queued  bool   // a flusher worker has, or will take, this journal
	size    int64
	live    int64 // size after the last rewrite
	broken  error // a write failed; the next flush rewrites the file
	closed  bool
	idle    *sync.Cond // queued became false
	// snapshot returns the frames of a full rewrite. Called without mu held.
	snapshot func() []byte
}

// group is a set of transactions synced together.
type group struct {
	done chan struct{}
	err  error
}

// wait blocks until the group is on disk.
func (g *group) wait() error {
	if g == nil {
		return nil
	}
	<-g.done
	return g.err
}

// frame collects the operations of one transaction.
type frame struct{ buf []byte }

func (f *frame) op(code opCode, fields ...string) {
	if f.buf == nil {
		f.buf = make([]byte, frameHeader, 512)
	}
	f.buf = append(f.buf, byte(code))
	for _, s := range fields {
		f.buf = binary.AppendUvarint(f.buf, uint64(len(s)))
		f.buf = append(f.buf, s...)
	}
}

func (f *frame) number(n uint64) { f.buf = binary.AppendUvarint(f.buf, n) }

func (f *frame) put(e *entry) {
	f.op(opPut, e.kind.fileName(), e.namespace, e.name, string(e.uid))
	f.number(e.rv)
	if e.deleting {
		f.number(1)
	} else {
		f.number(0)
	}
	f.number(uint64(len(e.labels)))
	for k, v := range e.labels {
		f.text(k)
		f.text(v)
	}
	f.number(uint64(len(e.owners)))
	for _, o := range e.owners {
		f.text(string(o))
	}
	f.number(uint64(len(e.data)))
	f.buf = append(f.buf, e.data...)
}

func (f *frame) text(s string) {
	f.number(uint64(len(s)))
	f.buf = append(f.buf, s...)
}

// seal fills in the header.
func (f *frame) seal() []byte {
	if f.buf == nil {
		return nil
	}
	body := f.buf[frameHeader:]
	binary.LittleEndian.PutUint32(f.buf, uint32(len(body)))
	binary.LittleEndian.PutUint32(f.buf[4:], crc32.Checksum(body, castagnoli))
	return f.buf
}

// openJournal reads the file, cuts off a torn tail, and hands each operation to apply. created says that there was none.
func openJournal(path string, fl *flusher, apply func(opCode, *reader) error) (j *journal, created bool, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, false, fmt.Errorf("make the directory of %s: %w", path, err)
	}
	// A rewrite that was cut short leaves its temporary file; the old file is whole.
	if err := os.Remove(path + ".tmp"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, false, fmt.Errorf("remove left-over of %s: %w", path, err)
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, false, fmt.Errorf("open state file: %w", err)
	}
	defer func() {
		if err != nil {
			_ = file.Close() // the reason to fail is err
		}
	}()
	good, created, err := loadJournal(file, path, apply)
	if err != nil {
		return nil, false, err
	}
	j = &journal{path: path, flusher: fl, file: file, size: good, live: good}
	j.idle = sync.NewCond(&j.mu)
	return j, created, nil
}

// loadJournal replays the file, or begins it, and leaves it where the next frame belongs.
func loadJournal(file *os.File, path string, apply func(opCode, *reader) error) (size int64, created bool, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, false, fmt.Errorf("read state file: %w", err)
	}
	if len(data) < len(journalMagic) {
		if err := restart(file); err != nil {
			return 0, false, fmt.Errorf("start state file %s: %w", path, err)
		}
		return int64(len(journalMagic)), true, syncDir(filepath.Dir(path))
	}
	good, err := replay(path, data, apply)
	if err != nil {
		return 0, false, err
	}
	if good < int64(len(data)) {
		if err := file.Truncate(good); err != nil {
			return 0, false, fmt.Errorf("cut the torn tail off %s: %w", path, err)
		}
	}
	if _, err := file.Seek(good, 0); err != nil {
		return 0, false, fmt.Errorf("seek in %s: %w", path, err)
	}
	return good, false, nil
}

// restart writes the magic into an empty, or not even begun, file.
func restart(file *os.File) error {
	if err := file.Truncate(0); err != nil {
		return err
	}
	if _, err := file.WriteAt([]byte(journalMagic), 0); err != nil {
		return err
	}
	if _, err := file.Seek(int64(len(journalMagic)), 0); err != nil {
		return err
	}
	return file.Sync()
}

// replay applies every whole frame and returns where the last one ends.
func replay(path string, data []byte, apply func(opCode, *reader) error) (int64, error) {
	if string(data[:len(journalMagic)]) != journalMagic {
		return 0, &CorruptError{Path: path, Reason: "not a state file of this version"}
	}
	at := int64(len(journalMagic))
	for {
		body, next, ok := frameAt(data, at)
		if !ok {
			if wholeAfter(data, at) {
				return 0, &CorruptError{Path: path, Offset: at, Reason: "its length or its checksum is wrong, and more follows"}
			}
			return at, nil
		}
		r := &reader{buf: body}
		for len(r.buf) > 0 && r.err == nil {
			code := opCode(r.buf[0])
			r.buf = r.buf[1:]
			if err := apply(code, r); err != nil {
				return 0, &CorruptError{Path: path, Offset: at, Reason: err.Error()}
			}
		}
		if r.err != nil {
			return 0, &CorruptError{Path: path, Offset: at, Reason: r.err.Error()}
		}
		at = next
	}
}

// wholeAfter tells whether a whole frame begins anywhere behind an offset. A damaged frame's own length does not tell where
// the next one is.
func wholeAfter(data []byte, at int64) bool {
	for at++; at+frameHeader < int64(len(data)); at++ {
		// The checksum takes time, and most of what is no frame has no operation there.
		if code := opCode(data[at+frameHeader]); code < opPut || code > opReserve {
			continue
		}
		if _, _, whole := frameAt(data, at); whole {
			return true
		}
	}
	return false
}

// frameAt returns the body of the frame at an offset.
func frameAt(data []byte, at int64) (body []byte, next int64, ok bool) {
	if at+frameHeader > int64(len(data)) {
		return nil, 0, false
	}
	length := int64(binary.LittleEndian.Uint32(data[at:]))
	sum := binary.LittleEndian.Uint32(data[at+4:])
	next = at + frameHeader + length
	if length == 0 || length > maxFrame || next > int64(len(data)) {
		return nil, 0, false
	}
	body = data[at+frameHeader : next]
	return body, next, crc32.Checksum(body, castagnoli) == sum
}

// reader takes fields off an operation.
type reader struct {
	buf []byte
	err error
}

var errShortFrame = errors.New("an operation is cut short")

func (r *reader) number() uint64 {
	n, w := binary.Uvarint(r.buf)
	if w <= 0 {
		r.err, r.buf = errShortFrame, nil
		return 0
	}
	r.buf = r.buf[w:]
	return n
}

func (r *reader) bytes() []byte {
	n := r.number()
	if n > uint64(len(r.buf)) {
		r.err, r.buf = errShortFrame, nil
		return nil
	}
	out := r.buf[:n]
	r.buf = r.buf[n:]
	return out
}

func (r *reader) text() string { return string(r.bytes()) }

// entry reads what frame.put wrote, after the kind's name.
func (r *reader) entry(k *kind) *entry {
	e := &entry{kind: k, namespace: r.text(), name: r.text(), uid: types.UID(r.text()), rv: r.number(), deleting: r.number() == 1}
	for n := r.number(); n > 0 && r.err == nil; n-- {
		if e.labels == nil {
			e.labels = make(map[string]string, n)
		}
		key := r.text()
		e.labels[key] = r.text()
	}
	for n := r.number(); n > 0 && r.err == nil; n-- {
		e.owners = append(e.owners, types.UID(r.text()))
	}
	e.data = append([]byte(nil), r.bytes()...)
	return e
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("open directory %s: %w", dir, err)
	}
	err = d.Sync()
	return errors.Join(err, d.Close())
}
