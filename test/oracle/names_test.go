package oracle

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestNames_AreThoseOfUpstream compares string constants: labels, annotations, finalizers, condition types, reasons,
// phases. What both sides have under one name has one value, and what upstream writes into objects' metadata we know.
func TestNames_AreThoseOfUpstream(t *testing.T) {
	t.Parallel()
	root, err := moduleDir("sigs.k8s.io/cluster-api/api")
	if err != nil {
		t.Fatal(err)
	}
	for theirDir, ourDir := range map[string]string{
		"core/v1beta2":                 "core/v1beta2",
		"bootstrap/kubeadm/v1beta2":    "kubeadm/bootstrap/v1beta2",
		"controlplane/kubeadm/v1beta2": "kubeadm/controlplane/v1beta2",
	} {
		theirs, ours := constants(t, filepath.Join(root, theirDir)), constants(t, filepath.Join("../../api", ourDir))
		known := map[string]bool{}
		for _, value := range ours {
			known[value] = true
		}
		for _, name := range sortedKeys(theirs) {
			value := theirs[name]
			if ourValue, ok := ours[name]; ok && ourValue != value {
				t.Errorf("%s: %s is %q upstream and %q here", ourDir, name, value, ourValue)
			}
			if strings.Contains(value, "x-k8s.io") && !known[value] {
				t.Errorf("%s: nothing here has the value %q of upstream's %s", ourDir, value, name)
			}
		}
	}
}

// constants returns the string constants of the package in a directory. Tests are left out.
func constants(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("list Go files in %s: %d files, %v", dir, len(files), err)
	}
	expressions := map[string]ast.Expr{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatalf("parse %s: %v", name, err)
		}
		collect(file, expressions)
	}
	values := map[string]string{}
	for name, expression := range expressions {
		if value, err := evaluate(expression, expressions); err == nil {
			values[name] = value
		}
	}
	return values
}

func collect(file *ast.File, into map[string]ast.Expr) {
	for _, declaration := range file.Decls {
		general, ok := declaration.(*ast.GenDecl)
		if !ok || general.Tok != token.CONST {
			continue
		}
		for _, spec := range general.Specs {
			values := spec.(*ast.ValueSpec)
			for i, name := range values.Names {
				if i < len(values.Values) {
					into[name.Name] = values.Values[i]
				}
			}
		}
	}
}

// evaluate gives the value of a string constant, and an error for any other.
func evaluate(expression ast.Expr, all map[string]ast.Expr) (string, error) {
	switch e := expression.(type) {
	case *ast.BasicLit:
		return strconv.Unquote(e.Value)
	case *ast.Ident:
		if other, ok := all[e.Name]; ok {
			return evaluate(other, all)
		}
	case *ast.BinaryExpr:
		left, err := evaluate(e.X, all)
		if err != nil {
			return "", err
		}
		right, err := evaluate(e.Y, all)
		return left + right, err
	}
	return "", fmt.Errorf("%T is not a string", expression)
}
