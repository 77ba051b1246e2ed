package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// scopeFlags are the flags by which the user said which management cluster and namespace are meant. What the environment says
// is none of them: it holds for the next command too.
type scopeFlags struct{ kubeconfig, context, namespace string }

// noteScope keeps what was given on the command line, for the commands that are suggested.
func (a *app) noteScope(f *pflag.FlagSet) {
	given := func(name string) string {
		if flag := f.Lookup(name); flag != nil && flag.Changed {
			return flag.Value.String()
		}
		return ""
	}
	a.given = scopeFlags{kubeconfig: given("kubeconfig"), context: given("context"), namespace: given("namespace")}
}

// try is a command of ours as it is suggested: with the flags that make it mean what the user means.
func (a *app) try(format string, args ...any) string {
	command := fmt.Sprintf(format, args...)
	return a.name + " " + command + a.scopeOf(command, command)
}

// scopeOf are the flags that a command of ours lacks to mean the user's management cluster, namespace and plane, each with a
// blank before it. What is written is the command with its flags.
func (a *app) scopeOf(command, written string) string {
	words := strings.Fields(written)
	if slices.Contains(words, "--help") {
		return ""
	}
	flags := ""
	add := func(flag, value string, or ...string) {
		has := slices.ContainsFunc(append(or, flag), func(f string) bool { return slices.Contains(words, f) })
		if value != "" && !has {
			flags += " " + flag + " " + shellWord(value)
		}
	}
	given := a.given
	if planeCommands.MatchString("slipway " + command) {
		if a.planeDir != "" && filepath.Clean(a.planeDir) != filepath.Clean(a.defaultStateDir()) {
			add("--state-dir", a.planeDir)
		}
	} else if a.aimed != (scopeFlags{}) {
		given.kubeconfig, given.context = a.aimed.kubeconfig, a.aimed.context
	}
	if takes(command, "namespace") {
		add("-n", given.namespace, "-A")
	}
	if takes(command, "context") {
		add("--context", given.context)
	}
	if takes(command, "kubeconfig") {
		add("--kubeconfig", given.kubeconfig)
	}
	return flags
}

// takes tells whether a global flag means something for a command, which is given with its arguments and without the program's name.
func takes(command, flag string) bool {
	return slices.ContainsFunc(flagUsers()[flag], func(path string) bool {
		return command == path || strings.HasPrefix(command, path+" ")
	})
}

// kubectl is a command of kubectl as it is suggested, for the management cluster: kubectl takes the current context by itself.
func (a *app) kubectl(format string, args ...any) string {
	command := "kubectl " + fmt.Sprintf(format, args...)
	if loaded, name, err := a.clientConfig(); err == nil {
		if raw, err := loaded.RawConfig(); err != nil || raw.CurrentContext != name {
			command += " --context " + shellWord(name)
		}
	}
	return command + a.kubectlFile()
}

// kubectlFile is the flag that kubectl needs to read the kubeconfig in use, with a blank before it.
func (a *app) kubectlFile() string {
	if a.flags.kubeconfig == "" {
		return ""
	}
	return " --kubeconfig " + shellWord(a.flags.kubeconfig)
}

// shellWord is a value as one word of a shell.
func shellWord(value string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:@%+=,", r)
	}
	if value != "" && strings.TrimFunc(value, plain) == "" {
		return value
	}
	return "'" + strings.ReplaceAll(value, "'", `'\''`) + "'"
}
