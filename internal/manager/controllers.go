package manager

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	infrav1 "slipway.dev/slipway/api/infrastructure/v1alpha1"
	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
	"slipway.dev/slipway/internal/controllers/cluster"
	"slipway.dev/slipway/internal/controllers/kubeadmconfig"
	"slipway.dev/slipway/internal/controllers/kubeadmcontrolplane"
	"slipway.dev/slipway/internal/controllers/machine"
	"slipway.dev/slipway/internal/controllers/machinedeployment"
	"slipway.dev/slipway/internal/controllers/machineset"
	"slipway.dev/slipway/internal/providers/sim"
	"slipway.dev/slipway/internal/remote"
)

// controllerDefaults hold for every controller. Names need not be unique in the process: tests run several managers.
func controllerDefaults() config.Controller {
	return config.Controller{SkipNameValidation: new(true), CacheSyncTimeout: time.Minute, MaxConcurrentReconciles: 10}
}

// retryFirst and retryMost bound the time until what failed is tried again. Each try in vain doubles it. What keeps others
// from working may be mended at any moment, and nobody tells of it.
const (
	retryFirst = 5 * time.Millisecond
	retryMost  = 30 * time.Second
)

// ControllerOptions are what every controller is set up with, besides controllerDefaults. Each gets a memory of failures of
// its own, also where one set-up adds several.
func ControllerOptions() controller.Options {
	return controller.Options{
		NewQueue: func(name string, _ workqueue.TypedRateLimiter[ctrl.Request]) workqueue.TypedRateLimitingInterface[ctrl.Request] {
			return priorityqueue.New(name, func(o *priorityqueue.Opts[ctrl.Request]) { o.RateLimiter = backOff() })
		},
	}
}

func backOff() workqueue.TypedRateLimiter[ctrl.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[ctrl.Request](retryFirst, retryMost)
}

// watched are the kinds that controllers watch from their start.
func watched() []client.Object {
	return []client.Object{
		&clusterv1.Cluster{}, &clusterv1.Machine{}, &clusterv1.MachineDeployment{}, &clusterv1.MachinePool{}, &clusterv1.MachineSet{},
		&bootstrapv1.KubeadmConfig{}, &controlplanev1.KubeadmControlPlane{}, &infrav1.SimCluster{}, &infrav1.SimMachine{}, &corev1.Secret{},
	}
}

// counted counts the controllers that are added to a manager, as its metrics do: a provider adds several.
type counted struct {
	ctrl.Manager
	controllers *int
}

// Add counts and adds.
func (c counted) Add(r manager.Runnable) error {
	if _, is := r.(controller.Controller); is {
		*c.controllers++
	}
	return c.Manager.Add(r)
}

// addControllers sets up every controller and returns their number.
func addControllers(_ context.Context, mgr ctrl.Manager, opts Options) (int, error) {
	clusters, err := remote.New(remote.Options{Reader: mgr.GetClient(), Registerer: metrics.Registry, Log: mgr.GetLogger()})
	if err != nil {
		return 0, err
	}
	added := 0
	for _, c := range []struct {
		name  string
		setup func(ctrl.Manager, controller.Options) error
	}{
		{"remote", clusters.SetupWithManager},
		{"cluster", (&cluster.Reconciler{Client: signed{mgr.GetClient(), "cluster"}, APIReader: mgr.GetAPIReader(), Clusters: clusters, Now: time.Now}).SetupWithManager},
		{"kubeadmconfig", (&kubeadmconfig.Reconciler{Client: signed{mgr.GetClient(), "kubeadmconfig"}, APIReader: mgr.GetAPIReader(), Clusters: clusters, Now: time.Now}).SetupWithManager},
		{"kubeadmcontrolplane", (&kubeadmcontrolplane.Reconciler{
			Client: signed{mgr.GetClient(), "kubeadmcontrolplane"}, APIReader: mgr.GetAPIReader(), Clusters: clusters, Now: time.Now, Random: rand.IntN,
		}).SetupWithManager},
		{"machine", (&machine.Reconciler{Client: signed{mgr.GetClient(), "machine"}, APIReader: mgr.GetAPIReader(), Clusters: clusters, Now: time.Now}).SetupWithManager},
		{"machinedeployment", (&machinedeployment.Reconciler{Client: signed{mgr.GetClient(), "machinedeployment"}, APIReader: mgr.GetAPIReader(), Now: time.Now, Random: rand.IntN}).SetupWithManager},
		{"machineset", (&machineset.Reconciler{Client: signed{mgr.GetClient(), "machineset"}, APIReader: mgr.GetAPIReader(), Now: time.Now, Random: rand.IntN}).SetupWithManager},
		{"sim", func(mgr ctrl.Manager, o controller.Options) error {
			return sim.SetupWithManager(mgr, filepath.Join(opts.StateDir, "sim"), o)
		}},
	} {
		if err := c.setup(counted{mgr, &added}, ControllerOptions()); err != nil {
			return added, fmt.Errorf("set up controller %s: %w", c.name, err)
		}
	}
	return added, nil
}
