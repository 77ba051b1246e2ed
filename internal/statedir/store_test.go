package statedir_test

import (
	"os"
	"path/filepath"
	"testing"

	"slipway.dev/slipway/internal/statedir"
)

func TestBeginStore_RemovesNoStoreThatMayHoldSomething(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		record string
		stays  bool
	}{
		"a record without its port":    {record: `{"format": 1, "version": "v0.1.0"}`, stays: true},
		"a record with its port":       {record: `{"format": 1, "version": "v0.1.0", "apiPort": 6443}`, stays: true},
		"a first start that was ended": {record: `{"format": 1, "version": "v0.1.0", "storeUnborn": true}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, filepath.Join(dir, "state.json"), tc.record)
			write(t, filepath.Join(dir, "etcd", "member", "snap", "db"), "acknowledged")
			s := open(t, dir)
			defer closed(t, s)
			if err := s.BeginStore(); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(filepath.Join(dir, "etcd")); (err == nil) != tc.stays {
				t.Errorf("the store: %v", err)
			}
		})
	}
}

func TestBeginStore_KnowsAStoreThatNeverStartedFromOneThatDid(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	begin := func() *statedir.Dir {
		s := open(t, dir)
		if err := s.BeginStore(); err != nil {
			t.Fatal(err)
		}
		return s
	}
	closed(t, begin())
	write(t, filepath.Join(dir, "etcd", "half"), "")
	s := begin()
	if _, err := os.Stat(filepath.Join(dir, "etcd")); err == nil {
		t.Error("what a killed first start left is there")
	}
	write(t, filepath.Join(dir, "etcd", "whole"), "")
	if err := s.StoreStarted(); err != nil {
		t.Fatal(err)
	}
	closed(t, s)
	closed(t, begin())
	if _, err := os.Stat(filepath.Join(dir, "etcd", "whole")); err != nil {
		t.Errorf("a store that had started: %v", err)
	}
}
