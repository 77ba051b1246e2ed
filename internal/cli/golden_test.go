package cli

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"slipway.dev/slipway/internal/terminal"
	"slipway.dev/slipway/internal/view"
)

var regenerate = flag.Bool("regenerate", false, "write the golden files anew")

// golden compares output with a file, or writes the file.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name)
	if *regenerate {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; write it: go test ./internal/cli -regenerate", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", path, diff)
	}
}

// look is one way of looking at a command's output.
type look struct {
	name   string
	facts  terminal.Facts
	env    map[string]string
	output string
}

func looks() []look {
	return []look{
		{name: "wide-terminal", facts: terminal.Facts{TTY: true, Width: 200}},
		{name: "80-columns", facts: terminal.Facts{TTY: true, Width: 80}},
		{name: "40-columns", facts: terminal.Facts{TTY: true, Width: 40}, env: map[string]string{"NO_COLOR": "1"}},
		{name: "no-colour", facts: terminal.Facts{TTY: true, Width: 200}, env: map[string]string{"NO_COLOR": "1"}},
		{name: "no-utf8", facts: terminal.Facts{TTY: true, Width: 200}, env: map[string]string{"NO_COLOR": "1", "LANG": "C"}},
		{name: "pipe"},
		{name: "json", output: outputJSON},
	}
}

// testApp is an app that writes into a buffer, as a look says.
func testApp(t *testing.T, l look) (*app, *bytes.Buffer) {
	t.Helper()
	var out bytes.Buffer
	home := t.TempDir()
	env := Environment{
		Args: []string{"slipway"}, Stdin: &bytes.Buffer{}, Stdout: &out, Stderr: &out, Now: func() time.Time { return noon },
		Getenv: func(name string) string {
			if name == "HOME" {
				return home
			}
			return l.env[name]
		},
	}
	a := newApp(env)
	l.facts.Getenv = env.Getenv
	a.out, a.talk = terminal.Decide(&out, l.facts), terminal.Decide(&out, l.facts)
	a.flags.output = l.output
	return a, &out
}

func TestGolden_ListsAndTrees(t *testing.T) {
	t.Parallel()
	objects := goldenFleet(t)
	tree := func(name string, opts view.TreeOptions) func(*testing.T, *app) error {
		return func(t *testing.T, a *app) error {
			return a.tree(t.Context(), objects, types.NamespacedName{Namespace: "default", Name: name}, opts)
		}
	}
	commands := map[string]func(*testing.T, *app) error{
		"get-clusters": func(t *testing.T, a *app) error {
			if a.structured() {
				t.Skip("lists as JSON are the API's own objects: see TestGet")
			}
			return a.getClusters(t.Context(), objects, nil, getOptions{})
		},
		"get-clusters-all-namespaces": func(t *testing.T, a *app) error {
			if a.structured() {
				t.Skip("lists as JSON are the API's own objects: see TestGet")
			}
			a.flags.allNamespaces = true
			a.flags.noHeaders = true
			return a.getClusters(t.Context(), objects, []string{"demo", "edge"}, getOptions{})
		},
		"tree-ready":   tree("demo", view.TreeOptions{}),
		"tree-rolling": tree("edge", view.TreeOptions{}),
		"tree-stuck":   tree("lab", view.TreeOptions{}),
		"tree-new":     tree("new", view.TreeOptions{}),
		"tree-failed":  tree("yard", view.TreeOptions{}),
		"tree-all":     tree("lab", view.TreeOptions{All: true, Conditions: true}),
		"create-dry-run": func(_ *testing.T, a *app) error {
			shape := clusterShape{Namespace: "default", Name: "demo", Provider: providerSim, Version: defaultVersion, ControlPlane: 3, Workers: 3}
			return a.tellCreated(shape.documents(), true)
		},
		"status": func(_ *testing.T, a *app) error {
			return a.printStatus(statusDocument{typeMeta{viewAPIVersion, "Status"}, view.Stuck, []statusPart{
				{Name: "plane", State: view.Ready, Message: "v0.1.0, up 5d, 231 MiB"},
				{Name: "clusters", State: view.Stuck, Message: "41 Ready, 1 Working, 1 Stuck", Try: "slipway tree lab -n default"},
			}})
		},
		"version": func(_ *testing.T, a *app) error {
			return a.printVersion(versionDocument{typeMeta{viewAPIVersion, "Version"}, "v0.1.0", "go1.26.7", "linux/amd64", "cluster.x-k8s.io/v1beta2", newestVersion, "v0.1.0", "v1.37.2"})
		},
	}
	for name, run := range commands {
		for _, l := range looks() {
			t.Run(name+"/"+l.name, func(t *testing.T) {
				t.Parallel()
				a, out := testApp(t, l)
				if err := run(t, a); err != nil {
					t.Fatal(err)
				}
				golden(t, filepath.Join(name, l.name+".txt"), out.Bytes())
			})
		}
	}
}

func TestGolden_TreeAsPicture(t *testing.T) {
	t.Parallel()
	a, out := testApp(t, look{output: outputDot})
	if err := a.tree(t.Context(), goldenFleet(t), types.NamespacedName{Namespace: "default", Name: "lab"}, view.TreeOptions{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "tree-dot.txt", out.Bytes())
}
