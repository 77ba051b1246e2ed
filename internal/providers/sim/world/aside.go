package world

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"slipway.dev/slipway/internal/providers/sim/workload"
)

// SetAside is the path to which the cluster's file was moved when the cluster was loaded, because it was damaged or another
// version's; empty when it was not. The last such file of a cluster is kept until the cluster is removed.
func (c *Cluster) SetAside() string { return c.aside }

// damaged stands between the names of a cluster's directory and the time at which that was set aside.
const damaged = ".damaged-"

// setAside moves a file that cannot be read out of the way: what is in it may be all there is of what a user made.
func (c *Cluster) setAside(cause *workload.CorruptError) error {
	aside := c.dir + damaged + c.world.opts.Now().UTC().Format("20060102T150405.000000000Z")
	if err := os.Rename(c.dir, aside); err != nil {
		return fmt.Errorf("set a damaged state file aside: %w", err)
	}
	c.aside = aside
	c.world.opts.Logger.Warn("the state file of a simulated cluster cannot be read; it was set aside, and the cluster is rebuilt",
		"cluster", c.place.Key.String(), "aside", aside, "reason", cause.Error())
	return dropSetAside(c.dir, aside)
}

// dropSetAside removes what was set aside of the cluster with a directory, but for one path.
func dropSetAside(dir, but string) error {
	entries, err := os.ReadDir(filepath.Dir(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(filepath.Dir(dir), e.Name())
		if path == but || !strings.HasPrefix(e.Name(), filepath.Base(dir)+damaged) {
			continue
		}
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	return nil
}
