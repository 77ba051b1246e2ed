package cli

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/spf13/cobra"
)

func TestCompletion_OffersNamesAndNeverFallsBackToFiles(t *testing.T) {
	t.Parallel()
	answers := ofCluster(t, "demo", nil)
	answers["/api/v1/namespaces"] = list("v1", "NamespaceList", map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "teams"}})
	for line, want := range map[string]string{
		"get clusters -n ":                 "teams",
		"rollout status ":                  "machinedeployment/demo-md-0",
		"rollout pause ":                   "demo",
		"rollout restart ":                 "kubeadmcontrolplane/demo-cp",
		"get md ":                          "demo-md-0",
		"get kubeadmcontrolplanes ":        "demo-cp",
		"help ":                            "waiting",
		"get machines -w -o ":              "jsonl",
		"create cluster fresh --provider ": "sim",
		"completion ":                      "fish",
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			got := run(t, answers, append([]string{cobra.ShellCompRequestCmd}, strings.Split(line, " ")...)...)
			if !strings.Contains("\n"+got.stdout, "\n"+want) || !strings.Contains(got.stderr, "NoFileComp") {
				t.Errorf("it offers: %s", got)
			}
		})
	}
}

func TestCompletion_AsksForSeveralKindsAtOnce(t *testing.T) {
	t.Parallel()
	answers := ofCluster(t, "demo", nil)
	var asked atomic.Int32
	all := make(chan struct{})
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// None is answered before all have been asked.
		if asked.Add(1) == 3 {
			close(all)
		}
		select {
		case <-all:
			answers.ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	})
	got := run(t, handler, cobra.ShellCompRequestCmd, "rollout", "status", "")
	if want := "demo\nkubeadmcontrolplane/demo-cp\nmachinedeployment/demo-md-0\n"; !strings.HasPrefix(got.stdout, want) {
		t.Errorf("it offers: %s", got)
	}
}
