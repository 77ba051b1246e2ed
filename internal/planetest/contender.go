package planetest

import (
	"testing"
	"time"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Contender is a manager that runs its controllers only while it leads its namespace. Its cache is filled before, and
// follows while another leads.
type Contender struct {
	// Stop ends the Contender, which gives up its lease last. It may be called again.
	Stop func()

	t   testing.TB
	mgr ctrl.Manager
}

// Contend starts a Contender with the config and waits until its cache holds objects of the kinds to watch. Setup adds its
// controllers.
func Contend(t testing.TB, cfg *rest.Config, namespace string, setup func(ctrl.Manager) error, watch ...client.Object) *Contender {
	t.Helper()
	mgr, stop := run(t, cfg, namespace, func(settings *ctrl.Options) {
		settings.LeaderElection, settings.LeaderElectionID, settings.LeaderElectionNamespace = true, "contenders", namespace
		settings.LeaderElectionConfig, settings.LeaderElectionReleaseOnCancel = Config(t), true
		// Long terms, since a test's machine may be busy; a contender that stops gives the lease back at once.
		settings.LeaseDuration, settings.RenewDeadline, settings.RetryPeriod = new(time.Minute), new(50*time.Second), new(100*time.Millisecond)
	}, setup)
	for _, kind := range watch {
		if _, err := mgr.GetCache().GetInformer(t.Context(), kind); err != nil {
			t.Fatal(err)
		}
	}
	fill(t, mgr)
	return &Contender{Stop: stop, t: t, mgr: mgr}
}

// Reader reads from the Contender's cache.
func (c *Contender) Reader() client.Reader { return c.mgr.GetCache() }

// Lead waits until the Contender leads.
func (c *Contender) Lead() {
	c.t.Helper()
	select {
	case <-c.mgr.Elected():
	case <-time.After(time.Minute):
		c.t.Fatal("it does not lead after a minute")
	}
}
