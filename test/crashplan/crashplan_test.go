package crashplan_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"slipway.dev/slipway/test/crashplan"
)

func dice(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) } //nolint:gosec // A test wants no secrets.

func TestScript_MakesSense(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		seed, steps := rapid.Uint64().Draw(t, "seed"), rapid.IntRange(5, 40).Draw(t, "steps")
		script := crashplan.Script(dice(seed), steps)
		if diff := cmp.Diff(script, crashplan.Script(dice(seed), steps)); diff != "" {
			t.Fatalf("the same seed makes another script:\n%s", diff)
		}
		alive, hasty, counts := map[string]bool{}, map[string]bool{}, map[crashplan.Operation]int{}
		for _, s := range script {
			counts[s.Operation]++
			name := s.Spec.Name
			if alive[name] != (s.Operation != crashplan.Create) {
				t.Fatalf("%s, when alive is %t", s, alive[name])
			}
			if s.Operation == crashplan.Upgrade && (hasty[name] || s.Spec.Version != crashplan.NewVersion || s.Hasty) {
				t.Fatalf("%s after a hasty step: %t; its version is %s", s, hasty[name], s.Spec.Version)
			}
			if s.Spec.Workers < 1 || s.Spec.Workers > 3 || s.Spec.ControlPlane != 1 && s.Spec.ControlPlane != 3 {
				t.Fatalf("%s to %d and %d", s, s.Spec.ControlPlane, s.Spec.Workers)
			}
			alive[name], hasty[name] = s.Operation != crashplan.Delete, s.Hasty
		}
		for _, op := range []crashplan.Operation{crashplan.Create, crashplan.Scale, crashplan.Delete} {
			if counts[op] == 0 {
				t.Fatalf("no %s in %v", op, script)
			}
		}
		survivors, gone := crashplan.Survivors(script)
		if len(survivors) == 0 || len(survivors)+len(gone) != counts[crashplan.Create] {
			t.Fatalf("%d survivors and %d gone of %d", len(survivors), len(gone), counts[crashplan.Create])
		}
	})
}

func TestController_KnowsEveryFieldManager(t *testing.T) {
	t.Parallel()
	for fieldManager, want := range map[string]string{
		"slipway-machine": "machine", "capi-machineset": "machineset", "capi-machineset-metadata": "machineset",
		"capi-kubeadmcontrolplane": "kubeadmcontrolplane", "slipway-simcluster": "simcluster",
		"": "", "kubectl": "", "slipway-install": "", "fleet": "",
	} {
		if got := crashplan.Controller(fieldManager); got != want {
			t.Errorf("controller of %q: %q, want %q", fieldManager, got, want)
		}
	}
}

// everywhere has every controller write something in each step.
func everywhere(steps int) [][]crashplan.Site {
	writes := make([][]crashplan.Site, steps)
	for i := range writes {
		op := crashplan.Operations()[i%4]
		for _, name := range crashplan.Controllers() {
			for range 4 {
				writes[i] = append(writes[i], crashplan.Site{Operation: op, Manager: "slipway-" + name, Verb: "apply", Resource: "things/status"})
			}
		}
		writes[i] = append(writes[i], crashplan.Site{Operation: op, Verb: "delete", Resource: "machines"}, crashplan.Site{Operation: op, Verb: "create", Resource: "events"})
	}
	return writes
}

func TestPoints_HitEveryControllerInEveryOperation(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		points := crashplan.Points(dice(seed), 50, everywhere(20))
		coverage, kills := crashplan.Coverage{}, 0
		for step, list := range points {
			if len(list) > 6 {
				t.Fatalf("step %d has %d kills", step, len(list))
			}
			for _, p := range list {
				kills++
				coverage[p.Site]++
				if p.Step != step || p.Skip > 2 || p.Site.Resource == "events" {
					t.Fatalf("point %+v in step %d", p, step)
				}
			}
		}
		if kills != 50 {
			t.Fatalf("%d kills", kills)
		}
		if lacking := coverage.Lacking(4); len(lacking) > 0 {
			t.Fatalf("too few kills: %v", lacking)
		}
		if len(coverage) < 4*len(crashplan.Controllers()) {
			t.Fatalf("%d sites", len(coverage))
		}
	})
}

func TestPoints_ComeInTheOrderOfTheRun(t *testing.T) {
	t.Parallel()
	site := func(i int) crashplan.Site {
		return crashplan.Site{Operation: crashplan.Create, Manager: "slipway-machine", Verb: "apply", Resource: fmt.Sprint(i)}
	}
	points := crashplan.Points(dice(1), 4, [][]crashplan.Site{{site(3), site(1), site(2), site(1), site(0)}})
	var got []string
	for _, p := range points[0] {
		got = append(got, p.Site.Resource)
	}
	if diff := cmp.Diff([]string{"3", "1", "2", "0"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCoverage_NamesWhatLacks(t *testing.T) {
	t.Parallel()
	c := crashplan.Coverage{}
	for _, name := range crashplan.Controllers()[1:] {
		for _, op := range crashplan.Operations()[1:] {
			c[crashplan.Site{Operation: op, Manager: "slipway-" + name, Verb: "apply", Resource: "x"}]++
		}
	}
	c[crashplan.Site{Operation: crashplan.Create, Manager: "slipway-cluster"}] = 1
	want := []string{"controller cluster: 1", "operation create: 1"}
	if diff := cmp.Diff(want, c.Lacking(2)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
