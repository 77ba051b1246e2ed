package cli

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"slipway.dev/slipway/internal/plan"
	"slipway.dev/slipway/internal/statedir"
)

// withoutOutputs are the commands that print nothing themselves: those that need one below them, helps, and the plane's own process.
func withoutOutputs() []string {
	return []string{"", "create", "delete", "rollout", "logs", "help", "plane"}
}

// everyCommand are all commands that can run, hidden ones too.
func everyCommand(t *testing.T) []*cobra.Command {
	t.Helper()
	a, _ := testApp(t, look{})
	root := rootCommand(a)
	root.InitDefaultHelpCmd()
	var all []*cobra.Command
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		if cmd.Runnable() {
			all = append(all, cmd)
		}
		for _, c := range cmd.Commands() {
			walk(c)
		}
	}
	walk(root)
	return all
}

func TestOutputs_EveryCommandSaysWhichItHas(t *testing.T) {
	t.Parallel()
	declared := commandOutputs()
	for _, cmd := range everyCommand(t) {
		path := pathBelowRoot(cmd)
		if _, found := declared[path]; found == slices.Contains(withoutOutputs(), path) {
			t.Errorf("slipway %s: it must either be in commandOutputs or print nothing, never both", path)
		}
		delete(declared, path)
	}
	for path := range declared {
		t.Errorf("commandOutputs has %q, which is no command", path)
	}
}

func TestOutputs_WhatACommandDoesNotHaveIsRefusedBeforeItBegins(t *testing.T) {
	t.Parallel()
	values := []string{outputWide, outputJSON, outputYAML, outputName, outputDot, outputJSONL, outputJSONPath + "{.a}", "xml"}
	for _, cmd := range everyCommand(t) {
		path := pathBelowRoot(cmd)
		declared, found := commandOutputs()[path]
		if !found {
			continue
		}
		args := strings.Fields(path)
		for _, candidate := range [][]string{{}, {"bash"}} {
			if cmd.ValidateArgs(candidate) == nil {
				args = append(args, candidate...)
				break
			}
		}
		refuse := func(known []string, extra ...string) {
			for _, value := range values {
				if slices.Contains(known, value) || slices.Contains(known, outputJSONPath) && strings.HasPrefix(value, outputJSONPath) {
					continue
				}
				got := run(t, http.NotFoundHandler(), slices.Concat(args, extra, []string{"-o", value})...)
				if got.code != int(exitFailed) || got.stdout != "" || !strings.Contains(got.stderr, "it has no output") {
					t.Errorf("slipway %s %s -o %s: %s", path, strings.Join(extra, " "), value, got)
				}
			}
		}
		refuse(declared.once)
		if cmd.Flags().Lookup("wait") != nil {
			refuse(slices.Concat(declared.once, declared.waiting), "--wait")
		}
		if cmd.Flags().Lookup("watch") != nil {
			refuse(declared.watching, "--watch")
		}
	}
}

func TestUpgrade_OffersWhatItsOwnRuleAllows(t *testing.T) {
	t.Parallel()
	versions := []string{"v1.34.0", "v1.35.6", "v1.36.2", "v1.36.4", "v1.37.0", newestVersion, "v1.38.0", "v1.39.1", "v1.41.0", "v2.0.0"}
	for _, from := range versions {
		for _, to := range versions {
			err := plan.CheckUpgrade(from, to)
			next := nextVersion(from, to)
			if err == nil || next == "" {
				continue
			}
			if errNext := plan.CheckUpgrade(from, next); errNext != nil || !less(from, next) {
				t.Errorf("from %s to %s it offers %s: %v", from, to, next, errNext)
			}
			if _, minor, found := strings.Cut(err.Error(), "; upgrade to "); found {
				minor, _, _ = strings.Cut(minor, " ")
				if !strings.HasPrefix(next, minor+".") {
					t.Errorf("from %s to %s: it says %q, and offers %s", from, to, err, next)
				}
			}
		}
	}
}

// invalid is the answer to what breaks a rule.
const invalid = `{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"Invalid","code":422,"message":"x","details":{"causes":[{"field":"spec.replicas","message":"Invalid value: 2: must be odd"}]}}`

func TestChange_ARuleThatRefusesIsARefusal(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"scale", "demo", "--control-plane", "2", "--yes"},
		{"scale", "kcp/demo-cp", "--replicas", "2", "--yes"},
		{"scale", "demo", "--workers", "1"},
		{"upgrade", "demo", "--version", "v1.37.2", "--yes"},
		{"rollout", "restart", "kcp/demo-cp", "--yes"},
		{"rollout", "pause", "md/demo-md-0"},
		{"rollout", "resume", "demo"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			got := run(t, refusing{ofCluster(t, "demo", nil), http.StatusUnprocessableEntity, invalid}, args...)
			if got.code != int(exitRefused) || !strings.Contains(got.stderr, "must be odd") {
				t.Errorf("a rule refused: %s", got)
			}
			if strings.Contains(got.stderr, "This removes") {
				t.Errorf("it says that it removes what it cannot: %s", got)
			}
			if args[0] == "scale" && strings.HasSuffix(got.stderr, "2") {
				t.Errorf("it offers what was refused: %s", got)
			}
		})
	}
}

func TestWatch_PrintsLinesOfJSON(t *testing.T) {
	t.Parallel()
	answers := ofCluster(t, "demo", nil)
	const machines = "/apis/cluster.x-k8s.io/v1beta2/namespaces/default/machines?table"
	table := machineTable()
	table.Rows[0].Object.Raw = []byte(`{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Machine","metadata":{"name":"demo-md-0-x7k2p","namespace":"default","resourceVersion":"7"}}`)
	answers[machines] = table
	for _, args := range [][]string{{"get", "machines", "-w", "-o", "jsonl"}, {"tree", "demo", "-w", "-o", "jsonl"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			got := runUntil(ctx, t, answers, args...)
			if got.code != int(exitInterrupted) || got.stdout == "" {
				t.Errorf("it was watched until Ctrl-C: %s", got)
			}
			for line := range strings.Lines(got.stdout) {
				if !json.Valid([]byte(line)) {
					t.Errorf("a line is no JSON: %s", line)
				}
			}
		})
	}
}

func TestBackup_NamesTheFileThatTheUserGave(t *testing.T) {
	t.Parallel()
	a, _ := testApp(t, look{})
	dir := t.TempDir()
	file := filepath.Join(dir, "nowhere", "x")
	err := statedir.ReplaceFile(file, func(io.Writer) error { return nil })
	told := a.explain(nil, cannotWrite(err, "cannot back up the management plane", file, "slipway status"))
	if told.Where != file || strings.Contains(told.Cause, "/.x") || !strings.Contains(told.Cause, filepath.Dir(file)) {
		t.Errorf("it says %+v", told)
	}
}

func TestBackup_ReplacesNothingButAFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	file, link, pipe := write("file"), filepath.Join(dir, "link"), filepath.Join(dir, "pipe")
	if err := errors.Join(os.Symlink(file, link), syscall.Mkfifo(pipe, 0o600)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{file: file, link: file, filepath.Join(dir, "new"): filepath.Join(dir, "new")} {
		if got, err := backupFile(path); got != want || err != nil {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	for path, says := range map[string]string{pipe: "no ordinary file", os.DevNull: "no ordinary file", dir: "a directory", "": "no name"} {
		if _, err := backupFile(path); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", path, err)
		}
	}
}
