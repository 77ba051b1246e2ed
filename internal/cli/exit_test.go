package cli

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestExitCodes_TellWhatHappened(t *testing.T) {
	t.Parallel()
	answers := knownKinds()
	rows := []struct {
		name    string
		answers canned
		args    []string
		code    exitCode
	}{
		{name: "no-arguments", args: []string{"tree"}, code: exitFailed},
		{name: "too-many-arguments", args: []string{"tree", "a", "b"}, code: exitFailed},
		{name: "unknown-command", args: []string{"tre"}, code: exitFailed},
		{name: "unknown-flag", args: []string{"tree", "demo", "--wat"}, code: exitFailed},
		{name: "unknown-flag-as-json", args: []string{"tree", "demo", "-o", "json", "--wat"}, code: exitFailed},
		{name: "bad-colour", args: []string{"version", "--color", "pink"}, code: exitFailed},
		{name: "no-management-cluster", args: []string{"tree", "demo"}, code: exitFailed},
		{name: "no-kubeconfig", args: []string{"tree", "demo", "--kubeconfig", "none"}, code: exitFailed},
		{name: "no-such-context", answers: answers, args: []string{"tree", "demo", "--context", "other"}, code: exitFailed},
		{name: "no-such-cluster", answers: answers, args: []string{"tree", "demo"}, code: exitFailed},
		{name: "not-a-cluster", answers: answers, args: []string{"tree", "machine/demo"}, code: exitFailed},
		{name: "create-bad-name", answers: answers, args: []string{"create", "cluster", "De.mo"}, code: exitFailed},
		{name: "create-even-control-plane", answers: answers, args: []string{"create", "cluster", "demo", "--control-plane", "2"}, code: exitFailed},
		{name: "create-bad-version", answers: answers, args: []string{"create", "cluster", "demo", "--version", "1.37"}, code: exitFailed},
		{name: "create-bad-provider", answers: answers, args: []string{"create", "cluster", "demo", "--provider", "moon"}, code: exitFailed},
		{name: "create-what", args: []string{"create"}, code: exitFailed},
		{name: "scale-nothing", answers: answers, args: []string{"scale", "demo"}, code: exitFailed},
		{name: "rollout-undo", args: []string{"rollout", "undo"}, code: exitFailed},
		{name: "scale-below-zero", answers: answers, args: []string{"scale", "demo", "--workers", "-1"}, code: exitFailed},
		{name: "kubeconfig-without-end", answers: answers, args: []string{"kubeconfig", "demo", "--ttl", "0s"}, code: exitFailed},
		{name: "kubeconfig-admin-with-end", answers: answers, args: []string{"kubeconfig", "demo", "--admin", "--ttl", "1h"}, code: exitFailed},
		{name: "kubeconfig-admin-with-name", answers: answers, args: []string{"kubeconfig", "demo", "--admin", "--as", "ada"}, code: exitFailed},
		{name: "scale-as-picture", answers: answers, args: []string{"scale", "demo", "--workers", "1", "-o", "dot"}, code: exitFailed},
		{name: "watch-as-json", answers: answers, args: []string{"get", "machines", "-w", "-o", "json"}, code: exitFailed},
		{name: "logs-as-json", args: []string{"logs", "plane", "-o", "json"}, code: exitFailed},
		{name: "down-as-json", args: []string{"down", "-o", "json"}, code: exitDone},
		{name: "create-clustr", args: []string{"create", "clustr", "x"}, code: exitFailed},
		{name: "rollout-foo", args: []string{"rollout", "foo"}, code: exitFailed},
		{name: "rollout-stat", args: []string{"rollout", "stats", "demo"}, code: exitFailed},
		{name: "crete", args: []string{"crete"}, code: exitFailed},
		{name: "help-foo", args: []string{"help", "foo"}, code: exitFailed},
		{name: "help-waitin", args: []string{"help", "waitin"}, code: exitFailed},
		{name: "help-create-clustr", args: []string{"help", "create", "clustr"}, code: exitFailed},
		{name: "bad-path-to-sort-by", answers: answers, args: []string{"get", "machines", "--sort-by", "{.a["}, code: exitFailed},
		{name: "down-without-plane", args: []string{"down"}, code: exitDone},
		{name: "logs-without-plane", args: []string{"logs", "plane"}, code: exitFailed},
		{name: "backup-without-state", args: []string{"backup", "file"}, code: exitFailed},
		{name: "status-without-plane", args: []string{"status"}, code: exitNo},
		{name: "help-exit-codes", args: []string{"help", "exit-codes"}, code: exitDone},
		{name: "help-waiting", args: []string{"help", "waiting"}, code: exitDone},
		{name: "completion-of-no-shell", args: []string{"completion", "tcsh"}, code: exitFailed},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			got := run(t, handlerOf(r.answers), r.args...)
			if got.code != int(r.code) {
				t.Errorf("exit code %d, want %d", got.code, r.code)
			}
			golden(t, filepath.Join("exit", r.name+".txt"), []byte(got.String()))
		})
	}
}

