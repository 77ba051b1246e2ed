package provision

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/contract"
	"slipway.dev/slipway/internal/outcome"
)

// Template is what a reference of a Machine template names.
type Template struct {
	// Ref is the reference; undefined where the template has none.
	Ref clusterv1.ContractVersionedObjectReference
	// Object is what it names; nil where Err is set or nothing is referred to.
	Object *contract.Object
	// Err is why the object could not be read.
	Err error
}

// ReadTemplate reads the template that a reference names.
func ReadTemplate(ctx context.Context, get Getter, ref clusterv1.ContractVersionedObjectReference, namespace string) Template {
	t := Template{Ref: ref}
	if ref.IsDefined() {
		t.Object, t.Err = get.Get(ctx, ref, namespace)
	}
	return t
}

// Obstacle says in a sentence why nothing can be made from the template; empty when something can.
func (t Template) Obstacle() string {
	switch stall, stalled := outcome.AsStall(t.Err); {
	case t.Err == nil:
		return ""
	case stalled:
		return stall.Message
	case apierrors.IsNotFound(t.Err):
		return fmt.Sprintf("%s %s does not exist; create it, or correct the reference", t.Ref.Kind, t.Ref.Name)
	default:
		return fmt.Sprintf("%s %s could not be read", t.Ref.Kind, t.Ref.Name)
	}
}

// Failure is the error to end a reconcile with because of the template; nil where the obstacle tells enough and an event
// will wake the reconcile.
func (t Template) Failure() error {
	if apierrors.IsNotFound(t.Err) {
		return nil
	}
	return t.Err
}

// Obstacles are the reasons for which an owner cannot make Machines at all: its Cluster (nil where there is none) and
// its templates. Each is a sentence.
func Obstacles(clusterName string, cluster *clusterv1.Cluster, templates ...Template) []string {
	var out []string
	switch {
	case cluster == nil:
		out = append(out, fmt.Sprintf("Cluster %s does not exist", clusterName))
	case !cluster.DeletionTimestamp.IsZero():
		out = append(out, fmt.Sprintf("Cluster %s is being deleted", clusterName))
	}
	for _, t := range templates {
		if text := t.Obstacle(); text != "" {
			out = append(out, text)
		}
	}
	return out
}

// SkipAnnotation returns the value of the annotation that names preflight checks to skip: the owner's, else that of the
// bootstrap template.
func SkipAnnotation(owner map[string]string, bootstrap Template) string {
	skip, ok := owner[clusterv1.MachineSetSkipPreflightChecksAnnotation]
	if !ok && bootstrap.Object != nil {
		skip = bootstrap.Object.Annotations()[clusterv1.MachineSetSkipPreflightChecksAnnotation]
	}
	return skip
}
