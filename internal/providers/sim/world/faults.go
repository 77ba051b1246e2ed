package world

import (
	"encoding/json"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// FaultStarts returns since when each of an object's faults has been at work, by name: now for those that it did not have
// before. Its faults that are not named are forgotten. All is in the cluster's file when it returns, so that a fault that
// is over stays over whoever restarts.
func (c *Cluster) FaultStarts(object types.UID, names []string) (map[string]time.Time, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	had, want, changed := c.starts[object], map[string]time.Time{}, false
	for _, name := range names {
		at, ok := had[name]
		if !ok {
			at, changed = c.world.opts.Now().UTC(), true
		}
		want[name] = at
	}
	if !changed && len(had) == len(want) {
		return want, nil
	}
	all := maps.Clone(c.starts)
	if all == nil {
		all = map[types.UID]map[string]time.Time{}
	}
	if all[object] = want; len(want) == 0 {
		delete(all, object)
	}
	if err := c.remember(faultsValue, all, len(all) == 0); err != nil {
		return nil, err
	}
	c.starts = all
	return maps.Clone(want), nil
}

// remember writes a value into the cluster's file, which is made if there is none. The caller holds mu.
func (c *Cluster) remember(name string, value any, none bool) error {
	if err := c.open(); err != nil {
		return err
	}
	if none {
		return c.file.Store().SetValue(name, nil)
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return c.file.Store().SetValue(name, raw)
}

// recall reads what was remembered. What was not leaves value as it is.
func (c *Cluster) recall(name string, value any) error {
	raw := c.file.Store().Value(name)
	if raw == nil {
		return nil
	}
	return json.Unmarshal(raw, value)
}
