package world

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
)

// unknownKind is a frame of a cluster's file that deletes an object of a kind that no version serves.
func unknownKind() []byte {
	body := append([]byte{2, 7}, "gadgets"...)
	frame := binary.LittleEndian.AppendUint32(nil, uint32(len(body)))
	frame = binary.LittleEndian.AppendUint32(frame, crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
	return append(frame, body...)
}

func TestLoad_SetsAFileAsideThatItCannotReadAndRemoveTakesIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := newFleet(t, dir)
	data := f.initData(bootstrapv1.KubeadmConfigSpec{})
	var log bytes.Buffer
	var before string
	for range 2 { // Of the files set aside, one is kept.
		f.boot("cp", data)
		if err := f.world.Close(); err != nil {
			t.Fatal(err)
		}
		state := filepath.Join(f.stateOf(dir), "cluster.state")
		content, err := os.ReadFile(state)
		if err != nil {
			t.Fatal(err)
		}
		content = append(content, unknownKind()...)
		if err := os.WriteFile(state, content, 0o600); err != nil {
			t.Fatal(err)
		}
		f.open(dir)
		f.world.opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
		c := f.cluster()
		if c.Initialized() {
			t.Error("a cluster whose file cannot be read is there")
		}
		aside := c.SetAside()
		if aside == before {
			t.Errorf("it was set aside as %q before", aside)
		}
		before = aside
		if got, err := os.ReadFile(filepath.Join(aside, "cluster.state")); err != nil || !bytes.Equal(got, content) {
			t.Errorf("what was set aside: %d bytes of %d, %v", len(got), len(content), err)
		}
		if !bytes.Contains(log.Bytes(), []byte(aside)) || !bytes.Contains(log.Bytes(), []byte("level=WARN")) {
			t.Errorf("the log says nothing of it: %s", &log)
		}
		if all, err := filepath.Glob(filepath.Join(dir, "default", "*.damaged-*")); err != nil || len(all) != 1 {
			t.Errorf("set aside are %v, %v", all, err)
		}
	}
	f.boot("cp", data)
	if err := f.world.Remove(f.place.Key, f.place.ID); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}

// stateOf is the directory of the cluster.
func (f *fleet) stateOf(dir string) string {
	return filepath.Join(dir, f.place.Key.Namespace, f.place.Key.Name+"-"+string(f.place.ID))
}
