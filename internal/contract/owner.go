package contract

import (
	"context"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/apply"
)

// Ownership says who owns a foreign object.
type Ownership struct {
	// Owner is set on the object; a reference to the same owner with another version or UID is replaced.
	Owner metav1.OwnerReference
	// Former owners are taken away, such as the MachineSet that made a Machine's infrastructure.
	Former []metav1.OwnerReference
	// ClusterName is the value of the label that ties the object to its Cluster.
	ClusterName string
}

// IsCluster reports whether an owner is a Cluster, of whichever version.
func IsCluster(owner metav1.OwnerReference) bool {
	return owner.Kind == "Cluster" && strings.HasPrefix(owner.APIVersion, clusterv1.GroupVersion.Group+"/")
}

// Own makes the object's owner references and cluster label so, by a patch of what differs. It returns the metadata that
// the API server answered with, or nil when nothing was to do. A lost race is an error for which apply.IsLostRace is
// true.
func Own(ctx context.Context, c client.Client, manager string, o *Object, own Ownership) (*metav1.PartialObjectMetadata, error) {
	target := o.Metadata()
	changed, err := apply.Metadata(ctx, c, manager, target, func(m metav1.Object) {
		for _, former := range own.Former {
			apply.RemoveOwner(m, former)
		}
		apply.SetOwner(m, own.Owner)
		apply.SetLabel(m, clusterv1.ClusterNameLabel, own.ClusterName)
	})
	if err != nil || !changed {
		return nil, err
	}
	return target, nil
}
