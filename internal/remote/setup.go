package remote

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
)

const kubeconfigSuffix = "-kubeconfig"

// SetupWithManager has the manager run the Clusters and tell it of everything that may open the way into a cluster:
// kubeconfig Secrets (those that carry the cluster's label), endpoints, and control-plane Machines that come up.
func (c *Clusters) SetupWithManager(mgr ctrl.Manager, options controller.Options) error {
	if err := mgr.Add(c); err != nil {
		return fmt.Errorf("add the door to workload clusters to the manager: %w", err)
	}
	clusters := mgr.GetClient()
	err := ctrl.NewControllerManagedBy(mgr).Named("remote").WithOptions(options).
		For(&clusterv1.Cluster{}, builder.WithPredicates(whenEndpointChanges())).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(clusterOfKubeconfig)).
		Watches(&clusterv1.Machine{}, handler.EnqueueRequestsFromMapFunc(clusterOfMachine),
			builder.WithPredicates(whenControlPlaneComesUp())).
		Complete(reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
			return reconcile.Result{}, c.heed(ctx, clusters, req.NamespacedName)
		}))
	if err != nil {
		return fmt.Errorf("set up the controller of the door to workload clusters: %w", err)
	}
	return nil
}

// heed passes on what happened to a Cluster.
func (c *Clusters) heed(ctx context.Context, clusters client.Reader, key types.NamespacedName) error {
	err := clusters.Get(ctx, key, &clusterv1.Cluster{})
	switch {
	case apierrors.IsNotFound(err):
		c.Forget(key)
	case err != nil:
		return fmt.Errorf("read Cluster %s: %w", key, err)
	default:
		c.Changed(key)
	}
	return nil
}

func clusterOfKubeconfig(_ context.Context, secret client.Object) []reconcile.Request {
	cluster, ok := strings.CutSuffix(secret.GetName(), kubeconfigSuffix)
	if !ok || secret.GetLabels()[clusterv1.ClusterNameLabel] != cluster {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: secret.GetNamespace(), Name: cluster}}}
}

func clusterOfMachine(_ context.Context, machine client.Object) []reconcile.Request {
	cluster := machine.GetLabels()[clusterv1.ClusterNameLabel]
	if cluster == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: machine.GetNamespace(), Name: cluster}}}
}

// whenEndpointChanges lets pass what may make a cluster reachable, and nothing of a Cluster's many other changes.
func whenEndpointChanges() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		old, isCluster := e.ObjectOld.(*clusterv1.Cluster)
		now, isStill := e.ObjectNew.(*clusterv1.Cluster)
		return !isCluster || !isStill ||
			old.UID != now.UID ||
			old.Spec.ControlPlaneEndpoint != now.Spec.ControlPlaneEndpoint ||
			initialized(old) != initialized(now)
	}}
}

func initialized(cluster *clusterv1.Cluster) bool {
	done := cluster.Status.Initialization.ControlPlaneInitialized
	return done != nil && *done
}

// whenControlPlaneComesUp lets pass a control-plane Machine that has just been given its infrastructure.
func whenControlPlaneComesUp() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			old, isMachine := e.ObjectOld.(*clusterv1.Machine)
			now, isStill := e.ObjectNew.(*clusterv1.Machine)
			if !isMachine || !isStill {
				return false
			}
			_, controlPlane := now.Labels[clusterv1.MachineControlPlaneLabel]
			return controlPlane && (old.Spec.ProviderID != now.Spec.ProviderID || old.Status.Phase != now.Status.Phase)
		},
	}
}
