package provision

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/contract"
)

// VersionChanges lets pass changes of a control plane's versions, which are what preflight checks look at.
func VersionChanges() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return versionsOf(e.ObjectOld) != versionsOf(e.ObjectNew)
	}}
}

func versionsOf(obj client.Object) [2]string {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return [2]string{}
	}
	// Both contracts have them at one place.
	view, err := contract.NewObject(u, contract.V1Beta2).ControlPlane()
	if err != nil {
		return [2]string{err.Error()}
	}
	return [2]string{view.Version, view.ObservedVersion}
}

// ClusterOf returns the name of the Cluster that a control plane belongs to, by its owner or its label.
func ClusterOf(obj client.Object) string {
	for _, ref := range obj.GetOwnerReferences() {
		if ref.Kind == "Cluster" {
			return ref.Name
		}
	}
	return obj.GetLabels()[clusterv1.ClusterNameLabel]
}
