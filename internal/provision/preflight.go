package provision

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
	"slipway.dev/slipway/internal/contract"
	"slipway.dev/slipway/internal/plan"
)

// Getter reads the object that a reference names: a contract.Resolver, or contract.Watches.
type Getter interface {
	// Get returns the object that a reference names in the namespace.
	Get(ctx context.Context, ref clusterv1.ContractVersionedObjectReference, namespace string) (*contract.Object, error)
}

// unreadRecheck is how soon a control plane that could not be read is looked at again: installing its kind makes no event.
const unreadRecheck = 30 * time.Second

// Recheck returns when to look again because the facts may change without an event; zero for never.
func Recheck(f plan.PreflightFacts) time.Duration {
	if f.ControlPlane != "" && f.ControlPlaneRead == plan.Unknown {
		return unreadRecheck
	}
	return 0
}

// PreflightFacts reads what decides whether workers of the template may be made now. Skip is the value of the
// annotation that names checks to skip. A control plane that cannot be read is a fact too, and holds workers back.
func PreflightFacts(ctx context.Context, get Getter, cluster *clusterv1.Cluster, template *clusterv1.MachineTemplateSpec, skip string) plan.PreflightFacts {
	ref := cluster.Spec.ControlPlaneRef
	if !ref.IsDefined() {
		return plan.PreflightFacts{}
	}
	skipped, _ := plan.SkippedChecks(skip)
	config := template.Spec.Bootstrap.ConfigRef
	f := plan.PreflightFacts{
		ControlPlane:     ref.Kind + " " + ref.Name,
		TopologyManaged:  cluster.Spec.Topology.IsDefined(),
		Version:          template.Spec.Version,
		KubeadmBootstrap: config.Kind == "KubeadmConfigTemplate" && config.APIGroup == bootstrapv1.GroupVersion.Group,
		Skip:             skipped,
	}
	object, err := get.Get(ctx, ref, cluster.Namespace)
	if err != nil {
		if apierrors.IsNotFound(err) {
			f.ControlPlaneRead = plan.False
		}
		return f
	}
	view, err := object.ControlPlane()
	if err != nil {
		return f
	}
	f.ControlPlaneRead = plan.True
	f.ControlPlaneVersion, f.ControlPlaneStatusVersion = view.Version, view.ObservedVersion
	return f
}
