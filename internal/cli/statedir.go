package cli

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"

	"github.com/spf13/pflag"

	"slipway.dev/slipway/internal/fault"
)

// defaultStateDir is $XDG_DATA_HOME/slipway, else ~/.local/share/slipway.
func (a *app) defaultStateDir() string {
	if data := a.env.Getenv("XDG_DATA_HOME"); filepath.IsAbs(data) {
		return filepath.Join(data, "slipway")
	}
	return filepath.Join(a.home(), ".local", "share", "slipway")
}

func (a *app) stateDirFlag(f *pflag.FlagSet, dir *string) {
	f.StringVar(dir, "state-dir", "", "directory of the plane's state (default $XDG_DATA_HOME/slipway, else ~/.local/share/slipway)")
}

// stateDir is the absolute path of the state directory that a flag names, or of the default one.
func (a *app) stateDir(flag string) (string, error) {
	if flag == "" {
		dir := a.defaultStateDir()
		if !filepath.IsAbs(dir) {
			return "", fault.New(nil, "cannot find the management plane's state", "neither XDG_DATA_HOME nor HOME is set", "", "name the state directory with --state-dir")
		}
		return dir, nil
	}
	dir, err := filepath.Abs(flag)
	a.planeDir = dir
	return dir, err
}

// planeContextOf is the context under which the plane of a state directory stands in the user's kubeconfig.
func (a *app) planeContextOf(dir string) string {
	if filepath.Clean(dir) == filepath.Clean(a.defaultStateDir()) {
		return planeContext
	}
	return planeContext + "-" + filepath.Base(dir)
}

// withStateDir is a suggested command with --state-dir where it is needed.
func (a *app) withStateDir(command, dir string) string {
	if usual := a.defaultStateDir(); filepath.Clean(dir) == filepath.Clean(usual) && (a.planeDir == "" || filepath.Clean(a.planeDir) == filepath.Clean(usual)) {
		return a.try("%s", command)
	}
	return a.try("%s --state-dir %s", command, shellWord(dir))
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
