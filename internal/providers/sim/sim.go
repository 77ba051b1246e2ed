// Package sim is the provider of simulated machines: a whole fleet in one process, with a working Kubernetes API endpoint a
// cluster. It knows the API and the provider contract, and no controller of the management cluster.
package sim

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"slipway.dev/slipway/internal/providers/sim/simcluster"
	"slipway.dev/slipway/internal/providers/sim/simmachine"
	"slipway.dev/slipway/internal/providers/sim/world"
)

// SetupWithManager adds the provider's controllers to a manager. Dir is where the simulated clusters' files lie.
func SetupWithManager(mgr ctrl.Manager, dir string, opts controller.Options) error {
	w, err := world.New(world.Options{Dir: dir, Logger: slog.New(logr.ToSlogHandler(mgr.GetLogger().WithName("sim").V(1)))})
	if err != nil {
		return fmt.Errorf("make the simulated world: %w", err)
	}
	if err := mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		<-ctx.Done()
		return w.Close()
	})); err != nil {
		return err
	}
	clusters := &simcluster.Reconciler{Client: mgr.GetClient(), APIReader: mgr.GetAPIReader(), World: w, Now: time.Now}
	if err := clusters.SetupWithManager(mgr, opts); err != nil {
		return fmt.Errorf("set up the controller of SimClusters: %w", err)
	}
	machines := &simmachine.Reconciler{
		Client: mgr.GetClient(), APIReader: mgr.GetAPIReader(), World: w, Now: time.Now, Recorder: mgr.GetEventRecorder("slipway-simmachine"),
	}
	if err := machines.SetupWithManager(mgr, opts); err != nil {
		return fmt.Errorf("set up the controller of SimMachines: %w", err)
	}
	return nil
}
