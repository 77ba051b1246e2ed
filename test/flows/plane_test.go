// Package flows_test shows what only the whole system can show: clusters that come, change and go on a plane that is killed,
// restored and robbed of its statuses.
package flows_test

import (
	"context"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/manager"
	"slipway.dev/slipway/internal/planetest"
	"slipway.dev/slipway/test/fleet"
)

// patience bounds every wait. It is for a machine that is busy with other tests, not for the product.
const patience = 4 * time.Minute

// glance is how often a test looks.
const glance = 200 * time.Millisecond

func TestMain(m *testing.M) { os.Exit(planetest.MainWithControllers(m)) }

// start runs a plane of the test's own and ends it with the test.
func start(t *testing.T, dir string, args ...string) *planetest.Plane {
	t.Helper()
	p, err := planetest.Start(t.Context(), dir, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

func clientOf(t *testing.T, p *planetest.Plane) client.WithWatch {
	t.Helper()
	c, err := client.NewWithWatch(p.Config, client.Options{Scheme: manager.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func namespace(t *testing.T, c client.Client, name string) {
	t.Helper()
	if err := c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
		t.Fatal(err)
	}
}

// eventually waits for a check and fails the test with its last error.
func eventually(t *testing.T, what string, check func(context.Context) error) {
	t.Helper()
	begun := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := fleet.Wait(ctx, glance, check); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	t.Logf("%s: %.1f s", what, time.Since(begun).Seconds())
}

// pause lets the system do what it does for a while; no event tells when to kill it.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// number is a number from the environment, for the longer runs.
func number(t *testing.T, variable string, otherwise int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

// dice are seeded by SLIPWAY_SEED, so that a run can be had again.
func dice(t *testing.T, stream int) *rand.Rand {
	t.Helper()
	seed := number(t, "SLIPWAY_SEED", 1)
	t.Logf("SLIPWAY_SEED=%d", seed)
	return rand.New(rand.NewPCG(uint64(seed), uint64(stream))) //nolint:gosec // A test that can be had again wants no secrets.
}
