package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func TestHelp_ShowsTheGlobalFlagsThatMeanSomething(t *testing.T) {
	t.Parallel()
	a, _ := testApp(t, look{})
	all := map[string]bool{}
	for _, cmd := range everyCommand(t) {
		all[pathBelowRoot(cmd)] = true
	}
	root := rootCommand(a)
	for flag, users := range flagUsers() {
		if root.PersistentFlags().Lookup(flag) == nil {
			t.Errorf("there is no global flag %s", flag)
		}
		for _, path := range users {
			if !all[path] {
				t.Errorf("--%s is said to be of %q, which is no command", flag, path)
			}
		}
		for _, path := range commandPaths(t) {
			name := strings.Join(path, " ")
			if cmd, _, err := root.Find(path); err != nil || cmd.HasAvailableSubCommands() {
				continue
			}
			shown := strings.Contains(run(t, nil, append(path, "--help")...).stdout, "--"+flag+" ")
			if shown != slices.Contains(users, name) {
				t.Errorf("slipway %s --help shows --%s: %t", name, flag, shown)
			}
		}
	}
}

func TestHelp_NamesTheVariableOfEveryGlobalFlag(t *testing.T) {
	t.Parallel()
	help := run(t, nil, "--help").stdout
	a, _ := testApp(t, look{})
	rootCommand(a).PersistentFlags().VisitAll(func(flag *pflag.Flag) {
		if name := variableOf(flag.Name); name != "" && !strings.Contains(help, "$"+name) {
			t.Errorf("the help does not name %s", name)
		}
	})
}
