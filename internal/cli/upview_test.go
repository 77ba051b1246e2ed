package cli

import (
	"os"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"slipway.dev/slipway/internal/statedir"
	"slipway.dev/slipway/internal/supervisor"
	"slipway.dev/slipway/internal/terminal"
)

func TestUp_LeavesRenewedCredentialsToThePlanesProcess(t *testing.T) {
	t.Parallel()
	a, path := kubeconfigApp(t, foreign)
	dir := t.TempDir()
	if err := clientcmd.WriteToFile(*admin("https://127.0.0.1:6443"), statedir.AdminKubeconfig(dir)); err != nil {
		t.Fatal(err)
	}
	r := &upRun{app: a, dir: dir, opts: upOptions{choose: true}}
	if over, err := r.step(supervisor.Step{Name: stepCredentials, Detail: "renewed"}); over || err != nil {
		t.Fatalf("it ended: %v", err)
	}
	if content, err := os.ReadFile(path); err != nil || string(content) != foreign {
		t.Errorf("a context that the user removed came back, or was selected again: %v\n%s", err, content)
	}
}

func TestUp_ShowsTheStepThatIsAtWorkAndHowLong(t *testing.T) {
	t.Parallel()
	for _, l := range []look{{name: "terminal", facts: terminal.Facts{TTY: true, Width: 100}, env: map[string]string{"NO_COLOR": "1"}}, {name: "pipe"}} {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			a, out := testApp(t, l)
			clock := noon
			a.env.Now = func() time.Time { return clock }
			r := &upRun{app: a}
			r.open.begin(a)
			defer r.open.over()
			if _, err := r.step(supervisor.Step{Name: "etcd", Detail: "3.7", Took: time.Second}); err != nil {
				t.Fatal(err)
			}
			clock = clock.Add(3 * time.Second)
			r.open.show(a)
			if shown := strings.Contains(out.String(), "API server") && strings.Contains(out.String(), "3.0s"); shown != l.facts.TTY {
				t.Errorf("after 3 seconds it shows:\n%s", out)
			}
			clock = clock.Add(time.Minute)
			r.open.show(a)
			if !l.facts.TTY && !strings.Contains(out.String(), "still waiting: API server, 1m03s so far") {
				t.Errorf("after a minute it says:\n%s", out)
			}
		})
	}
}
