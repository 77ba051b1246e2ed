package world

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// dirOf is where a cluster's file lies.
func (w *World) dirOf(key types.NamespacedName, id types.UID) string {
	return filepath.Join(w.opts.Dir, key.Namespace, key.Name+"-"+string(id))
}

// dirPattern matches what dirOf writes, also of a directory that was set aside: namespace, name and ID.
const dirPattern = `^([^/]+)/(.+)-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:\` + damaged + `[^/]*)?$`

// know remembers a cluster until it is removed. The caller holds mu.
func (w *World) know(key types.NamespacedName, id types.UID) {
	if w.known[key] == nil {
		w.known[key] = map[types.UID]struct{}{}
	}
	w.known[key][id] = struct{}{}
}

// Look finds the clusters that have left a file, and returns the names of all that are known.
func (w *World) Look() ([]types.NamespacedName, error) {
	dirs, err := fs.Glob(os.DirFS(w.opts.Dir), "*/*")
	if err != nil {
		return nil, fmt.Errorf("look for the files of simulated clusters: %w", err)
	}
	pattern := regexp.MustCompile(dirPattern)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, dir := range dirs {
		if m := pattern.FindStringSubmatch(dir); m != nil {
			w.know(types.NamespacedName{Namespace: m[1], Name: m[2]}, types.UID(m[3]))
		}
	}
	return slices.Collect(maps.Keys(w.known)), nil
}

// IDs are the clusters of a name that are known: at most one of them has a SimCluster.
func (w *World) IDs(key types.NamespacedName) []types.UID {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.known[key]))
}

// Having returns the clusters that are open and have a machine of a name that has run kubeadm.
func (w *World) Having(namespace, machine string) []*Cluster {
	w.mu.Lock()
	var open []*Cluster
	for key, c := range w.clusters {
		if key.Namespace == namespace {
			open = append(open, c)
		}
	}
	w.mu.Unlock()
	return slices.DeleteFunc(open, func(c *Cluster) bool {
		_, ok := c.Machine(machine)
		return !ok
	})
}