func TestHelp_IsGolden(t *testing.T) {
	t.Parallel()
	for _, path := range commandPaths(t) {
		t.Run(strings.Join(path, " "), func(t *testing.T) {
			t.Parallel()
			golden(t, filepath.Join("help", strings.Join(append([]string{"slipway"}, path...), "-")+".txt"), []byte(run(t, nil, append(path, "--help")...).stdout))
		})
	}
}

// commandPaths are all commands that people see.
func commandPaths(t *testing.T) [][]string {
	t.Helper()
	var paths [][]string
	var walk func(cmd *cobra.Command, path []string)
	walk = func(cmd *cobra.Command, path []string) {
		paths = append(paths, path)
		for _, c := range cmd.Commands() {
			if !c.Hidden && c.Runnable() {
				walk(c, append(append([]string{}, path...), c.Name()))
			}
		}
	}
	a, _ := testApp(t, look{})
	walk(rootCommand(a), nil)
	return paths
}

func TestExamples_NameCommandsAndFlagsThatExist(t *testing.T) {
	t.Parallel()
	a, _ := testApp(t, look{})
	root := rootCommand(a)
	for _, path := range commandPaths(t) {
		cmd, _, err := root.Find(path)
		if err != nil {
			t.Fatal(err)
		}
		if cmd.Example == "" {
			t.Errorf("%s has no example", cmd.CommandPath())
		}
		for text := range strings.Lines(cmd.Example) {
			checkExample(t, strings.TrimSpace(text))
		}
	}
}

func checkExample(t *testing.T, text string) {
	t.Helper()
	words, found := strings.CutPrefix(text, "slipway ")
	if !found {
		return
	}
	words, _, _ = strings.Cut(words, " > ")
	words, _, _ = strings.Cut(words, " | ")
	a, _ := testApp(t, look{})
	cmd, args, err := rootCommand(a).Find(strings.Fields(words))
	if err != nil {
		t.Errorf("%s: %v", text, err)
		return
	}
	if err := cmd.ParseFlags(args); err != nil {
		t.Errorf("%s: %v", text, err)
		return
	}
	if err := cmd.ValidateArgs(cmd.Flags().Args()); err != nil {
		t.Errorf("%s: %v", text, err)
	}
}

func TestPlugin_CallsItselfAsItWasCalled(t *testing.T) {
	t.Parallel()
	a, _ := testApp(t, look{})
	env := a.env
	env.Args = []string{"/usr/bin/kubectl-slipway", "tree", "--help"}
	plugin := newApp(env)
	root := rootCommand(plugin)
	cmd, _, err := root.Find([]string{"tree"})
	if err != nil {
		t.Fatal(err)
	}
	if got := cmd.CommandPath(); got != "kubectl slipway tree" {
		t.Errorf("it calls itself %q", got)
	}
	if strings.Contains(cmd.Example, "  slipway ") || !strings.Contains(cmd.Example, "kubectl slipway tree demo") {
		t.Errorf("its examples:\n%s", cmd.Example)
	}
}

// handlerOf keeps no answers apart from an empty handler.
func handlerOf(answers canned) http.Handler {
	if answers == nil {
		return nil
	}
	return answers
}
