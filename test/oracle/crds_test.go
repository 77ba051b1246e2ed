package oracle

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	_ "sigs.k8s.io/cluster-api/cmd/clusterctl/config" // Keeps the module whose CRDs we read in go.mod, and its code out.
	"sigs.k8s.io/yaml"
)

// ourCRDs is where the generated CRDs lie.
const ourCRDs = "../../config/crd"

// upstreamDirs returns the directories with upstream's CRDs, each beside the kustomization that labels them.
var upstreamDirs = sync.OnceValues(func() ([]string, error) {
	root, err := moduleDir("sigs.k8s.io/cluster-api")
	if err != nil {
		return nil, err
	}
	return []string{
		filepath.Join(root, "core", "config", "crd"),
		filepath.Join(root, "bootstrap", "kubeadm", "config", "crd"),
		filepath.Join(root, "controlplane", "kubeadm", "config", "crd"),
	}, nil
})

// moduleDir returns where the go command keeps a module that go.mod requires.
func moduleDir(module string) (string, error) {
	cmd := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module)
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("find module %s: %w", module, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// theirCRD returns upstream's CRD as it is released, that is with the labels of its kustomization.
func theirCRD(t *testing.T, name string) map[string]any {
	t.Helper()
	dirs, err := upstreamDirs()
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		file := filepath.Join(dir, "bases", crdFile(name))
		if _, err := os.Stat(file); err != nil {
			continue
		}
		crd := readYAML(t, file)
		if labels := kustomizedLabels(t, dir); len(labels) > 0 {
			crd["metadata"].(map[string]any)["labels"] = labels
		}
		return crd
	}
	t.Fatalf("upstream has no CRD %s in %v", name, dirs)
	return nil
}

func ourCRD(t *testing.T, name string) map[string]any {
	t.Helper()
	return readYAML(t, filepath.Join(ourCRDs, crdFile(name)))
}

// crdFile returns the name that controller-gen gives the file of a CRD.
func crdFile(crd string) string {
	plural, group, _ := strings.Cut(crd, ".")
	return group + "_" + plural + ".yaml"
}

func kustomizedLabels(t *testing.T, dir string) map[string]any {
	t.Helper()
	labels := map[string]any{}
	entries, _ := readYAML(t, filepath.Join(dir, "kustomization.yaml"))["labels"].([]any)
	for _, entry := range entries {
		pairs, _ := entry.(map[string]any)["pairs"].(map[string]any)
		for key, value := range pairs {
			labels[key] = value
		}
	}
	return labels
}

func readYAML(t *testing.T, file string) map[string]any {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("read %s: %v", file, err)
	}
	var document map[string]any
	if err := yaml.Unmarshal(raw, &document); err != nil {
		t.Fatalf("decode %s: %v", file, err)
	}
	return document
}

// crdVersion returns one version of a CRD.
func crdVersion(t *testing.T, crd map[string]any, name string) map[string]any {
	t.Helper()
	for _, entry := range crd["spec"].(map[string]any)["versions"].([]any) {
		if version := entry.(map[string]any); version["name"] == name {
			return version
		}
	}
	t.Fatalf("CRD has no version %s", name)
	return nil
}
