package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// example is a line of a help's examples with the exit code that it has where nobody is there to be asked.
type example struct {
	line string
	code int
	// glance is how long a command that looks for ever is looked at before it is interrupted.
	glance time.Duration
	// hidden lines are no examples, but what a user does between them.
	hidden bool
}

// examples are all lines of all helps, in an order in which they work.
func examples() []example {
	const refused, interrupted, glance = 4, 130, 2 * time.Second
	return []example{
		{line: "slipway version -o json"},
		{line: "mkdir -p ~/.local/share/bash-completion/completions", hidden: true},
		{line: "slipway completion bash > ~/.local/share/bash-completion/completions/slipway"},
		{line: "slipway up --detach"},
		{line: "slipway status"},
		{line: "slipway create cluster demo --workers 3 --dry-run -o yaml > demo.yaml"},
		{line: "slipway create cluster demo --provider sim --workers 3 --wait"},
		{line: "slipway status --wait --timeout 2m"},
		{line: "slipway get clusters -A"},
		{line: "slipway get clusters -o json"},
		{line: "slipway get machines -l cluster.x-k8s.io/cluster-name=demo -o wide"},
		{line: "slipway get machines --sort-by .metadata.creationTimestamp"},
		{line: "slipway tree demo"},
		{line: "slipway tree demo -w", glance: glance, code: interrupted},
		{line: "slipway tree demo --all --show-conditions"},
		{line: "slipway tree demo -o dot | dot -Tsvg > demo.svg"},
		{line: "slipway kubeconfig demo > demo.kubeconfig"},
		{line: `slipway kubeconfig demo --merge --as "$USER"`},
		{line: "slipway kubeconfig demo --ttl 10m > demo.kubeconfig"},
		{line: "slipway scale demo --control-plane 3"},
		{line: "slipway scale demo --workers 5 --wait"},
		{line: "slipway scale machinedeployment/demo-md-0 --replicas 4", code: refused},
		{line: "slipway rollout pause machinedeployment/demo-md-0"},
		{line: "slipway rollout resume machinedeployment/demo-md-0"},
		{line: "slipway rollout status machinedeployment/demo-md-0"},
		{line: "slipway rollout status machinedeployment/demo-md-0 --wait"},
		{line: "slipway rollout restart machinedeployment/demo-md-0", code: refused},
		{line: "slipway rollout restart kubeadmcontrolplane/demo-cp", code: refused},
		{line: "slipway upgrade demo --version v1.37.2 --wait", code: refused},
		{line: "slipway logs plane"},
		{line: "slipway logs plane -f", glance: glance, code: interrupted},
		{line: "slipway delete cluster demo", code: refused},
		{line: "slipway delete cluster demo --yes --confirm demo --wait"},
		{line: "slipway create cluster demo --provider sim --control-plane 3 --workers 3 --wait"},
		{line: "slipway backup slipway.backup"},
		{line: "slipway up --state-dir ~/planes/lab --detach"},
		{line: "slipway down"},
		{line: "rm -r ~/.local/share/slipway", hidden: true},
		{line: "slipway up --from slipway.backup --detach"},
	}
}

func TestExamples_AllWork(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	// Graphviz is not ours: here it is a program that takes what it is given.
	bin := filepath.Join(h.dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, "dot"), []byte("#!/bin/sh\nexec cat\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, e := range examples() {
		code, out := h.run(t, e.line, e.glance)
		if code != e.code {
			t.Fatalf("$ %s\nexit code %d, want %d\n%s", e.line, code, e.code, out)
		}
	}
}

func TestExamples_AreAllRun(t *testing.T) {
	t.Parallel()
	var run []string
	for _, e := range examples() {
		if !e.hidden {
			run = append(run, e.line)
		}
	}
	shown := examplesOf(t)
	for _, line := range shown {
		if !slices.Contains(run, line) {
			t.Errorf("no test runs the example: %s", line)
		}
	}
	for _, line := range run {
		if !slices.Contains(shown, line) {
			t.Errorf("no help shows any more: %s", line)
		}
	}
}

// examplesOf reads the examples from the helps themselves.
func examplesOf(t *testing.T) []string {
	t.Helper()
	a, _ := testApp(t, look{})
	root := rootCommand(a)
	var lines []string
	for _, path := range commandPaths(t) {
		cmd, _, err := root.Find(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(cmd.Example) {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "slipway ") {
				lines = append(lines, line)
			}
		}
	}
	return lines
}
