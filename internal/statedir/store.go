package statedir

import (
	"errors"
	"io/fs"
	"os"
)

// BeginStore removes what a first start left that was killed before its store was ready, since etcd would wait for ever on a
// log that lacks its only member, and notes that a store is yet to be made. A store that is not noted so may hold what was
// acknowledged: it is never removed, whatever else the record lacks.
func (s *Dir) BeginStore() error {
	store := s.Join(StoreName)
	if s.Record.StoreUnborn {
		return errors.Join(os.RemoveAll(store), SyncDir(s.Path))
	}
	if _, err := os.Lstat(store); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	s.Record.StoreUnborn = true
	return s.Save()
}

// StoreStarted notes that the store is made. It must have returned before anybody can write to the store.
func (s *Dir) StoreStarted() error {
	if !s.Record.StoreUnborn {
		return nil
	}
	s.Record.StoreUnborn = false
	return s.Save()
}
